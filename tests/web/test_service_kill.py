"""`onlooker serve`, killed at any point, continues as if it had not been killed.

    PYTHONPATH=tests .venv/bin/python tests/web/test_service_kill.py --kills 200

runs the long version. Two cameras stream while labels arrive over REST; kill -9 ends it while it
opens, while it works, or while it closes. A learner that is never killed is the
reference: it learns the same faces, taken from the frames that the event log names and from the
pictures that were sent, and not from the changes in the event log.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count

import cv2
import httpx2
import numpy as np
import pytest

from helpers.killing import assert_never_killed, environment, long_version
from helpers.ports import free_port
from helpers.services import API, FINDER, encoded
from helpers.waiting import DEADLINE
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.home.home import Home
from onlooker.simulation.orl import PICTURES, pictures_of
from onlooker.web.credentials import Token

CAMERAS = {"door": 1, "yard": 2}
"""The person in front of each camera."""
STRANGER = 30
LENGTH = 30
"""Frames of a recording: more than a second."""
FILMS = 4
"""Different recordings of each camera; the processes take turns."""
VERTICES = 40
"""So few that faces are merged all the time."""
MAIN = (sys.executable, "-c", "from onlooker.cli import main; main()")


def new_learner():
    features = FINDER.features
    return OnlineHarmonicLearner(
        HeatKernel(0.025, 1e-8, features.distance), max_vertices=VERTICES, features=features.tag
    )


def opened(folder):
    return Home(folder, new_learner=new_learner)


# ---- what is shown, and sent


def scene(person, at, seed):
    """Somebody in front of a wall, between two of their pictures, with the noise of a camera."""
    first, share = divmod(at, 1.0)
    number, pictures = int(first), pictures_of(person).astype(float)
    face = (1 - share) * pictures[number % PICTURES] + share * pictures[(number + 1) % PICTURES]
    wall = np.full((240, 320), 90.0)
    wall[40:208, 90:228] = cv2.resize(face, (138, 168), interpolation=cv2.INTER_CUBIC)
    noisy = wall + np.random.default_rng(seed).normal(size=wall.shape) * 2
    return np.repeat(noisy.clip(0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def vector_in(pixels):
    """The only face of a picture, as the service measures it; None if it is not a good one."""
    boxes = FINDER.detect(pixels)
    if len(boxes) != 1 or FINDER.judge(pixels, boxes[0]) is not None:
        return None
    return FINDER.features(pixels, boxes[0])


@cache
def film(camera, number):
    """A recording: pictures of which each has one good face, and the vectors of those."""
    shown = []
    for step in count():
        person = STRANGER if step % 9 == 8 else CAMERAS[camera]
        pixels = scene(person, number + step / LENGTH, [CAMERAS[camera], number, step])
        if (vector := vector_in(pixels)) is not None:
            shown.append((pixels, vector))
        if len(shown) == LENGTH:
            return shown


def labeled_pictures():
    """Pictures to send: PNG, vector and name; no two are alike, so each is a vertex of its own."""
    for number in count():
        person = 1 + number % 4
        pixels = scene(person, number * 0.37, [99, number])
        if (vector := vector_in(pixels)) is not None:
            yield encoded(pixels), vector, f"person {person}"


def recording_folder(folder, camera, number):
    """A recording as a folder of pictures: where it is."""
    place = folder / f"{camera}-{number}"
    if not place.exists():
        place.mkdir(parents=True)
        for frame, (pixels, _) in enumerate(film(camera, number)):
            (place / f"{frame:03}.pgm").write_bytes(encoded(pixels[:, :, 0], ".pgm"))
    return place


# ---- one process


@dataclass
class ServiceRun:
    """One process: which labels were sent to it, in order."""

    film: int
    sent: list = field(default_factory=list)
    """Vector and name of every picture that went out to it."""
    acknowledged: int = 0
    """How many of those were answered with 201."""
    said: str = ""
    """What it printed to stderr."""


class RestartedService:
    """A home whose service is started again and again."""

    def __init__(self, folder):
        self.home, self.films, self.token = folder / "home", folder / "films", ""
        self.labeled_pictures = labeled_pictures()

    @contextmanager
    def process(self, number=None):
        """A service with both cameras, or none, in a process group of its own."""
        port = free_port()
        films = {c: recording_folder(self.films, c, number) for c in CAMERAS if number is not None}
        sources = [f"{camera}={place}" for camera, place in films.items()]
        options = {"--home": self.home, "--port": port, "--vertices": VERTICES}
        options["--features"] = FINDER.kind
        process = subprocess.Popen(
            [*MAIN, "serve", *sources, *(str(word) for pair in options.items() for word in pair)],
            stderr=subprocess.PIPE,
            text=True,
            env=environment() | {"XDG_CONFIG_HOME": str(self.home.parent / "config")},
            cwd=self.home.parent,
            start_new_session=True,
        )
        try:
            with httpx2.Client(
                base_url=f"http://127.0.0.1:{port}{API}", timeout=DEADLINE
            ) as client:
                yield process, client
        finally:
            kill(process)
            process.wait()
            process.stderr.close()

    def wait(self, process):
        """Wait until it listens."""
        said = ""
        for text in process.stderr:  # warnings come first
            said += text
            if "listening on" in text:
                break
        else:
            pytest.fail(f"it ended before it listened: {said}")
        if not self.token:
            _, self.token = Token.in_folder(self.home, new=True)
        return said

    def run_and_kill(self, number, moments, how):
        """Start it, send it labels, and kill it."""
        run = ServiceRun(number % FILMS)
        with self.process(run.film) as (process, client):
            if how == "opening":
                kill_after(process, moments.uniform(0.3, 2.0))
            else:
                self.wait(process)
                end = terminate_then_kill if how == "closing" else kill_after
                labels, pause = moments.randrange(2, 12), moments.random() / 2
                self.write(run, client, labels, lambda: end(process, pause))
            process.wait(DEADLINE)
            run.said = process.stderr.read()
        return run

    def write(self, run, client, labels, end):
        """Send labels, one after the other, until the service does not answer any more.

        end is called once `labels` answers came and both cameras delivered frames: a busy machine
        gets as far as an idle one.
        """
        client.headers["authorization"] = f"Bearer {self.token}"
        ending = False
        for png, vector, name in self.labeled_pictures:
            run.sent.append((vector, name))
            try:
                answer = client.post("/faces", params={"name": name}, content=png)
            except httpx2.TransportError:
                return
            if answer.status_code == 503:  # it is closing
                run.sent.pop()
                return
            assert answer.status_code == 201, answer.text
            run.acknowledged += 1
            if not ending and run.acknowledged >= labels and all_seen(client):
                ending = True
                end()


def all_seen(client):
    """Whether the service has taken in frames of every camera."""
    return all(camera["frames"] > 0 for camera in client.get("/cameras").json())


def kill(process):
    """Kill the whole process group at once, as a power cut does."""
    if process.poll() is None:
        with suppress(ProcessLookupError):  # it has ended this very moment
            os.killpg(process.pid, signal.SIGKILL)


def kill_after(process, seconds):
    """Kill it after a while."""
    threading.Timer(seconds, kill, [process]).start()


def terminate_then_kill(process, seconds):
    """Terminate it, and kill it while it closes."""
    threading.Timer(seconds, process.terminate).start()
    threading.Timer(1.3 * seconds, kill, [process]).start()


# ---- the reference


class ReferenceLearner:
    """The learner that was never killed."""

    def __init__(self):
        self.learner, self.sequence = new_learner(), 0
        self.observed = self.taught = self.ahead = 0

    def follow(self, home, run):
        """Learn what the home learned in one run, from the pictures themselves."""
        teaching = iter(run.sent)
        events = home.events(self.sequence, limit=10**6)
        for event in events:
            assert event.sequence == self.sequence + 1
            self.sequence = event.sequence
            if event.kind == "teach":
                self.learner.teach(*next(teaching))
            else:
                assert event.kind == "observe"
                _, vector = film(event.camera, run.film)[event.frame]
                assert self.learner.observe(vector).label is not None
        taught = sum(event.kind == "teach" for event in events)
        assert run.acknowledged <= taught <= len(run.sent), "an acknowledged label is lost"
        self.taught += taught
        self.observed += len(events) - taught
        self.ahead += taught - run.acknowledged


def kill_often(folder, kills, seed):
    """Kill the service, and compare with the reference after every kill."""
    service, reference, moments = RestartedService(folder), ReferenceLearner(), random.Random(seed)
    probes = [vector for camera in CAMERAS for _, vector in film(camera, seed % FILMS)[::5]]
    for number in range(kills):
        how = "opening" if number % 4 == 3 else "closing" if number % 4 == 1 else "working"
        run = service.run_and_kill(number, moments, how)
        assert "Traceback" not in run.said, run.said
        copy = folder / "copy"  # the home itself is for the next service to find as it is
        shutil.copytree(service.home, copy)
        with opened(copy) as home:
            reference.follow(home, run)
            assert_never_killed(home, reference.learner, probes)
        shutil.rmtree(copy)
    compare_over_rest(service, reference.learner, seed)
    with opened(service.home) as home:
        assert home.sequence == reference.sequence
        assert_never_killed(home, reference.learner, probes)
    return reference


def compare_over_rest(service, learner, seed):
    """The service itself, started once more, scores as the learner that was never killed."""
    with service.process() as (process, client):
        service.wait(process)
        client.headers["authorization"] = f"Bearer {service.token}"
        assert client.get("/health").json()["problems"] == []
        for camera in CAMERAS:
            for pixels, vector in film(camera, seed % FILMS)[::8]:
                answer = client.post("/recognize", content=encoded(pixels))
                assert answer.status_code == 200, answer.text
                expected = learner.predict(vector)
                assert answer.json()[0]["name"] == expected.label
                assert answer.json()[0]["scores"] == pytest.approx(expected.scores, abs=1e-8)
        process.terminate()
        assert process.wait(DEADLINE) == 130


@pytest.mark.skipif(sys.platform == "win32", reason="has no process groups to kill")
def test_a_service_that_is_killed_loses_nothing_it_acknowledged(tmp_path):
    reference = kill_often(tmp_path, kills=3, seed=1)
    assert reference.taught >= 5
    assert reference.observed > 0


def summary(folder, kills, seed):
    """The figures of the long version, as a sentence."""
    reference = kill_often(folder, kills, seed)
    return (
        f"{reference.taught} labels and {reference.observed} faces of two cameras were learned; "
        "the home knew the same as the reference, every time; "
        f"{reference.ahead} times one label more was on the disk than had been acknowledged"
    )


if __name__ == "__main__":
    long_version(__doc__, summary)
