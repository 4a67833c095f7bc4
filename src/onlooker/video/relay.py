"""A relay on loopback between FFmpeg and a camera in the network, which counts what arrives.

FFmpeg keeps what it has of a frame until the frame is complete, up to two gigabytes, and has no
option for less. So it is given the address of this relay instead of the camera's. A frame that does
not end ends the connection.

Requests are passed on unchanged: like through any port that is forwarded, the camera sees another
host in them than its own, unless FFmpeg is told to name it.
"""

import selectors
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from onlooker.core.errors import OnlookerError

MAX_UNFINISHED = 64 << 20
"""Bytes in which no frame is complete: twice the largest JPEG of 3,840 x 2,160 pixels (noise at
quality 100, without subsampling), five times such a keyframe of H.264."""
PORTS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
_CLOSE_WITHIN = 5.0
_MAX_CONNECTIONS = 4
"""FFmpeg has two for a moment when it reads a film from another place."""
_CHUNK = 1 << 16
BUFFER = 1 << 18
"""Bytes that wait between the relay and FFmpeg: they are counted, and are not in its memory yet."""
_RESET = struct.pack("ii", 1, 0)
"""Closes a connection so that the other side sees that it broke."""

Filter = Callable[[bytes], bytes]
"""Takes what a camera sends, in pieces of any size, and returns what may be passed on."""


class RelayRefused(OnlookerError):
    """What the camera sent is not passed on."""


class Relay:
    """Relays FFmpeg's connections to a camera, in threads, until it is closed.

    address: that of the camera, with its password. The constructor raises OSError if the camera
    cannot be reached. The certificate of an encrypted camera is not checked: theirs are
    self-signed.
    within: seconds for a camera to accept a connection: one that is switched off does not refuse.
    new_filter: makes the filter of one connection, which may raise RelayRefused.
    """

    def __init__(
        self, address: str, within: float, new_filter: Callable[[], Filter] = lambda: bytes
    ) -> None:
        parts = urlsplit(address)
        scheme, netloc = parts.scheme.lower(), parts.netloc
        self._host, self._port = parts.hostname or "", parts.port or PORTS[scheme]
        self._encrypts = scheme in ("rtsps", "https")
        self._within, self._new_filter = within, new_filter
        camera = self._connect()
        try:
            # It listens to the end: nobody else can take the port, and be given the password.
            self._listener = socket.create_server(("127.0.0.1", 0), backlog=1)
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)  # of each player
        except BaseException:
            camera.close()
            raise
        user, at, self.host = netloc.rpartition("@")
        port = self._listener.getsockname()[1]
        rest = address[len(scheme) + len("://") + len(netloc) :]
        self.target = f"{scheme.removesuffix('s')}://{user}{at}127.0.0.1:{port}{rest}"
        """What FFmpeg is to open; `host` is how the camera is called in its own address."""
        self.problem = ""
        """Why the connection was ended, if the relay did that."""
        self._unfinished, self._lock = 0, threading.Lock()
        self._closed = threading.Event()
        self._connections: dict[threading.Thread, list[socket.socket]] = {}
        self._thread = _thread(self._accept, camera)
        self._thread.start()

    def frame_complete(self) -> None:
        """Count from zero: FFmpeg has handed out a frame, and no longer keeps it."""
        with self._lock:
            self._unfinished = 0

    def close(self) -> None:
        """End the connections and the threads."""
        for thread in (self._thread, *self._end()):
            thread.join(_CLOSE_WITHIN)

    def _end(self) -> list[threading.Thread]:
        self._closed.set()
        with self._lock:
            for end in (end for both in self._connections.values() for end in both):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)  # ends a read or write in its thread
            return list(self._connections)

    def _connect(self) -> socket.socket:
        camera = socket.create_connection((self._host, self._port), timeout=self._within)
        try:
            return _encrypted(camera, self._host) if self._encrypts else camera
        except BaseException:
            camera.close()
            raise

    def _accept(self, camera: socket.socket | None) -> None:
        """Accept connections; the first one to the camera is made already."""
        with (
            self._listener,
            selectors.DefaultSelector() as selector,  # select() refuses descriptors above 1023
            suppress(OSError),  # no file descriptor is left: FFmpeg sees an end
        ):
            selector.register(self._listener, selectors.EVENT_READ)
            while not self._closed.is_set():
                if not selector.select(0.1):
                    continue
                player, _ = self._listener.accept()
                if len(self._connections) >= _MAX_CONNECTIONS:
                    player.close()
                    continue
                thread = _thread(self._serve, player, camera)
                with self._lock:
                    self._connections[thread] = [player]
                thread.start()
                camera = None
        if camera is not None:
            camera.close()

    def _serve(self, player: socket.socket, camera: socket.socket | None) -> None:
        ends = self._connections[threading.current_thread()]
        try:
            if camera is None:
                camera = self._connect()
            with self._lock:
                ends.append(camera)
            self._pass_on(camera, player)
        except RelayRefused as error:
            self.problem = str(error)
            self._end()
        except OSError:  # one of the two has closed; if that was the camera, FFmpeg is to see it
            with suppress(OSError):
                player.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        finally:
            with self._lock:
                del self._connections[threading.current_thread()]
            for end in ends:
                end.close()

    def _pass_on(self, camera: socket.socket, player: socket.socket) -> None:
        passing = self._new_filter()
        camera.setblocking(False)
        with selectors.DefaultSelector() as selector:
            for end in (camera, player):
                selector.register(end, selectors.EVENT_READ, end)
            while not self._closed.is_set():
                buffered = isinstance(camera, ssl.SSLSocket) and camera.pending() > 0
                ready = [camera] if buffered else [key.data for key, _ in selector.select(0.5)]
                for sender in ready:
                    data = _received(sender)
                    if data == b"":
                        return
                    if data is None:
                        continue
                    if sender is player:
                        camera.setblocking(True)
                        camera.sendall(data)
                        camera.setblocking(False)
                    else:
                        self._count(len(data))
                        player.sendall(passing(data))

    def _count(self, arrived: int) -> None:
        with self._lock:
            self._unfinished += arrived
            if self._unfinished > MAX_UNFINISHED:
                raise RelayRefused(
                    f"it sent {MAX_UNFINISHED >> 20} MB in which no frame is complete, and more is "
                    "not read; restart the camera, or set it to smaller pictures"
                )


def _thread(function: Callable[..., None], *sockets: socket.socket | None) -> threading.Thread:
    return threading.Thread(target=function, args=sockets, name="onlooker relay", daemon=True)


def _received(sender: socket.socket) -> bytes | None:
    """What has arrived: nothing if it is closed; None if that was only a message of TLS itself."""
    try:
        return sender.recv(_CHUNK)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return None


def _encrypted(camera: socket.socket, host: str) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(camera, server_hostname=host)
