"""A face on the screen: why, who, wrong; remembered for a while in memory, and never longer."""

import pytest

from helpers.services import API, recognized, scene, teach
from onlooker.vision.types import Frame
from onlooker.web.frames import TRACKS


def show(service, person, index=0, *, camera="door", number=0, shift=0):
    """One frame; what came of its only face."""
    result = service.recognize(Frame(camera, index, index / 12, scene(person, number, shift)))
    return result.sightings[0].track, result.vertices[0], result.cards[0]


def test_why_is_told_of_a_face_on_the_screen(client, service):
    vertex = teach(client, 1, "ana", [0])["vertex"]
    teach(client, 2, "ben", [0])
    track, learned, _ = show(service, 1, shift=1)
    why = client.get(f"{API}/seen/door/{track}/why").json()
    assert (why["name"], why["vertex"], why["card"]) == ("ana", learned, None)
    assert [one["name"] for one in why["alternatives"]] == ["ana", "ben"]
    assert why["alternatives"][0]["share"] + why["sink"] <= 1 + 1e-9
    last = why["endings"][0]["chain"][-1]
    assert (last["vertex"], last["name"], last["picture"]) == (vertex, "ana", True)
    picture = client.get(f"{API}/seen/door/{track}/picture")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    same = client.get(f"{API}/explain/{vertex}").json()
    assert same["endings"][0]["chain"][0]["picture"] is True


def test_a_stranger_on_the_screen_gets_a_name_and_the_card_goes(client, service):
    track, _, card = show(service, 1)
    assert card == client.get(f"{API}/strangers").json()[0]["card"]
    taught = client.post(f"{API}/seen/door/{track}/label", json={"name": "ana"}).json()
    assert (taught["person"]["name"], taught["person"]["labeled"]) == ("ana", 1)
    assert recognized(client, 1) == "ana"
    assert client.get(f"{API}/strangers").json() == []
    result = service.recognize(Frame("door", 1, 0.1, scene(1)))
    assert (result.sightings[0].track, result.sightings[0].name) == (track, "ana")
    assert client.post(f"{API}/undo", json={"to": taught["undo"]}).status_code == 200
    (back,) = client.get(f"{API}/strangers").json()
    assert (back["card"], back["count"]) == (card, 1)


def test_wrong_takes_back_what_was_learned_on_the_screen(client, service):
    teach(client, 1, "ana", [0])
    track, vertex, _ = show(service, 1, shift=2)
    assert vertex is not None
    done = client.post(f"{API}/seen/door/{track}/wrong").json()
    assert vertex in done["dropped"]
    assert len(client.get(f"{API}/strangers").json()) == 1
    assert client.post(f"{API}/undo", json={"to": done["undo"]}).status_code == 200
    assert client.get(f"{API}/strangers").json() == []  # known again, so a stranger no more
    assert client.get(f"{API}/explain/{vertex}").json()["name"] == "ana"


def test_what_nothing_was_learned_from_cannot_be_wrong(client, service):
    track, _, _ = show(service, 1)
    answer = client.post(f"{API}/seen/door/{track}/wrong")
    assert answer.status_code == 409
    assert "nothing was learned" in answer.json()["detail"]


@pytest.mark.parametrize("what", ["why", "picture"])
def test_a_track_of_long_ago_is_not_remembered(client, service, what):
    first, _, _ = show(service, 1)
    for number in range(TRACKS):
        show(service, 1, 100 + 100 * number)  # so far apart that each is a track of its own
    assert len(service.recognizer.recent) == TRACKS
    answer = client.get(f"{API}/seen/door/{first}/{what}")
    assert answer.status_code == 404
    assert "not seen lately" in answer.json()["detail"]


def test_a_poor_face_is_told_so(client, service):
    dark = scene(1) // 12
    result = service.recognize(Frame("door", 0, 0.0, dark))
    if not result.sightings:
        pytest.skip("the detector does not even find it")
    assert result.sightings[0].refusal is not None
    track = result.sightings[0].track
    answer = client.post(f"{API}/seen/door/{track}/label", json={"name": "ana"})
    assert answer.status_code == 422
    assert "cannot be used" in answer.json()["detail"]
    show(service, 1, 1)
    assert client.get(f"{API}/seen/door/{track}/why").status_code == 200


def test_who_is_forgotten_is_not_remembered_on_the_screen_either(client, service):
    ana = teach(client, 1, "ana", [0])["person"]["id"]
    teach(client, 2, "ben", [0])
    hers, _, _ = show(service, 1, shift=1)
    his, _, _ = show(service, 2, camera="yard")
    assert client.delete(f"{API}/people/{ana}").status_code == 200
    assert client.get(f"{API}/seen/door/{hers}/picture").status_code == 404
    assert client.get(f"{API}/seen/yard/{his}/picture").status_code == 200
    assert service.views.newest("door") is None  # the picture with the name on it
    result = service.recognize(Frame("door", 1, 0.1, scene(1, shift=1)))
    assert result.sightings[0].name is None  # nor do the track's old votes say it again


def test_a_name_that_is_none_is_refused(client, service):
    track, _, _ = show(service, 1)
    for body in ({"name": " "}, {"name": "x" * 201}, {}, {"name": "ana", "more": 1}):
        assert client.post(f"{API}/seen/door/{track}/label", json=body).status_code == 422
    assert client.post(f"{API}/seen/{'x' * 65}/1/label", json={"name": "a"}).status_code == 422


def test_wrong_finds_the_vertex_that_a_face_was_merged_into(client, service):
    teach(client, 1, "ana", [0])
    track, vertex, _ = show(service, 1, shift=2)
    service.home_thread.submit(
        lambda home: home.drop(vertex)
    ).result()  # as a merge would, behind our back
    answer = client.post(f"{API}/seen/door/{track}/wrong")
    assert answer.status_code == 200, answer.text
    assert vertex not in answer.json()["dropped"]
    assert client.post(f"{API}/seen/door/{track}/wrong").status_code == 409
