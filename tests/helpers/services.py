"""Shared by the tests of the service: pictures of real faces, a running service, a client."""

import cv2
import numpy as np
from starlette.testclient import TestClient

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.home.home import Home
from onlooker.simulation.orl import pictures_of
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import FaceFinder
from onlooker.web.app import create_app
from onlooker.web.auth import Guard
from onlooker.web.credentials import Credentials, Token
from onlooker.web.frames import LiveRecognizer
from onlooker.web.service import Service

FINDER = FaceFinder(kind="pixels")
"""For the tests' own thread: a detector belongs to one, so each service has another."""
API = "/api/v1"
SOCKETS = f"ws://127.0.0.1:8765{API}"


def scene(person, number=0, shift=0):
    """One of the forty people of the ORL database, enlarged, in front of a wall."""
    face = cv2.resize(pictures_of(person)[number], (184, 224), interpolation=cv2.INTER_CUBIC)
    wall = np.full((480, 640, 3), 90, np.uint8)
    wall[120:344, 220 + shift : 404 + shift] = face[:, :, None] if face.ndim == 2 else face
    return wall


def encoded(pixels, suffix=".png"):
    return cv2.imencode(suffix, pixels)[1].tobytes()


def photo(person, number=0, shift=0, suffix=".png"):
    return encoded(scene(person, number, shift), suffix)


def new_learner(trust_radius=None):
    features = FINDER.features
    kernel = HeatKernel(0.025, 1e-8, features.distance)
    return OnlineHarmonicLearner(kernel, features=features.tag, trust_radius=trust_radius)


def service_in(folder, *, trust_radius=None, **options):
    recognizer = LiveRecognizer(FaceFinder(kind=FINDER.kind))
    return Service(
        lambda: Home(folder, new_learner=lambda: new_learner(trust_radius)),
        lambda home: StrangerBook(home),
        recognizer,
        **options,
    )


_tokens = {}


def token_of(folder):
    """The token of a home, made once: a new one would end what the other clients may do."""
    _, text = Token.in_folder(folder, new=folder not in _tokens)
    _tokens[folder] = text or _tokens[folder]
    return _tokens[folder]


def client_of(service, folder, *, token=True, near=True, **rules):
    """A client of the service, on this computer if near, with the token or without."""
    text = token_of(folder)
    app = create_app(service, guard=Guard(Credentials(folder), **rules))
    client = TestClient(
        app,
        base_url="http://127.0.0.1:8765",
        client=("127.0.0.1" if near else "10.0.0.9", 5000),
        follow_redirects=False,
    )
    client.token = text
    if token:
        client.headers["authorization"] = f"Bearer {text}"
    return client


def teach(client, person, name, numbers=range(4)):
    """Upload labeled pictures; the last answer."""
    for number in numbers:
        answer = client.post(f"{API}/faces", params={"name": name}, content=photo(person, number))
        assert answer.status_code == 201, answer.text
    return answer.json()


def recognized(client, person, number=0):
    """The name of a picture that was not taught, but is similar to one that was."""
    answer = client.post(f"{API}/recognize", content=photo(person, number, suffix=".jpg"))
    assert answer.status_code == 200, answer.text
    (face,) = answer.json()
    return face["name"]
