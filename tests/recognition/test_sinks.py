"""Sightings come out of a sink as they went in, whatever people are called."""

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import replace

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker import OnlookerError, Prediction
from onlooker.core.errors import BadValue
from onlooker.recognition import drawing
from onlooker.recognition.drawing import NAMED, NOBODY, REFUSED, UNSURE, annotated, plain
from onlooker.recognition.sinks import (
    AnnotatedVideo,
    Callback,
    CsvFile,
    JsonLines,
    SinkClosed,
    as_record,
)
from onlooker.vision.types import FaceBox, Frame, Refusal, Sighting

KEYS = (
    *("time", "camera", "frame", "track", "box", "name", "label"),
    *("candidate", "confidence", "scores", "sink", "quality", "measured"),
)
ODD_NAMES = [
    "ana",
    "😀",
    "../../etc",
    "<b>[red]x[/red]</b>",
    "a\nb",
    'a"b,c;d',
    "=1+1",
    "'=x",
    "-1",
]
BOX = FaceBox(100, 120, 80, 90)


def frame(index=0, camera="door", size=(480, 640), time=None):
    pixels = np.full((*size, 3), 128, np.uint8)
    return Frame(camera, index, index / 25 if time is None else time, pixels)


def named(name="ana", score=0.9, box=BOX):
    return Sighting("door", 7, 0.28, 3, box, name, Prediction(name, {name: score}, 1 - score, 1))


def unknown(box=BOX):
    return Sighting("door", 7, 0.28, 4, box, None, Prediction(None, {"ana": 0.0}, 1.0, None))


def refused(box=BOX):
    return Sighting("door", 7, 0.28, 5, box, None, None, Refusal("too dark", 17.0, 40.0))


def written(sightings):
    stream = io.StringIO()
    with JsonLines(stream) as sink:
        sink(frame(7), sightings)
    return [json.loads(row) for row in stream.getvalue().splitlines()]


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# ---- JSON lines


def test_each_sighting_is_a_line_with_the_same_keys():
    records = written([named(), unknown(), refused()])
    assert [tuple(record) for record in records] == [KEYS] * 3
    assert records[0] == {
        "time": 0.28,
        "camera": "door",
        "frame": 7,
        "track": 3,
        "box": [100, 120, 80, 90],
        "name": "ana",
        "label": "ana",
        "candidate": None,
        "confidence": 0.9,
        "scores": {"ana": 0.9},
        "sink": pytest.approx(0.1),
        "quality": None,
        "measured": True,
    }


def test_a_face_that_was_not_measured_is_marked_and_has_the_last_answer(tmp_path):
    again = replace(named(), measured=False)
    record = written([again])[0]
    assert (record["measured"], record["label"], record["confidence"]) == (False, "ana", 0.9)
    with CsvFile(tmp_path / "seen.csv") as sink:
        sink(frame(7), [again, named()])
    assert [row["measured"] for row in rows(tmp_path / "seen.csv")] == ["False", "True"]


def test_what_was_not_asked_is_null():
    record = written([refused()])[0]
    assert [record[key] for key in ("name", "label", "confidence", "scores", "sink")] == [None] * 5
    assert record["quality"] == {"reason": "too dark", "value": 17.0, "threshold": 40.0}


def test_nobody_is_null_with_a_sink():
    record = written([unknown()])[0]
    assert (record["name"], record["label"], record["confidence"]) == (None, None, 0.0)
    assert (record["scores"], record["sink"]) == ({"ana": 0.0}, 1.0)


def maybe(name="ana", box=BOX):
    answer = Prediction(None, {name: 0.9}, 0.1, None, candidate=name, support="inferred")
    return Sighting("door", 7, 0.28, 4, box, None, answer)


def test_a_candidate_is_written_beside_the_name_that_it_is_not(tmp_path):
    (record,) = written([maybe()])
    assert [record[key] for key in ("name", "label", "candidate")] == [None, None, "ana"]
    with CsvFile(tmp_path / "seen.csv") as sink:
        sink(frame(7), [maybe(), unknown()])
    cells = [(row["name"], row["candidate"]) for row in rows(tmp_path / "seen.csv")]
    assert cells == [("", "ana"), ("", "")]


def test_a_candidate_is_drawn_as_unknown(monkeypatch):
    texts = []
    monkeypatch.setattr(drawing, "draw_label", lambda *given: texts.append(given[2:4]) or given[1])
    annotated(frame(), [maybe("Zoë"), replace(unknown(), box=FaceBox(300, 120, 80, 90))])
    assert texts == [(NOBODY.colour, "unknown, maybe Zoe"), (NOBODY.colour, "unknown")]


@given(name=st.text(min_size=1))
def test_any_name_comes_through_json(name):
    record = written([named(name)])[0]
    assert (record["name"], record["label"], list(record["scores"])) == (name, name, [name])


@given(number=st.floats())
def test_json_has_finite_numbers_only(number):
    box = FaceBox(np.float64(number), number, 1, 1)
    quality = Refusal("too dark", number, 1.0)
    for record in (
        as_record(named(score=number)),
        as_record(Sighting("door", 0, number, 1, box, None, None, quality)),
    ):
        assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_lines_survive_a_stream_without_unicode():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with JsonLines(stream) as sink:
        sink(frame(), [named("Zoë 😀")])
    assert json.loads(stream.buffer.getvalue())["name"] == "Zoë 😀"
    assert not stream.closed


def test_a_reader_sees_a_frame_at_once():
    read, write = os.pipe()
    with open(read, encoding="ascii") as reader, open(write, "w", encoding="ascii") as writer:
        JsonLines(writer)(frame(), [named()])
        assert json.loads(reader.readline())["name"] == "ana"


def test_a_closed_pipe_is_an_exception_of_ours_and_nothing_more():
    program = (
        "import sys, test_sinks as t\n"
        "from onlooker.recognition.sinks import JsonLines, SinkClosed\n"
        "sys.stdin.readline()\n"
        "try:\n"
        "    with JsonLines(sys.stdout) as sink: sink(t.frame(), [t.named()])\n"
        "except SinkClosed as error: print(error, file=sys.stderr)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=os.path.dirname(__file__),
        **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE),
        text=True,
    )
    process.stdout.close()
    process.stdout = None
    _, errors = process.communicate("go\n")
    assert (process.returncode, errors) == (0, "nobody reads the sightings any more\n")
    assert issubclass(SinkClosed, OnlookerError)


# ---- CSV


def test_csv_has_the_same_facts_in_flat_columns(tmp_path):
    with CsvFile(tmp_path / "seen.csv") as sink:
        sink(frame(7), [named(), refused()])
    ana, dark = rows(tmp_path / "seen.csv")
    assert tuple(ana) == CsvFile.COLUMNS
    assert (ana["name"], ana["left"], ana["confidence"]) == ("ana", "100.0", "0.9")
    assert json.loads(ana["scores"]) == {"ana": 0.9}
    assert (dark["name"], dark["scores"], dark["sink"]) == ("", "", "")
    assert (dark["reason"], dark["value"], dark["threshold"]) == ("too dark", "17.0", "40.0")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_comes_through_csv_and_none_is_a_formula(tmp_path, name):
    with CsvFile(tmp_path / "seen.csv") as sink:
        sink(frame(), [named(name)])
    row = rows(tmp_path / "seen.csv")[0]
    assert row["name"].removeprefix("'") == name
    assert row["name"].lstrip()[0] not in "=+-@"
    assert json.loads(row["scores"]) == {name: 0.9}


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", " =1"])
def test_formulas_are_quoted_and_numbers_are_not(tmp_path, name):
    with CsvFile(tmp_path / "seen.csv") as sink:
        sink(frame(), [named(name, box=FaceBox(-3, 0, 9, 9))])
    row = rows(tmp_path / "seen.csv")[0]
    assert (row["name"], row["label"], row["left"]) == (f"'{name}", f"'{name}", "-3.0")


def test_rows_are_in_the_file_after_every_frame_and_after_an_exception(tmp_path):
    sink = CsvFile(tmp_path / "seen.csv")

    def break_off():
        with sink:
            sink(frame(), [named()])
            assert len(rows(sink.path)) == 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    assert len(rows(sink.path)) == 1
    with pytest.raises(BadValue, match="not open"):
        sink(frame(), [named()])


@pytest.mark.parametrize("kind", [CsvFile, AnnotatedVideo])
def test_a_place_that_cannot_be_written_is_said_at_once(tmp_path, kind):
    with pytest.raises(BadValue, match=r"cannot write .*No such file"), kind(tmp_path / "no/x.mp4"):
        pytest.fail("it opened")


# ---- video


def pictures(path):
    with av.open(str(path)) as container:
        return [
            (picture.time, picture.to_ndarray(format="bgr24"))
            for picture in container.decode(video=0)
        ]


def test_a_video_can_be_decoded_again_and_shows_the_box(tmp_path):
    with AnnotatedVideo(tmp_path / "seen.mp4") as sink:
        for index in range(10):
            sink(frame(index), [named()])
    seen = pictures(tmp_path / "seen.mp4")
    assert [time for time, _ in seen] == pytest.approx([index / 25 for index in range(10)])
    for _, pixels in seen:
        assert pixels.shape == (480, 640, 3)
        np.testing.assert_allclose(pixels[160, 100], NAMED.colour, atol=60)
        np.testing.assert_allclose(pixels[400, 500], 128, atol=8)


@pytest.mark.parametrize("name", ["seen.mkv", "seen.avi", "seen.mov"])
def test_other_containers(tmp_path, name):
    with AnnotatedVideo(tmp_path / name) as sink:
        for index in range(3):
            sink(frame(index), [])
    assert len(pictures(tmp_path / name)) == 3


def test_without_h264_there_is_mpeg4(tmp_path, monkeypatch):
    from onlooker.recognition import annotated_video

    monkeypatch.setattr(
        annotated_video, "ENCODERS", {"no such": {}, "mpeg4": annotated_video.ENCODERS["mpeg4"]}
    )
    with AnnotatedVideo(tmp_path / "seen.mp4") as sink:
        sink(frame(), [named()])
    with av.open(str(tmp_path / "seen.mp4")) as container:
        assert container.streams.video[0].codec_context.name == "mpeg4"
    assert len(pictures(tmp_path / "seen.mp4")) == 1


def test_a_size_that_changes_is_fitted_into_the_first(tmp_path):
    with AnnotatedVideo(tmp_path / "seen.mp4") as sink:
        for index, size in enumerate([(121, 161), (240, 320), (400, 100), (1, 1), (121, 161)]):
            sink(frame(index, size=size), [])
    seen = [pixels for _, pixels in pictures(tmp_path / "seen.mp4")]
    assert [pixels.shape for pixels in seen] == [(122, 162, 3)] * 5
    assert seen[2][60, 5].max() < 16  # beside the tall one it is black
    assert seen[2][60, 80].min() > 100


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (17, 31), (1, 500)])
def test_the_smallest_frames_can_be_written(tmp_path, size):
    with AnnotatedVideo(tmp_path / "seen.mp4") as sink:
        sink(frame(size=size), [named(), unknown(), refused()])
    assert len(pictures(tmp_path / "seen.mp4")) == 1


def test_times_that_stand_still_or_make_no_sense_advance_at_the_rate(tmp_path):
    with AnnotatedVideo(tmp_path / "seen.mp4", rate=10) as sink:
        for time in (5.0, 5.0, 5.5, 1.0, float("nan")):
            sink(frame(time=time), [])
    assert [time for time, _ in pictures(tmp_path / "seen.mp4")] == pytest.approx(
        [0, 0.1, 0.5, 0.6, 0.7]
    )


def test_each_camera_has_a_file(tmp_path):
    cameras = ["door", "../up", "..\\up", "😀"]
    with AnnotatedVideo(tmp_path / "seen.mp4") as sink:
        for camera in cameras * 2:
            sink(frame(camera=camera), [])
    assert list(sink.paths) == cameras
    assert sorted(tmp_path.iterdir()) == sorted(sink.paths.values())
    assert sink.paths["door"] == tmp_path / "seen.mp4"
    assert all(len(pictures(path)) == 2 for path in sink.paths.values())


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_video_is_whole_after_an_exception(tmp_path, error):
    def break_off():
        with AnnotatedVideo(tmp_path / "seen.mp4") as sink:
            for index in range(5):
                sink(frame(index), [])
            raise error

    with pytest.raises(error):
        break_off()
    assert len(pictures(tmp_path / "seen.mp4")) == 5


def test_without_frames_there_is_no_file(tmp_path):
    with AnnotatedVideo(tmp_path / "seen.mp4"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["seen.txt", "seen", "seen.webm"])
def test_a_name_that_is_no_video_is_refused(tmp_path, name):
    (tmp_path / name).write_text("precious")
    with pytest.raises(BadValue, match=r"seen\.mp4"), AnnotatedVideo(tmp_path / name):
        pytest.fail("it opened")
    assert (tmp_path / name).read_text() == "precious"


@pytest.mark.parametrize("rate", [0, -1, float("nan"), 1e9])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(BadValue, match="frames per second"):
        AnnotatedVideo("seen.mp4", rate=rate)


def test_a_video_that_is_closed_takes_nothing(tmp_path):
    with AnnotatedVideo(tmp_path / "seen.mp4") as sink:
        sink(frame(), [])
    with pytest.raises(BadValue, match="not open"):
        sink(frame(), [])


# ---- drawing


def drawn(*sightings, size=(480, 640)):
    return annotated(frame(size=size), sightings)


def share_of(colour, sighting):
    """How much of the bottom edge of the box has a colour; the label is at the top."""
    edge = drawn(sighting)[210, 100:181].astype(int)
    return np.mean(np.abs(edge - colour).max(axis=1) < 60)


def test_boxes_differ_in_pattern_as_well_as_in_colour():
    assert share_of(NAMED.colour, named()) == 1
    assert 0.4 < share_of(UNSURE.colour, named(score=0.3)) < 0.9
    assert 0.3 < share_of(NOBODY.colour, unknown()) < 0.6
    assert 0 < share_of(REFUSED.colour, refused()) < 0.8


def test_a_name_that_only_the_track_knows_is_unsure():
    sighting = Sighting("door", 0, 0.0, 1, BOX, "ana", Prediction(None, {}, 1.0, None))
    assert 0.4 < share_of(UNSURE.colour, sighting) < 0.9


def test_the_frame_itself_is_not_drawn_on():
    original = frame()
    original.pixels.flags.writeable = False
    assert (annotated(original, [named()]) != original.pixels).any()
    assert (original.pixels == 128).all()


def test_lines_and_letters_grow_with_the_frame():
    def ink(scale):
        box = FaceBox(*(scale * side for side in (100, 120, 80, 90)))
        return np.mean(drawn(named(box=box), size=(240 * scale, 320 * scale)) != 128)

    assert ink(4) == pytest.approx(ink(2), rel=0.3)


number = st.floats(-1e4, 1e4) | st.sampled_from([float("nan"), float("inf"), 1e300])


@given(box=st.builds(FaceBox, number, number, number, number), name=st.text(min_size=1))
def test_anything_can_be_drawn(box, name):
    assert drawn(named(name, box=box), refused(box), size=(48, 64)).shape == (48, 64, 3)


@given(name=st.text(max_size=100))
def test_a_drawn_name_is_plain_ascii(name):
    assert all(" " <= letter <= "~" for letter in plain(name))


# ---- callback


def test_a_callback_is_called_in_order():
    calls = []
    frames = [frame(index) for index in range(3)]
    with Callback(lambda *call: calls.append(call)) as sink:
        for each in frames:
            sink(each, [])
    assert calls == [(each, []) for each in frames]
