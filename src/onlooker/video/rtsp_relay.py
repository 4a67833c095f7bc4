"""A relay between FFmpeg and an RTSP camera, which lets no redirect pass.

FFmpeg follows the redirect of an RTSP server to whatever host it names and logs in there, with the
user and the password of the camera; it has no option against that. So every message of the camera
is read here, and what passes is written anew, so that FFmpeg cannot read a redirect where the relay
read none. That holds for each reply of the connection, not only for the first.
"""

import re

from onlooker.video.relay import Relay, RelayRefused

CONNECT_WITHIN = 5.0
"""Seconds for a camera to accept a connection."""
MAX_HEAD, MAX_BODY = 1 << 16, 1 << 20
"""Bytes of a message's head, and of its body (the description of the streams)."""

_REPLY = re.compile(rb"RTSP/[0-9]\.[0-9] ([0-9]{3})( .*)?")
_REQUEST = re.compile(rb"([A-Z_]+) \S+ RTSP/[0-9]\.[0-9]")
_HEADER = re.compile(rb"([A-Za-z0-9_-]+):[ \t]*(.*)")


class MessageFilter:
    r"""Takes what a camera sends, in pieces of any size, and returns what may be passed on.

    >>> messages = MessageFilter()
    >>> messages.feed(b"RTSP/1.0 200 OK\r\nCSeq: 1\r\n")
    b''
    >>> messages.feed(b"\r\n$\x00\x00\x02ab")
    b'RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n$\x00\x00\x02ab'
    >>> messages.feed(b"RTSP/1.0 302 Found\r\nLocation: rtsp://other/\r\n\r\n")
    Traceback (most recent call last):
    ...
    onlooker.video.relay.RelayRefused: it redirects to another address, and redirects are not...
    """

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._passing = 0
        """Bytes of a body or a packet of media that are still to come."""

    def feed(self, data: bytes) -> bytes:
        """What may be passed on now; RelayRefused for a redirect, or for what is not RTSP."""
        self._waiting += data
        passed = bytearray()
        while self._waiting:
            if self._passing:
                part = self._waiting[: self._passing]
                del self._waiting[: len(part)]
                self._passing -= len(part)
                passed += part
            elif self._waiting[0] == ord("$"):
                if len(self._waiting) < 4:
                    break
                self._passing = 4 + int.from_bytes(self._waiting[2:4], "big")
            else:
                head = self._head()
                if head is None:
                    break
                passed += head
        return bytes(passed)

    def _head(self) -> bytes | None:
        """The head of the next message, written anew; None if it has not arrived in full."""
        begun = bytes(self._waiting[:80]).lstrip(b"\r\n")
        if begun and not begun[:1].isupper():  # soon, not when a row ends that is none
            raise RelayRefused("what it sends is not RTSP")
        rows: list[bytes] = []
        at = 0
        while True:
            end = self._waiting.find(b"\n", at)
            if end < 0 and len(self._waiting) > MAX_HEAD:
                raise RelayRefused("what it sends is not RTSP: a head without an end")
            if end < 0:
                return None
            row = bytes(self._waiting[at:end]).replace(b"\r", b"")
            at = end + 1
            if row:
                rows.append(row)
            elif rows:
                break
        del self._waiting[:at]
        self._passing, passed = _checked(rows)
        return b"".join(row + b"\r\n" for row in (*passed, b""))


def _checked(rows: list[bytes]) -> tuple[int, list[bytes]]:
    """The length of the body, and the rows of a head that may be passed on."""
    reply, request = _REPLY.fullmatch(rows[0]), _REQUEST.fullmatch(rows[0])
    if reply is None and request is None:
        raise RelayRefused("what it sends is not RTSP")
    if (reply and reply[1].startswith(b"3")) or (request and request[1] == b"REDIRECT"):
        raise RelayRefused(
            "it redirects to another address, and redirects are not followed: enter the address "
            "that it redirects to, if that is yours"
        )
    lengths, passed = {b"0"}, [rows[0]]
    for row in rows[1:]:
        header = _HEADER.fullmatch(row)
        if header is None or header[1].lower() == b"location":
            continue
        if header[1].lower() == b"content-length":
            lengths.add(header[2].strip())
        else:
            passed.append(row)
    given = lengths - {b"0"}
    if len(given) > 1 or not all(re.fullmatch(rb"[0-9]{1,7}", text) for text in given):
        raise RelayRefused("what it sends is not RTSP: the length of a message is not clear")
    length = max((int(text) for text in given), default=0)
    if length > MAX_BODY:
        raise RelayRefused(f"it sends a message of {length} bytes, more than {MAX_BODY}")
    return length, [*passed, b"Content-Length: %d" % length] if length else passed


class RtspRelay(Relay):
    """Relays an RTSP camera without its redirects."""

    def __init__(self, address: str) -> None:
        super().__init__(address, CONNECT_WITHIN, lambda: MessageFilter().feed)
