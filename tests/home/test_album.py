"""A picture is stored as long as its vertex exists, and only if the face stays."""

import numpy as np
import pytest

from helpers.homes import change_database, opened, png, stream
from onlooker.core.errors import BadValue
from onlooker.home.album import LARGEST, as_png, as_small_picture
from onlooker.home.database import HomeDamaged


def test_a_picture_lives_as_long_as_its_vertex(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana", picture=png(0))
        for number, (x, _) in enumerate(stream(4, 80, people=1)):
            near = (x * 0.05).astype(np.float32)
            home.observe(near, camera="door", frame=number, picture=lambda n=number: png(n + 1))
        alive = set(home.vertices().ids.tolist())
        assert set(home.album.vertices()) == alive
        assert home.album.picture(0) == png(0)
        home.drop(max(alive))
        assert set(home.album.vertices()) == alive - {max(alive)}


def test_no_picture_is_made_of_a_face_that_does_not_stay(tmp_path):
    made = []
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.observe(np.zeros(8), camera="door", frame=0, picture=lambda: made.append(1) or png())
        home.observe(np.full(8, 99.0), camera="door", frame=1, picture=lambda: made.append(1))
    assert made == []


def test_a_damaged_picture_is_not_shown(tmp_path):
    home = opened(tmp_path)
    home.teach(np.zeros(8), "ana", picture=png())
    home.close()
    change_database(tmp_path, "UPDATE pictures SET crc = crc + 1")
    with opened(tmp_path) as home, pytest.raises(HomeDamaged, match="picture of vertex 0"):
        home.album.picture(0)


def test_a_picture_that_cannot_be_made_changes_nothing(tmp_path):
    def broken():
        raise RuntimeError("no picture")

    with opened(tmp_path) as home:
        with pytest.raises(RuntimeError):
            home.teach(np.zeros(8), "ana", picture=broken)
        assert (len(home.learner), home.sequence) == (0, 0)


def test_a_face_that_was_learned_before_it_is_taught_gets_the_picture_it_is_taught_with(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        vertex = home.observe(np.full(8, 0.1), camera="door", frame=0).vertex
        home.teach(np.full(8, 0.1), "ben", picture=png(3))
        assert home.album.picture(vertex) == png(3)


@pytest.mark.parametrize("read", [as_png, as_small_picture])
def test_a_picture_is_as_large_as_the_message_says_at_most(read):
    largest = png() + bytes(LARGEST - len(png()))
    assert read(largest) == largest
    with pytest.raises(BadValue, match=f"at most {LARGEST} bytes"):
        read(largest + b"x")
