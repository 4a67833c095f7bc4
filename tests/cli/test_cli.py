"""The commands as people use them, on real faces: names, files, messages and exit codes."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.commands import error_of
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.cli.app import app
from onlooker.cli.settings import ALL_SETTINGS, example_file, load_settings
from onlooker.core.errors import BadValue
from onlooker.recognition.recognizer import FaceRecognizer
from onlooker.simulation.filming import Truth
from onlooker.simulation.orl import pictures_of
from onlooker.simulation.scenarios import write_video
from onlooker.vision.models import SFACE
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.types import FaceBox, Frame

MAIN = (sys.executable, "-c", "from onlooker.cli import main; main()")
COMMANDS = (
    "demo", "watch", "serve", "enroll", "people list", "people rename", "people merge",
    "people forget", "strangers list", "strangers name", "strangers ignore", "events", "undo",
    "export", "import", "backup", "calibrate", "dataset simulate", "dataset record",
    "dataset check",
    "models", "models list", "models get", "models verify", "reproduce", "doctor",
)  # fmt: skip


def scene(person, number, shift=0):
    """A picture of one of the forty, enlarged, in front of a wall."""
    face = cv2.resize(pictures_of(person)[number], (184, 224), interpolation=cv2.INTER_CUBIC)
    wall = np.full((480, 640), 90, np.uint8)
    wall[120:344, 220 + shift : 404 + shift] = face
    return wall


def write(path, picture):
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), picture)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """people/ has four of ana and of ben, frames/ shows them and a stranger."""
    root = tmp_path_factory.mktemp("pictures")
    for name, person in (("ana", 1), ("ben", 2)):
        for number in range(4):
            write(root / "people" / name / f"{number}.png", scene(person, number))
    for index in range(12):
        person, number = ((1, index), (2, index - 4), (5, index - 8))[index // 4]
        write(root / "frames" / f"{index:03d}.png", scene(person, number, shift=index % 3))
    return root


def onlooker(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def load(path):
    return OnlineHarmonicLearner.load(path, distance=PixelFeatures().distance)


def named_in(result):
    """How many of the faces that a run told have a name of their own: so many were learned."""
    assert result.exit_code == 0, result.output
    return sum(json.loads(row)["label"] is not None for row in result.stdout.splitlines())


# ---- watch


def test_watch_names_faces_and_keeps_what_it_learned(pictures, tmp_path):
    state, table, video = (tmp_path / name for name in ("door.state", "seen.csv", "seen.mp4"))
    people = ("--people", pictures / "people", "--state", state)
    result = onlooker(
        "watch", f"door={pictures / 'frames'}", *people, "--csv", table, "--save", video
    )
    assert result.exit_code == 0, result.output
    sightings = [json.loads(row) for row in result.stdout.splitlines()]
    assert [s["frame"] for s in sightings] == list(range(12))
    assert {s["camera"] for s in sightings} == {"door"}
    truth = ["ana"] * 4 + ["ben"] * 4 + [None] * 4
    named = [(s["label"], true) for s, true in zip(sightings, truth, strict=True) if s["label"]]
    assert all(label == true for label, true in named)
    assert len(named) >= 6  # how many more is not the command's business
    assert "finished: 12 frames" in result.stderr
    assert len(table.read_text().splitlines()) == 13
    assert video.stat().st_size > 1000
    learned = load(state)
    assert learned.names == ("ana", "ben")
    assert learned.vertices().names.count(None) > 0


def test_a_second_run_goes_on_and_teaches_no_picture_twice(pictures, tmp_path):
    arguments = ("watch", pictures / "frames", "--people", pictures / "people", "--state", "s")
    first = named_in(onlooker(*arguments))
    assert load("s").vertices().multiplicities.sum() == 8 + first
    second = named_in(onlooker(*arguments))
    assert second >= first > 0
    assert load("s").vertices().multiplicities.sum() == 8 + first + second


def test_no_learn_leaves_the_file_as_it_is(pictures, tmp_path):
    assert onlooker("enroll", "--people", pictures / "people", "--state", "s").exit_code == 0
    before = (tmp_path / "s").read_bytes()
    result = onlooker("watch", pictures / "frames", "--state", "s", "--no-learn")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 12
    assert (tmp_path / "s").read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_a_signal_saves_and_the_next_run_goes_on(pictures, tmp_path, number):
    state = tmp_path / "door.state"
    long = tmp_path / "long"
    long.mkdir()
    for index in range(1500):
        (long / f"{index}.png").symlink_to(pictures / "frames" / f"{index % 12:03d}.png")
    command = [*MAIN, "watch", long, "--people", pictures / "people", "--state", state]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        lines = [process.stdout.readline() for _ in range(20)]
        process.send_signal(number)
        rest, summary = process.communicate(timeout=60)
    assert process.returncode == 130
    assert summary.startswith("interrupted: ")
    assert len(summary.splitlines()) == 1
    sightings = [json.loads(row) for row in [*lines, *rest.splitlines()]]
    assert 20 <= len(sightings) < 1500
    named = sum(sighting["label"] is not None for sighting in sightings)
    learned = load(state).vertices().multiplicities.sum()
    # every face that was told is in the file; the last may have been learned, not yet told
    assert learned - (8 + named) in (0, 1)
    more = named_in(onlooker("watch", pictures / "frames", "--state", state))
    assert load(state).vertices().multiplicities.sum() == learned + more


def test_ctrl_c_before_the_first_frame_saves_the_people(pictures, monkeypatch):
    def interrupted(*sources):
        raise KeyboardInterrupt

    monkeypatch.setattr("onlooker.cli.watch.frames_from", interrupted)
    arguments = ("watch", pictures / "frames", "--people", pictures / "people", "--state", "s")
    result = onlooker(*arguments)
    assert result.exit_code == 130
    assert result.stderr.startswith("interrupted: 0 frames")
    assert load("s").names == ("ana", "ben")


def test_an_error_in_the_middle_saves_what_was_learned(pictures, monkeypatch):
    see = FaceRecognizer.see

    def sees_five(self, frame, *, learn):
        if frame.index == 5:
            raise BadValue("something is wrong")
        return see(self, frame, learn=learn)

    monkeypatch.setattr(FaceRecognizer, "see", sees_five)
    arguments = ("watch", pictures / "frames", "--people", pictures / "people", "--state", "s")
    result = onlooker(*arguments)
    assert result.exit_code == 1
    assert result.stderr == "onlooker: something is wrong\n"
    assert load("s").vertices().multiplicities.sum() > 8


def test_whoever_stops_reading_ends_the_run(pictures, tmp_path):
    command = [*MAIN, "watch", pictures / "frames", "--people", pictures / "people", "--state", "s"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert load("s").names == ("ana", "ben")


def test_what_was_learned_is_saved_now_and_then(pictures, monkeypatch):
    saved = []
    save = OnlineHarmonicLearner.save
    monkeypatch.setattr(
        OnlineHarmonicLearner,
        "save",
        lambda self, path: (saved.append(len(self)), save(self, path)),
    )
    monkeypatch.setenv("ONLOOKER_SAVE_EVERY", "0")
    onlooker("watch", pictures / "frames", "--people", pictures / "people", "--state", "s")
    assert len(saved) == 13
    monkeypatch.setenv("ONLOOKER_SAVE_EVERY", "60")
    onlooker("watch", pictures / "frames", "--state", "s")
    assert len(saved) == 14


# ---- what cannot work


def test_other_features_are_refused(pictures, tmp_path):
    learner = OnlineHarmonicLearner(HeatKernel(0.2, 1e-4), features="sface/0ba9fbfa01b5")
    learner.teach([0.0, 1.0], "ana")
    learner.save("s")
    before = (tmp_path / "s").read_bytes()
    text = error_of(onlooker("watch", pictures / "frames", "--state", "s"))
    assert "sface/0ba9fbfa01b5" in text
    assert "pixels/96" in text
    assert "--features" in text
    assert (tmp_path / "s").read_bytes() == before


def test_other_numbers_than_those_of_the_state_are_refused(pictures):
    people = ("--people", pictures / "people", "--state", "s")
    assert onlooker("enroll", *people, "--cutoff", "1e-6").exit_code == 0
    assert "built with cutoff 1e-06" in error_of(
        onlooker("watch", pictures / "frames", "--state", "s", "--cutoff", "1e-9")
    )
    assert onlooker("watch", pictures / "frames", "--state", "s").exit_code == 0
    assert load("s").kernel.cutoff == 1e-6


def test_a_missing_source_is_told_and_nothing_is_saved(pictures, tmp_path):
    people = ("--people", pictures / "people")
    text = error_of(onlooker("watch", "nowhere.mp4", *people, "--state", "s"))
    assert "nowhere.mp4" in text
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["watch", "FRAMES", "--state", "s"], "nobody is known"),
        (["watch", "FRAMES", "--state", "s", "--people", "none"], "none is not a folder"),
        (["watch", "FRAMES", "--state", "none/s", "--people", "PEOPLE"], "none/s"),
        (["watch", "FRAMES", "--state", "PEOPLE"], "folder"),
        (["watch", "FRAMES", "--state", "s", "--cutoff", "2"], "cutoff must be"),
        (["watch", "FRAMES", "--state", "s", "--vertices", "0"], "vertices must be"),
        (["watch", "FRAMES", "--state", "s", "--features", "embedding"], "ONLOOKER_EMBEDDING"),
        (
            ["watch", "FRAMES", "--state", "s", "--features", "embedding", "--detector", "haar"],
            "landmarks",
        ),
        (["enroll", "ana", "none.png", "--state", "s"], "none.png"),
        (["models", "get", "none"], "no model is called 'none'"),
        (["models", "verify"], "models get sface"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_one_line(pictures, arguments, words):
    places = {"FRAMES": str(pictures / "frames"), "PEOPLE": str(pictures / "people")}
    assert words in error_of(onlooker(*[places.get(word, word) for word in arguments]))


@pytest.mark.parametrize(
    "arguments",
    [
        ["watch"],
        ["watch", "frames"],
        ["watch", "frames", "--state", "s", "--features", "smells"],
        ["watch", "a.mp4", "--state", "s", "--save", "a.mp4"],
        ["enroll", "--state", "s"],
        ["enroll", "ana", "--state", "s"],
        ["enroll", "ana", "a.png"],
        ["enroll", "ana", "a.png", "--people", "people", "--state", "s"],
        ["unknown"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_exit_code_2(arguments):
    result = onlooker(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage: " in result.stderr


# ---- enroll


def test_enroll_one_person_then_the_others(pictures):
    ana = sorted((pictures / "people" / "ana").iterdir())
    result = onlooker("enroll", "ana", *ana, "--state", "s")
    assert json.loads(result.stdout) == {"name": "ana", "taught": 4, "labeled": 4}
    result = onlooker("enroll", "--people", pictures / "people", "--state", "s")
    assert [json.loads(row) for row in result.stdout.splitlines()] == [
        {"name": "ana", "taught": 0, "labeled": 4},
        {"name": "ben", "taught": 4, "labeled": 4},
    ]


def test_a_bad_picture_names_itself_and_nothing_is_taught(pictures, tmp_path):
    good = sorted((pictures / "people" / "ana").iterdir())
    write(tmp_path / "wall.png", np.full((480, 640), 90, np.uint8))
    onlooker("enroll", "ana", *good[:1], "--state", "s")
    before = (tmp_path / "s").read_bytes()
    text = error_of(onlooker("enroll", "ana", *good, tmp_path / "wall.png", "--state", "s"))
    assert "wall.png shows no face" in text
    assert (tmp_path / "s").read_bytes() == before


def test_one_picture_cannot_have_two_names(pictures, tmp_path):
    good = sorted((pictures / "people" / "ana").iterdir())
    onlooker("enroll", "ana", *good[2:], "--state", "s")
    before = (tmp_path / "s").read_bytes()
    text = error_of(onlooker("enroll", "eve", *good, "--state", "s"))
    assert "'ana'" in text
    assert "'eve'" in text
    assert (tmp_path / "s").read_bytes() == before


def film(path, pictures):
    """A video that shows each picture for a moment."""
    truth = Truth(None, "hall", FaceBox(0, 0, 1, 1))
    shown = [np.repeat(picture[:, :, None], 3, axis=2) for picture in pictures]
    write_video(path, [(Frame("door", at, at / 25, now), truth) for at, now in enumerate(shown)])


def moving(pictures, steps=10):
    """One picture turns into the next."""
    shares = np.linspace(0, 1, steps, endpoint=False)
    return [
        (before + share * (after.astype(float) - before)).astype(np.uint8)
        for before, after in pairwise(pictures)
        for share in shares
    ]


def test_enroll_from_a_video_then_watch(pictures, tmp_path):
    film(tmp_path / "ana.mp4", moving([scene(1, number) for number in range(5)]))
    result = onlooker("enroll", "ana", "ana.mp4", "--state", "s")
    assert json.loads(result.stdout) == {"name": "ana", "taught": 4, "labeled": 4}
    assert result.stderr == ""
    again = onlooker("enroll", "ana", "ana.mp4", "--state", "s")
    assert json.loads(again.stdout) == {"name": "ana", "taught": 0, "labeled": 4}
    result = onlooker("watch", pictures / "frames", "--state", "s")
    labels = [json.loads(row)["label"] for row in result.stdout.splitlines()]
    assert labels == ["ana"] * 4 + [None] * 8


def test_a_bad_video_names_itself_and_nothing_is_taught(pictures, tmp_path):
    good = sorted((pictures / "people" / "ana").iterdir())
    film(tmp_path / "wall.mp4", [np.full((480, 640), 90, np.uint8)] * 3)
    (tmp_path / "half.mp4").write_bytes((tmp_path / "wall.mp4").read_bytes()[:500])
    onlooker("enroll", "ana", *good[:1], "--state", "s")
    before = (tmp_path / "s").read_bytes()
    for file, words in (("wall.mp4", "of 3, 3 show none"), ("half.mp4", "cut short")):
        text = error_of(onlooker("enroll", "ana", *good, file, "--state", "s"))
        assert file in text
        assert words in text
    assert (tmp_path / "s").read_bytes() == before


def test_people_may_be_videos(pictures, tmp_path):
    (tmp_path / "people" / "ben").mkdir(parents=True)
    film(tmp_path / "people" / "ana.mp4", moving([scene(1, number) for number in range(5)]))
    film(tmp_path / "people" / "ben" / "still.mp4", [scene(2, 0)])
    result = onlooker("enroll", "--people", "people", "--state", "s")
    assert [json.loads(row)["taught"] for row in result.stdout.splitlines()] == [4, 1]
    assert load("s").names == ("ana", "ben")


# ---- models, doctor, settings


def test_models_are_listed_and_a_damaged_one_is_found(tmp_path):
    (row,) = [json.loads(row) for row in onlooker("models", "list").stdout.splitlines()]
    assert (row["name"], row["file"]) == ("sface", None)
    cached = tmp_path / "cache" / "onlooker" / "models" / SFACE.file
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"not a model")
    assert "SHA-256" in error_of(onlooker("models", "verify"))
    assert "SHA-256" in error_of(onlooker("models", "verify", cached))


def test_a_model_is_fetched_once_and_verified(tmp_path, monkeypatch):
    content = b"pretend to be a network" * 1000
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "tiny.onnx").write_bytes(content)
    handler = partial(QuietHandler, directory=tmp_path / "served")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tiny = replace(
            SFACE,
            name="tiny",
            address=f"http://127.0.0.1:{server.server_port}/tiny.onnx",
            bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        )
        monkeypatch.setattr("onlooker.vision.models.REGISTRY", (tiny,))
        monkeypatch.setattr("onlooker.cli.models.REGISTRY", (tiny,))
        first = onlooker("models", "get", "tiny")
        server.shutdown()
    assert first.exit_code == 0, first.output
    path = tmp_path / "cache" / "onlooker" / "models" / "tiny.onnx"
    assert json.loads(first.stdout) == {"name": "tiny", "file": str(path)}
    assert onlooker("models", "get", "tiny").exit_code == 0  # nobody serves it any more
    assert json.loads(onlooker("models", "list").stdout)["file"] == str(path)
    assert json.loads(onlooker("models", "verify").stdout)["ok"] is True


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def test_doctor_says_what_is_in_force_and_why(tmp_path, monkeypatch):
    (tmp_path / "onlooker.toml").write_text("vertices = 200\ncutoff = 1e-6\n")
    monkeypatch.setenv("ONLOOKER_CUTOFF", "1e-7")
    result = onlooker("doctor")
    assert result.exit_code == 0, result.output
    lines = {row[9:23].strip(): row[25:] for row in result.stdout.splitlines()}
    assert lines["vertices"] == "200 (onlooker.toml)"
    assert lines["cutoff"] == "1e-07 (ONLOOKER_CUTOFF)"
    assert lines["bandwidth"] == "0.025 (default)"
    assert "checksum correct" in lines["detector file"]
    assert {"onlooker", "python", "numpy", "scipy", "opencv", "av", "onnxruntime"} <= lines.keys()


def test_doctor_misses_the_embedding_that_was_asked_for(monkeypatch):
    monkeypatch.setenv("ONLOOKER_FEATURES", "embedding")
    result = onlooker("doctor")
    assert result.exit_code == 1
    assert "MISSING  embedding file" in result.stdout


def test_the_example_of_the_settings_is_complete_and_right(tmp_path):
    assert onlooker("doctor", "--example-settings").stdout == example_file()
    lines = [row[2:] for row in example_file().splitlines() if " = " in row]
    assert len(lines) == len(ALL_SETTINGS)
    (tmp_path / "onlooker.toml").write_text("\n".join(lines))
    samples = {"people": "people", "state": "door.state", "home": "home", "model": "sface"}
    assert load_settings({}).values == {
        **load_settings({"ONLOOKER_SETTINGS": os.devnull}).values,
        **samples,
    }


@pytest.mark.parametrize(
    "text", ["vertices = 'many'", "colour = 1", "cutoff = [", "one_each = 3", "model = ''"]
)
def test_bad_settings_name_the_file(tmp_path, text):
    (tmp_path / "onlooker.toml").write_text(text)
    assert "onlooker.toml" in error_of(onlooker("doctor"))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    result = onlooker(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Example: onlooker {command}" in " ".join(result.stdout.split())


def test_only_reproduce_needs_scikit_learn():
    script = "import sys; sys.modules['sklearn'] = None; from onlooker.cli import main; main()"
    run = partial(subprocess.run, capture_output=True, text=True, check=False)
    assert run([sys.executable, "-c", script, "doctor"]).returncode == 0
    refused = run([sys.executable, "-c", script, "reproduce", "compact"])
    assert refused.returncode == 2
    assert refused.stderr == (
        "onlooker: reproduce needs sklearn, which is not installed: "
        'pip install "onlooker[experiments]"\n'
    )


@pytest.mark.parametrize("module", ["typer", "cv2"])
def test_what_is_not_installed_is_told_in_one_line(module):
    script = f"import sys; sys.modules[{module!r}] = None; from onlooker.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", script, "doctor"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1
    assert 'pip install "onlooker[faces]"' in run.stderr


def test_help_does_not_import_what_only_some_commands_need():
    """Each of these takes longer to import than everything else together."""
    heavy = ("fastapi", "matplotlib", "onnxruntime", "pydantic", "ray", "sklearn", "uvicorn")
    script = f"import sys, onlooker.cli.app; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
