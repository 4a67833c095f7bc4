"""The relay between FFmpeg and RTSP cameras: no redirect passes, and nothing is read twice."""

import re
import socket
import threading
from contextlib import contextmanager, suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.waiting import DEADLINE
from onlooker.video.rtsp_relay import MessageFilter, RelayRefused, RtspRelay
from onlooker.video.sources import SourceError, frames_from

SDP = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 0 RTP/AVP 26\r\na=control:1\r\n"


@contextmanager
def rtsp_server(answer):
    """A server whose replies are answer(method, number of the connection); and its requests."""
    listener, seen = socket.create_server(("127.0.0.1", 0)), []

    def talk(connection, number):
        with connection, suppress(OSError), connection.makefile("rb") as rows:
            while request := rows.readline().decode():
                headers = {}
                while (row := rows.readline().decode().strip()) != "":
                    key, _, value = row.partition(":")
                    headers[key.lower()] = value.strip()
                method = request.split()[0]
                seen.append((method, headers))
                reply = answer(method, number)
                if reply is None and method == "DESCRIBE" and "authorization" not in headers:
                    reply = 'RTSP/1.0 401 Unauthorized\r\nWWW-Authenticate: Basic realm="c"\r\n\r\n'
                elif reply is None and method == "DESCRIBE":
                    head = "Content-Type: application/sdp\r\nContent-Length"
                    reply = f"RTSP/1.0 200 OK\r\n{head}: {len(SDP)}\r\n\r\n{SDP}"
                elif reply is None:
                    transport = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"
                    reply = f"RTSP/1.0 200 OK\r\nSession: 1\r\n{transport}\r\n\r\n"
                first, _, rest = reply.partition("\r\n")
                connection.sendall(f"{first}\r\nCSeq: {headers.get('cseq')}\r\n{rest}".encode())

    def serve():
        number = 0
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                number += 1
                threading.Thread(target=talk, args=(connection, number), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], seen
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(DEADLINE)


@pytest.mark.parametrize("stage", ["OPTIONS", "DESCRIBE", "SETUP", "PLAY"])
def test_an_rtsp_redirect_is_not_followed_with_the_password(stage):
    with rtsp_server(lambda method, number: None) as (trap, trapped):
        redirect = f"RTSP/1.0 302 Found\r\nLocation: rtsp://127.0.0.1:{trap}/1\r\n\r\n"
        with rtsp_server(lambda method, _: redirect if method == stage else None) as (port, seen):
            address = f"rtsp://admin:hunter2@127.0.0.1:{port}/1"
            refused = pytest.raises(SourceError, match="redirects are not followed")
            with refused as caught, frames_from(address, stall_after=20):
                pass
    assert "hunter2" not in str(caught.value)
    assert seen[-1][0] == stage
    assert trapped == []  # neither the password nor anything else


def test_a_camera_that_redirects_only_the_second_time_does_not_get_the_password_elsewhere():
    with rtsp_server(lambda method, number: None) as (trap, trapped):
        redirect = f"RTSP/1.0 301 Moved\r\nLocation: rtsp://127.0.0.1:{trap}/1\r\n\r\n"
        gone = "RTSP/1.0 404 Not Found\r\n\r\n"
        replies = {1: gone, 2: redirect, 3: gone}
        with rtsp_server(lambda method, number: replies.get(number, redirect)) as (port, seen):
            address = f"door=rtsp://admin:hunter2@127.0.0.1:{port}/1"
            options = {"retry_first": True, "reconnect_after": (0.01,)}
            with frames_from(address, **options) as stream:
                problems = set()
                while len(seen) < 5:
                    problems.add(stream.conditions["door"].problem)
    assert any("redirects are not followed" in problem for problem in problems)
    assert trapped == []


def passed(*pieces):
    messages = MessageFilter()
    return b"".join(messages.feed(piece) for piece in pieces)


STREAM = (
    b"\r\nRTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 4\r\nLocation: rtsp://o/\r\n odd\r\n\r\n"
    b"RTSP$\0\0\x0cRTSP/1.0 302ANNOUNCE rtsp://c/1 RTSP/1.0\nCSeq: 9\n\n$\1\0\0"
)
EXPECTED = (
    b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 4\r\n\r\n"
    b"RTSP$\0\0\x0cRTSP/1.0 302ANNOUNCE rtsp://c/1 RTSP/1.0\r\nCSeq: 9\r\n\r\n$\1\0\0"
)


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=6))
def test_what_passes_does_not_depend_on_how_it_was_cut(cuts):
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[at:to] for at, to in pairwise(places)]
    assert passed(*pieces) == EXPECTED


@pytest.mark.parametrize(
    "sent",
    [
        b"RTSP/1.0 302 Found\r\n\r\n",
        b"RTSP/1.0 305\n\n",
        b"\r\n\r\nRTSP/1.0 3\r0\r2 Found\r\n\r\n",
        b"REDIRECT rtsp://c/1 RTSP/1.0\r\nLocation: rtsp://o/\r\n\r\n",
        b" RTSP/1.0 302 Found\r\n\r\n",
        b"RTSP/ 302\r\n\r\n",
        b"$\0\0\0RTSP/1.0 300 Choices\r\n\r\n",
        b"RTSP/1.0 200 OK\r\nContent-Length: 0\r\nContent-Length: 7\r\ncontent-length: 9\r\n\r\n",
        b"RTSP/1.0 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"RTSP/1.0 200 OK\r\nContent-Length: 9999999\r\n\r\n",
        b"\x80\x1a\x00\n\n",
        b"a" * 70_000,
    ],
)
def test_what_ffmpeg_might_take_for_a_redirect_does_not_pass(sent):
    with pytest.raises(RelayRefused):
        passed(sent)


def statuses_as_ffmpeg_reads(data):
    """The status of each message: the loop of `ff_rtsp_read_reply` in libavformat/rtsp.c."""
    found, at, rows = [], 0, []
    length = 0
    while at < len(data):
        row = b""
        while at < len(data) and data[at : at + 1] != b"\n":
            byte = data[at : at + 1]
            at += 1
            if byte == b"$" and not row:
                at += 3 + int.from_bytes(data[at + 1 : at + 3], "big")
            elif byte != b"\r":
                row += byte
        at += 1
        if row:
            rows.append(row)
            if row.lower().startswith(b"content-length:"):
                digits = re.match(rb"[ \t]*([+-]?[0-9]*)", row[len("content-length:") :])[1]
                length = int(digits or b"0")
            continue
        if rows and rows[0].split()[:1] and rows[0].split()[0].startswith(b"RTSP/"):
            words = rows[0].split()
            digits = re.match(rb"[0-9]*", words[1])[0] if len(words) > 1 else b""
            found.append(int(digits or b"0"))
        at += max(0, length)
        rows, length = [], 0
    return found


TOKENS = [
    b"RTSP/1.0 ", b"200", b"302", b" OK", b"\r\n", b"\n", b"\r", b"$", b"$\0\0\2ab", b"\0", b"\t",
    b"Content-Length:", b" 0", b" 3", b" -4", b"12", b"Location: rtsp://o/", b"CSeq: 1", b" ",
    b"abc", b"RTSP/1.0 200 OK\r\n\r\n", b"RTSP/1.0 302 Found\r\nLocation: rtsp://o/\r\n\r\n",
    b"RTSP/1.0 200 OK\r\nContent-Length: 19\r\n\r\n", b"OPTIONS * RTSP/1.0\r\n\r\n",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(tokens=st.lists(st.sampled_from(TOKENS) | st.binary(max_size=4), max_size=20))
def test_ffmpeg_reads_no_redirect_in_what_passes(tokens):
    messages, through = MessageFilter(), b""
    with suppress(RelayRefused):
        for token in tokens:
            through += messages.feed(token)
    assert not [code for code in statuses_as_ffmpeg_reads(through) if 300 <= code < 400]


def test_the_reading_of_ffmpeg_is_a_test_at_all():
    assert statuses_as_ffmpeg_reads(STREAM + b"RTSP/1.0 302 Found\r\n\r\n") == [200, 302]
    assert statuses_as_ffmpeg_reads(b"$\0\0\1aRTSP/1.0 301\n\n") == [301]


def test_the_relay_ends_with_its_camera_and_leaves_no_thread():
    with rtsp_server(lambda method, number: None) as (port, _):
        relay = RtspRelay(f"rtsp://u:p@127.0.0.1:{port}/a?b=c")
        assert relay.target.startswith("rtsp://u:p@127.0.0.1:")
        assert relay.target.endswith("/a?b=c")
        assert f":{port}/" not in relay.target
        relay.close()
    assert not [each for each in threading.enumerate() if "relay" in each.name]
