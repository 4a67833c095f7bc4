"""Questions about strangers: asked best first, answered over the interface, and taken back."""

import json

import pytest

from helpers.services import API, client_of, scene, service_in, teach
from onlooker.vision.types import Frame


@pytest.fixture
def service(tmp_path):
    """Names are not carried at all: whoever is like somebody is a candidate."""
    with service_in(tmp_path / "home", trust_radius=0.0) as running:
        yield running


@pytest.fixture
def client(service, tmp_path):
    return client_of(service, tmp_path / "home")


def show(service, person, index, shift=0, camera="door"):
    return service.recognize(Frame(camera, index, index / 12, scene(person, shift=shift)))


def questions(client, **limits):
    answer = client.get(f"{API}/questions", params=limits)
    assert answer.status_code == 200, answer.text
    return answer.json()


def answered(client, path, **body):
    answer = client.post(f"{API}/{path}", json=body or None)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_there_may_be_nothing_to_ask(client):
    assert questions(client) == []
    for limit in (0, 1001, "many"):
        assert client.get(f"{API}/questions", params={"limit": limit}).status_code == 422


def test_a_candidate_is_a_question_and_no_name(client, service):
    teach(client, 1, "ana", [0])
    for index in range(3):
        show(service, 5, index, camera="yard")
    result = show(service, 1, 0, shift=1)
    (face,) = json.loads(result.message())["faces"]
    assert (face["name"], face["state"]) == (None, "nobody")
    assert (face["answer"]["name"], face["answer"]["candidate"]) == (None, "ana")
    first, second = questions(client)
    assert (first["card"], first["candidate"], first["candidates"]) == (
        face["card"],
        "ana",
        {"ana": 1},
    )
    assert (second["candidate"], second["count"]) == (None, 3)
    assert questions(client, limit=1) == [first]
    assert [row["card"] for row in client.get(f"{API}/strangers").json()] == [
        second["card"],
        first["card"],
    ]
    why = client.get(f"{API}/seen/door/{face['track']}/why").json()
    assert (why["name"], why["candidate"]) == (None, "ana")


def test_yes_names_the_card_and_no_does_not_ask_again(client, service):
    teach(client, 1, "ana", [0])
    show(service, 1, 0, shift=1)
    (card,) = questions(client)
    no = answered(client, f"strangers/{card['card']}/not", name="ana")
    assert no["faces"] == 1
    (same,) = questions(client)
    assert (same["candidate"], same["not_names"]) == (None, ["ana"])
    answered(client, "undo", to=no["undo"])
    (again,) = questions(client)
    assert (again["candidate"], again["not_names"]) == ("ana", [])
    yes = answered(client, f"strangers/{card['card']}/name", name=again["candidate"])
    assert (yes["person"]["labeled"], questions(client)) == (2, [])
    answered(client, "undo", to=yes["undo"])
    assert questions(client) == [again]


def test_a_yes_confirms_the_learned_faces_that_were_shown_with_the_question(tmp_path):
    with service_in(tmp_path / "other", trust_radius=0.05) as service:
        client = client_of(service, tmp_path / "other")
        teach(client, 1, "ana", [0])
        index = 0
        while not (rows := [row for row in questions(client) if row["learned"]]):
            index += 1
            assert index < 60, "nothing was learned beyond half of the radius"
            show(service, 1, index, shift=index)
        card = rows[0]
        assert card["candidate"] == "ana"
        before = client.get(f"{API}/people").json()[0]["labeled"]
        named = answered(
            client, f"strangers/{card['card']}/name", name="ana", learned=card["learned"]
        )
        assert named["taught"] == len(card["faces"]) + len(card["learned"])
        assert named["person"]["labeled"] == before + named["taught"]
        answered(client, "undo", to=named["undo"])
        assert client.get(f"{API}/people").json()[0]["labeled"] == before
        wrong = client.post(
            f"{API}/strangers/{card['card']}/name", json={"name": "ana", "learned": ["x"]}
        )
        assert wrong.status_code == 422


def test_not_to_be_asked_about_is_taken_back_by_undo_or_by_hand(client, service):
    show(service, 1, 0)
    (card,) = questions(client)
    path = f"strangers/{card['card']}/ask"
    done = answered(client, path, ask=False)
    assert questions(client) == []
    assert [row["ask"] for row in client.get(f"{API}/strangers").json()] == [False]
    answered(client, "undo", to=done["undo"])
    assert questions(client) == [card]
    answered(client, path, ask=False)
    answered(client, path, ask=True)
    assert questions(client) == [card]
    for body in ({}, {"ask": "perhaps"}, {"ask": True, "more": 1}):
        assert client.post(f"{API}/{path}", json=body).status_code == 422


def test_who_is_ignored_is_nobody_until_shown_again(client, service):
    teach(client, 1, "ana", [0])
    show(service, 1, 0, shift=1)
    (card,) = questions(client)
    assert answered(client, f"strangers/{card['card']}/ignore")["faces"] == 1
    assert questions(client) == []
    result = show(service, 1, 1, shift=1)
    assert result.sightings[0].answer.candidate is None
    assert result.cards == (card["card"],)
    answered(client, f"strangers/{card['card']}/show")
    assert show(service, 1, 2, shift=1).sightings[0].answer.candidate == "ana"


def test_what_people_say_is_not_counted_as_learned(client, service):
    teach(client, 1, "ana", [0])
    for index in range(3):
        show(service, 5, index, shift=index)
    learned = client.get(f"{API}/summary").json()["learned"]
    (card,) = [row["card"] for row in questions(client)]
    answered(client, f"strangers/{card}/not", name="ana")
    answered(client, f"strangers/{card}/ignore")
    assert client.get(f"{API}/summary").json()["learned"] == learned


@pytest.mark.parametrize("where", ["faces", "seen"])
def test_not_ana_and_nobody_of_a_face_that_has_a_name(tmp_path, where):
    with service_in(tmp_path / "home") as service:
        client = client_of(service, tmp_path / "home")
        vertex = teach(client, 1, "ana", [0])["vertex"]
        result = show(service, 1, 0, shift=2)
        assert result.sightings[0].name == "ana"
        track = result.sightings[0].track
        path = f"seen/door/{track}" if where == "seen" else f"faces/{result.vertices[0]}"
        for last, body in (("not", {"name": "ana"}), ("nobody", {})):
            done = answered(client, f"{path}/{last}", **body)
            assert done["faces"] == 1
            again = show(service, 1, 1, shift=2)
            assert (again.sightings[0].answer.label, again.sightings[0].name) == (None, None)
            hidden = client.get(f"{API}/strangers?hidden=true").json()
            assert [card["hidden"] for card in hidden] == [last == "nobody"]
            answered(client, "undo", to=done["undo"])
            assert show(service, 1, 2, shift=2).sightings[0].answer.label == "ana"
        for last, body in (("not", {"name": "ana"}), ("nobody", None)):
            labeled = client.post(f"{API}/faces/{vertex}/{last}", json=body)
            assert labeled.status_code == 409
            assert "is labeled 'ana'" in labeled.json()["detail"]
            gone = client.post(f"{API}/faces/99999/{last}", json=body)
            assert gone.status_code == 404
        unknown = client.post(f"{API}/{path}/not", json={"name": "zoe"})
        assert (unknown.status_code, "zoe" in unknown.json()["detail"]) == (404, True)


def test_several_cards_are_named_joined_or_ignored_at_once(service, client):
    for person in (1, 2, 3):
        for number in range(2):
            service.recognize(Frame("door", number, float(number), scene(person, number)))
    cards = [row["card"] for row in client.get(f"{API}/strangers").json()]
    assert len(cards) >= 3
    for verb, more in (("join", {}), ("ignore", {}), ("name", {"name": "ana"})):
        answer = client.post(f"{API}/strangers/{verb}", json={"cards": cards[:3], **more})
        assert answer.status_code == 200, answer.text
        left = [row["card"] for row in client.get(f"{API}/strangers").json()]
        assert len(left) == len(cards) - (2 if verb == "join" else 3)
        undone = client.post(f"{API}/undo", json={"to": answer.json()["undo"]})
        assert undone.status_code == 200, undone.text
        again = [row["card"] for row in client.get(f"{API}/strangers").json()]
        assert sorted(again) == sorted(cards)
        gone = client.post(f"{API}/strangers/{verb}", json={"cards": [*cards, 999], **more})
        assert gone.status_code == 404
    assert client.post(f"{API}/strangers/join", json={"cards": cards[:1]}).status_code == 422
    for pair in client.get(f"{API}/strangers/same").json():
        assert pair["card"] in cards
        assert 0 < pair["gap"] <= 1.2
