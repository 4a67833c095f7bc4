"""Events and the diary: filtered, newest first, and as tables that no spreadsheet runs."""

import csv
import io
import time

import pytest

from helpers.services import API, FINDER, scene, teach
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


@pytest.mark.parametrize("newest", [True, False])
def test_a_long_table_has_every_row_once(client, service, monkeypatch, newest):
    monkeypatch.setattr("onlooker.web.responses.CSV_CHUNK", 2)
    teach(client, 1, "ana", range(5))
    rows = table(client.get(f"{API}/events.csv", params={"newest": newest}))
    expected = ["1", "2", "3", "4", "5"]
    assert [row["sequence"] for row in rows] == (expected[::-1] if newest else expected)


@pytest.mark.parametrize("name", ['=HYPERLINK("http://evil")', "+1", "-1", "@SUM(A1)", "\tx"])
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
