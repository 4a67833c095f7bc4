"""The audit and the separation over REST: computed on a copy, cached, and no camera waits."""

import threading

import pytest

from helpers.services import API, scene, teach
from helpers.waiting import DEADLINE, eventually
from onlooker.vision.types import Frame
from onlooker.web.routes import audit as audit_routes


@pytest.fixture
def known(client, service):
    """A service that knows two people and has seen one of them."""
    for person, name in ((1, "ana"), (2, "ben")):
        teach(client, person, name)
    for index in range(4):
        service.recognize(Frame("door", index, index / 10, scene(1, index, shift=2)))
    return client


def finished(client, **query):
    """The report once no audit runs."""
    found = [None]

    def is_done():
        found[0] = client.get(f"{API}/audit", params=query).json()
        return found[0]["done"] is None

    eventually(is_done)
    return found[0]


def test_an_audit_runs_once_and_stays_until_a_new_one_is_wanted(known, service):
    first = known.get(f"{API}/audit").json()
    assert first["audit"] is None or first["done"] is None
    report = finished(known)
    found = report["audit"]
    assert [person["name"] for person in found["people"]] == ["ana", "ben"]
    assert found["sequence"] == report["newest"]
    for person in found["people"]:
        assert sum(person["hidden_labels"].values()) == person["labeled"] == 4
        assert {face["vertex"] for face in person["farthest"]} <= set(found["pictured"])
    teach(known, 3, "cem", [0])
    stale = known.get(f"{API}/audit").json()
    assert stale["audit"] == found
    assert stale["newest"] > found["sequence"]
    again = finished(known, again=True)["audit"]
    assert [person["name"] for person in again["people"]] == ["ana", "ben", "cem"]


def test_an_audit_of_somebody_who_was_forgotten_is_dropped(known):
    (ana, _) = finished(known)["audit"]["people"]
    assert known.delete(f"{API}/people/{ana['id']}").status_code == 200
    assert [person["name"] for person in finished(known)["audit"]["people"]] == ["ben"]


def test_frames_do_not_wait_for_an_audit(known, service, monkeypatch):
    running, finish = threading.Event(), threading.Event()
    real = audit_routes.audit

    def slow(*arguments, **options):
        running.set()
        assert finish.wait(DEADLINE)
        return real(*arguments, **options)

    monkeypatch.setattr(audit_routes, "audit", slow)
    assert known.get(f"{API}/audit").json()["done"] == 0
    assert running.wait(DEADLINE)
    service.recognize(Frame("door", 9, 0.9, scene(1, 4)))  # while the audit is running
    assert known.get(f"{API}/audit").json()["of"] == 2
    finish.set()
    assert finished(known)["audit"] is not None


def test_a_failed_audit_ends_and_can_be_tried_again(known, monkeypatch):
    real = audit_routes.audit
    monkeypatch.setattr(audit_routes, "audit", lambda *_, **__: 1 / 0)
    assert known.get(f"{API}/audit").json()["audit"] is None
    monkeypatch.setattr(audit_routes, "audit", real)
    eventually(lambda: finished(known)["audit"] is not None)


def test_the_separation_is_that_of_the_home(known):
    found = known.get(f"{API}/separation").json()
    assert [person["name"] for person in found["people"]] == ["ana", "ben"]
    (pair,) = found["pairs"]
    assert pair["alike"] is None
    assert pair["nearest"]["distance"] > found["reach"]
    assert found["proposed"] == 0.13, "strangers allow no more"
    assert known.get(f"{API}/separation").json() == found
    teach(known, 3, "cem", [0])
    assert len(known.get(f"{API}/separation").json()["pairs"]) == 3


def test_a_home_without_people_has_nothing_to_audit(client):
    report = finished(client)
    assert report["audit"]["people"] == []
    assert report["audit"]["contamination"] is None
    assert client.get(f"{API}/separation").json()["pairs"] == []


def test_an_audit_of_an_empty_home_said_that_nobody_has_a_name_for_ever(client):
    assert finished(client)["audit"]["people"] == []
    teach(client, 1, "ana", [0])
    assert [person["name"] for person in finished(client)["audit"]["people"]] == ["ana"]
