"""Teach, recognize, explain, rename, merge, forget, undo: what programs do with people."""

import time

import numpy as np
import pytest

from helpers.services import API, encoded, photo, recognized, scene, teach
from onlooker.home.database import NotSaved
from onlooker.home.home import Home
from onlooker.home.retention import Health
from onlooker.vision.types import Frame


def people(client):
    return {one["name"]: one for one in client.get(f"{API}/people").json()}


def test_a_taught_face_is_recognized_and_nothing_is_learned_by_asking(client):
    teach(client, 1, "ana")
    teach(client, 2, "ben")
    before = client.get(f"{API}/events").json()
    assert recognized(client, 1) == "ana"
    assert recognized(client, 2) == "ben"
    assert client.get(f"{API}/events").json() == before
    assert people(client)["ana"]["labeled"] == 4


def test_forgetting_gives_a_receipt_and_the_name_is_gone(client, tmp_path):
    teach(client, 1, "ana")
    teach(client, 2, "ben")
    ana = people(client)["ana"]["id"]
    receipt = client.delete(f"{API}/people/{ana}").json()
    assert (receipt["labeled"], receipt["pictures"]) == (4, 4)
    assert "ana" not in str(receipt)
    assert list(people(client)) == ["ben"]
    assert recognized(client, 1) != "ana"
    assert client.delete(f"{API}/people/{ana}").status_code == 404
    assert client.post(f"{API}/undo", json={"to": 1}).status_code == 404  # stays forgotten


def test_undo_brings_back_what_was_known(client):
    teach(client, 1, "ana")
    known = client.get(f"{API}/health").json
    sequence = client.get(f"{API}/events").json()[-1]["sequence"]
    vertex = teach(client, 2, "ben", [0])["vertex"]
    assert sorted(people(client)) == ["ana", "ben"]
    after = client.post(f"{API}/undo", json={"to": sequence})
    assert after.status_code == 200
    assert after.json()["sequence"] == sequence + 2
    assert sorted(people(client)) == ["ana"]
    assert client.get(f"{API}/faces/{vertex}/picture").status_code == 404
    assert client.post(f"{API}/undo", json={"to": 10**9}).status_code == 404
    assert known()["status"] == "ok"


def test_faces_have_pictures_and_a_wrong_one_goes(client):
    teach(client, 1, "ana")
    ana = people(client)["ana"]["id"]
    faces = client.get(f"{API}/faces", params={"person": ana}).json()
    assert len(faces) == 4
    assert all(face["kind"] == "labeled" and face["picture"] for face in faces)
    first = faces[0]["vertex"]
    picture = client.get(f"{API}/faces/{first}/picture")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    dropped = client.post(f"{API}/faces/{first}/wrong").json()["dropped"]
    assert first in dropped
    assert client.get(f"{API}/faces/{first}/picture").status_code == 404
    assert client.post(f"{API}/faces/{first}/wrong").status_code == 404
    assert client.post(f"{API}/faces/{first}/label", json={"name": "ana"}).status_code == 404


def test_wrong_takes_along_what_was_learned_through_it_only(client, service):
    """An unlabeled face that no label reaches any more has no reason to stay."""
    vertex = teach(client, 1, "ana", [0])["vertex"]
    for index in range(3):
        service.recognize(Frame("door", index, 0.0, scene(1, 0, shift=1 + index)))
    learned = people(client)["ana"]["learned"]
    assert learned > 0
    dropped = client.post(f"{API}/faces/{vertex}/wrong").json()["dropped"]
    assert len(dropped) == 1 + learned
    assert people(client) == {}
    (card,) = client.get(f"{API}/strangers").json()
    assert len(card["faces"]) > 0


def test_a_stranger_is_named_once_or_ignored(client, service):
    for index, person in enumerate((1, 1, 2)):
        service.recognize(Frame("door", 100 * index, 0.0, scene(person)))
    most, other = client.get(f"{API}/strangers").json()
    assert (most["count"], most["last"]["camera"], other["count"]) == (2, "door", 1)
    picture = client.get(f"{API}/strangers/{most['card']}/faces/{most['faces'][0]}")
    assert picture.content.startswith(b"\x89PNG")
    assert client.get(f"{API}/strangers/{most['card']}/faces/{'0' * 16}").status_code == 404
    named = client.post(f"{API}/strangers/{most['card']}/name", json={"name": "ana"}).json()
    assert named["person"]["labeled"] == named["taught"] > 0
    assert recognized(client, 1) == "ana"
    assert client.post(f"{API}/strangers/{other['card']}/ignore").status_code == 200
    assert client.get(f"{API}/strangers").json() == []
    assert len(client.get(f"{API}/strangers?hidden=true").json()) == 1
    again = client.post(f"{API}/strangers/{most['card']}/name", json={"name": "ben"})
    assert again.status_code == 404


def test_renaming_and_merging_keep_the_faces(client):
    teach(client, 1, "ana")
    teach(client, 1, "anna", [5, 6])
    teach(client, 2, "ben")
    ana = people(client)["ana"]["id"]
    taken = client.patch(f"{API}/people/{ana}", json={"name": "ben"})
    assert taken.status_code == 409
    renamed = client.patch(f"{API}/people/{ana}", json={"name": "Ana"}).json()
    assert (renamed["name"], renamed["labeled"]) == ("Ana", 4)
    assert client.patch(f"{API}/people/{ana}", json={"name": "x"}).status_code == 404
    anna = people(client)["anna"]["id"]
    merged = client.post(f"{API}/people/merge", json={"person": anna, "into": renamed["id"]})
    assert merged.json()["labeled"] == 6
    assert sorted(people(client)) == ["Ana", "ben"]
    assert recognized(client, 1) == "Ana"
    itself = {"person": renamed["id"], "into": renamed["id"]}
    assert client.post(f"{API}/people/merge", json=itself).status_code == 422


def test_an_explanation_names_the_faces_on_the_way(client):
    vertex = teach(client, 1, "ana")["vertex"]
    (explained,) = client.post(f"{API}/explain", content=photo(1, suffix=".jpg")).json()
    why = explained["why"]
    assert why["name"] == "ana"
    assert sum(end["share"] for end in why["endings"]) + why["sink"] == pytest.approx(1)
    assert {link["name"] for end in why["endings"] for link in end["chain"]} == {"ana"}
    assert client.get(f"{API}/explain/{vertex}").json()["name"] == "ana"
    assert client.get(f"{API}/explain/999999").status_code == 404


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a/b", "..", "C:\\x", "<b>&", "名前", "\U0001f600"]
)
def test_a_name_is_never_a_path(client, tmp_path, name):
    before = {path.relative_to(tmp_path) for path in tmp_path.rglob("*")}
    person = teach(client, 1, name, [0])["person"]
    after = {path.relative_to(tmp_path) for path in tmp_path.rglob("*")}
    assert after == before
    assert (
        client.patch(f"{API}/people/{person['id']}", json={"name": name + "2"}).status_code == 200
    )
    assert list(people(client)) == [name + "2"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 201])
def test_names_that_are_none_are_refused(client, name):
    answer = client.post(f"{API}/faces", params={"name": name}, content=photo(1))
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)


def test_what_cannot_be_taught_says_why(client, service):
    empty = encoded(scene(1)[:, :100])
    two = encoded(np.hstack([scene(1), scene(2)]))
    for content, words in ((empty, "0 were found"), (two, "2 were found"), (b"GIF89a", "not a")):
        answer = client.post(f"{API}/faces", params={"name": "ana"}, content=content)
        assert answer.status_code == 422
        assert words in answer.json()["detail"]
    teach(client, 1, "ana", [0])
    conflict = client.post(f"{API}/faces", params={"name": "ben"}, content=photo(1, 0))
    assert conflict.status_code == 409


def test_a_disk_that_refuses_is_told_and_reading_goes_on(client, service, monkeypatch):
    teach(client, 1, "ana")

    def full(*arguments, **options):
        raise NotSaved("database or disk is full; free some space")

    monkeypatch.setattr(Home, "teach", full)
    monkeypatch.setattr(Home, "health", lambda home: Health("disk is full", (), 4, 0))
    answer = client.post(f"{API}/faces", params={"name": "ben"}, content=photo(2))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "disk is full" in answer.json()["detail"]
    deadline = time.monotonic() + 10
    while client.get(f"{API}/health").json()["status"] == "ok":
        assert time.monotonic() < deadline
    assert client.get(f"{API}/health").json()["read_only"] == "disk is full"
    assert recognized(client, 1) == "ana"


def test_wrong_with_its_group_takes_all_that_came_to_the_name_with_it(client, service):
    teach(client, 1, "ana", [0])
    for index in range(4):
        service.recognize(Frame("door", index, 0.0, scene(1, 0, shift=1 + index)))
    ana = people(client)["ana"]
    learned = client.get(f"{API}/faces", params={"person": ana["id"], "kind": "learned"}).json()
    vertex = next(face["vertex"] for face in learned if face["kind"] == "learned")
    group = client.get(f"{API}/faces/{vertex}/group").json()
    assert group["name"] == "ana"
    assert group["vertices"][0] == vertex
    done = client.post(f"{API}/faces/{vertex}/wrong", params={"group": True}).json()
    assert set(group["vertices"]) <= set(done["dropped"])
    assert people(client)["ana"]["labeled"] == ana["labeled"], "what people taught stays"
    assert client.get(f"{API}/faces/{vertex}/group").status_code == 404
    assert client.post(f"{API}/undo", json={"to": done["undo"]}).status_code == 200
    assert people(client)["ana"]["learned"] == ana["learned"]
