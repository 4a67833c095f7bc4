"""Live cameras, against cameras of our own on loopback: lost, stalled, slow, closed."""

import base64
import itertools
import logging
import os
import re
import socket
import ssl
import struct
import threading
import time
import traceback
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import av
import cv2
import numpy as np
import pytest

from helpers.certificates import self_signed
from helpers.memory import MEASURABLE, PeakMemory
from helpers.recordings import jpeg, level, shade, write_pictures, write_video
from helpers.waiting import DEADLINE
from onlooker.video.live import FailureWatch
from onlooker.video.sources import CameraCondition, SourceError, frames_from

FAST = {"stall_after": 0.6, "reconnect_after": (0.05, 0.1)}


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
                with suppress(OSError):  # the client may have gone away
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
            over.wait(DEADLINE)

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


PART = b"--frame\r\nContent-Type: image/jpeg\r\n"


def has_no_end(begin, kind="multipart/x-mixed-replace; boundary=frame"):
    """A connection that sends the beginning of a frame, and more of it, for half a gigabyte."""

    def script(handler, over):
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.end_headers()
        handler.wfile.write(begin)
        for _ in range(512):
            handler.wfile.write(b"\x55" * (1 << 20))

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
    caplog.set_level(logging.DEBUG, "onlooker")
    good = plays(*[jpeg(90)] * 4)
    with (
        Camera(good, refuses, refuses, refuses, good, refuses) as camera,
        frames_from(camera.url, reconnect_after=(0.01, 0.02, 0.03)) as stream,
    ):
        list(itertools.islice(stream, 8))
        while len(caplog.records) < 6:
            time.sleep(0.01)
        assert "5XX" in stream.conditions[camera.camera].problem
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 4  # the stream ended, and 503, each twice: not one for every attempt
    pauses = [record.getMessage().rsplit(" in ", 1)[1] for record in caplog.records]
    assert pauses[:6] == ["0.01 s", "0.02 s", "0.03 s", "0.03 s", "0.01 s", "0.02 s"]


def test_the_condition_of_a_camera_says_since_when_it_fails_and_why():
    with (
        Camera(refuses, plays(*[jpeg(40)] * 5, then="stall"), endless(90)) as camera,
        frames_from(f"door={camera.url}", retry_first=True, **FAST) as stream,
    ):
        assert stream.conditions["door"].state in ("connecting", "failing")
        first = next(stream)
        assert first.index == 0
        live = stream.conditions["door"]
        assert (live.state, live.problem) == ("live", "")
        assert live.since <= live.last_frame
        while (lost := stream.conditions["door"]).state == "live":
            time.sleep(0.01)
        assert (lost.state, lost.problem) == (
            "failing",
            f"lost http://127.0.0.1:{camera.server.server_port}/...: nothing arrived within 0.6 s",
        )
        assert lost.last_frame >= live.last_frame
        for frame in stream:
            if level(frame) > 80:
                break
        back = stream.conditions["door"]
        assert (back.state, back.problem) == ("live", "")
        assert back.since > lost.since
        assert back.fps > 0


def test_a_password_that_is_refused_is_not_tried_every_few_seconds(caplog):
    def wrong(handler, over):
        handler.send_error(401)

    caplog.set_level(logging.WARNING, "onlooker")
    with (
        Camera(wrong) as camera,
        frames_from(camera.url, retry_first=True, **FAST) as stream,
    ):
        while not caplog.records:
            time.sleep(0.01)
        assert stream.conditions[camera.camera].state == "failing"
        assert "trying again in 60 s" in caplog.text


def test_a_camera_that_comes_and_goes_is_one_failure():
    now = [0.0]
    watch = FailureWatch(steady=10.0, clock=lambda: now[0])
    failing, live = CameraCondition("failing", 5.0, "lost"), CameraCondition("live", 6.0)
    reported = []
    for second in range(60):
        now[0] = float(second)
        flapping = second < 40 and second % 3 == 0
        reported += watch.changes({"door": failing if flapping else live, "yard": live})
    assert [(each.camera, each.state, each.problem) for each in reported] == [
        ("door", "failing", "lost"),
        ("door", "live", "lost"),
    ]
    watch.changes({"door": failing})
    assert [each.state for each in watch.changes({})] == ["removed"]
    watch.changes({"door": failing})
    ended = CameraCondition("ended", 7.0)
    assert [each.state for each in watch.changes({"door": ended})] == ["ended"]


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
                thread.join(DEADLINE)


@pytest.mark.skipif(not MEASURABLE, reason="needs Linux's /proc")
@pytest.mark.parametrize(
    "script",
    [
        has_no_end(PART + b"Content-Length: 2000000000\r\n\r\n" + jpeg(80)[:-2]),
        has_no_end(PART + b"\r\n" + jpeg(80)[:-2]),
        has_no_end(jpeg(80) * 5 + jpeg(80)[:-2], "video/x-mjpeg"),
    ],
    ids=["with a length", "without a length", "without parts"],
)
def test_a_frame_without_end_does_not_fill_the_memory(script):
    ended = pytest.raises(SourceError, match="64 MB in which no frame is complete")
    options = {"live": False, "stall_after": DEADLINE}
    with (
        Camera(script) as camera,
        PeakMemory() as peak,
        ended as caught,
        frames_from(camera.url, **options) as stream,
    ):
        list(stream)
    assert peak.megabytes < 256
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_camera_whose_frame_did_not_end_comes_back(caplog):
    caplog.set_level(logging.WARNING, "onlooker")
    broken = has_no_end(PART + b"\r\n" + jpeg(40)[:-2])
    with (
        Camera(plays(*[jpeg(40)] * 3), broken, endless(90)) as camera,
        frames_from(camera.url, stall_after=DEADLINE, reconnect_after=(0.01,)) as stream,
    ):
        while level(next(stream)) < 80:
            pass
    assert "64 MB in which no frame is complete" in caplog.text


def test_the_largest_frames_of_a_4k_camera_arrive():
    """Noise at the highest quality: 32 MB, far more than a picture of anything."""
    noise = np.random.default_rng(0).integers(0, 256, (2160, 3840, 3), np.uint8)
    whole = (cv2.IMWRITE_JPEG_QUALITY, 100, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, 0x111111)
    picture = cv2.imencode(".jpg", noise, whole)[1].tobytes()
    assert len(picture) > 30 << 20
    with (
        Camera(plays(*[picture] * 5)) as camera,
        frames_from(camera.url, live=False, stall_after=DEADLINE) as stream,
    ):
        assert [frame.pixels.shape for frame in itertools.islice(stream, 3)] == [
            (2160, 3840, 3)
        ] * 3


def test_a_camera_may_send_any_number_of_frames(monkeypatch):
    monkeypatch.setattr("onlooker.video.relay.MAX_UNFINISHED", 4 << 20)
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8)
    picture = cv2.imencode(".jpg", noise, (cv2.IMWRITE_JPEG_QUALITY, 100))[1].tobytes()
    assert 40 * len(picture) > 4 * (4 << 20)
    with (
        Camera(plays(*[picture] * 45, pause=0)) as camera,
        frames_from(camera.url, live=False, stall_after=DEADLINE) as stream,
    ):
        assert len(list(itertools.islice(stream, 40))) == 40


@pytest.fixture
def many_open_files():
    """More than a thousand file descriptors are taken: new ones have large numbers."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip("this system allows fewer than 2,000 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    with ExitStack() as stack:
        for _ in range(1100):
            stack.enter_context(open(os.devnull, "rb"))
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_camera_is_read_where_a_thousand_files_are_open(many_open_files):
    with Camera(endless(90)) as camera, frames_from(camera.url, stall_after=DEADLINE) as stream:
        assert level(next(stream)) == 90


def test_a_camera_sees_its_own_name_and_the_password():
    requests = []

    def script(handler, over):
        requests.append((handler.headers["Host"], handler.headers["Authorization"], handler.path))
        if handler.headers["Authorization"] is None:
            handler.send_response(401)
            handler.send_header("WWW-Authenticate", 'Basic realm="camera"')
            handler.end_headers()
        else:
            endless(50)(handler, over)

    with Camera(script) as camera:
        url = camera.url.replace("127.0.0.1", "localhost")
        with frames_from(url, stall_after=DEADLINE) as stream:
            assert level(next(stream)) == pytest.approx(50, abs=2)
    host, path = f"localhost:{camera.server.server_port}", "/video?pw=hunter2"
    secret = f"Basic {base64.b64encode(b'admin:hunter2').decode()}"
    assert requests == [(host, None, path), (host, secret, path)]


def test_a_film_whose_index_is_at_its_end_is_read_over_several_connections(tmp_path):
    path = write_video(tmp_path / "v.mov", range(200), codec="mjpeg", size=(480, 640))
    film = path.read_bytes()
    assert film.find(b"moov") > film.find(b"mdat") + (1 << 20)
    film += struct.pack(">I4s", 8 << 20, b"free") + bytes((8 << 20) - 8)  # it is not sent at once
    requests = []

    def script(handler, over):
        requests.append(start := int(re.match(r"bytes=([0-9]+)-", handler.headers["Range"])[1]))
        handler.send_response(206)
        handler.send_header("Content-Type", "video/mp4")
        handler.send_header("Content-Range", f"bytes {start}-{len(film) - 1}/{len(film)}")
        handler.send_header("Content-Length", str(len(film) - start))
        handler.end_headers()
        handler.wfile.write(film[start:])

    with (
        Camera(script) as camera,
        frames_from(camera.url, live=False, stall_after=DEADLINE) as stream,
    ):
        assert len(list(stream)) == 200
    assert len(requests) > 1


def test_a_connection_that_breaks_in_a_replay_is_not_its_end():
    seen = threading.Event()

    def script(handler, over):
        handler.send_response(200)
        handler.send_header("Content-Type", "video/x-mjpeg")
        handler.end_headers()
        handler.wfile.write(jpeg(5) * 5000)
        seen.wait(DEADLINE)
        reset = struct.pack("ii", 1, 0)
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        os.close(handler.connection.detach())
        raise OSError

    lost = pytest.raises(SourceError, match=r"lost http://127.*reset by peer")
    with Camera(script) as camera, frames_from(camera.url, live=False) as stream:
        next(stream)
        seen.set()
        with lost:
            list(stream)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_an_encrypted_camera_with_a_certificate_of_its_own_is_read(tmp_path, version):
    """In TLS 1.3 a server sends messages of TLS itself before anything is requests."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(self_signed(tmp_path))
    with Camera(endless(70)) as camera:
        plain = camera.url
        with pytest.raises(SourceError, match="is its address http://"):
            frames_from(plain.replace("http:", "https:")).__enter__()
        camera.server.socket = context.wrap_socket(camera.server.socket, server_side=True)
        with frames_from(plain.replace("http:", "https:"), stall_after=DEADLINE) as stream:
            assert level(next(stream)) == pytest.approx(70, abs=2)


@contextmanager
def rtsp_camera(levels, ends=True):
    """The least that passes for an RTSP camera: H.264, interleaved in the one TCP connection.

    ends: whether the last frame has an end, or further fragments of it come for half a gigabyte.
    """
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
                while (row := lines.readline().decode().strip()) != "":
                    key, _, value = row.partition(":")
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
            fragment = b"\x7c\x05" + b"\x55" * 60_000
            for _ in range(0 if ends else (512 << 20) // 60_000):
                head = struct.pack(">BBHII", 0x80, 96, number & 0xFFFF, len(units) * 3600, 7)
                number += 1
                connection.sendall(struct.pack(">BBH", 36, 0, 12 + len(fragment)) + head + fragment)

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
        thread.join(DEADLINE)


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


@pytest.mark.skipif(not MEASURABLE, reason="needs Linux's /proc")
def test_a_frame_without_end_over_rtsp_does_not_fill_the_memory():
    ended = pytest.raises(SourceError, match="64 MB in which no frame is complete")
    with (
        rtsp_camera([30] * 20, ends=False) as (url, _),
        PeakMemory() as peak,
        ended,
        frames_from(url, live=False, stall_after=DEADLINE) as stream,
    ):
        list(stream)
    assert peak.megabytes < 256
