"""Every change returns the event to undo to, and undoing restores what was known."""

import pytest

from helpers.services import API, photo, scene, teach
from onlooker import OnlineHarmonicLearner
from onlooker.home.home import Home
from onlooker.vision.types import Frame
from onlooker.web import people


def known(client):
    """What a person sees of people and strangers."""
    people = [(p["name"], p["labeled"], p["learned"]) for p in client.get(f"{API}/people").json()]
    cards = [
        (card["card"], card["count"], card["faces"], card["hidden"], card["not_names"], card["ask"])
        for card in client.get(f"{API}/strangers?hidden=true").json()
    ]
    return people, cards


def change_and_undo(client, change):
    """Make a change, undo it, and compare with before."""
    before = known(client)
    answer = change()
    assert answer.status_code in (200, 201), answer.text
    assert known(client) != before
    done = client.post(f"{API}/undo", json={"to": answer.json()["undo"]})
    assert done.status_code == 200, done.text
    assert known(client) == before


def test_each_change_can_be_taken_back(client, service):
    ana = teach(client, 1, "ana", [0, 1])["person"]["id"]
    ben = teach(client, 2, "ben", [0])["person"]["id"]
    for index in range(3):
        service.recognize(Frame("door", index, 0.0, scene(1, shift=1 + index)))
    for index in range(2):
        service.recognize(Frame("yard", index, 0.0, scene(5, shift=index)))
    (card, *_) = client.get(f"{API}/strangers").json()
    faces = client.get(f"{API}/faces", params={"person": ana}).json()
    learned = next(face["vertex"] for face in faces if face["kind"] == "learned")
    labeled = faces[0]["vertex"]
    new = {"params": {"name": "cem"}, "content": photo(3)}
    body = {"person": ben, "into": ana}
    for change in (
        lambda: client.post(f"{API}/faces", **new),
        lambda: client.post(f"{API}/faces/{learned}/label", json={"name": "ana"}),
        lambda: client.post(f"{API}/faces/{labeled}/wrong"),
        lambda: client.post(f"{API}/strangers/{card['card']}/name", json={"name": "dora"}),
        lambda: client.post(f"{API}/strangers/{card['card']}/not", json={"name": "ana"}),
        lambda: client.post(f"{API}/strangers/{card['card']}/ask", json={"ask": False}),
        lambda: client.post(f"{API}/strangers/{card['card']}/ignore"),
        lambda: client.post(f"{API}/faces/{learned}/not", json={"name": "ana"}),
        lambda: client.post(f"{API}/faces/{learned}/nobody"),
        lambda: client.patch(f"{API}/people/{ana}", json={"name": "Ana"}),
        lambda: client.post(f"{API}/people/merge", json=body),
    ):
        change_and_undo(client, change)


def test_what_changes_nothing_has_nothing_to_undo(client):
    person = teach(client, 1, "ana", [0])["person"]["id"]
    same = client.patch(f"{API}/people/{person}", json={"name": "ana"}).json()
    assert same["undo"] is None


def test_a_card_that_is_gone_says_so(client, service):
    service.recognize(Frame("door", 0, 0.0, scene(1)))
    (card,) = client.get(f"{API}/strangers").json()
    path = f"{API}/strangers/{card['card']}"
    assert client.post(f"{path}/name", json={"name": "ana", "faces": ["0" * 16]}).status_code == 404
    assert client.post(f"{path}/name", json={"name": "ana", "faces": []}).status_code == 422
    named = client.post(f"{path}/name", json={"name": "ana", "faces": card["faces"]}).json()
    assert named["taught"] == 1
    bodies = {"name": {"name": "ana"}, "not": {"name": "ana"}, "ask": {"ask": False}}
    for last in ("name", "not", "ask", "ignore", "show"):
        answer = client.post(f"{path}/{last}", json=bodies.get(last))
        assert answer.status_code == 404
        assert "no stranger" in answer.json()["detail"]


def test_who_is_ignored_can_be_shown_again(client, service):
    service.recognize(Frame("door", 0, 0.0, scene(1)))
    (card,) = client.get(f"{API}/strangers").json()
    assert client.post(f"{API}/strangers/{card['card']}/ignore").status_code == 200
    assert client.get(f"{API}/strangers").json() == []
    assert client.post(f"{API}/strangers/{card['card']}/show").status_code == 200
    assert [one["card"] for one in client.get(f"{API}/strangers").json()] == [card["card"]]


@pytest.fixture
def solved(service, monkeypatch):
    """How often it was solved for whose face each vertex is."""
    solves, owners = [], OnlineHarmonicLearner.owners
    monkeypatch.setattr(
        OnlineHarmonicLearner, "owners", lambda learner: solves.append(1) or owners(learner)
    )
    return solves


def test_reading_the_people_again_solves_nothing(client, service, solved):
    teach(client, 1, "ana")
    solved.clear()
    for _ in range(5):
        service.people._json_until = 0.0  # as if half a second had passed
        assert client.get(f"{API}/people").json()[0]["labeled"] == 4
        ana = client.get(f"{API}/people").json()[0]["id"]
        assert len(client.get(f"{API}/faces", params={"person": ana}).json()) == 4
    assert len(solved) <= 1


def test_fifty_readers_who_wait_for_the_list_take_one_solve(client, service, solved, monkeypatch):
    """Though a camera learns between any two of them."""
    monkeypatch.setattr(people, "TABLE_SECONDS", 3600.0)  # however slow this machine is
    teach(client, 1, "ana")
    x = service.home_thread.submit(lambda home: home.vertices().vectors[0].copy()).result()
    service.people._json_until = 0.0
    solved.clear()
    tables = []
    for _ in range(50):
        tables.append(service.home_thread.submit(service.people.table))
        service.home_thread.submit(lambda home: home.observe(x, camera="door", frame=0), frame=True)
    assert len({table.result() for table in tables}) == 1
    assert len(solved) <= 1


def test_the_face_of_a_label_is_looked_up_without_reading_all_labels(client, service, monkeypatch):
    vertex = teach(client, 1, "ana")["vertex"]
    client.get(f"{API}/people")
    everything = Home.vertices

    def refused(home, *, vectors=True):
        assert not vectors, "all vectors were read"
        return everything(home, vectors=False)

    monkeypatch.setattr(Home, "vertices", refused)
    assert client.get(f"{API}/explain/{vertex}").status_code == 200
    assert client.post(f"{API}/faces/{vertex}/label", json={"name": "ana"}).status_code == 200
