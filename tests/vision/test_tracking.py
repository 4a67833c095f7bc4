"""Boxes that overlap in consecutive frames are one face; its name is a vote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.vision.tracking import RECENT, Tracker, overlap
from onlooker.vision.types import FaceBox

sizes = st.floats(1, 100)
boxes = st.builds(FaceBox, st.floats(-50, 50), st.floats(-50, 50), sizes, sizes)


@given(a=boxes, b=boxes)
def test_overlap_is_symmetric_and_a_share(a, b):
    assert overlap(a, b) == pytest.approx(overlap(b, a))
    assert 0 <= overlap(a, b) <= 1 + 1e-9
    assert overlap(a, a) == pytest.approx(1)


def moved(step):
    return FaceBox(10 + 3 * step, 20, 40, 40)


def test_a_face_that_moves_a_little_keeps_its_track():
    tracks = Tracker()
    assert {tracks.follow("door", step, [moved(step)])[0].number for step in range(20)} == {1}


def test_a_face_elsewhere_is_a_new_track():
    tracks = Tracker()
    first = tracks.follow("door", 0, [moved(0)])[0].number
    assert tracks.follow("door", 1, [FaceBox(300, 20, 40, 40)])[0].number != first


def test_a_face_that_was_away_too_long_is_a_new_track():
    tracks = Tracker(patience=2)
    first = tracks.follow("door", 0, [moved(0)])[0].number
    for step in (1, 2):
        assert tracks.follow("door", step, []) == []
    assert tracks.follow("door", 3, [moved(0)])[0].number != first


def test_a_computer_that_drops_frames_still_follows_a_face():
    tracks = Tracker(patience=2)
    shown = [(0, True), (5, True), (11, False), (17, True)]
    boxes = [tracks.follow("door", at, [moved(0)] if face else []) for at, face in shown]
    assert {found[0].number for found in boxes if found} == {1}


def test_a_face_after_a_second_without_a_frame_is_a_new_track():
    tracks = Tracker()
    for step, number in [(0, 1), (RECENT, 1), (2 * RECENT + 1, 2), (0, 3)]:
        assert tracks.follow("door", step, [moved(0)])[0].number == number


def test_a_face_that_is_hidden_for_a_frame_keeps_its_track():
    tracks = Tracker(patience=2)
    first = tracks.follow("door", 0, [moved(0)])[0].number
    assert tracks.follow("door", 1, []) == []
    assert tracks.follow("door", 2, [moved(0)])[0].number == first


def test_a_face_that_jumps_begins_a_track_that_continues_the_lost_one():
    tracks = Tracker()
    (first,) = tracks.follow("door", 0, [FaceBox(10, 20, 40, 40)])
    (second,) = tracks.follow("door", 1, [FaceBox(10, 55, 40, 40)])
    (third,) = tracks.follow("door", 1 + RECENT, [FaceBox(10, 25, 40, 40)])
    assert first.continues is None
    assert (second.number, second.continues) == (2, first.number)
    assert (third.number, third.continues) == (3, second.number)


@pytest.mark.parametrize(("frame", "left"), [(1 + RECENT, 45), (1, 100)])
def test_a_face_much_later_or_elsewhere_continues_no_track(frame, left):
    tracks = Tracker()
    tracks.follow("door", 0, [FaceBox(10, 20, 40, 40)])
    (new,) = tracks.follow("door", frame, [FaceBox(left, 20, 40, 40)])
    assert (new.number, new.continues) == (2, None)


def test_a_face_beside_one_that_is_followed_continues_nobody():
    tracks = Tracker()
    tracks.follow("door", 0, [FaceBox(10, 20, 40, 40)])
    same, new = tracks.follow("door", 1, [FaceBox(10, 20, 40, 40), FaceBox(40, 20, 40, 40)])
    assert (same.number, new.number, new.continues) == (1, 2, None)


def test_a_lost_track_is_continued_by_one_face_of_a_frame():
    tracks = Tracker()
    (lost,) = tracks.follow("door", 0, [FaceBox(100, 20, 40, 40)])
    far, near = tracks.follow("door", 1, [FaceBox(40, 20, 40, 40), FaceBox(130, 20, 40, 40)])
    assert (far.continues, near.continues) == (None, lost.number)


def test_cameras_do_not_share_tracks():
    tracks = Tracker()
    assert (
        tracks.follow("a", 0, [moved(0)])[0].number != tracks.follow("b", 0, [moved(0)])[0].number
    )


def test_two_faces_that_cross_are_followed_by_their_best_overlap():
    tracks = Tracker()
    left, right = tracks.follow("door", 0, [FaceBox(0, 0, 40, 40), FaceBox(60, 0, 40, 40)])
    again = tracks.follow("door", 1, [FaceBox(55, 0, 40, 40), FaceBox(5, 0, 40, 40)])
    assert [track.number for track in again] == [right.number, left.number]


def test_a_camera_that_left_has_no_tracks_and_the_others_keep_theirs():
    tracks = Tracker()
    gone = tracks.follow("door", 0, [moved(0)])[0].number
    stays = tracks.follow("hall", 0, [moved(0)])[0].number
    tracks.camera_removed("door")
    tracks.camera_removed("never there")
    assert tracks.follow("door", 1, [moved(0)])[0].number not in (gone, stays)
    assert tracks.follow("hall", 1, [moved(0)])[0].number == stays
