"""Health, the summary of what is known, and metrics."""

import re

from helpers.pointers import ROOT
from helpers.services import API, photo, scene, teach
from helpers.waiting import eventually
from onlooker.vision.types import Frame

SAMPLE = re.compile(r'onlooker_\w+\{(\w+="(\\.|[^"\\])*",?)*\} [0-9.e+-]+')


def test_health_tells_what_it_costs(client, service):
    teach(client, 1, "ana", [0])
    with service.browser_camera("laptop"):
        for index in range(4):
            service.recognize(Frame("laptop", index, index / 12, scene(1, shift=index)))
        eventually(lambda: client.get(f"{API}/health").json()["vertices"] > 1)
        report = client.get(f"{API}/health").json()
    (camera,) = report["cameras"]
    assert (camera["name"], camera["frames"], camera["dropped"]) == ("laptop", 4, 0)
    assert camera["fps"] > 0
    stages = camera["seconds"]
    assert 0 < stages["detect"] < stages["whole"]
    assert stages["whole"] >= stages["detect"] + stages["features"] + stages["learn"]
    assert (report["max_vertices"], report["trust_radius"]) == (500, None)
    assert report["memory"] > 10_000_000
    assert report["disk"]["home"] > 10_000
    assert report["disk"]["free"] > 0
    assert report["retention"] == {
        "stranger_hours": 8.0,
        "question_hours": 72.0,
        "sighting_days": 30.0,
        "undo_days": 7.0,
    }
    assert set(report["versions"]) == {"onlooker", "python", "numpy", "opencv", "sqlite"}
    assert report["queue"] >= 0
    assert report["uptime"] > 0
    assert client.get(f"{API}/health").json()["cameras"] == []


def test_learned_counts_what_was_taken_in_by_watching(client, service):
    def summary():
        return client.get(f"{API}/summary").json()

    assert summary() == {
        "people": 0, "labeled": 0, "learned": 0, "vertices": 0, "strangers": 0,
        "sequence": 0, "radius": 0.0, "cameras": 0,
    }  # fmt: skip
    teach(client, 1, "ana", [0, 1])
    for index in range(3):
        service.recognize(Frame("door", index, index / 12, scene(1, shift=1 + index)))
    service.recognize(Frame("yard", 9, 9 / 12, scene(2)))
    report = summary()
    assert (report["people"], report["labeled"], report["learned"]) == (1, 2, 3)
    assert (report["strangers"], report["sequence"]) == (1, 5)
    client.post(f"{API}/undo", json={"to": 3})
    assert summary()["learned"] == 1
    client.post(f"{API}/recognize", content=photo(1))
    assert summary()["learned"] == 1


def test_metrics_can_be_read(client, service):
    service.recognize(Frame('a "strange" name', 0, 0.0, scene(1)))
    answer = client.get(f"{API}/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    samples = [text for text in lines if not text.startswith("#")]
    assert all(SAMPLE.fullmatch(text) for text in samples)
    assert any(text.startswith("onlooker_frames_total{") for text in samples)
    assert any('as="unknown"' in text for text in samples)


def test_every_metric_is_documented(client, service):
    """And nothing is documented that is not there."""
    with service.browser_camera("laptop"):
        service.recognize(Frame("laptop", 0, 0.0, scene(1)))
        text = client.get(f"{API}/metrics").text
    kinds = dict(re.findall(r"# TYPE (onlooker_\w+) (\w+)", text))
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"\| `(onlooker_\w+)(?:\{\w+(?:, \w+)*\})?` \| (\w+) \|", page))
    assert documented == kinds
