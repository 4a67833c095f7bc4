"""A real RTSP server, and a TCP proxy in front of it that stalls, garbles and refuses."""

import os
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from helpers.waiting import DEADLINE

SYSTEM_PYTHON = "/usr/bin/python3"
PACKAGES = "python3-gi gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-good"
SCRIPT = Path(__file__).resolve().parents[1] / "faults" / "rtsp_server.py"


class RtspServer:
    """GStreamer's RTSP server as a process of its own, at `port`, until the block ends."""

    def __init__(self, *options):
        command = [SYSTEM_PYTHON, str(SCRIPT), *options]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            self.port = int(self._process.stdout.readline() or 0)
        except FileNotFoundError:
            self._process, self.port = None, 0
        if not self.port:
            self.close()
            message = f"GStreamer's RTSP server is not installed: apt install {PACKAGES}"
            (pytest.fail if os.environ.get("CI") else pytest.skip)(message)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait(DEADLINE)
            self._process.stdout.close()
            self._process.stderr.close()


class FaultyProxy:
    """Passes connections on to a port; it stalls, or garbles what comes back, while told to."""

    def __init__(self, port):
        self._target, self.port = port, 0
        self._moving, self._over = threading.Event(), threading.Event()
        self._moving.set()
        self.garbles = False
        self._open, self._lock = [], threading.Lock()
        self._listener = None
        self.listen()

    @property
    def address(self):
        return f"rtsp://admin:hunter2@127.0.0.1:{self.port}/1"

    @property
    def stalls(self):
        return not self._moving.is_set()

    @stalls.setter
    def stalls(self, stalled):
        (self._moving.clear if stalled else self._moving.set)()

    def listen(self):
        """Accept connections, at the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def refuse(self):
        """Close every connection, and accept no new one."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self):
        """Close every connection."""
        with self._lock:
            opened, self._open = self._open, []
        for each in opened:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._over.set()
        self._moving.set()
        self.refuse()

    def _accept(self, listener):
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                camera = socket.create_connection(("127.0.0.1", self._target))
                with self._lock:
                    self._open += [client, camera]
                for pair in ((client, camera, False), (camera, client, True)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source, sink, from_camera):
        with suppress(OSError):
            while (data := source.recv(1 << 14)) and not self._over.is_set():
                self._moving.wait()
                if self.garbles and from_camera:
                    data = bytes(byte ^ 0x5A for byte in data)
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
