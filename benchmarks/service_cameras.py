"""Two cameras for a service: recorded frames over HTTP, again and again, at 25 a second.

A network camera as cheap ones are: MJPEG. Each viewer begins at the first frame.
"""

import csv
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

RATE = 25
FILMS = {"door": "V1+V2", "office": "VO"}
"""People who are named; one of them among strangers."""

Scene = tuple[bytes, str]
"""A JPEG file, and who is in it; nobody we know: an empty text."""


def scenes_of(dataset: Path) -> dict[str, list[Scene]]:
    """The frames of each film, in order."""
    with (dataset / "manifest.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["camera"] != "camera2"]
    return {
        name: [
            ((dataset / row["path"]).read_bytes(), row["person"])
            for row in rows
            if row["set"] == film
        ]
        for name, film in FILMS.items()
    }


def play(dataset: Path, ready: Connection, rate: Any) -> None:
    """Serve the films until killed; the port goes to whoever waits for it.

    rate is a number in memory that processes share: frames a second, which may change.
    """
    films = {name: [jpeg for jpeg, _ in scenes] for name, scenes in scenes_of(dataset).items()}

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
            self.end_headers()
            with suppress(OSError):  # they left
                self._play(films[self.path.strip("/")])

        def _play(self, frames: list[bytes]) -> None:
            due = time.monotonic()
            for number in count():
                jpeg = frames[number % len(frames)]
                head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}"
                self.wfile.write(head.encode("ascii") + b"\r\n\r\n" + jpeg + b"\r\n")
                due = max(due + 1 / rate.value, time.monotonic() - 1.0)
                time.sleep(max(0.0, due - time.monotonic()))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    ready.send(server.server_port)
    server.serve_forever()
