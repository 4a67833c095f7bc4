"""A camera in the network that can be unplugged: MJPEG over HTTP on loopback."""

import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count


class Webcam:
    """Sends its pictures again and again to every client, unless it is unplugged."""

    def __init__(self, *jpegs, pause=0.04):
        self._jpegs, self._pause = jpegs, pause
        self._server = self._over = None
        self.port = self.requests = 0
        self.location = None
        """Where it redirects to, instead of sending pictures."""
        self.plug_in()

    @property
    def address(self):
        return f"http://admin:hunter2@127.0.0.1:{self.port}/video?key=hunter2"

    def plug_in(self):
        """Start to listen, at the same address as before."""
        over, pause, webcam = threading.Event(), self._pause, self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *words):
                pass

            def do_GET(self):
                webcam.requests += 1
                if webcam.location is not None:
                    self.send_response(302)
                    self.send_header("Location", webcam.location)
                    self.end_headers()
                    return
                self.send_response(200)
                self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
                self.end_headers()
                with suppress(OSError):  # the client may have disconnected
                    for jpeg in webcam._pictures():
                        head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}"
                        self.wfile.write(head.encode() + b"\r\n\r\n" + jpeg + b"\r\n")
                        if over.wait(pause):
                            return

        self._over = over
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def show(self, *jpegs):
        """Send other pictures from now on, of another size perhaps."""
        self._jpegs = jpegs

    def _pictures(self):
        for number in count():
            yield self._jpegs[number % len(self._jpegs)]

    def unplug(self):
        """Close every connection, and accept no new one."""
        if self._server is not None:
            self._over.set()
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.unplug()
