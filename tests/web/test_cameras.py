"""Added cameras: watched again after a restart, removed for good, reconnected when lost."""

import json
import os
import stat
from contextlib import contextmanager

import pytest

from helpers.services import API, client_of, photo, scene, service_in, teach
from helpers.waiting import eventually
from helpers.webcams import Webcam
from onlooker.vision.types import Frame
from onlooker.web import cameras as web_cameras
from onlooker.web.cameras import CAMERA_FILE, CameraFile


def cameras(client):
    return {one["name"]: one for one in client.get(f"{API}/cameras").json()}


def watching(client, name):
    return eventually(lambda: (s := cameras(client)[name])["state"] == "watching" and s["frames"])


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
        with service_in(home, folders=folders, camera_folder=home) as service:
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
    file = tmp_path / "home" / CAMERA_FILE
    assert "hunter2" in file.read_text()  # so that it is for its owner only
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
    assert "door" not in (tmp_path / "home" / CAMERA_FILE).read_text()


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
        assert cameras(client) == {}
        (problem,) = client.get(f"{API}/health").json()["problems"]
        assert "'yard'" in problem
        assert "--folder" in problem
    with started() as client:  # the folder is named again
        watching(client, "yard")
    with started(folders=()) as client:
        assert client.delete(f"{API}/cameras/yard").status_code == 204
        assert client.get(f"{API}/health").json()["problems"] == []
        assert client.delete(f"{API}/cameras/yard").status_code == 404


DAMAGES = {
    "empty": lambda text: "",
    "not JSON": lambda text: text[:-1],
    "nested without end": lambda text: "[" * 10_000,
    "half of it": lambda text: text[: len(text) // 2],
    "another machine, which would get the password": lambda text: text.replace("0.0.1", "0.0.2"),
    "of a later version": lambda text: json.dumps({**json.loads(text), "version": 2}),
    "no cameras": lambda text: json.dumps({**json.loads(text), "cameras": 7}),
    "another shape": lambda text: json.dumps([json.loads(text)]),
    "not text": lambda text: "\xff" + text,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_was_not_written_like_that_is_not_read(tmp_path, damage):
    CameraFile(tmp_path).add("door", "rtsp://me:hunter2@127.0.0.1/a")
    text = damage((tmp_path / CAMERA_FILE).read_text())
    (tmp_path / CAMERA_FILE).write_text(text, encoding="latin-1")
    file = CameraFile(tmp_path)
    assert file.sources == {}
    assert f"{CAMERA_FILE}.damaged-1" in file.problem
    assert "hunter2" not in file.problem
    assert (tmp_path / f"{CAMERA_FILE}.damaged-1").read_text(encoding="latin-1") == text
    file.add("hall", "0")
    again = CameraFile(tmp_path)
    assert again.sources == {"hall": "0"}
    assert again.problem is None


def test_a_damaged_file_is_told_and_the_service_starts(started, webcam, tmp_path):
    with started() as client:
        added(client, webcam.address, "door")
    file = tmp_path / "home" / CAMERA_FILE
    file.write_text(file.read_text().replace("door", "hall"))
    with started() as client:
        assert cameras(client) == {}
        health = client.get(f"{API}/health").json()
        assert health["status"] == "degraded"
        assert f"{CAMERA_FILE}.damaged-1" in health["problems"][0]
        assert "hunter2" not in repr(everything_said(client))
        added(client, webcam.address, "door")
    with started() as client:
        assert list(cameras(client)) == ["door"]
        assert client.get(f"{API}/health").json()["problems"] == []


def test_a_camera_that_cannot_be_written_down_is_not_acknowledged(started, webcam, monkeypatch):
    def full(path, content, *, mode):
        raise OSError(28, "No space left on device")

    with started() as client:
        added(client, webcam.address, "door")
        with monkeypatch.context() as patch:
            patch.setattr(web_cameras, "replace_file", full)
            new = {"source": webcam.address, "name": "hall"}
            refused = client.post(f"{API}/cameras", json=new)
            assert refused.status_code == 503
            assert "No space left" in refused.json()["detail"]
            assert list(cameras(client)) == ["door"]
            half = client.delete(f"{API}/cameras/door")
            assert half.status_code == 503
            assert "back after the next start" in half.json()["detail"]
            assert cameras(client) == {}
    with started() as client:
        assert list(cameras(client)) == ["door"]


def test_a_kill_while_writing_leaves_the_file_of_before(tmp_path, monkeypatch):
    file = CameraFile(tmp_path)
    file.add("door", "0")

    def killed(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        file.add("hall", "1")
    monkeypatch.undo()
    again = CameraFile(tmp_path)
    assert again.sources == {"door": "0"}
    assert again.problem is None
    again.add("hall", "1")
    assert CameraFile(tmp_path).sources == {"door": "0", "hall": "1"}


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
            service.home_thread.submit(lambda home: None).result(10)
            assert held(service) == before
        with service.browser_camera("laptop"):
            service.recognize(Frame("laptop", 0, 0.0, scene(1)))
            assert held(service) != before
        service.home_thread.submit(lambda home: None).result(10)
        assert held(service) == before


def held(service):
    """Everything the service stores by camera."""
    recognizer, frame_stats = service.recognizer, service.frame_stats
    return {
        "tracks": dict(recognizer._recognizer._tracker._current),
        "announced": dict(recognizer._recognizer._announced),
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
        eventually(lambda: cameras(client)["door"]["state"] == "lost")
        lost = cameras(client)["door"]
        assert "hunter2" not in lost["problem"]
        assert client.get(f"{API}/health").json()["cameras_failing"] == ["door"]
        seen = cameras(client)["hall"]["frames"]
        eventually(lambda: cameras(client)["hall"]["frames"] > seen + 3)
        assert client.get(f"{API}/people").status_code == 200
        webcam.plug_in()
        eventually(lambda: cameras(client)["door"]["state"] == "watching")
        back = eventually(lambda: (s := cameras(client)["door"])["frames"] > lost["frames"] and s)
        assert back["reconnects"] == 1
        assert back["problem"] is None
        assert client.get(f"{API}/health").json()["cameras_failing"] == []
