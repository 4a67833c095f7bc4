"""Recording a dataset: who was named, what was saved, and that it is valid at any moment."""

import signal
from itertools import islice

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.core.errors import BadValue
from onlooker.experiments.datasets.manifest import MANIFEST, read_dataset
from onlooker.experiments.datasets.recording import Appender, Recorder, RecordingStopped, clean
from onlooker.simulation.scenarios import scenario, write_video
from onlooker.video.sources import frames_from
from onlooker.vision.finder import FaceFinder
from onlooker.vision.types import FaceBox, Frame, Refusal

WALL = np.full((120, 160, 3), 90, np.uint8)


def texture(person):
    return np.random.default_rng(person).integers(255, size=(8, 6)).astype(np.uint8)


def scene(*faces):
    """A picture, and where its faces are: (person, left), each a pattern that stays the same."""
    pixels = WALL.copy()
    for person, left in faces:
        face = cv2.resize(texture(person), (30, 40), interpolation=cv2.INTER_CUBIC)
        pixels[30:70, left : left + 30] = face[:, :, None]
    return pixels


class Fake:
    """Detects the given faces; those near an edge are too poor."""

    def __init__(self, *scenes):
        self.scenes = [tuple(scene) for scene in scenes]

    def frames(self, camera="door"):
        for index, faces in enumerate(self.scenes):
            self.now = faces
            yield Frame(camera, index, index / 25, scene(*faces))

    def detect(self, pixels):
        return [FaceBox(left, 30, 30, 40) for _, left in self.now]

    def judge(self, pixels, box):
        return Refusal("too dark", 1, 4) if box.left < 10 or box.left > 120 else None

    def record(self, folder, ask, frames=None, **options):
        recorder = Recorder(folder, detect=self.detect, judge=self.judge, ask=ask, **options)
        for frame in frames or self.frames():
            recorder.see(frame)
        return recorder


def answers(*names):
    waiting = list(names)
    return lambda face: waiting.pop(0)


def listed(folder):
    return [(each.camera, each.person, each.frame) for each in read_dataset(folder).pictures]


def test_whoever_appears_is_asked_about_once(tmp_path):
    fake = Fake(*[[(1, 40 + step)] for step in range(3)], [], [], [], *[[(2, 90)]] * 2)
    recorder = fake.record(tmp_path / "d", answers("ana", ""))
    assert listed(tmp_path / "d") == [
        *(("door", "ana", index) for index in range(3)),
        *(("door", None, index) for index in (6, 7)),
    ]
    assert (recorder.counts.saved, recorder.counts.empty) == (5, 3)
    assert recorder.counts.people == {"ana": 3, None: 2}


def test_a_face_that_steps_where_another_stood_is_asked_about(tmp_path):
    fake = Fake(*[[(1, 40)]] * 3, *[[(2, 41)]] * 3)
    fake.record(tmp_path / "d", answers("ana", "ben"))
    assert [person for _, person, _ in listed(tmp_path / "d")] == ["ana"] * 3 + ["ben"] * 3


def test_while_somebody_types_a_live_camera_goes_on(tmp_path):
    """A hundred frames were dropped: the same face in the same place is not asked about again."""
    fake = Fake([(1, 40)], [(1, 42)])
    frames = list(fake.frames())
    later = [frames[0], Frame("door", 100, 4.0, frames[1].pixels)]
    fake.record(tmp_path / "d", answers("ana"), later)
    assert listed(tmp_path / "d") == [("door", "ana", 0), ("door", "ana", 100)]


def test_frames_of_several_people_and_poor_faces_are_counted_and_nobody_is_asked(tmp_path):
    fake = Fake([(1, 40), (2, 90)], [(3, 0)], [(3, 0), (4, 110)])
    recorder = fake.record(tmp_path / "d", answers())
    assert (recorder.counts.several, recorder.counts.poor) == (1, 2)
    assert not (tmp_path / "d").exists()


def test_whoever_was_named_stays_named_in_a_poor_frame(tmp_path):
    fake = Fake([(1, 14)], [(1, 8)], [(1, 4), (5, 125)])
    recorder = fake.record(tmp_path / "d", answers("ana"))
    assert recorder.counts.people == {"ana": 3}


def test_each_nth_frame_is_kept_but_all_are_followed(tmp_path):
    fake = Fake(*[[(1, 20 + 8 * step)] for step in range(10)])
    fake.record(tmp_path / "d", answers("ana"), every=3)
    assert [frame for _, _, frame in listed(tmp_path / "d")] == [0, 3, 6, 9]


def test_a_second_recording_continues_the_first_and_overwrites_nothing(tmp_path):
    fake = Fake(*[[(1, 40)]] * 3)
    fake.record(tmp_path / "d", answers("ana"))
    before = {path: path.read_bytes() for path in (tmp_path / "d").rglob("*.jpg")}
    fake.record(tmp_path / "d", answers("ben"))
    fake.record(tmp_path / "d", answers("eve"), fake.frames("yard"))
    fake.record(tmp_path / "d", answers("eve"), recording="again")
    assert listed(tmp_path / "d") == [
        *(("door", "ana", index) for index in range(3)),
        *(("door", "ben", index) for index in range(3, 6)),
        *(("yard", "eve", index) for index in range(3)),
        *(("door", "eve", index) for index in range(3)),
    ]
    assert all(path.read_bytes() == content for path, content in before.items())


def test_a_picture_that_nobody_listed_is_not_overwritten(tmp_path):
    """The power went between the picture and its line."""
    fake = Fake([(1, 40)])
    fake.record(tmp_path / "d", answers("ana"))
    stray = tmp_path / "d" / "recorded" / "door" / "0001.jpg"
    stray.write_bytes(b"half a pict")
    fake.record(tmp_path / "d", answers("ana"))
    assert listed(tmp_path / "d") == [("door", "ana", 0), ("door", "ana", 2)]
    assert stray.read_bytes() == b"half a pict"
    with pytest.raises(BadValue, match="is there already"):
        Appender(tmp_path / "d").add("recorded", "door", "ana", 1, WALL)


def test_a_folder_that_is_not_a_dataset_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(BadValue, match="neither empty nor a dataset"):
        Appender(tmp_path)
    with pytest.raises(BadValue, match="neither empty nor a dataset"):
        Appender(tmp_path / "letter.txt")
    (tmp_path / MANIFEST).write_text("set,camera\n")
    with pytest.raises(BadValue, match="column person is missing"):
        Appender(tmp_path)


def test_somebody_elses_order_of_columns_and_missing_line_end_are_respected(tmp_path):
    Fake([(1, 40)]).record(tmp_path / "d", answers("ana"))
    text = "path,frame,person,camera,set\nrecorded/door/0000.jpg,0,ana,door,recorded"
    (tmp_path / "d" / MANIFEST).write_text(text)
    Fake([(1, 40)]).record(tmp_path / "d", answers("ben"))
    assert listed(tmp_path / "d") == [("door", "ana", 0), ("door", "ben", 1)]


@pytest.mark.parametrize("moment", range(4))
@pytest.mark.parametrize("end", [KeyboardInterrupt, RecordingStopped])
def test_stopped_at_any_question_the_dataset_is_valid(tmp_path, moment, end):
    fake = Fake(*([(1 + index % 2, 40)] for index in range(4)))
    questions = iter(range(4))

    def ask(face):
        if next(questions) == moment:
            raise end
        return "ana"

    with pytest.raises(end):
        fake.record(tmp_path / "d", ask)
    if moment:
        assert len(listed(tmp_path / "d")) == moment
    fake.record(tmp_path / "d", lambda face: "ben")
    assert len(listed(tmp_path / "d")) == moment + 4


def test_ctrl_c_between_the_picture_and_its_line_waits(tmp_path, monkeypatch):
    appender = Appender(tmp_path / "d")
    append = Appender._append

    def interrupted(self, row):
        signal.raise_signal(signal.SIGINT)
        append(self, row)

    monkeypatch.setattr(Appender, "_append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        appender.add("recorded", "door", "ana", 0, WALL)
    assert listed(tmp_path / "d") == [("door", "ana", 0)]


HOSTILE = st.text(max_size=30) | st.sampled_from(
    [
        "../../etc/passwd",
        "/root",
        "a,b",
        'say "hi"',
        "a\nb",
        "a\u2028b",
        "a\x85b",
        "\x00",
        "🦊/👩‍👩‍👧",
        "\ud800",
        "CON",
    ]
)


@given(person=HOSTILE, camera=HOSTILE, recording=HOSTILE)
def test_no_name_becomes_a_path_or_breaks_the_manifest(tmp_path_factory, person, camera, recording):
    folder = tmp_path_factory.mktemp("root") / "d"
    fake = Fake([(1, 40)], [(1, 40)])
    name = clean(recording)
    if name is None:
        with pytest.raises(BadValue, match="needs a name"):
            fake.record(folder, answers(person), recording=recording)
        return
    fake.record(folder, answers(person), fake.frames(camera), recording=recording)
    dataset = read_dataset(folder)
    assert [each.person for each in dataset.pictures] == [clean(person)] * 2
    assert {each.set for each in dataset.pictures} == {name}
    assert [path.name for path in folder.parent.iterdir()] == ["d"]
    for picture in dataset.pictures:
        assert len(picture.path.resolve().relative_to(folder.resolve()).parts) == 3


def test_a_film_is_recorded_as_it_was(tmp_path):
    """Real faces and cuts from one to the next: nearly all are noticed, and asked about."""
    truths = write_video(tmp_path / "film.mp4", islice(scenario("V1", seed=1, frames=240), 64))
    questions, seen = [], []

    def ask(face):
        questions.append(face.shape)
        return truths[seen[-1]].person

    finder = FaceFinder()
    recorder = Recorder(tmp_path / "d", detect=finder.detect, judge=finder.judge, ask=ask)
    with frames_from(f"hall={tmp_path / 'film.mp4'}") as frames:
        for frame in frames:
            seen.append(frame.index)
            recorder.see(frame)
    rows = listed(tmp_path / "d")
    assert recorder.counts.saved == len(rows) >= 60
    assert all(person == truths[index].person for _, person, index in rows)
    assert 3 <= len(questions) <= 4
