"""Services with and without known people, and a browser whose webcam shows real faces."""

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from helpers.browsing import browsing, running, tab_of, webcam, write_film
from helpers.services import API, client_of, encoded, service_in
from helpers.waiting import eventually
from helpers.webcams import Webcam
from onlooker.simulation.scenarios import scenario
from onlooker.vision.types import Frame

EACH = 20
"""Frames of each of the eight people."""
NAMED = ("Anastasia", "Benedict", "Cordelia")


@pytest.fixture(scope="session")
def reel():
    """Frames of a simulated camera, one list for each of the eight people."""
    scenes = [frame.pixels for frame, _ in scenario("V1", frames=8 * EACH)]
    return [scenes[at : at + EACH] for at in range(0, len(scenes), EACH)]


@pytest.fixture(scope="session")
def video(reel, tmp_path_factory):
    """The video of the simulated webcam: Anastasia, then Benedict."""
    return write_film(tmp_path_factory.mktemp("film") / "webcam.mjpeg", reel[0] + reel[1])


# Not for the whole session: while playwright runs, no other test could run an event loop.
@pytest.fixture(scope="module")
def browser(video):
    with browsing(*webcam(video)) as running:
        yield running


@pytest.fixture(scope="session")
def taught(reel, tmp_path_factory):
    """The folder of a home that knows three of the eight people and has seen all of them often."""
    folder = tmp_path_factory.mktemp("taught") / "home"
    with service_in(folder) as service:
        client = client_of(service, folder)
        for name, scenes in zip(NAMED, reel, strict=False):
            for pixels in scenes[::5]:
                content = encoded(pixels)
                answer = client.post(f"{API}/faces", params={"name": name}, content=content)
                assert answer.status_code == 201, answer.text
        frames = [pixels for scenes in reel for pixels in scenes]
        for index, pixels in enumerate(frames):
            service.recognize(Frame("door", index, index / 12, pixels))
    return folder


@pytest.fixture
def empty(tmp_path):
    """A service with a new home."""
    with running(tmp_path / "home") as service:
        yield service


@pytest.fixture
def own(taught, tmp_path):
    """A service with known people, for a single test, which may change it."""
    with running(Path(shutil.copytree(taught, tmp_path / "home"))) as service:
        yield service


def strict_service(folder):
    """Names are carried nowhere: whoever is like somebody known is a question."""
    return service_in(folder, trust_radius=0.0)


@pytest.fixture(scope="session")
def seen(reel, tmp_path_factory):
    """The folder of a home that knows one person, and has seen her and two others."""
    folder = tmp_path_factory.mktemp("seen") / "home"
    with strict_service(folder) as service:
        client = client_of(service, folder)
        for pixels in reel[0][::7]:
            content = encoded(pixels)
            answer = client.post(f"{API}/faces", params={"name": NAMED[0]}, content=content)
            assert answer.status_code == 201, answer.text
        for camera, scenes in (("door", reel[0][:6]), ("yard", reel[3][:12]), ("gate", reel[4])):
            for index, pixels in enumerate(scenes):
                service.recognize(Frame(camera, index, index / 12, pixels))
        assert client.get(f"{API}/questions").json()[0]["candidate"] == NAMED[0]
    return folder


@pytest.fixture
def strict(seen, tmp_path):
    """A service with such a home, for a single test."""
    with running(Path(shutil.copytree(seen, tmp_path / "home")), strict_service) as service:
        yield service


def trusting_service(folder):
    """Names are carried a little: some faces are learned, others are questions."""
    return service_in(folder, trust_radius=0.11)


@pytest.fixture
def trusting(reel, tmp_path):
    """A service that has learned faces of the one person whom it knows, and has a question."""
    with running(tmp_path / "home", trusting_service) as service:
        client = client_of(service.running, service.folder)
        content = encoded(reel[0][0])
        assert client.post(f"{API}/faces", params={"name": NAMED[0]}, content=content).is_success
        for index, pixels in enumerate(reel[0]):
            service.running.recognize(Frame("door", index, index / 12, pixels))
        yield service


@pytest.fixture(scope="module")
def full(taught, reel, tmp_path_factory):
    """A service with known people and a camera, shared by tests that change nothing."""
    folder = Path(shutil.copytree(taught, tmp_path_factory.mktemp("full") / "home"))
    jpegs = [encoded(pixels, ".jpg") for pixels in reel[0][:8] + reel[3][:8]]
    with running(folder) as service, Webcam(*jpegs, pause=0.4) as seen:
        service.running.cameras.watch(f"door={seen.address}")
        eventually(lambda: service.running.cameras.statuses[0].frames > 0)
        yield service


@pytest.fixture
def visit(browser):
    """visit(service, ...) opens a browser tab, signed in unless signed_in is False."""
    with ExitStack() as tabs:

        def visiting(service, *, signed_in=True, **options):
            token = service.token if signed_in else None
            return tabs.enter_context(tab_of(browser, service.address, token=token, **options))

        yield visiting
