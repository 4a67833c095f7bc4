"""`onlooker dataset` as people use it: made, recorded, checked; with a terminal and without."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from itertools import islice

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.commands import error_of
from helpers.waiting import DEADLINE
from onlooker.cli.app import app
from onlooker.cli.dataset import blocks
from onlooker.experiments.datasets.manifest import MANIFEST, read_dataset
from onlooker.simulation.scenarios import scenario, write_video

MAIN = (sys.executable, "-c", "from onlooker.cli import main; main()")
AGAIN = 5.0
"""Seconds after which a signal is sent again, as a person presses Ctrl-C again."""
COMMANDS = (
    "dataset",
    "dataset simulate",
    "dataset check",
    "dataset import",
    "dataset record",
)


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """ana.mp4 shows one person, ben.mp4 another."""
    folder = tmp_path_factory.mktemp("films")
    scenes = list(islice(scenario("V1", seed=1, frames=240), 42))
    write_video(folder / "ana.mp4", scenes[:12])
    write_video(folder / "ben.mp4", scenes[30:])
    return folder


def onlooker(*arguments):
    return CliRunner().invoke(app, ["dataset", *(str(argument) for argument in arguments)])


def test_simulate_writes_what_check_reads(tmp_path):
    made = onlooker("simulate", "d", "--seed", 1, "--frames", 8)
    assert made.exit_code == 0, made.output
    rows = [json.loads(row) for row in made.stdout.splitlines()]
    assert [(row["set"], row["camera"], row["frames"]) for row in rows] == [
        ("V1+V2", "camera1", 8),
        ("V1+V2", "camera2", 8),
        ("VO", "cubicle", 3),
        ("VO", "couch", 3),
        ("VO", "conference", 2),
        ("VN", "door", 8),
        ("strangers", None, 32),
    ]
    assert onlooker("check", "d").stdout == made.stdout
    assert "d is not an empty folder" in error_of(onlooker("simulate", "d"))


def test_import_copies_a_folder_of_people_which_check_reads(tmp_path):
    for name in ("ana/10.jpg", "ana/9.jpg", "ben/1.jpg"):
        (tmp_path / "people" / name).parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(tmp_path / "people" / name), np.full((8, 8, 3), 90, np.uint8))
    made = onlooker("import", "people", "--into", "d", "--set", "mine")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout) == {
        "set": "mine", "camera": "camera1", "frames": 3, "strangers": 0,
        "people": {"ana": 2, "ben": 1},
    }  # fmt: skip
    assert onlooker("check", "d").stdout == made.stdout
    before = (tmp_path / "d" / MANIFEST).read_bytes()
    assert "has a set 'mine' already" in error_of(
        onlooker("import", "people", "--into", "d", "--set", "mine")
    )
    assert "there is no folder nothing" in error_of(onlooker("import", "nothing", "--into", "e"))
    assert "people/ana has pictures itself" in error_of(
        onlooker("import", "people/ana", "--into", "e")
    )
    assert (tmp_path / "d" / MANIFEST).read_bytes() == before
    assert not (tmp_path / "e").exists()


def test_check_tells_in_one_line_what_is_wrong(tmp_path):
    assert "manifest.csv" in error_of(onlooker("check", "nothing"))
    (tmp_path / MANIFEST).write_text("set,camera,person,frame,path\na,b,c,x,../p\na,b,c,1,q\n")
    text = error_of(onlooker("check", "."))
    assert all(words in text for words in ("'x' is not a number", "'../p'", "no picture q"))


def test_record_one_person_without_questions(films, tmp_path):
    result = onlooker("record", "d", f"door={films / 'ana.mp4'}", "--who", "Ána/🦊", "--every", 3)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {
        "folder": "d",
        "frames": 4,
        "kept": 4,
        "empty": 0,
        "several": 0,
        "poor": 0,
    }
    assert result.stderr.count("agreed") == 1
    assert "finished: 4 of 4 frames stored in d" in result.stderr
    stranger = onlooker("record", "d", f"door={films / 'ben.mp4'}", "--who", "", "--set", "more")
    assert stranger.exit_code == 0, stranger.output
    rows = [json.loads(row) for row in onlooker("check", "d").stdout.splitlines()]
    assert [(row["set"], row["people"], row["strangers"]) for row in rows] == [
        ("recorded", {"Ána/🦊": 4}, 0),
        ("more", {}, 12),
    ]
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == [
        "manifest.csv",
        "more",
        "recorded",
    ]


def test_without_a_terminal_somebody_must_say_who(films, tmp_path):
    result = onlooker("record", "d", films / "ana.mp4")
    assert result.exit_code == 2
    assert "--who" in result.stderr
    assert not (tmp_path / "d").exists()


def test_bad_sources_and_folders_are_one_line(films, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    text = error_of(onlooker("record", "full", films / "ana.mp4", "--who", "ana"))
    assert "neither empty nor a dataset" in text
    result = onlooker("record", "d", "nothing.mp4", "--who", "ana")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("onlooker: there is no file")


def test_nothing_but_walls_is_error_of(tmp_path):
    (tmp_path / "walls").mkdir()
    assert cv2.imwrite(str(tmp_path / "walls" / "1.png"), np.full((240, 320), 90, np.uint8))
    result = onlooker("record", "d", "walls", "--who", "ana")
    assert result.exit_code == 1
    assert "1 without a face" in result.stderr
    assert "no frame was stored" in result.stderr.splitlines()[-1]


def at_a_terminal(*arguments, typed, colour="truecolor"):
    """The command with a terminal around it; what it showed, and its exit code."""
    outer, inner = pytest.importorskip("pty").openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": colour, "COLUMNS": "200"}
    process = subprocess.Popen(
        [*MAIN, "dataset", *map(str, arguments)],
        stdin=inner,
        stderr=inner,
        stdout=subprocess.DEVNULL,
        env=environment,
    )
    os.close(inner)
    shown, answers, until = b"", list(typed), time.monotonic() + DEADLINE
    while time.monotonic() < until:
        if not select.select([outer], [], [], AGAIN)[0]:
            if not answers and None in typed:  # it came just before the process began to wait
                process.send_signal(signal.SIGTERM)
            continue
        try:
            new = os.read(outer, 4096)
        except OSError:  # Linux: nobody is at the other end any more
            break
        if not new:
            break
        until = time.monotonic() + DEADLINE
        shown += new
        if shown.count(b"to stop) ") > len(typed) - len(answers):
            answer = answers.pop(0) if answers else "q"
            if answer is None:
                process.send_signal(signal.SIGTERM)
            else:
                os.write(outer, answer.encode() + b"\n")
    else:
        process.kill()
    os.close(outer)
    return shown.decode(errors="replace"), process.wait(timeout=DEADLINE)


def test_whoever_appears_is_shown_and_asked_about(films, tmp_path):
    sources = (films / "ana.mp4", films / "ben.mp4")
    shown, code = at_a_terminal("record", "d", *sources, typed=("ana", ""))
    assert code == 0, shown
    assert "▀" in shown
    assert "d/faces/0001.jpg" in shown
    rows = [json.loads(row) for row in onlooker("check", "d").stdout.splitlines()]
    assert [(row["camera"], row["people"], row["strangers"]) for row in rows] == [
        ("ana", {"ana": 12}, 0),
        ("ben", {}, 12),
    ]
    assert cv2.imread("d/faces/0002.jpg").shape[0] <= 160
    assert len(read_dataset("d").pictures) == 24


@pytest.mark.parametrize(("last", "code"), [("q", 0), ("\x04", 0), (None, 130)])
def test_stopped_at_a_question_the_dataset_is_valid(films, tmp_path, last, code):
    sources = (films / "ana.mp4", films / "ben.mp4")
    shown, ended = at_a_terminal("record", "d", *sources, typed=("ana", last), colour="")
    assert ended == code, shown
    assert {each.person for each in read_dataset("d").pictures} == {"ana"}


def test_a_face_in_half_blocks_has_its_colours():
    picture = np.zeros((40, 40, 3), np.uint8)
    picture[:20] = (255, 0, 0)
    text = blocks(picture, across=10)
    assert [len(row) for row in text.plain.splitlines()] == [10] * 5
    assert text.spans[0].style.color.triplet == (0, 0, 255)
    assert text.spans[-1].style.bgcolor.triplet == (0, 0, 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert f"Example: onlooker {command}" in " ".join(result.stdout.split())
