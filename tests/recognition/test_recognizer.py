"""Frames in, sightings out, with a detector and features made up and everything else real.

Names from videos are learned with the real detector and features, from simulated cameras.
"""

from collections import deque
from dataclasses import dataclass
from functools import partial
from itertools import islice

import cv2
import numpy as np
import pytest

from onlooker import HeatKernel, OnlineHarmonicLearner, OnlookerError
from onlooker.core.similarity import Euclidean, squared_distances
from onlooker.home.audit import audit
from onlooker.home.home import Home
from onlooker.home.reopen import reopen
from onlooker.recognition import enrolment
from onlooker.recognition.recognizer import VOTES, FaceRecognizer, majority
from onlooker.simulation.filming import Truth
from onlooker.simulation.scenarios import scenario, write_video
from onlooker.video.sources import frames_from
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.types import FaceBox, Frame, Refusal

DARK = Refusal("too dark", 3.0, 40.0)


def detect(pixels):
    """White frames around faces mark them: every face is a square of one grey on black."""
    _, mask = cv2.threshold(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY), 5, 255, cv2.THRESH_BINARY)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    boxes = [FaceBox(*map(float, cv2.boundingRect(contour))) for contour in contours]
    return sorted(boxes, key=lambda box: box.left)


@dataclass(frozen=True)
class Grey:
    """The grey of a face as its only feature."""

    tag: str = "grey"
    distance = Euclidean()

    def __call__(self, pixels, box):
        x, y = map(int, box.center)
        return np.array([pixels[y, x, 0] / 255.0], dtype=np.float32)


def judge(pixels, box):
    return DARK if Grey()(pixels, box)[0] < 0.1 else None


def finder_of(detector):
    return FaceFinder(parts=FinderParts(detector, Grey(), judge))


FINDER = finder_of(detect)


def scene(*faces):
    """A picture with faces of these greys side by side."""
    pixels = np.zeros((60, 300, 3), np.uint8)
    for place, grey in enumerate(faces):
        pixels[10:50, 20 + 70 * place : 60 + 70 * place] = grey
    return pixels


def recognizer(**options):
    learner = OnlineHarmonicLearner(HeatKernel(0.03, 1e-4), features="grey")
    found = FaceRecognizer(learner, FINDER, **options)
    learner.teach(np.array([0.4], np.float32), "ana")
    learner.teach(np.array([0.9], np.float32), "ben")
    return found


def frame(index, *faces):
    return Frame("door", index, index / 25, scene(*faces))


def test_every_face_gets_a_sighting_with_its_name_box_and_track():
    ana, ben = recognizer().see(frame(0, 104, 228))
    assert (ana.name, ben.name) == ("ana", "ben")
    assert ana.box.left < ben.box.left
    assert ana.track != ben.track
    assert (ana.camera, ana.frame, ana.time) == ("door", 0, 0.0)


def test_a_person_who_changes_slowly_stays_known_and_a_stranger_stays_nobody():
    watched = recognizer()
    for index, grey in enumerate(range(102, 150, 3)):
        (seen,) = watched.see(frame(index, grey))
        assert seen.answer.label == "ana"
    (stranger,) = watched.see(frame(100, 190))
    assert stranger.name is None
    assert stranger.answer.label is None


def test_looking_without_learning_leaves_no_trace():
    watched = recognizer()
    before = len(watched.learner)
    watched.see(frame(0, 110), learn=False)
    assert len(watched.learner) == before


def test_a_poor_face_is_reported_with_the_reason_and_neither_named_nor_learned():
    watched = recognizer()
    before = len(watched.learner)
    (seen,) = watched.see(frame(0, 20))
    assert (seen.name, seen.answer, seen.refusal) == (None, None, DARK)
    assert len(watched.learner) == before


def test_a_track_keeps_its_name_through_a_face_that_nobody_knows():
    watched = recognizer()
    for index in range(3):
        watched.see(frame(index, 104))
    (seen,) = watched.see(frame(3, 190))
    assert seen.name == "ana"
    assert seen.answer.label is None


def test_a_stranger_who_steps_where_somebody_stood_does_not_inherit_the_name():
    watched = recognizer()
    for index in range(30):
        watched.see(frame(index, 104))
    names = [watched.see(frame(30 + index, 190))[0].name for index in range(15)]
    assert names[-1] is None


def test_two_faces_in_one_frame_are_two_people_if_asked():
    first, second = recognizer(one_each=True).see(frame(0, 110, 103))
    assert first.answer.label is None
    assert second.answer.label == "ana"
    both = recognizer().see(frame(0, 110, 103))
    assert [seen.answer.label for seen in both] == ["ana", "ana"]


def test_the_face_that_lost_its_name_is_not_learned():
    watched = recognizer(one_each=True)
    before = watched.learner.vertices().multiplicities.sum()
    watched.see(frame(0, 110, 103))
    assert watched.learner.vertices().multiplicities.sum() == before + 1


def test_other_features_than_the_learner_knows_are_refused():
    learner = OnlineHarmonicLearner(HeatKernel(0.03, 1e-4), features="pixels")
    with pytest.raises(OnlookerError, match=r"'pixels'.*'grey'"):
        FaceRecognizer(learner, FINDER)


# ---- around a home


class Cards:
    """Strangers on paper; a face that may not start a card has none."""

    def __init__(self):
        self.met_faces = []

    def observe(self, vector, *, camera, frame, picture, quality, likely, candidate, starts):
        self.met_faces.append((camera, frame, picture()[:4], quality))
        self.likely, self.candidate, self.starts = likely, candidate, starts
        return len(self.met_faces) if starts else None


@pytest.fixture
def home(tmp_path):
    learner = partial(OnlineHarmonicLearner, HeatKernel(0.03, 1e-4), features="grey")
    with Home(tmp_path / "home", new_learner=learner) as opened:
        opened.teach(np.array([0.4], np.float32), "ana")
        opened.teach(np.array([0.9], np.float32), "ben")
        yield opened


@pytest.mark.parametrize("one_each", [False, True])
def test_a_home_gives_the_same_sightings_as_a_learner(home, one_each):
    learner, durable = (
        recognizer(one_each=one_each),
        FaceRecognizer(home, FINDER, one_each=one_each),
    )
    greys = np.random.default_rng(0).integers(15, 250, (60, 3))
    for index, faces in enumerate(greys.tolist()):
        assert durable.see(frame(index, *faces)) == learner.see(frame(index, *faces))
    assert len(home.learner) == len(learner.learner) > 4


def test_two_faces_of_a_frame_with_one_name_are_on_record_once(home):
    watched = FaceRecognizer(home, FINDER, one_each=True, every_face=True)
    for index in range(4):
        watched.see(frame(index, 110, 103))
    (event,) = home.events(kind="twice")
    ((kind, surer, other, name),) = event.changes
    assert (kind, name, event.camera, event.frame) == ("twice", "ana", "door", 0)
    assert {surer, other} <= set(home.vertices().ids.tolist())
    (pair,) = audit(home.learner, refused=0, events=[event]).twice
    assert (pair.name, pair.surer, pair.other) == ("ana", surer, other)
    home.teach(np.array([103 / 255], np.float32), not_name="ana")
    reopened = home.folder
    home.close()
    with reopen(reopened) as again:
        assert again.problems == ()
        assert [event.kind for event in again.events()].count("twice") == 1


def test_a_home_records_each_name_of_a_track_once(home):
    watched = FaceRecognizer(home, FINDER)
    for index in range(5):
        watched.see(frame(index, 104, 228))
    rows = home.album.sightings()
    assert sorted((row.camera, row.frame, row.name) for row in rows) == [
        ("door", 0, "ana"),
        ("door", 0, "ben"),
    ]


def test_faces_that_a_home_does_not_know_go_to_the_strangers(home):
    cards = Cards()
    watched = FaceRecognizer(home, FINDER, strangers=cards)
    known, unknown, poor = watched.recognize(frame(0, 104, 190, 20)).faces
    assert (known.card, unknown.card, poor.card) == (None, 1, None)
    assert cards.met_faces == [("door", 0, b"\x89PNG", 1600.0)]
    assert known.vertex in home.vertices().ids
    assert (unknown.vertex, poor.vertex) == (None, None)


def test_a_face_beyond_the_trust_radius_is_no_name_but_a_candidate(tmp_path):
    kernel, cards = HeatKernel(0.03, 1e-4), Cards()
    learner = partial(OnlineHarmonicLearner, kernel, features="grey", trust_radius=0.05)
    with Home(tmp_path / "home", new_learner=learner) as home:
        home.teach(np.array([0.4], np.float32), "ana")
        watched = FaceRecognizer(home, FINDER, strangers=cards)
        (near,) = watched.recognize(frame(0, 110)).faces
        assert (near.sighting.name, near.card) == ("ana", None)
        (far,) = watched.recognize(frame(100, 120)).faces
        assert (far.sighting.name, far.sighting.answer.candidate) == (None, "ana")
        assert (far.card, far.vertex, cards.candidate) == (1, None, "ana")
        assert len(home.vertices().ids) == 2  # not learned


def test_the_next_face_of_a_track_is_likely_the_same_stranger(home):
    cards = Cards()
    watched = FaceRecognizer(home, FINDER, strangers=cards)
    first = watched.recognize(frame(0, 190)).faces[0]
    assert cards.likely is None
    watched.see(frame(1, 191))
    assert cards.likely == first.card
    watched.see(frame(2, 104))  # the track was somebody known in between
    watched.see(frame(3, 190))
    assert (cards.likely, cards.starts) == (None, True)


def test_a_single_face_unlike_the_others_of_its_track_starts_no_card(home):
    cards = Cards()
    watched = FaceRecognizer(home, FINDER, strangers=cards)
    first = watched.recognize(frame(0, 190)).faces[0]
    blurred = watched.recognize(frame(1, 150)).faces[0]
    assert (cards.likely, cards.starts, blurred.card) == (first.card, False, None)
    watched.see(frame(2, 60))  # as unlike the first, and unlike the second
    assert (cards.likely, cards.starts) == (first.card, False)
    another = watched.recognize(frame(3, 61)).faces[0]  # two alike: somebody took the place
    assert (cards.starts, another.card) == (True, 4)


def test_a_face_that_jumps_out_of_its_track_starts_no_card_until_there_are_two(home):
    """A lively face that is lost for a moment and found a little farther on, blurred."""
    cards = Cards()
    watched = FaceRecognizer(home, FINDER, strangers=cards)
    before = watched.recognize(frame(0, 190)).faces[0]
    jumped = np.roll(scene(190), 35, axis=1)
    after = watched.recognize(Frame("door", 5, 0.2, jumped)).faces[0]
    assert after.sighting.track != before.sighting.track
    assert (cards.likely, cards.starts) == (None, False)
    watched.see(Frame("door", 6, 0.24, jumped))
    assert (cards.likely, cards.starts) == (None, True)
    watched.see(Frame("door", 7, 0.28, np.roll(jumped, 150, axis=1)))  # somebody elsewhere
    assert (cards.likely, cards.starts) == (None, True)


def test_a_face_that_jumps_out_of_its_track_does_not_take_the_name_along(home):
    watched = FaceRecognizer(home, FINDER)
    assert watched.see(frame(0, 104))[0].name == "ana"
    (jumped,) = watched.see(Frame("door", 1, 0.04, np.roll(scene(190), 35, axis=1)))
    assert (jumped.track, jumped.name) == (2, None)


def test_a_home_is_not_changed_without_learning(home):
    cards, before = Cards(), home.sequence
    watched = FaceRecognizer(home, FINDER, strangers=cards)
    assert [seen.name for seen in watched.see(frame(0, 104, 190), learn=False)] == ["ana", None]
    assert (home.sequence, cards.met_faces) == (before, [])


@pytest.mark.parametrize(
    ("votes", "name"),
    [
        ([], None),
        (["ana"], "ana"),
        (["ana", "ana", "ben"], "ana"),
        (["ana", "ben"], None),
        (["ana", None], None),
        (["ana", "ana", None], "ana"),
        (["ana"] * 20 + [None] * 8, None),
    ],
)
def test_the_name_that_is_ahead_is_announced(votes, name):
    assert majority(deque(votes, maxlen=VOTES)) == name


def test_votes_from_before_a_correction_do_not_count():
    watched = recognizer()
    for index in range(5):
        watched.see(frame(index, 104))
    watched.clear_votes()
    (seen,) = watched.see(frame(5, 190))
    assert seen.name is None


def save(path, *faces):
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), scene(*faces))
    return path


def test_a_folder_of_people_is_enrolled(tmp_path):
    for number, grey in enumerate((60, 62, 64, 66)):
        save(tmp_path / "cleo" / f"{number}.png", grey)
    save(tmp_path / "dan.png", 160)
    watched = recognizer()
    assert watched.enrol_folder(tmp_path) == {"cleo": 4, "dan": 1}
    assert watched.see(frame(0, 63))[0].name == "cleo"
    assert watched.see(frame(90, 160))[0].name == "dan"


@pytest.mark.parametrize(
    ("faces", "words"), [((), "no face"), ((60, 160), "2 faces"), ((20,), "too dark")]
)
def test_a_bad_picture_is_named_and_nobody_of_its_set_is_taught(tmp_path, faces, words):
    good, bad = save(tmp_path / "good.png", 60), save(tmp_path / "bad.png", *faces)
    watched = recognizer()
    before = len(watched.learner)
    with pytest.raises(OnlookerError, match=rf"bad\.png.*{words}"):
        watched.enrol("cleo", [good, bad])
    assert len(watched.learner) == before


def test_an_empty_folder_says_what_it_needs(tmp_path):
    with pytest.raises(OnlookerError, match="NAME"):
        recognizer().enrol_folder(tmp_path)


def test_a_face_that_was_seen_can_be_named():
    watched = recognizer()
    picture = scene(180)
    watched.teach(picture, detect(picture)[0], "eve")
    assert watched.see(frame(0, 181))[0].name == "eve"


def test_a_bad_picture_of_one_person_leaves_nobody_of_the_folder_taught(tmp_path):
    save(tmp_path / "cleo.png", 60)
    save(tmp_path / "dan.png")
    watched = recognizer()
    with pytest.raises(OnlookerError, match=r"dan\.png.*no face"):
        watched.enrol_folder(tmp_path)
    assert watched.learner.names == ("ana", "ben")


def test_a_picture_that_has_another_name_already_leaves_nobody_taught(tmp_path):
    watched = recognizer()
    watched.enrol("cleo", [save(tmp_path / "cleo.png", 60)])
    files = [save(tmp_path / "new.png", 160), tmp_path / "cleo.png"]
    before = watched.learner.vertices().multiplicities.sum()
    with pytest.raises(OnlookerError, match=r"'cleo'.*'dan'"):
        watched.enrol("dan", files)
    assert watched.learner.names == ("ana", "ben", "cleo")
    assert watched.learner.vertices().multiplicities.sum() == before


# ---- names from videos


def write(path, pictures):
    """A video of pictures; they are enlarged to what a camera shows."""
    frames = [
        Frame("door", index, index / 25, cv2.resize(pixels, (640, 480)))
        for index, pixels in enumerate(pictures)
    ]
    write_video(path, [(frame, Truth(None, "hall", FaceBox(0, 0, 1, 1))) for frame in frames])
    return path


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """ana.mp4 shows one person, ben.mp4 another; later.mp4 ana a moment later, then ben."""
    folder = tmp_path_factory.mktemp("videos")
    scenes = scenario("V1")
    write_video(folder / "ana.mp4", islice(scenes, 20))
    truths = write_video(folder / "later.mp4", islice(scenes, 20))
    assert len({truth.person for truth in truths[:10]}) == 1
    assert truths[9].person != truths[10].person
    write_video(folder / "ben.mp4", islice(scenario("V1"), 30, 40))
    write(folder / "wall.mp4", [np.full((60, 80, 3), 90, np.uint8)] * 5)
    return folder


def watching_pixels():
    pixels = PixelFeatures()
    kernel = HeatKernel(0.025, 1e-8, pixels.distance)
    learner = OnlineHarmonicLearner(kernel, features=pixels.tag)
    return FaceRecognizer(learner, FaceFinder(kind="pixels"))


def names_in(watched, video):
    with frames_from(video) as frames:
        return [[seen.answer.label for seen in watched.see(frame)] for frame in frames]


def test_who_is_enrolled_from_a_video_is_known_later_and_nobody_else_is(videos):
    watched = watching_pixels()
    assert watched.enrol("ana", [videos / "ana.mp4"]) == 4
    names = names_in(watched, videos / "later.mp4")
    assert names == [["ana"]] * 10 + [[None]] * 10


@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_faces_of_a_video_are_as_many_as_asked_for_and_spread_out(videos, count):
    """Farthest first: every face left out is as near to a chosen one as the chosen are apart."""
    one, all_of_it = watching_pixels(), watching_pixels()
    assert one.enrol("ana", [videos / "ana.mp4"], faces_per_video=count) == count
    all_of_it.enrol("ana", [videos / "ana.mp4"], faces_per_video=100)
    chosen = one.learner.vertices().vectors.astype(float)
    everybody = all_of_it.learner.vertices().vectors.astype(float)
    distance = PixelFeatures().distance
    gaps = np.array([squared_distances(distance, vector, everybody) for vector in chosen])
    apart = np.array([squared_distances(distance, vector, chosen) for vector in chosen])
    assert len(everybody) > 10
    assert gaps.min(axis=0).max() <= apart[~np.eye(count, dtype=bool)].min(initial=np.inf)


def test_a_long_video_is_thinned_out_evenly_and_its_memory_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(enrolment, "CANDIDATES", 10)
    looked_at = []

    def looking(pixels):
        found = detect(pixels)
        looked_at.extend(Grey()(pixels, box)[0] for box in found)
        return found

    learner = OnlineHarmonicLearner(HeatKernel(0.03, 1e-4), features="grey")
    watched = FaceRecognizer(learner, finder_of(looking))
    video = write(tmp_path / "long.mp4", [scene(40 + 2 * step) for step in range(100)])
    assert watched.enrol("ana", [video], faces_per_video=1000) <= 10
    assert len(looked_at) < 50
    greys = np.sort(255 * learner.vertices().vectors[:, 0])
    assert greys[0] < 50
    assert greys[-1] > 200
    assert np.diff(greys).max() <= 4 * np.diff(greys).min()


def test_a_video_in_which_nothing_moves_teaches_one_face(tmp_path):
    watched = recognizer()
    assert watched.enrol("cleo", [write(tmp_path / "still.mp4", [scene(60)] * 5)]) == 1


def test_frames_with_several_or_poor_faces_are_skipped(tmp_path):
    watched = recognizer()
    video = write(tmp_path / "mixed.mp4", [scene(), scene(60, 160), scene(60), scene(20)])
    assert watched.enrol("cleo", [video]) == 1


def test_a_video_without_a_single_good_face_says_why(videos, tmp_path):
    watched = recognizer()
    before = len(watched.learner)
    video = write(tmp_path / "bad.mp4", [scene(), scene(60, 160), scene(60, 160), scene(20)])
    words = r"bad\.mp4.*of 4, 1 show none, 2 several, 1 a poor one \(too dark\)"
    with pytest.raises(OnlookerError, match=words):
        watched.enrol("cleo", [save(tmp_path / "good.png", 60), video])
    assert len(watched.learner) == before
    with pytest.raises(OnlookerError, match=r"wall\.mp4.*of 5, 5 show none"):
        watching_pixels().enrol("cleo", [videos / "wall.mp4"])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("form", ["mp4", "ts"])
def test_a_video_that_was_cut_short_is_used_or_refused_by_name(videos, tmp_path, share, form):
    whole, cut = tmp_path / f"whole.{form}", tmp_path / f"cut.{form}"
    with frames_from(videos / "ana.mp4") as frames:
        write(whole, [frame.pixels for frame in frames])
    cut.write_bytes(whole.read_bytes()[: int(share * whole.stat().st_size)])
    watched = watching_pixels()
    taught, problem = tried(watched, cut)
    assert taught in range(1, 5) or f"cut.{form}" in problem
    assert len(watched.learner) == taught
    if form == "ts" and share >= 0.5:
        assert taught, "the frames of a transport stream that are there can be read"


def tried(watched, file):
    try:
        return watched.enrol("ana", [file]), ""
    except OnlookerError as error:
        return 0, str(error)


def test_people_in_a_folder_may_be_videos(videos, tmp_path):
    (tmp_path / "ana").mkdir()
    (tmp_path / "ana" / "walk.mp4").write_bytes((videos / "ana.mp4").read_bytes())
    (tmp_path / "ben.MP4").write_bytes((videos / "ben.mp4").read_bytes())
    assert watching_pixels().enrol_folder(tmp_path) == {"ana": 4, "ben": 4}


def test_a_missing_video_is_named_and_no_other_source_is_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.mp4", [scene(60)])
    for name in ("none.mp4", "door=a.mp4", "http:a.mp4"):
        with pytest.raises(OnlookerError, match=name):
            recognizer().enrol("cleo", [name])


@pytest.mark.parametrize("count", [0, -1, 1.5, "4"])
def test_a_number_of_faces_that_makes_no_sense_is_refused(videos, count):
    with pytest.raises(OnlookerError, match="faces_per_video"):
        watching_pixels().enrol("ana", [videos / "ana.mp4"], faces_per_video=count)
