"""Events and the diary: filtered, newest first, and as tables that no spreadsheet runs."""

import csv
import io
import time

import pytest

from helpers.services import API, FINDER, encoded, photo, scene, teach
from onlooker.home.alarms import Alarm
from onlooker.home.album import Album
from onlooker.home.transfer import read
from onlooker.vision.types import Frame


def show(service, person, index, camera="door", shift=1):
    service.recognize(Frame(camera, index, index / 12, scene(person, shift=shift)))


def table(answer):
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_events_are_filtered_and_paged_from_the_newest(client, service):
    teach(client, 1, "ana", [0, 1])
    show(service, 1, 0)
    show(service, 1, 0, camera="yard", shift=2)

    def events(**wish):
        answer = client.get(f"{API}/events", params=wish)
        return [(one["sequence"], one["kind"], one["camera"]) for one in answer.json()]

    everything = events()
    assert [one[0] for one in everything] == [1, 2, 3, 4]
    assert events(newest=True) == everything[::-1]
    assert events(newest=True, limit=2) == everything[:1:-1]
    assert events(newest=True, before=3) == everything[1::-1]
    assert events(after=1, before=4) == everything[1:3]
    assert events(kind="teach") == everything[:2]
    assert events(camera="yard") == everything[3:]
    assert events(camera="yard", kind="teach") == []
    rows = table(client.get(f"{API}/events.csv", params={"kind": "teach", "newest": True}))
    assert [row["sequence"] for row in rows] == ["2", "1"]
    assert "ana" in rows[0]["changes"]
    assert len(table(client.get(f"{API}/events.csv?limit=3"))) == 3


def test_an_alarm_comes_with_its_words_and_the_faces_that_have_a_picture(client, service):
    teach(client, 1, "ana", [0, 1])
    alarm = Alarm("region", "ana", (1, 77), bridge=0)
    service.home_thread.submit(
        lambda home: home.replace_learner("alarm", home.learner, [alarm.change])
    ).result()
    (event,) = client.get(f"{API}/events", params={"kind": "alarm"}).json()
    said = event["alarm"]
    assert (said["kind"], said["name"], said["bridge"]) == ("region", "ana", 0)
    assert (said["words"], said["vertices"], said["pictures"]) == (alarm.words, [1, 77], [1])
    assert client.get(f"{API}/faces/1/picture").status_code == 200
    assert {one["alarm"] for one in client.get(f"{API}/events?limit=2").json()} == {None}
    (row,) = table(client.get(f"{API}/events.csv", params={"kind": "alarm"}))
    assert "ana" in row["changes"]


@pytest.mark.parametrize("newest", [True, False])
def test_a_long_table_has_every_row_once(client, service, monkeypatch, newest):
    monkeypatch.setattr("onlooker.web.responses.CSV_CHUNK", 2)
    teach(client, 1, "ana", range(5))
    rows = table(client.get(f"{API}/events.csv", params={"newest": newest}))
    expected = ["1", "2", "3", "4", "5"]
    assert [row["sequence"] for row in rows] == (expected[::-1] if newest else expected)


@pytest.mark.parametrize("name", ['=HYPERLINK("http://evil")', "+1", "-1", "@SUM(A1)"])
def test_a_name_is_no_formula_in_a_table(client, service, name):
    teach(client, 1, name, [0])
    show(service, 1, 0)
    (row,) = table(client.get(f"{API}/sightings.csv"))
    assert row["name"] == f"'{name}"
    assert client.get(f"{API}/sightings").json()[0]["name"] == name


def test_the_diary_tells_who_was_seen_where(client, service):
    teach(client, 1, "ana", [0])
    teach(client, 2, "ben", [0])
    show(service, 1, 0)
    show(service, 2, 0, camera="yard", shift=0)
    show(service, 1, 50)

    def seen(**wish):
        answer = client.get(f"{API}/sightings", params=wish).json()
        return [(one["number"], one["name"], one["camera"]) for one in answer]

    assert seen() == [(3, "ana", "door"), (2, "ben", "yard"), (1, "ana", "door")]
    assert seen(before=3, limit=1) == [(2, "ben", "yard")]
    assert seen(name="ana") == [(3, "ana", "door"), (1, "ana", "door")]
    assert seen(camera="yard") == [(2, "ben", "yard")]
    assert seen(name="nobody") == []
    assert len(table(client.get(f"{API}/sightings.csv?name=ana"))) == 2


def test_history_counts_the_lines_of_the_diary(client, service):
    ana = teach(client, 1, "ana", [0])["person"]["id"]
    now = time.time()

    def write(home):
        for age in (0.5, 1.5, 1.6, 23.5, 30.0):
            home.album.record_sighting(now - age * 3600, "door", 0, "ana", None)
        home.album.record_sighting(now - 60, "door", 0, "ben", None)

    service.home_thread.submit(write).result()
    history = client.get(f"{API}/people/{ana}/history", params={"hours": 24, "buckets": 24}).json()
    assert history["to"] - history["from"] == pytest.approx(24 * 3600)
    assert len(history["counts"]) == 24
    assert (history["counts"][23], history["counts"][22], history["counts"][0]) == (1, 2, 1)
    assert sum(history["counts"]) == 4
    assert client.get(f"{API}/people/{'0' * 16}/history").status_code == 404
    for bad in ({"hours": 0}, {"buckets": 0}, {"buckets": 501}, {"hours": 9000}):
        assert client.get(f"{API}/people/{ana}/history", params=bad).status_code == 422


def test_history_at_the_very_end_is_in_the_last_part(client, service):
    def act(home):
        home.album.record_sighting(100.0, "door", 0, "ana", None)
        return Album.sighting_counts(home.album, "ana", 0.0, 100.0, 4)

    assert service.home_thread.submit(act).result() == [0, 0, 0, 1]


def test_an_export_holds_one_person_and_nobody_else(client, service, tmp_path):
    ana = teach(client, 1, "ana", [0, 1])["person"]["id"]
    teach(client, 2, "ben", [0])
    show(service, 1, 0)
    learned = client.get(f"{API}/people").json()[0]["learned"]
    assert learned == 1
    answer = client.get(f"{API}/people/{ana}/export")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert f"onlooker-{ana}" in answer.headers["content-disposition"]
    assert b"ben" not in answer.content
    file = tmp_path / "ana.onlooker"
    file.write_bytes(answer.content)
    exported = read(file, [FINDER.features.distance])
    assert exported.learner.names == ("ana",)
    assert len(exported.learner) == 3
    assert len(exported.pictures) == 3
    assert client.get(f"{API}/people/{'0' * 16}/export").status_code == 404


# ---- was this face here before?


def two_people(one=1, other=3):
    """A photo with two faces: the first one on the left."""
    wall = scene(one, shift=-200)
    wall[120:344, 420:604] = scene(other)[120:344, 220:404]
    return encoded(wall)


def find(client, content, **wish):
    answer = client.post(f"{API}/sightings/find", params=wish, content=content)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_photo_is_found_among_the_sightings_of_people_and_strangers(client, service):
    teach(client, 1, "ana", [0])
    show(service, 1, 0)
    show(service, 1, 0, camera="yard")
    for index in range(6):  # a stranger is one after a few faces
        show(service, 3, 100 + index, shift=0)
    found = find(client, photo(1))
    assert (len(found["faces"]), found["face"]) == (1, 1)
    (ana,) = found["seen"]
    assert (ana["name"], ana["count"], ana["cameras"]) == ("ana", 2, {"door": 1, "yard": 1})
    assert ana["first"]["number"] < ana["last"]["number"]
    picture = client.get(f"{API}/sightings/{ana['best']['number']}/picture")
    assert picture.headers["content-type"] == "image/jpeg"
    assert picture.content.startswith(b"\xff\xd8")
    (stranger,) = find(client, photo(3))["seen"]
    assert stranger["name"] is None
    assert stranger["card"] == client.get(f"{API}/strangers").json()[0]["card"]
    assert stranger["last"]["picture"]
    assert find(client, photo(7))["seen"] == []
    assert client.get(f"{API}/sightings/999/picture").status_code == 404
    seen = client.get(f"{API}/sightings", params={"strangers": True}).json()
    assert [(one["name"], one["card"]) for one in seen] == [(None, stranger["card"])]
    (row,) = table(client.get(f"{API}/sightings.csv?strangers=true"))
    assert row["card"] == str(stranger["card"])
    assert row["utc"].startswith("20")


def test_a_photo_of_nobody_or_of_several_says_so(client, service):
    teach(client, 1, "ana", [0])
    show(service, 1, 0)
    several = find(client, two_people())
    assert (len(several["faces"]), several["face"], several["seen"]) == (2, None, [])
    left, right = (box["left"] for box in several["faces"])
    assert left < right
    chosen = find(client, two_people(), face=1)
    assert [who["name"] for who in chosen["seen"]] == ["ana"]
    assert find(client, two_people(), face=2)["seen"] == []
    for content, wish, sentence in (
        (encoded(scene(1)[:100]), {}, "there is no face in the picture; choose another"),
        (two_people(), {"face": 3}, "there is no face 3 in the picture, they are numbered from 1"),
        (b"GIF89a", {}, "picture"),
    ):
        answer = client.post(f"{API}/sightings/find", params=wish, content=content)
        assert answer.status_code == 422
        assert sentence in answer.json()["detail"]
    assert service.home_thread.submit(lambda home: len(home.album.sightings())).result() == 1


def test_naming_a_stranger_names_the_sightings_and_undo_takes_that_back(client, service):
    for index in range(6):
        show(service, 3, index, shift=0)
    (card,) = client.get(f"{API}/strangers").json()
    named = client.post(f"{API}/strangers/{card['card']}/name", json={"name": "cem"}).json()
    (seen,) = client.get(f"{API}/sightings", params={"name": "cem"}).json()
    assert (seen["name"], seen["camera"]) == ("cem", "door")
    client.post(f"{API}/undo", json={"to": named["undo"]})
    (seen,) = client.get(f"{API}/sightings").json()
    assert (seen["name"], seen["card"]) == (None, card["card"])


def test_an_ignored_stranger_is_not_recorded(client, service):
    show(service, 3, 0, shift=0)
    (card,) = client.get(f"{API}/strangers").json()
    client.post(f"{API}/strangers/{card['card']}/ignore")
    for index in range(1, 9):
        show(service, 3, index, shift=0)
    assert client.get(f"{API}/sightings").json() == []


# ---- what an undo would take back


def test_an_undo_says_before_what_it_takes_back(client, service):
    teach(client, 1, "ana", [0])
    for index in range(6):
        show(service, 3, index, shift=0)
    (card,) = client.get(f"{API}/strangers").json()
    named = client.post(f"{API}/strangers/{card['card']}/name", json={"name": "cem"}).json()
    preview = client.get(f"{API}/undo", params={"to": named["undo"]}).json()
    assert (preview["people"], preview["labels"]) == (["cem"], {"cem": named["taught"]})
    assert (preview["cards_back"], preview["complete"]) == ([card["card"]], True)
    assert preview["people_back"] == []
    assert len(client.get(f"{API}/people").json()) == 2  # nothing was changed
    assert client.post(f"{API}/undo", json={"to": named["undo"]}).status_code == 200
    assert [one["name"] for one in client.get(f"{API}/people").json()] == ["ana"]
    assert client.get(f"{API}/strangers").json()[0]["card"] == card["card"]
    missing = client.get(f"{API}/undo", params={"to": 10**6})
    assert missing.status_code == 404
    assert "cannot be undone to; give one from 0" in missing.json()["detail"]


def test_a_forgetting_says_before_what_goes_and_the_receipt_agrees(client, service):
    ana = teach(client, 1, "ana", [0, 1])["person"]["id"]
    teach(client, 2, "ben", [0])
    show(service, 1, 0)
    show(service, 2, 0, camera="yard", shift=0)
    preview = client.get(f"{API}/people/{ana}/forget").json()
    assert (preview["labeled"], preview["people_left"], preview["sightings"]) == (2, 1, 1)
    assert len(client.get(f"{API}/people").json()) == 2
    receipt = client.delete(f"{API}/people/{ana}").json()
    for key in ("labeled", "unlabeled", "pictures", "sightings", "strangers"):
        assert preview[key] == receipt[key], key
    shown = service.home_thread.submit(lambda home: len(home.album.vertices())).result()
    assert preview["pictures_left"] == shown
    assert client.get(f"{API}/people/{ana}/forget").status_code == 404
