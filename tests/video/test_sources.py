"""Sources: every kind of input, good and bad, offline and on loopback; nothing stays open."""

import base64
import itertools
import logging
import os
import socket
import struct
import threading
import time
import traceback
import zlib
from contextlib import contextmanager, suppress
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import av
import cv2
import numpy as np
import pytest

from onlooker.core.errors import BadValue, OnlookerError
from onlooker.video.addresses import addresses_of
from onlooker.video.image_files import PictureError, read_picture
from onlooker.video.sources import SourceError, frames_from

FAST = {"stall_after": 0.6, "reconnect_after": (0.05, 0.1)}


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in set(threading.enumerate()) - before]
    assert not [name for name in left if name.startswith("onlooker")]


def shade(level, size=(48, 64)):
    return np.full((*size, 3), level, np.uint8)


def jpeg(level, size=(48, 64)):
    return cv2.imencode(".jpg", shade(level, size))[1].tobytes()


def write_video(path, levels, *, codec="libx264", fps=10, size=(48, 64), options=None):
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream(codec, rate=fps)
        stream.height, stream.width = size
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.time_base = Fraction(1, fps)
        for level in levels:
            frame = av.VideoFrame.from_ndarray(shade(level, size), format="bgr24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def write_pictures(folder, levels, suffix="png"):
    folder.mkdir(exist_ok=True)
    for number, level in enumerate(levels):
        cv2.imwrite(str(folder / f"frame{number}.{suffix}"), shade(level))
    return folder


def level(frame):
    return int(frame.pixels.mean().round())


# --- replay -------------------------------------------------------------------------------------


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


# --- bad recordings -----------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "concat:a.mp4|b.mp4",
        "data:video/mp4;base64,AAAA",
        "pipe:0",
        "subfile,,start,0,end,9,,:/etc/passwd",
        "lavfi:testsrc",
        "ftp://host/v.mp4",
        "udp://239.0.0.1:1234",
        "http:///video",
        "rtsp://me:pass#word@10.0.0.5/1",
        "rtsp://me:pass/word@10.0.0.5/1",
        "",
        "two\nlines",
        "=0",
        "door=",
    ],
)
def test_other_protocols_and_senseless_addresses_are_refused(address):
    with pytest.raises(SourceError) as caught, frames_from(address):
        pass
    assert "word" not in str(caught.value).replace("password", "")


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


# --- names --------------------------------------------------------------------------------------


def test_names_are_unique_and_hold_no_secret(tmp_path):
    (tmp_path / "a=b.mp4").touch()
    sources = [
        "rtsp://admin:hunter2@10.0.0.5:554/user=admin&password=hunter2?pw=hunter2",
        "rtsp://admin:hunter2@10.0.0.5:554/2",
        "rtsp://hunter:22/hunter@10.0.0.9/1",
        "http://[fe80::1]:8080/video",
        "camera0=https://10.0.0.6/?token=hunter2",
        "0",
        tmp_path / "a=b.mp4",
    ]
    found = addresses_of(sources)
    names = [address.camera for address in found]
    assert names == [
        "10.0.0.5-554",
        "10.0.0.5-554-2",
        "rtsp",
        "fe80-1-8080",
        "camera0",
        "camera0-2",
        "a=b",
    ]
    assert "hunter" not in repr(found)


def test_two_sources_of_one_name_are_an_error():
    with pytest.raises(SourceError, match="two sources are called 'door'"):
        addresses_of(["door=0", "door=1"])
    with pytest.raises(SourceError, match="no source"):
        addresses_of([])


# --- live, against a camera of our own ----------------------------------------------------------


class Camera:
    """An MJPEG camera on loopback that does, connection by connection, what its script says."""

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        self.over = threading.Event()
        camera = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_GET(self):
                script = camera.scripts.pop(0) if len(camera.scripts) > 1 else camera.scripts[0]
                with suppress(OSError):  # whoever looked may have gone away
                    script(self, camera.over)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://admin:hunter2@127.0.0.1:{self.server.server_port}/video?pw=hunter2"
        self.camera = f"127.0.0.1-{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


def plays(*pictures, then="die", pause=0.01):
    """A connection that shows these pictures, and then dies or stalls."""

    def script(handler, over):
        handler.send_response(200)
        handler.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        handler.end_headers()
        for picture in pictures:
            handler.wfile.write(
                b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(picture)
                + picture
                + b"\r\n"
            )
            if over.wait(pause):
                return
        if then == "stall":
            over.wait(20)

    return script


def endless(value, pause=0.01):
    return plays(*[jpeg(value)] * 2000, pause=pause)


def refuses(handler, over):
    handler.send_error(503)


def redirects(location):
    def script(handler, over):
        handler.send_response(302)
        handler.send_header("Location", location)
        handler.end_headers()

    return script


def answers(body, kind):
    def script(handler, over):
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return script


def test_a_camera_that_dies_refuses_and_stalls_comes_back(caplog):
    caplog.set_level(logging.WARNING, "onlooker")
    first, second, third = ([jpeg(value)] * 10 for value in (40, 120, 200))
    with (
        Camera(
            plays(*first), refuses, plays(*second, then="stall"), refuses, plays(*third)
        ) as camera,
        frames_from(f"door={camera.url}", queue_size=100, **FAST) as stream,
    ):
        frames = list(itertools.islice(stream, 25))
        counts = stream.counts["door"]
    assert [round(level(frame), -1) for frame in frames] == [40] * 10 + [120] * 10 + [200] * 5
    assert [frame.index for frame in frames] == list(range(25))
    assert [frame.time for frame in frames] == sorted(frame.time for frame in frames)
    assert 0.5 < frames[20].time - frames[19].time < 2  # the stall was noticed
    assert (counts.frames, counts.reconnects, counts.corrupt) == (25, 2, 0)
    assert "nothing arrived within 0.6 s" in caplog.text
    assert "hunter2" not in caplog.text


def test_pauses_grow_and_begin_again_after_a_frame(caplog):
    caplog.set_level(logging.WARNING, "onlooker")
    good = plays(*[jpeg(90)] * 4)
    with (
        Camera(good, refuses, refuses, refuses, good, refuses) as camera,
        frames_from(camera.url, reconnect_after=(0.01, 0.02, 0.03)) as stream,
    ):
        list(itertools.islice(stream, 8))
        while len(caplog.records) < 6:
            time.sleep(0.01)
        assert "503" in stream.counts[camera.camera].problem or "5XX" in caplog.text
    pauses = [record.getMessage().rsplit(" in ", 1)[1] for record in caplog.records]
    assert pauses[:6] == ["0.01 s", "0.02 s", "0.03 s", "0.03 s", "0.01 s", "0.02 s"]


def test_corrupt_and_resized_frames_are_counted_and_survived():
    broken = jpeg(80)[:90]
    shows = plays(
        *[jpeg(80)] * 3, broken, jpeg(80), *[jpeg(80, (96, 128))] * 2, broken, *[jpeg(80)] * 400
    )
    with Camera(shows) as camera, frames_from(camera.url, queue_size=50, **FAST) as stream:
        frames = list(itertools.islice(stream, 9))
        counts = stream.counts[camera.camera]
    assert [frame.index for frame in frames] == [0, 1, 2, 4, 5, 6, 8, 9, 10]
    assert [frame.pixels.shape[0] for frame in frames] == [48] * 4 + [96] * 2 + [48] * 3
    assert (counts.frames, counts.corrupt, counts.resized) == (9, 2, 2)


def test_a_slow_reader_loses_the_oldest_frames_and_they_are_counted():
    shows = plays(*[jpeg(value) for value in range(0, 240, 4)], then="stall")
    with Camera(shows) as camera, frames_from(camera.url, queue_size=4, stall_after=5) as stream:
        deadline = time.monotonic() + 5
        # The last one or two pictures stay in the network library until the next one comes.
        while stream.counts[camera.camera].dropped < 54 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        frames = list(itertools.islice(stream, 4))
        counts = stream.counts[camera.camera]
        camera.over.set()
    assert counts.frames == 4
    assert [frame.index for frame in frames] == [counts.dropped + i for i in range(4)]
    assert counts.frames + counts.dropped >= 58
    assert level(frames[-1]) == pytest.approx(4 * frames[-1].index, abs=2)


def test_live_time_is_the_clock_handed_in():
    ticks = itertools.count(1000.0, 0.5)
    lock = threading.Lock()

    def clock():
        with lock:
            return next(ticks)

    with (
        Camera(endless(50)) as camera,
        frames_from(camera.url, clock=clock, stall_after=1000) as stream,
    ):
        times = [frame.time for frame in itertools.islice(stream, 3)]
    assert times[0] > 0
    assert all((time * 2).is_integer() for time in times)
    assert times == sorted(times)


def test_several_cameras_and_a_recording_at_once(tmp_path):
    folder = write_pictures(tmp_path / "stairs", [10] * 5)
    with (
        Camera(endless(120)) as door,
        Camera(endless(220)) as yard,
        frames_from(f"door={door.url}", f"yard={yard.url}", folder) as stream,
    ):
        frames = list(itertools.islice(stream, 60))
    seen = {name: [frame for frame in frames if frame.camera == name] for name in stream.cameras}
    assert {name: level(own[0]) for name, own in seen.items()} == {
        "door": pytest.approx(120, abs=2),
        "yard": pytest.approx(220, abs=2),
        "stairs": 10,
    }
    assert all(len({level(frame) for frame in own}) == 1 for own in seen.values())
    assert min(len(seen["door"]), len(seen["yard"])) > 10  # neither starves the other
    assert sum(counts.frames for counts in stream.counts.values()) == 60


def test_a_video_behind_an_address_ends_and_may_be_replayed(tmp_path):
    video = write_video(tmp_path / "v.mp4", [70] * 20, options={"movflags": "faststart"})
    serve = answers(video.read_bytes(), "video/mp4")
    with Camera(serve) as camera:
        with frames_from(camera.url, queue_size=50, **FAST) as stream:
            assert len(list(stream)) == 20
        with frames_from(camera.url, live=False, queue_size=1, **FAST) as stream:
            assert [frame.time for frame in stream] == pytest.approx([i / 10 for i in range(20)])


def test_a_stream_lost_in_a_replay_is_an_error():
    lost = pytest.raises(SourceError, match=r"lost http://127.*nothing arrived")
    with (
        Camera(plays(*[jpeg(5)] * 5, then="stall")) as camera,
        frames_from(camera.url, live=False, stall_after=0.4) as stream,
        lost as caught,
    ):
        list(stream)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


# --- what a hostile or absent camera may not do -------------------------------------------------

PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/passwd\n"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (redirects("file:///etc/passwd"), "redirects are not followed"),
        (redirects("http://127.0.0.1:9/internal"), "redirects are not followed"),
        (redirects("concat:/etc/passwd"), "redirects are not followed"),
        (answers(PLAYLIST, "application/vnd.apple.mpegurl"), "playlists are not followed"),
        (answers(b"ffconcat version 1.0\nfile /etc/passwd\n", "text/plain"), "playlists"),
        (answers(b"<html>Please log in</html>" * 50, "text/html"), "not a video stream|Invalid"),
        (refuses, "5XX"),
        (plays(then="stall"), "nothing arrived within 0.6 s"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_camera_is_an_error_without_secrets(script, says):
    with Camera(script) as camera, pytest.raises(SourceError, match=says) as caught:
        frames_from(camera.url, **FAST).__enter__()
    shown = "".join(traceback.format_exception(caught.value))
    assert "hunter2" not in shown
    assert "127.0.0.1" in str(caught.value)


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        for scheme in ("http", "rtsp"):
            address = f"{scheme}://127.0.0.1:{free.getsockname()[1]}/1"
            with pytest.raises(SourceError, match="Connection refused"), frames_from(address):
                pass


def test_a_camera_that_is_off_at_the_start_can_be_waited_for():
    with (
        Camera(refuses, refuses, endless(33)) as camera,
        frames_from(camera.url, retry_first=True, **FAST) as stream,
    ):
        assert level(next(stream)) == pytest.approx(33, abs=2)
        assert stream.counts[camera.camera].reconnects == 0


# --- release ------------------------------------------------------------------------------------


def test_everything_is_released_however_the_block_ends(tmp_path):
    folder = write_pictures(tmp_path / "stairs", [10] * 5)

    def watch(url):
        with frames_from(url, folder, **FAST) as stream:
            yield from stream

    with Camera(endless(120)) as camera:
        with suppress(ZeroDivisionError), frames_from(camera.url, **FAST) as stream:
            assert next(stream).index / 0
        assert list(stream) == []  # after the block there is nothing more, and no waiting

        with frames_from(camera.url, folder, **FAST) as stream:
            for _ in stream:
                break

        generator = watch(camera.url)
        next(generator)
        generator.close()

        with pytest.raises(SourceError), frames_from(camera.url, tmp_path / "missing", **FAST):
            pass
        with pytest.raises(SourceError), frames_from(camera.url, "97", **FAST):
            pass
        assert not [t for t in threading.enumerate() if t.name.startswith("onlooker")]


def test_a_file_can_be_deleted_or_opened_again_after_the_block(tmp_path):
    video = write_video(tmp_path / "v.mp4", [10] * 5)
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    for _ in range(3):
        with frames_from(video) as stream:
            next(stream)
    if before:
        assert len(os.listdir("/proc/self/fd")) <= len(before)


def test_a_stalled_camera_does_not_hold_up_the_end(monkeypatch, caplog):
    """What was learned must be saved before somebody loses patience and kills the program."""
    monkeypatch.setattr("onlooker.video.live._JOIN_TIMEOUT", 0.3)
    with Camera(plays(*[jpeg(5)] * 5, then="stall")) as camera:
        with frames_from(camera.url, stall_after=10.0) as stream:
            list(itertools.islice(stream, 3))
            time.sleep(0.3)
            start = time.monotonic()
        assert time.monotonic() - start < 1
        assert "does not answer; its reader ends later" in caplog.text
        camera.over.set()  # the connection closes, and the thread that was left alone ends
        for thread in threading.enumerate():
            if thread.name.startswith("onlooker"):
                assert thread.daemon
                thread.join(5)


# --- RTSP ---------------------------------------------------------------------------------------


@contextmanager
def rtsp_camera(levels):
    """The least that passes for an RTSP camera: H.264, interleaved in the one TCP connection."""
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = 64, 48, "yuv420p"
    encoder.time_base = Fraction(1, 25)
    encoder.options = {"tune": "zerolatency", "x264-params": "repeat-headers=1:annexb=1"}
    encoder.gop_size = 5
    units = []
    for value in levels:
        packets = encoder.encode(av.VideoFrame.from_ndarray(shade(value), format="bgr24"))
        stream = b"".join(bytes(packet) for packet in packets).replace(b"\0\0\0\1", b"\0\0\1")
        units.append([unit for unit in stream.split(b"\0\0\1") if unit])
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    seen = []

    def talk(connection):
        with connection, connection.makefile("rb") as lines:
            while request := lines.readline().decode():
                headers = {}
                while (line := lines.readline().decode().strip()) != "":
                    key, _, value = line.partition(":")
                    headers[key.lower()] = value.strip()
                method = request.split()[0]
                seen.append((method, headers))
                extra, body = "", ""
                if method == "DESCRIBE" and "authorization" not in headers:
                    connection.sendall(
                        f"RTSP/1.0 401 Unauthorized\r\nCSeq: {headers['cseq']}\r\n"
                        'WWW-Authenticate: Basic realm="camera"\r\n\r\n'.encode()
                    )
                    continue
                if method == "DESCRIBE":
                    body = (
                        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
                        "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:1\r\n"
                    )
                    extra = f"Content-Type: application/sdp\r\nContent-Length: {len(body)}\r\n"
                elif method == "SETUP":
                    extra = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n"
                connection.sendall(
                    f"RTSP/1.0 200 OK\r\nCSeq: {headers['cseq']}\r\nSession: 1\r\n{extra}\r\n"
                    f"{body}".encode()
                )
                if method == "PLAY":
                    break
            number = 0
            for tick, group in enumerate(units):
                for at, unit in enumerate(group):
                    mark = 0x80 if at == len(group) - 1 else 0
                    head = struct.pack(">BBHII", 0x80, 96 | mark, number, tick * 3600, 7)
                    number += 1
                    connection.sendall(struct.pack(">BBH", 36, 0, 12 + len(unit)) + head + unit)
                time.sleep(0.01)

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
                talk(connection)
            except OSError:
                if listener.fileno() < 0:
                    return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"rtsp://admin:hunter2@127.0.0.1:{port}/1", seen
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def test_an_rtsp_camera_is_read_and_opened_again():
    with (
        rtsp_camera([30] * 20 + [200] * 20) as (url, seen),
        frames_from(f"gate={url}", queue_size=100, stall_after=2, reconnect_after=[0.05]) as stream,
    ):
        frames = list(itertools.islice(stream, 50))
        counts = stream.counts["gate"]
    assert {frame.camera for frame in frames} == {"gate"}
    assert level(frames[0]) == pytest.approx(30, abs=4)
    assert level(frames[30]) == pytest.approx(200, abs=4)
    assert counts.reconnects >= 1
    secret = base64.b64encode(b"admin:hunter2").decode()
    assert any(headers.get("authorization") == f"Basic {secret}" for _, headers in seen)
    assert "rtp/avp/tcp" in dict(seen)["SETUP"]["transport"].lower()


# --- pictures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "tiff", "ppm", "pgm"])
def test_pictures_of_every_format_and_of_one_pixel(tmp_path, suffix):
    for size in ((48, 64), (1, 1)):
        path = tmp_path / f"picture.{suffix}"
        cv2.imwrite(str(path), shade(90, size)[:, :, 0] if suffix == "pgm" else shade(90, size))
        pixels = read_picture(path)
        assert pixels.shape == (*size, 3)
        assert pixels.dtype == np.uint8
        assert pixels.mean() == pytest.approx(90, abs=2)


@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_grey_alpha_and_16_bit(tmp_path, suffix):
    path = tmp_path / f"picture.{suffix}"
    for pixels in (
        shade(90)[:, :, 0],
        np.dstack([shade(90), shade(3)[:, :, 0]]),
        shade(90).astype(np.uint16) * 257,
        shade(90)[:, :, 0].astype(np.uint16) * 257,
    ):
        cv2.imwrite(str(path), pixels)
        np.testing.assert_array_equal(read_picture(path), shade(90))


def huge(side, suffix):
    """A small file of that many pixels, or that says so."""
    if suffix == "png":
        head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
        rows = zlib.compress(bytes(1000) * 900, 9) * 3
        chunks = [(b"IHDR", head), (b"IDAT", rows), (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
            for kind, body in chunks
        )
    data = bytearray(cv2.imencode("." + suffix, shade(50)[:, :, 0])[1].tobytes())
    if suffix == "jpg":
        at = data.find(b"\xff\xc0")
        data[at + 5 : at + 9] = struct.pack(">HH", side, side)
    elif suffix == "bmp":
        data[18:26] = struct.pack("<ii", side, -side)
    elif suffix == "webp":
        data = bytearray(b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0")
        data += (side - 1).to_bytes(3, "little") * 2
    elif suffix == "tiff":
        (directory,) = struct.unpack_from("<I", data, 4)
        for entry in range(directory + 2, len(data) - 11, 12):
            tag, kind = struct.unpack_from("<HH", data, entry)
            if tag in (256, 257):
                struct.pack_into("<H" if kind == 3 else "<I", data, entry + 8, side)
    elif suffix == "pgm":
        data = bytearray(b"P5\n# a comment\n%d %d\n255\n" % (side, side))
    return bytes(data)


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "tiff", "pgm"])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(cv2, "imdecode", lambda *_: pytest.fail("was unpacked"))
    path = tmp_path / f"bomb.{suffix}"
    path.write_bytes(huge(30_000, suffix))
    start = time.perf_counter()
    with pytest.raises(PictureError, match=r"bomb.*has 30000 x 30000 pixels, at most 50 million"):
        read_picture(path)
    assert time.perf_counter() - start < 0.1
    with frames_from(path) as stream:
        assert list(stream) == []
    assert stream.counts["bomb"].corrupt == 1


def test_the_limit_is_adjustable(tmp_path):
    path = tmp_path / "p.png"
    cv2.imwrite(str(path), shade(1))
    assert read_picture(path, max_pixels=48 * 64).shape == (48, 64, 3)
    with pytest.raises(PictureError, match="64 x 48"):
        read_picture(path, max_pixels=48 * 64 - 1)


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "tiff", "ppm"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.99])
def test_a_picture_cut_short_is_an_error_that_names_it(tmp_path, suffix, share):
    noise = np.random.default_rng(0).integers(0, 255, (48, 64, 3), dtype=np.uint8)
    data = cv2.imencode("." + suffix, noise)[1].tobytes()
    path = tmp_path / f"half.{suffix}"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(PictureError, match=r"half\."):
        read_picture(path)


def test_what_is_no_picture_is_an_error_that_names_it(tmp_path):
    (tmp_path / "text.jpg").write_text("hello")
    (tmp_path / "empty.png").touch()
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "gif.png").write_bytes(b"GIF89a" + bytes(30))
    says = {
        "text.jpg": "not a JPEG",
        "empty.png": "empty",
        "folder.png": "not a file",
        "gif.png": "not a JPEG",
        "missing.png": "No such file",
    }
    for name, words in says.items():
        with pytest.raises(PictureError, match=f"{name}.*{words}"):
            read_picture(tmp_path / name)


def test_damaged_pictures_never_crash(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "picture"
    for suffix in ("png", "jpg", "bmp", "webp", "tiff", "pgm"):
        noise = rng.integers(0, 255, (16, 16), dtype=np.uint8)
        data = cv2.imencode("." + suffix, noise)[1].tobytes()
        for _ in range(60):
            damaged = bytearray(data)
            for at in rng.integers(0, min(len(data), 200), 4):
                damaged[at] = rng.integers(256)
            path.write_bytes(damaged)
            try:
                found = read_picture(path, max_pixels=10**6)
            except PictureError:
                continue  # refused, as it should be
            assert found.shape[2] == 3


def test_a_photograph_is_turned_upright(tmp_path):
    """EXIF orientation 6: the camera was held so that the left edge is the top."""
    picture = shade(20)
    picture[:, :16] = 220
    data = cv2.imencode(".jpg", picture)[1].tobytes()
    exif = (
        b"Exif\0\0" + b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHH", 0x112, 3, 1, 6, 0) + bytes(4)
    )
    path = tmp_path / "photo.jpg"
    path.write_bytes(data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:])
    pixels = read_picture(path)
    assert pixels.shape == (64, 48, 3)
    assert pixels[:12].mean() > 200
