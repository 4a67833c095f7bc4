"""Source to recognizer to sinks: everything is counted, and everything is closed."""

import io
import itertools
import json
import os
import signal
import threading

import numpy as np
import pytest
from rich.console import Console

from onlooker import Prediction
from onlooker.recognition import pipeline as pipeline
from onlooker.recognition.pipeline import Display, RunSummary, deferred_signals, run
from onlooker.recognition.sinks import AnnotatedVideo, Callback, JsonLines, SinkClosed
from onlooker.vision.types import FaceBox, Frame, Refusal, Sighting

DARK = Refusal("too dark", 1.0, 2.0)


def frames(count):
    pixels = np.zeros((48, 64, 3), np.uint8)
    return [Frame("door", index, index / 25, pixels) for index in range(count)]


def sighting(track, name=None, refusal=None):
    answer = None if refusal else Prediction(name, {name: 1.0} if name else {}, 0.0, None)
    return Sighting("door", 0, 0.0, track, FaceBox(1, 1, 9, 9), name, answer, refusal)


class Recognizer:
    """Sees what it is told to see; learns one vertex a frame."""

    def __init__(self, *seen):
        self.learner, self.seen = [], seen

    def see(self, frame):
        self.learner.append(frame)
        seen = self.seen[frame.index] if frame.index < len(self.seen) else []
        if isinstance(seen, type):
            raise seen
        return seen


class Recorder:
    """A sink that notes what happens to it."""

    def __init__(self, notes, name="sink"):
        self.notes, self.name = notes, name

    def __enter__(self):
        self.notes.append(f"{self.name} opened")

    def __exit__(self, kind, *_):
        self.notes.append(f"{self.name} closed" + (f" by {kind.__name__}" if kind else ""))

    def __call__(self, frame, sightings):
        self.notes.append((self.name, frame.index, len(sightings)))


def test_everything_is_counted():
    recognizer = Recognizer(
        [sighting(1), sighting(2, "ben")],
        [sighting(1, "ana"), sighting(2, "ben"), sighting(3, refusal=DARK)],
        [],
        [sighting(4), sighting(5)],
        [sighting(4, refusal=DARK), sighting(2, "ben", refusal=DARK)],
    )
    counts = run(frames(6), recognizer)
    assert (counts.frames, counts.faces, counts.refused) == (6, 9, 3)
    assert counts.named == {"ana": 1, "ben": 2}
    assert counts.strangers == 2  # 4 and 5: 1 got a name, and nobody was asked about 3
    assert (counts.vertices, counts.ended) == (6, "finished")


def test_a_track_that_loses_its_name_is_a_stranger():
    assert run(frames(2), Recognizer([sighting(1, "ana")], [sighting(1)])).strangers == 1


def test_tracks_are_counted_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(pipeline, "OPEN_TRACKS", 5)
    counter = pipeline.RunCounter([], lambda: 0.0)
    for track in range(100):
        counter.add([sighting(track)])
    assert counter.summary().strangers == 100
    assert len(counter._nameless) == 5


def test_sinks_are_called_in_order_between_opening_and_closing():
    notes = []
    run(frames(2), Recognizer([sighting(1)]), [Recorder(notes, "a"), Recorder(notes, "b")])
    assert notes == [
        *("a opened", "b opened", ("a", 0, 1), ("b", 0, 1), ("a", 1, 0), ("b", 1, 0)),
        *("b closed", "a closed"),
    ]


def test_seconds_go_to_their_stage():
    now = [0.0]

    def passes(seconds, value=None):
        now[0] += seconds
        return value

    class Slow(Recognizer):
        def see(self, frame):
            return passes(2, [])

    source = (passes(1, frame) for frame in frames(3))
    sink = Callback(lambda *_: passes(4))
    counts = run(source, Slow(), [sink], clock=lambda: now[0])
    assert counts.seconds == {"read": 3, "recognize": 6, "write": 12}
    assert counts.rate == pytest.approx(3 / 21)


def test_an_empty_run_has_a_summary():
    assert run([], Recognizer(), clock=lambda: 0.0).rate == 0


def test_progress_is_shown_after_every_frame():
    summaries = []
    run(frames(3), Recognizer(), progress=summaries.append)
    assert [counts.frames for counts in summaries] == [1, 2, 3]


# ---- the ends that are no errors


def test_ctrl_c_in_the_source_ends_with_a_summary():
    def source():
        yield from frames(3)
        raise KeyboardInterrupt

    notes = []
    counts = run(source(), Recognizer(), [Recorder(notes)])
    assert (counts.frames, counts.ended) == (3, "interrupted")
    assert notes[-1] == "sink closed by KeyboardInterrupt"


def test_ctrl_c_in_the_recognizer_ends_with_a_summary():
    counts = run(frames(9), Recognizer([], [], KeyboardInterrupt))
    assert (counts.frames, counts.ended) == (2, "interrupted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_step_waits_for_its_end(tmp_path, number):
    steps = []

    class Interrupted(Recognizer):
        def see(self, frame):
            steps.append("begun")
            if frame.index == 2:
                os.kill(os.getpid(), number)
            steps.append("done")
            return []

    before = signal.signal(number, signal.default_int_handler)
    try:
        counts = run(frames(9), Interrupted(), [AnnotatedVideo(tmp_path / "seen.mp4")])
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert steps == ["begun", "done"] * 3
    assert (tmp_path / "seen.mp4").stat().st_size
    assert (counts.frames, counts.ended) == (3, "interrupted")


def test_a_second_signal_does_not_wait():
    steps = []

    def impatient():
        with deferred_signals():
            for step in range(3):
                steps.append(step)
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        impatient()
    assert steps == [0, 1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_can_run_it_too():
    results = []
    thread = threading.Thread(target=lambda: results.append(run(frames(3), Recognizer())))
    thread.start()
    thread.join()
    assert results[0].frames == 3


def test_a_sink_nobody_reads_ends_the_run():
    def gone(frame, sightings):
        if frame.index == 4:
            raise SinkClosed("gone")

    counts = run(frames(9), Recognizer(), [Callback(gone)])
    assert (counts.frames, counts.ended) == (5, "output closed")


# ---- errors


@pytest.mark.parametrize("where", ["source", "recognizer", "sink"])
def test_an_error_goes_through_and_closes_every_sink(where):
    def source():
        yield frames(1)[0]
        if where == "source":
            raise ZeroDivisionError

    def broken(frame, sightings):
        if where == "sink":
            raise ZeroDivisionError

    notes = []
    recognizer = Recognizer(ZeroDivisionError if where == "recognizer" else [])
    sinks = [Recorder(notes, "a"), Callback(broken), Recorder(notes, "b")]
    with pytest.raises(ZeroDivisionError):
        run(source(), recognizer, sinks)
    assert notes[-2:] == ["b closed by ZeroDivisionError", "a closed by ZeroDivisionError"]


def test_a_sink_that_cannot_open_closes_the_others_before_a_frame_is_read(tmp_path):
    notes = []
    source = iter(frames(1))
    with pytest.raises(ValueError, match="cannot write"):
        run(source, Recognizer(), [Recorder(notes), AnnotatedVideo(tmp_path / "no" / "x.mp4")])
    assert notes == ["sink opened", "sink closed by BadValue"]
    assert len(list(source)) == 1


# ---- with what people use


def test_json_lines_of_a_run():
    stream = io.StringIO()
    run(
        frames(2), Recognizer([sighting(1, "ana")], [sighting(1), sighting(2)]), [JsonLines(stream)]
    )
    names = [json.loads(row)["name"] for row in stream.getvalue().splitlines()]
    assert names == ["ana", None, None]


def shown(*, terminal):
    stream = io.StringIO()
    with Display(
        Console(file=stream, force_terminal=terminal, width=100, _environ={"TERM": "xterm"})
    ) as display:
        for count in itertools.chain([1], range(100, 2000, 100)):
            display(RunSummary(frames=count, faces=1, named={"ana": 1}, strangers=2, vertices=1234))
    return stream.getvalue()


def test_the_display_shows_the_counts_on_a_terminal():
    text = shown(terminal=True)
    for words in (
        "1,900 frames",
        "1 face ",
        "1 person",
        "2 tracks without a name",
        "1,234 stored faces",
        "/s",
    ):
        assert words in text


def test_the_display_is_silent_elsewhere():
    assert shown(terminal=False).strip() == ""
