"""Every change returns the event to undo to, and undoing restores what was known."""

from helpers.services import API, photo, scene, teach
from onlooker.vision.types import Frame


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
