"""Replay of videos and pictures, good and bad; nothing stays open."""

import os
import struct
import time

import av
import cv2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.recordings import level, shade, write_pictures, write_video
from onlooker.core.errors import BadValue, OnlookerError
from onlooker.video.addresses import addresses_of
from onlooker.video.image_files import PictureError, read_picture
from onlooker.video.sources import SourceError, frames_from


@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
def test_a_video_is_replayed_whole_with_its_own_times(tmp_path, codec):
    levels = list(range(20, 220, 10))
    video = write_video(tmp_path / "hall.mp4", levels, codec=codec)
    with frames_from(video) as stream:
        frames = list(stream)
    assert [frame.index for frame in frames] == list(range(20))
    assert [frame.time for frame in frames] == pytest.approx([i / 10 for i in range(20)])
    assert [level(frame) for frame in frames] == pytest.approx(levels, abs=8)
    assert {frame.camera for frame in frames} == {"hall"}
    assert stream.counts["hall"].frames == 20
    assert frames[0].pixels.flags.c_contiguous


def test_replay_never_drops_however_slow_the_reader(tmp_path):
    video = write_video(tmp_path / "v.mp4", [100] * 30)
    with frames_from(video, queue_size=1) as stream:
        assert len([time.sleep(0.005) for _ in stream]) == 30
    assert stream.counts["v"].dropped == 0


def test_a_folder_counts_at_25_frames_per_second_in_natural_order(tmp_path):
    folder = write_pictures(tmp_path / "stairs", range(0, 240, 20))
    (folder / "notes.txt").write_text("not a picture")
    with frames_from(folder) as stream:
        frames = list(stream)
    assert [level(frame) for frame in frames] == list(range(0, 240, 20))  # frame2 before frame10
    assert [frame.time for frame in frames] == pytest.approx([i * 0.04 for i in range(12)])
    assert stream.cameras == ("stairs",)


def test_a_pattern_and_another_rate(tmp_path):
    folder = write_pictures(tmp_path / "yard", [10, 20, 30], "jpg")
    cv2.imwrite(str(folder / "other.png"), shade(99))
    with frames_from(str(folder / "*.jpg"), fps=2) as stream:
        assert [(frame.camera, frame.time) for frame in stream] == [
            ("yard", 0.0),
            ("yard", 0.5),
            ("yard", 1.0),
        ]


def test_one_picture_is_a_source_of_one_frame(tmp_path):
    cv2.imwrite(str(tmp_path / "ana.png"), shade(7))
    with frames_from(tmp_path / "ana.png") as stream:
        assert [(frame.camera, level(frame)) for frame in stream] == [("ana", 7)]


def test_a_corrupt_picture_is_skipped_and_counted(tmp_path):
    folder = write_pictures(tmp_path / "mixed", [10, 20, 30, 40])
    (folder / "frame1.png").write_bytes(b"not a picture")
    cv2.imwrite(str(folder / "frame3.png"), shade(40, (96, 128)))
    with frames_from(folder) as stream:
        assert [frame.index for frame in stream] == [0, 2, 3]
    counts = stream.counts["mixed"]
    assert (counts.frames, counts.corrupt, counts.resized) == (3, 1, 1)


def test_several_recordings_are_interleaved_by_time(tmp_path):
    one = write_video(tmp_path / "one.mp4", [50] * 4, fps=10)
    two = write_video(tmp_path / "two.mp4", [200] * 8, fps=20)
    with frames_from(one, f"door 🚪={two}") as stream:
        frames = list(stream)
    assert stream.cameras == ("one", "door 🚪")
    assert [frame.time for frame in frames] == sorted(frame.time for frame in frames)
    assert all((level(frame) > 100) == (frame.camera == "door 🚪") for frame in frames)
    assert [frame.index for frame in frames if frame.camera == "one"] == [0, 1, 2, 3]
    assert stream.counts["door 🚪"].frames == 8


def test_a_phone_held_upright_films_upright(tmp_path):
    """The matrix in the track header turns the picture; players obey it and so do we."""
    video = tmp_path / "phone.mp4"
    with av.open(str(video), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.height, stream.width, stream.pix_fmt = 48, 64, "yuv420p"
        picture = shade(20)
        picture[:, :16] = 220  # the left edge, which turned clockwise is the top
        container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        container.mux(stream.encode(None))
    data = bytearray(video.read_bytes())
    upright = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    clockwise = struct.pack(">9i", 0, 1 << 16, 0, -1 << 16, 0, 0, 48 << 16, 0, 1 << 30)
    at = data.find(upright, data.find(b"tkhd"))
    data[at : at + 36] = clockwise
    video.write_bytes(data)
    with frames_from(video) as stream:
        (frame,) = stream
    assert frame.pixels.shape == (64, 48, 3)
    assert frame.pixels[:12].mean() > 200
    assert frame.pixels[20:].mean() < 40


def test_a_recording_can_pass_for_a_camera(tmp_path):
    video = write_video(tmp_path / "v.mp4", [80] * 6, fps=20)
    with frames_from(video, live=True) as stream:
        times = [frame.time for frame in stream]
    assert len(times) == 6
    assert times[-1] - times[0] == pytest.approx(0.25, abs=0.1)


def test_a_video_cut_in_half_gives_what_there_is(tmp_path):
    video = write_video(tmp_path / "v.mkv", list(range(0, 250, 5)) * 4, size=(96, 128))
    data = video.read_bytes()
    video.write_bytes(data[: len(data) // 2])
    with frames_from(video) as stream:
        frames = list(stream)
    assert 20 < len(frames) < 200
    assert stream.counts["v"].frames == len(frames)


def test_a_video_damaged_in_the_middle_is_survived(tmp_path):
    video = write_video(tmp_path / "v.avi", [60] * 60, codec="mjpeg")
    data = bytearray(video.read_bytes())
    start = data.find(b"\xff\xd8", len(data) // 2)
    end = data.find(b"\xff\xd9", start)
    data[start:end] = bytes(end - start)
    video.write_bytes(data)
    with frames_from(video) as stream:
        frames = list(stream)
    assert stream.counts["v"].corrupt == 1
    assert len(frames) == 59
    assert frames[-1].index == 59


def bad_files(folder):
    cut = write_video(folder / "index-at-the-end.mp4", range(0, 250, 5), size=(96, 128))
    cut.write_bytes(cut.read_bytes()[:-600])
    (folder / "empty.mp4").touch()
    (folder / "text.mp4").write_text("Dear diary, " * 200)
    (folder / "nothing-in-it").mkdir()
    (folder / "list.m3u8").write_text(
        f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{folder}/good.mp4\n"
    )
    (folder / "list.ffconcat").write_text("ffconcat version 1.0\nfile good.mp4\n")
    write_video(folder / "good.mp4", [10] * 3)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.mp4", "no file or folder"),
        ("index-at-the-end.mp4", "cut short"),
        ("empty.mp4", "the file is empty"),
        ("text.mp4", "not a video"),
        ("nothing-in-it", "no pictures"),
        ("*.jpg", "no pictures"),
        ("list.m3u8", "not a video"),
        ("list.ffconcat", "not a video"),
    ],
)
def test_bad_files_are_a_clear_error(tmp_path, name, says):
    bad_files(tmp_path)
    with pytest.raises(SourceError, match=says) as caught, frames_from(tmp_path / name):
        pass
    assert name in str(caught.value)
    assert isinstance(caught.value, OnlookerError)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without named pipes")
def test_a_pipe_is_refused_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(SourceError, match="neither a file nor a folder"):
        addresses_of([tmp_path / "pipe.mp4"])
    with pytest.raises(PictureError, match="not a file"):
        read_picture(tmp_path / "pipe.png")


@pytest.mark.skipif(os.path.exists("/dev/video97"), reason="there is such a camera")
@pytest.mark.parametrize("source", [97, "97", "porch=97"])
def test_a_missing_camera_is_a_clear_error(source):
    with pytest.raises(SourceError, match=r"there is no camera 97|cannot open camera 97"):
        frames_from(source).__enter__()


def test_settings_are_checked(tmp_path):
    for wrong in ({"fps": 0}, {"stall_after": float("nan")}, {"reconnect_after": ()}):
        with pytest.raises(BadValue), frames_from(tmp_path, **wrong):
            pass


def test_frames_larger_than_the_limit_are_not_unpacked(tmp_path):
    video = write_video(tmp_path / "v.mp4", [10] * 3, size=(480, 640))
    with frames_from(video, max_pixels=100_000) as stream:
        assert list(stream) == []
    assert stream.counts["v"].corrupt >= 1


@pytest.mark.parametrize(("suffix", "codec"), [("h264", "libx264"), ("mjpeg", "mjpeg")])
def test_a_video_that_grows_in_mid_stream_is_not_decoded_beyond_the_limit(tmp_path, suffix, codec):
    sizes = [(48, 64), (480, 640), (48, 64), (96, 128)]
    parts = [
        write_video(tmp_path / f"part{n}.{suffix}", [10] * 3, codec=codec, size=size)
        for n, size in enumerate(sizes)
    ]
    video = tmp_path / f"grows.{suffix}"
    video.write_bytes(b"".join(part.read_bytes() for part in parts))
    with frames_from(video, max_pixels=96 * 128) as stream:
        shapes = [frame.pixels.shape[:2] for frame in stream]
    assert set(shapes) == {(48, 64), (96, 128)}
    assert stream.counts["grows"].corrupt >= 1


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """A folder of small videos of every kind that is easily made."""
    folder = tmp_path_factory.mktemp("videos")
    kinds = {"mp4": "libx264", "mkv": "mpeg4", "avi": "mjpeg", "h264": "libx264"}
    for suffix, codec in kinds.items():
        write_video(folder / f"v.{suffix}", [40, 90], codec=codec, size=(32, 32), fps=25)
    return folder


@given(
    st.sampled_from(["mp4", "mkv", "avi", "h264"]),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=4)), max_size=6),
)
@settings(max_examples=60, deadline=None)
def test_no_frame_ever_has_more_pixels_than_allowed(videos, tmp_path_factory, suffix, changes):
    damaged = bytearray((videos / f"v.{suffix}").read_bytes())
    for share, new in changes:
        at = int(share * len(damaged))
        damaged[at : at + len(new)] = new
    video = tmp_path_factory.mktemp("damaged") / f"v.{suffix}"
    video.write_bytes(damaged)
    try:
        with frames_from(video, max_pixels=32 * 32) as stream:
            sizes = [frame.pixels.shape[0] * frame.pixels.shape[1] for frame in stream]
    except SourceError:
        return
    assert all(size <= 32 * 32 for size in sizes)


def test_a_film_that_nothing_can_decode_ended_in_a_traceback(tmp_path):
    path = write_video(tmp_path / "v.mp4", [80] * 3)
    path.write_bytes(path.read_bytes().replace(b"avc1\0\0", b"xxxx\0\0"))
    words = "nothing here can decode its pictures; convert it"
    with pytest.raises(SourceError, match=words), frames_from(path) as stream:
        list(stream)
