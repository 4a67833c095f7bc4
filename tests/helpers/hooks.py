"""A receiver of alerts."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from helpers.waiting import DEADLINE


class Hook:
    """A server that remembers what it was sent."""

    def __init__(self, answer=200, where=None, wait=None):
        self.heard = heard = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                heard.append((self.path, json.loads(body)))
                if wait is not None:
                    wait.wait(DEADLINE)
                self.send_response(answer)
                if where:
                    self.send_header("Location", where)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                heard.append((self.path, None))
                self.send_error(405)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/hook?token=secret"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
