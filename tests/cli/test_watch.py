"""`onlooker watch` on real faces: names, what the home stores, messages and exit codes."""

import json
import signal
import subprocess
import sys

import pytest

from helpers.commands import error_of, onlooker, rows
from helpers.waiting import DEADLINE
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import BadValue
from onlooker.home import transfer
from onlooker.home.reopen import is_home, reopen
from onlooker.recognition.recognizer import FaceRecognizer
from onlooker.vision.finder import face_distances
from onlooker.vision.pixels import PixelFeatures

MAIN = (sys.executable, "-c", "from onlooker.cli import main; main()")


def opened(folder="h"):
    return reopen(folder, face_distances())


def examples(folder="h"):
    """How many examples a home has taken in, the labeled ones too."""
    with opened(folder) as home:
        assert home.problems == ()
        return int(home.vertices().multiplicities.sum())


def named(sightings):
    """How many faces have a name of their own: as many were learned."""
    return sum(sighting["label"] is not None for sighting in sightings)


def long_stream(tmp_path, pictures):
    """More frames than a test waits for."""
    folder = tmp_path / "long"
    folder.mkdir()
    for index in range(1500):
        (folder / f"{index}.png").symlink_to(pictures / "frames" / f"{index % 12:03d}.png")
    return folder


# ---- names, and what is stored


def test_watch_names_faces_and_stores_what_it_learned(pictures, tmp_path):
    table, video = tmp_path / "seen.csv", tmp_path / "seen.mp4"
    people = ("--people", pictures / "people", "--home", "h")
    result = onlooker(
        "watch", f"door={pictures / 'frames'}", *people, "--csv", table, "--save", video
    )
    sightings = rows(result)
    assert [s["frame"] for s in sightings] == list(range(12))
    assert {s["camera"] for s in sightings} == {"door"}
    truth = ["ana"] * 4 + ["ben"] * 4 + [None] * 4
    labels = [(s["label"], true) for s, true in zip(sightings, truth, strict=True) if s["label"]]
    assert all(label == true for label, true in labels)
    assert len(labels) >= 6  # how many more is not the command's business
    assert "finished: 12 frames" in result.stderr
    assert "stored in h" in result.stderr
    assert len(table.read_text().splitlines()) == 13
    assert video.stat().st_size > 1000
    with opened() as home:
        assert home.learner.names == ("ana", "ben")
        assert home.vertices().names.count(None) > 0


def test_who_may_be_somebody_known_is_told_at_the_end_with_the_command_that_asks(pictures):
    arguments = ("watch", pictures / "frames", "--people", pictures / "people", "--home")
    words = "strangers who may be somebody known:"
    assert words not in onlooker(*arguments, "h").stderr
    result = onlooker(*arguments, "strict", "--trust-radius", "0")
    (hint,) = [row for row in result.stderr.splitlines() if row.startswith(words)]
    assert "ana" in hint
    assert "ben" in hint
    command = hint.partition("onlooker ")[2].split()
    assert rows(onlooker(*command))[0]["question"] in ("is this ana?", "is this ben?")


def test_a_home_of_watch_is_a_home_for_every_other_command(pictures):
    arguments = ("watch", f"door={pictures / 'frames'}", "--people", pictures / "people")
    learned = named(rows(onlooker(*arguments, "--home", "h")))
    assert [row["name"] for row in rows(onlooker("people", "list", "--home", "h"))] == [
        "ana",
        "ben",
    ]
    events = rows(onlooker("events", "--home", "h"))
    assert [event["kind"] for event in events] == ["teach"] * 8 + ["observe"] * learned
    assert {event["camera"] for event in events[8:]} == {"door"}
    cards = rows(onlooker("strangers", "list", "--home", "h"))
    assert {card["last"]["camera"] for card in cards} == {"door"}
    with opened() as home:
        assert set(home.album.vertices()) == set(home.vertices().ids.tolist())
        assert "ana" in {seen.name for seen in home.album.sightings(limit=99)}


def test_a_second_run_goes_on_and_teaches_no_picture_twice(pictures):
    arguments = ("watch", pictures / "frames", "--people", pictures / "people", "--home", "h")
    first = named(rows(onlooker(*arguments)))
    assert examples() == 8 + first
    second = named(rows(onlooker(*arguments)))
    assert second >= first > 0
    assert examples() == 8 + first + second


def test_who_was_forgotten_is_not_taught_again_by_the_folder(pictures):
    arguments = ("watch", pictures / "frames", "--people", pictures / "people", "--home", "h")
    rows(onlooker(*arguments))
    rows(onlooker("people", "forget", "ana", "--home", "h"))
    result = onlooker(*arguments)
    assert {sighting["label"] for sighting in rows(result)} <= {"ben", None}
    assert "ana is not taught again" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_a_signal_ends_the_run_and_the_next_one_goes_on(pictures, tmp_path, number):
    command = [*MAIN, "watch", long_stream(tmp_path, pictures)]
    command += ["--people", pictures / "people", "--home", "h"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        first = [process.stdout.readline() for _ in range(20)]
        process.send_signal(number)
        rest, summary = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert summary.startswith("interrupted: ")
    assert len(summary.splitlines()) == 1
    sightings = [json.loads(row) for row in [*first, *rest.splitlines()]]
    assert 20 <= len(sightings) < 1500
    learned = examples()
    # every face that was printed is in the home; the last may have been learned, not yet printed
    assert learned - (8 + named(sightings)) in (0, 1)
    more = named(rows(onlooker("watch", pictures / "frames", "--home", "h")))
    assert examples() == learned + more


def test_every_face_that_was_printed_survives_kill_9(pictures, tmp_path):
    command = [*MAIN, "watch", long_stream(tmp_path, pictures)]
    command += ["--people", pictures / "people", "--home", "h"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        first = [process.stdout.readline() for _ in range(20)]
        process.kill()
        rest = process.stdout.read()
    whole = [row for row in [*first, *rest.splitlines(keepends=True)] if row.endswith("\n")]
    sightings = [json.loads(row) for row in whole]
    assert examples() >= 8 + named(sightings)


def test_ctrl_c_while_the_sources_are_opened_stores_nothing(pictures, tmp_path, monkeypatch):
    def interrupted(*sources):
        raise KeyboardInterrupt

    monkeypatch.setattr("onlooker.cli.watch.frames_from", interrupted)
    arguments = ("watch", pictures / "frames", "--people", pictures / "people", "--home", "h")
    assert "interrupted while starting" in error_of(onlooker(*arguments), code=130)
    assert not (tmp_path / "h").exists()


def test_ctrl_c_before_the_first_frame_stores_the_people(pictures, monkeypatch):
    def interrupted(self, frame, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(FaceRecognizer, "see", interrupted)
    arguments = ("watch", pictures / "frames", "--people", pictures / "people", "--home", "h")
    result = onlooker(*arguments)
    assert result.exit_code == 130
    assert result.stderr.startswith("interrupted: 0 frames")
    with opened() as home:
        assert home.learner.names == ("ana", "ben")


def test_an_error_in_the_middle_loses_nothing(pictures, monkeypatch):
    see = FaceRecognizer.see

    def sees_five(self, frame, **options):
        if frame.index == 5:
            raise BadValue("something is wrong")
        return see(self, frame, **options)

    monkeypatch.setattr(FaceRecognizer, "see", sees_five)
    arguments = ("watch", pictures / "frames", "--people", pictures / "people", "--home", "h")
    result = onlooker(*arguments)
    assert result.exit_code == 1
    assert result.stderr == "onlooker: something is wrong\n"
    assert examples() > 8


def test_whoever_stops_reading_ends_the_run(pictures):
    command = [*MAIN, "watch", pictures / "frames", "--people", pictures / "people", "--home", "h"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0
    assert "Traceback" not in errors
    with opened() as home:
        assert home.learner.names == ("ana", "ben")


# ---- without learning


def test_no_learn_changes_nothing_on_the_disk(pictures, tmp_path):
    rows(onlooker("enroll", "--people", pictures / "people", "--home", "h"))
    before = examples()
    arguments = ("watch", pictures / "frames", "--no-learn")
    assert len(rows(onlooker(*arguments, "--home", "h"))) == 12
    assert examples() == before
    # nor is a home made where there is none
    result = onlooker(*arguments, "--home", "new", "--people", pictures / "people")
    assert len(rows(result)) == 12
    assert "nothing stored" in result.stderr
    assert not (tmp_path / "new").exists()


# ---- state files: what `export` writes, and what `watch` wrote before it had a home


@pytest.fixture(params=["saved by an earlier version", "exported"])
def state(request, pictures, tmp_path):
    """A file that knows ana and ben."""
    rows(onlooker("enroll", "--people", pictures / "people", "--home", "source"))
    path = tmp_path / "door.state"
    if request.param == "exported":
        rows(onlooker("export", path, "--home", "source"))
    else:
        with opened("source") as home:
            home.learner.save(path)
    return path


def test_a_new_home_begins_with_a_state_file(pictures, state):
    before = state.read_bytes()
    learned = named(rows(onlooker("watch", pictures / "frames", "--home", "h", "--state", state)))
    assert examples() == 8 + learned
    assert learned > 0
    with opened() as home:
        pictured = len(set(home.album.vertices()) & set(home.vertices().ids[:8].tolist()))
    assert pictured == len(transfer.read(state, face_distances()).pictures)
    # it is read once: the next run goes on with the home
    more = named(rows(onlooker("watch", pictures / "frames", "--home", "h", "--state", state)))
    assert examples() == 8 + learned + more
    assert state.read_bytes() == before


def test_a_state_file_can_be_used_without_a_home(pictures, tmp_path, state):
    before = state.read_bytes()
    sightings = rows(onlooker("watch", pictures / "frames", "--state", state, "--no-learn"))
    assert named(sightings) > 0
    assert state.read_bytes() == before
    assert not is_home(tmp_path)


def test_a_state_file_can_be_imported(pictures, state):
    (row,) = rows(onlooker("import", state, "--home", "h"))
    assert row["people"] == ["ana", "ben"]
    assert examples() == 8
    assert rows(onlooker("import", state, "--home", "h"))
    with opened() as home:
        assert home.learner.names == ("ana", "ben")


def test_a_state_file_alone_is_refused_and_the_message_names_the_home(pictures, state):
    before = state.read_bytes()
    result = onlooker("watch", pictures / "frames", "--state", state)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "give --home DIR" in " ".join(result.stderr.split())
    assert state.read_bytes() == before


def test_a_state_file_with_other_features_is_refused(pictures, tmp_path):
    learner = OnlineHarmonicLearner(HeatKernel(0.2, 1e-4), features="sface/0ba9fbfa01b5")
    learner.teach([0.0, 1.0], "ana")
    learner.save("s")
    text = error_of(onlooker("watch", pictures / "frames", "--home", "h", "--state", "s"))
    assert "sface/0ba9fbfa01b5" in text
    assert "--features embedding --model FILE" in text
    assert "--features" in text
    assert not (tmp_path / "h").exists()


# ---- what cannot work


def test_a_home_with_other_features_is_refused(pictures):
    learner = OnlineHarmonicLearner(HeatKernel(0.2, 1e-4), features="sface/0ba9fbfa01b5")
    learner.teach([0.0, 1.0], "ana")
    learner.save("s")
    rows(onlooker("import", "s", "--home", "h"))
    text = error_of(onlooker("watch", pictures / "frames", "--home", "h"))
    assert "sface/0ba9fbfa01b5" in text
    assert "--features embedding --model FILE" in text
    assert "--features" in text


def test_other_numbers_than_those_of_the_home_are_refused(pictures):
    people = ("--people", pictures / "people", "--home", "h")
    rows(onlooker("enroll", *people, "--cutoff", "1e-6"))
    assert "built with cutoff 1e-06" in error_of(
        onlooker("watch", pictures / "frames", "--home", "h", "--cutoff", "1e-9")
    )
    assert len(rows(onlooker("watch", pictures / "frames", "--home", "h"))) == 12
    with opened() as home:
        assert home.learner.kernel.cutoff == 1e-6


def test_a_missing_source_is_reported_and_no_home_is_made(pictures, tmp_path):
    people = ("--people", pictures / "people")
    text = error_of(onlooker("watch", "nowhere.mp4", *people, "--home", "h"))
    assert "nowhere.mp4" in text
    assert not (tmp_path / "h").exists()


def test_a_kernel_beyond_the_cliff_is_warned_of(pictures):
    """Also when it is the home's own; one line, and the run goes on."""
    watched = ("watch", pictures / "frames", "--people", pictures / "people")
    words = "may be named through chains of other strangers"
    for arguments in (("--home", "far", "--cutoff", "1e-30"), ("--home", "far")):
        result = onlooker(*watched, *arguments)
        assert result.exit_code == 0
        (warning,) = (text for text in result.stderr.splitlines() if words in text)
        assert "cutoff 1e-30" in warning
        assert "use a new home with bandwidth" in warning
    strict = onlooker(*watched, "--home", "near", "--cutoff", "0.001")
    assert strict.exit_code == 0
    assert words not in strict.stderr


def test_a_home_in_use_is_one_line(pictures):
    rows(onlooker("enroll", "--people", pictures / "people", "--home", "h"))
    with opened():
        text = error_of(onlooker("watch", pictures / "frames", "--home", "h"))
    assert "is in use by process" in text


def test_pixels_are_what_the_tests_above_compare():
    assert PixelFeatures().tag.startswith("pixels/96")
