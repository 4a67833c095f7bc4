"""Added cameras: watched again after a restart, removed for good, reconnected when lost."""

import os
import re
import socket
import sqlite3
import stat
import time
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest

from helpers.homes import files_with
from helpers.services import API, client_of, photo, scene, service_in, teach
from helpers.waiting import DEADLINE, eventually
from helpers.webcams import Webcam
from onlooker.home.camera_table import CameraTable
from onlooker.home.database import NotSaved
from onlooker.video.live import FailureWatch
from onlooker.vision.types import Frame


def cameras(client):
    return {one["name"]: one for one in client.get(f"{API}/cameras").json()}


def watching(client, name):
    return eventually(lambda: (s := cameras(client)[name])["state"] == "live" and s["frames"])


def added(client, source, name):
    answer = client.post(f"{API}/cameras", json={"source": str(source), "name": name})
    assert answer.status_code == 201, answer.text


@pytest.fixture
def webcam():
    with Webcam(photo(1, suffix=".jpg"), photo(1, shift=2, suffix=".jpg")) as camera:
        yield camera


@pytest.fixture
def films(tmp_path):
    """Where recordings may come from; ten seconds of one."""
    folder = tmp_path / "films" / "yard"
    folder.mkdir(parents=True)
    for number in range(250):
        os.symlink("../first.png", folder / f"{number:03}.png")
    (tmp_path / "films" / "first.png").write_bytes(photo(2))
    return tmp_path / "films"


@pytest.fixture
def started(tmp_path, films):
    """Start the service and return a client of it."""

    @contextmanager
    def start(*own, folders=(films,)):
        home = tmp_path / "home"
        with service_in(home, folders=folders) as service:
            for source in own:
                service.cameras.watch(source)
            said = service.cameras.resume()
            client = client_of(service, home)
            client.service, client.said = service, said
            yield client

    return start


def everything_said(client):
    routes = "cameras", "health", "metrics", "events", "people", "openapi.json"
    return client.said, [client.get(f"{API}/{route}").text for route in routes]


def test_a_camera_that_was_added_is_watched_after_a_restart(started, webcam, films, tmp_path):
    with started() as client:
        added(client, webcam.address, "door")
        added(client, films / "yard", "yard")
        watching(client, "door")
    with started() as client:
        assert list(cameras(client)) == ["door", "yard"]
        watching(client, "door")
        watching(client, "yard")
        assert client.said == []
        assert client.get(f"{API}/health").json()["problems"] == []
        assert "hunter2" not in repr(everything_said(client))
    (file,) = [tmp_path / "home" / name for name in files_with(tmp_path / "home", b"hunter2")]
    assert os.name == "nt" or stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_camera_without_a_name_of_its_own_keeps_the_one_it_got(started, webcam):
    with started() as client:
        answer = client.post(f"{API}/cameras", json={"source": webcam.address})
        name = answer.json()["name"]
    with started() as client:
        assert list(cameras(client)) == [name]


def test_a_camera_that_was_removed_does_not_come_back(started, webcam, tmp_path):
    with started() as client:
        added(client, webcam.address, "door")
        added(client, webcam.address, "hall")
        assert client.delete(f"{API}/cameras/door").status_code == 204
    with started() as client:
        assert list(cameras(client)) == ["hall"]
    with sqlite3.connect(tmp_path / "home" / "onlooker.db") as connection:
        assert connection.execute("SELECT name FROM cameras").fetchall() == [("hall",)]
    connection.close()


def test_a_camera_of_the_command_line_is_not_there_twice(started, webcam):
    with started(f"door={webcam.address}") as client:
        added(client, "rtsp://127.0.0.1:9/a", "yard")
    with started() as client:
        assert list(cameras(client)) == ["yard"]  # what the command line names, it names itself
        added(client, webcam.address, "door")
    with started(f"door={webcam.address}") as client:
        assert sorted(cameras(client)) == ["door", "yard"]
        assert client.said == []
    with started(f"front={webcam.address}") as client:
        assert sorted(cameras(client)) == ["front", "yard"]
        assert len(client.said) == 1
        assert "'door'" in client.said[0]
        assert "'front'" in client.said[0]


def test_a_recording_is_the_same_however_it_is_written(started, films, monkeypatch):
    with started() as client:
        added(client, films / "yard", "yard")
    monkeypatch.chdir(films)
    with started("garden=yard", f"far=rtsp://127.0.0.1:9/{'a' * 300}") as client:
        assert list(cameras(client)) == ["garden", "far"]
        assert len(client.said) == 1


def test_the_command_line_wins_and_says_so(started, webcam, films):
    with started() as client:
        added(client, webcam.address, "door")
    with started(f"door={films / 'yard'}") as client:
        assert "yard" in cameras(client)["door"]["address"]
        assert len(client.said) == 1
        assert "'door'" in client.said[0]
        assert "hunter2" not in client.said[0]
    with started() as client:  # it was not removed
        assert cameras(client)["door"]["address"].startswith("http://127.0.0.1")


def test_what_is_not_permitted_any_more_is_not_watched_and_can_be_removed(started, films):
    with started() as client:
        added(client, films / "yard", "yard")
    with started(folders=()) as client:
        assert cameras(client)["yard"]["state"] == "failing"
        assert "--folder" in cameras(client)["yard"]["problem"]
        health = client.get(f"{API}/health").json()
        assert (health["status"], health["cameras_failing"]) == ("degraded", ["yard"])
    with started() as client:  # the folder is named again
        watching(client, "yard")
    with started(folders=()) as client:
        assert client.delete(f"{API}/cameras/yard").status_code == 204
        assert client.get(f"{API}/health").json()["status"] == "ok"
        assert client.delete(f"{API}/cameras/yard").status_code == 404


def test_a_damaged_camera_is_reported_and_the_service_starts(started, webcam, tmp_path):
    with started() as client:
        added(client, webcam.address, "door")
        added(client, webcam.address, "yard")
    with sqlite3.connect(tmp_path / "home" / "onlooker.db") as connection:
        connection.execute("UPDATE cameras SET source = 'rtsp://other' WHERE name = 'door'")
    connection.close()
    with started() as client:
        assert list(cameras(client)) == ["yard"]
        health = client.get(f"{API}/health").json()
        assert health["status"] == "degraded"
        assert health["problems"] == [
            "1 stored cameras are damaged and not watched: add them again"
        ]
        assert "hunter2" not in repr(everything_said(client))
        added(client, webcam.address, "door")
    with started() as client:
        assert list(cameras(client)) == ["yard", "door"]
        assert client.get(f"{API}/health").json()["problems"] == []


def test_a_camera_that_cannot_be_written_down_is_not_acknowledged(started, webcam, monkeypatch):
    def full(*_):
        raise NotSaved("database or disk is full")

    with started() as client:
        added(client, webcam.address, "door")
        with monkeypatch.context() as patch:
            patch.setattr(CameraTable, "add", full)
            patch.setattr(CameraTable, "remove", full)
            new = {"source": webcam.address, "name": "hall"}
            refused = client.post(f"{API}/cameras", json=new)
            assert refused.status_code == 503
            assert "disk is full" in refused.json()["detail"]
            assert list(cameras(client)) == ["door"]
            half = client.delete(f"{API}/cameras/door")
            assert half.status_code == 503
            assert "back after the next start" in half.json()["detail"]
            assert cameras(client) == {}
    with started() as client:
        assert list(cameras(client)) == ["door"]


def test_a_removed_camera_leaves_nothing_behind(started, webcam):
    with started() as client:
        service = client.service
        teach(client, 1, "ana", [0])
        before = held(service)
        for turn in range(3):
            added(client, webcam.address, f"door{turn}")
            watching(client, f"door{turn}")
            assert held(service) != before
            assert client.delete(f"{API}/cameras/door{turn}").status_code == 204
            service.home_thread.submit(lambda home: None).result(DEADLINE)
            assert held(service) == before
        with service.browser_camera("laptop"):
            service.recognize(Frame("laptop", 0, 0.0, scene(1)))
            assert held(service) != before
        service.home_thread.submit(lambda home: None).result(DEADLINE)
        assert held(service) == before


def held(service):
    """Everything the service stores by camera."""
    recognizer, frame_stats = service.recognizer, service.frame_stats
    return {
        "tracks": dict(recognizer._recognizer._tracker._current),
        "names": dict(recognizer._recognizer._names),
        "recent": len(recognizer.recent),
        "views": dict(service.views._newest),
        "counts": dict(frame_stats.counts),
        "seconds": dict(frame_stats.seconds),
        "latest": dict(frame_stats._latest),
        "cameras": service.camera_names,
        "listeners": service.broadcast.listeners,
    }


def test_a_camera_that_is_unplugged_is_lost_and_comes_back_and_nothing_else_stops(started, webcam):
    with Webcam(photo(2, suffix=".jpg")) as other, started() as client:
        added(client, webcam.address, "door")
        added(client, other.address, "hall")
        watching(client, "door")
        watching(client, "hall")
        webcam.unplug()
        eventually(lambda: cameras(client)["door"]["state"] == "failing")
        lost = cameras(client)["door"]
        assert "hunter2" not in lost["problem"]
        assert lost["last_frame"] <= lost["since"]
        assert client.get(f"{API}/health").json()["cameras_failing"] == ["door"]
        seen = cameras(client)["hall"]["frames"]
        eventually(lambda: cameras(client)["hall"]["frames"] > seen + 3)
        assert client.get(f"{API}/people").status_code == 200
        webcam.plug_in()
        eventually(lambda: cameras(client)["door"]["state"] == "live")
        back = eventually(lambda: (s := cameras(client)["door"])["frames"] > lost["frames"] and s)
        assert back["reconnects"] == 1
        assert back["problem"] is None
        assert client.get(f"{API}/health").json()["cameras_failing"] == []


def shown_everywhere(client, name, state):
    """Whether list, health and metrics say that a camera is in a state, and in no other."""
    health = client.get(f"{API}/health").json()
    (row,) = [each for each in health["cameras"] if each["name"] == name]
    rows = re.findall(
        rf'onlooker_camera_state{{camera="{name}",state="(\w+)"}} 1\n',
        client.get(f"{API}/metrics").text,
    )
    return cameras(client)[name]["state"] == row["state"] == state and rows == [state]


def test_a_camera_that_never_connected_is_failing_and_all_is_not_well(tmp_path):
    """Health said "ok", and the camera "connection lost" though it never connected."""
    reported, home = [], tmp_path / "home"
    with service_in(home, on_camera=reported.append) as service:
        service._failures = FailureWatch(steady=0.0)
        client = client_of(service, home)
        assert client.get(f"{API}/health").json()["status"] == "ok"
        with socket.socket() as free:  # bound and not listening: connections are refused
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            added(client, f"rtsp://me:hunter2@127.0.0.1:{port}/none", "door")
            eventually(lambda: shown_everywhere(client, "door", "failing"), 5)
            status = cameras(client)["door"]
            assert "refused" in status["problem"]
            assert (status["last_frame"], status["fps"]) == (None, 0.0)
            assert abs(status["since"] - time.time()) < 30
            health = client.get(f"{API}/health").json()
            assert (health["status"], health["cameras_failing"]) == ("degraded", ["door"])
            eventually(lambda: reported)
            (event,) = client.get(f"{API}/events?kind=camera").json()
            assert (event["camera"], event["changes"][0][:2]) == ("door", ["camera", "failing"])
            since = status["since"]
        assert client.delete(f"{API}/cameras/door").status_code == 204
        eventually(lambda: len(reported) == 2)
        assert [(change.camera, change.state) for change in reported] == [
            ("door", "failing"), ("door", "removed"),
        ]  # fmt: skip
        assert {change.since for change in reported} == {since}
        assert client.get(f"{API}/health").json()["status"] == "ok"
        assert "hunter2" not in repr(reported) + client.get(f"{API}/events").text
    with service_in(home) as service:  # the events change nothing of what was learned
        assert service.health.problems == ()
        assert service.home_thread.submit(lambda home: home.sequence).result() == 2


def test_the_failing_of_a_camera_starts_and_ends_with_an_event_and_an_alert(tmp_path, webcam):
    reported, home = [], tmp_path / "home"
    with service_in(home, on_camera=reported.append) as service:
        service._failures = FailureWatch(steady=0.0)
        client = client_of(service, home)
        added(client, webcam.address, "door")
        watching(client, "door")
        webcam.unplug()
        eventually(lambda: shown_everywhere(client, "door", "failing"), 5)
        webcam.plug_in()
        eventually(lambda: shown_everywhere(client, "door", "live"), 5)
        eventually(lambda: len(reported) == 2)
        assert [change.state for change in reported] == ["failing", "live"]
        events = client.get(f"{API}/events?kind=camera").json()
        assert [event["changes"][0][1] for event in events] == ["failing", "live"]
        assert client.get(f"{API}/health").json()["status"] == "ok"


def test_a_finished_film_has_ended_and_is_not_live(started, films):
    (films / "short").mkdir()
    (films / "short" / "1.png").write_bytes(photo(2))
    with started() as client:
        added(client, films / "short", "short")
        eventually(lambda: shown_everywhere(client, "short", "ended"), 5)
        health = client.get(f"{API}/health").json()
        assert (health["status"], health["cameras_failing"]) == ("ok", [])
        assert 'onlooker_camera_up{camera="short"} 0' in client.get(f"{API}/metrics").text


def test_a_browser_that_sends_nothing_any_more_is_not_live(service, client, monkeypatch):
    with service.browser_camera("laptop"):
        assert cameras(client)["laptop"]["state"] == "connecting"
        service.recognize(Frame("laptop", 0, 0.0, scene(1)))
        assert cameras(client)["laptop"]["state"] == "live"
        monkeypatch.setattr("onlooker.web.service.BROWSER_SILENT", 0.0)
        assert cameras(client)["laptop"]["state"] == "ended"
        assert client.get(f"{API}/health").json()["status"] == "ok"


def test_removing_a_camera_that_sends_a_byte_now_and_then_does_not_take_ten_seconds(service):
    over = Event()

    def trickle(listener):
        link, _ = listener.accept()
        with link, suppress(OSError):
            link.recv(1000)
            link.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace\r\n\r\n")
            while not over.wait(0.05):
                link.sendall(b"-")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = Thread(target=trickle, args=[listener], daemon=True)
        sender.start()
        service.cameras.watch(f"door=http://127.0.0.1:{listener.getsockname()[1]}/")
        eventually(lambda: service.cameras.statuses[0].frames == 0)
        begun = time.monotonic()
        service.remove_camera("door")
        assert time.monotonic() - begun < 6  # two, on a computer that is not busy
        over.set()
        sender.join(DEADLINE)
