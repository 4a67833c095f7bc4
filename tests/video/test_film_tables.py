"""What the tables of a film say is read as FFmpeg reads it, and any other file has none."""

import struct

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.recordings import write_video
from onlooker.video.film_tables import MOST_BOXES, claimed_frames


def frames_by_ffmpeg(path):
    with av.open(str(path)) as container:
        return container.streams.video[0].frames


@pytest.mark.parametrize("count", [1, 7, 40])
def test_the_tables_of_a_film_say_how_many_frames_it_has(tmp_path, count):
    path = write_video(tmp_path / "v.mp4", [80] * count)
    assert claimed_frames(path) == frames_by_ffmpeg(path) == count


def test_fragments_are_looked_at_too(tmp_path):
    """A fragment says how many frames follow; without sizes of their own they take no bytes."""
    whole = write_video(tmp_path / "v.mp4", [80] * 3).read_bytes()
    run = struct.pack(">I4sII", 16, b"trun", 0, 9_000_000)
    fragment = struct.pack(">I4s", 8 + len(run), b"moof") + run
    path = tmp_path / "f.mp4"
    path.write_bytes(whole + fragment)
    assert claimed_frames(path) == 9_000_000


def test_headers_of_64_bits_and_to_the_end_of_the_file_are_looked_at(tmp_path):
    table = struct.pack(">I4sIII", 20, b"stsz", 0, 1, 5_000_000)
    path = tmp_path / "f.mp4"
    path.write_bytes(struct.pack(">I4sQ", 1, b"free", 16) + struct.pack(">I4s", 0, b"moov") + table)
    assert claimed_frames(path) == 5_000_000


def test_a_file_of_nothing_but_boxes_ends(tmp_path):
    path = tmp_path / "f.mp4"
    path.write_bytes(struct.pack(">I4s", 8, b"free") * (MOST_BOXES + 5))
    assert claimed_frames(path) == 0


@given(content=st.binary(max_size=64))
def test_any_other_file_says_nothing_and_is_no_error(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.bin"
    path.write_bytes(content)
    assert claimed_frames(path) == 0
