"""Cameras, live views, streams of results and events, and a browser's own camera."""

import itertools
import json
import shutil
from pathlib import Path

import cv2
import httpx2
import numpy as np
import pytest
from starlette.websockets import WebSocketDisconnect

from helpers.running import serving
from helpers.services import API, SOCKETS, client_of, encoded, photo, scene, teach
from helpers.waiting import DEADLINE, eventually
from onlooker.simulation.scenarios import scenario, write_video
from onlooker.vision.types import Frame
from onlooker.web.routes.live import MAX_FRAME


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Two seconds of simulated people."""
    path = tmp_path_factory.mktemp("recorded") / "door.mp4"
    write_video(path, scenario("V1", frames=50))
    return path


@pytest.fixture
def film(recorded, tmp_path):
    """The same where cameras may come from."""
    (tmp_path / "films").mkdir()
    return Path(shutil.copy(recorded, tmp_path / "films"))


def state_of(client, name):
    return {one["name"]: one for one in client.get(f"{API}/cameras").json()}.get(name)


def parts(response):
    """The pictures of an MJPEG stream."""
    buffer = b""
    for chunk in response.iter_bytes():
        buffer += chunk
        while (end := buffer.find(b"\xff\xd9\r\n")) >= 0:
            head, _, jpeg = buffer[: end + 2].partition(b"\r\n\r\n")
            buffer = buffer[end + 4 :]
            yield head, jpeg


def test_a_camera_is_watched_and_shown(client, service, film):
    added = client.post(f"{API}/cameras", json={"source": str(film), "name": "door"})
    assert added.status_code == 201, added.text
    again = client.post(f"{API}/cameras", json={"source": str(film), "name": "door"})
    assert again.status_code == 409
    eventually(lambda: state_of(client, "door")["frames"] >= 3)
    with serving(client.app) as address:
        key = {"authorization": f"Bearer {client.token}"}
        with httpx2.stream("GET", f"{address}/live/door.mjpeg", headers=key) as response:
            assert response.headers["content-type"].startswith("multipart/x-mixed-replace")
            for head, jpeg in itertools.islice(parts(response), 3):
                assert b"image/jpeg" in head
                assert jpeg.startswith(b"\xff\xd8")
        assert httpx2.get(f"{address}/live/yard.mjpeg", headers=key).status_code == 404
    assert client.delete(f"{API}/cameras/door").status_code == 204
    assert client.delete(f"{API}/cameras/door").status_code == 404
    assert state_of(client, "door") is None


def test_a_recording_ends(client, film):
    client.post(f"{API}/cameras", json={"source": str(film), "name": "door"})
    state = eventually(lambda: (s := state_of(client, "door"))["state"] == "ended" and s)
    assert state["frames"] + state["dropped"] == 50
    assert state["problem"] is None


def test_a_camera_that_cannot_be_opened_is_a_state_not_a_crash(client, tmp_path):
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "bad.mp4").write_bytes(b"no film at all")
    for source, name, state in (
        (str(tmp_path / "films" / "bad.mp4"), "bad", "failing"),
        ("rtsp://127.0.0.1:9/none", "gone", "failing"),
        ("99", "absent", "failing"),
    ):
        added = client.post(f"{API}/cameras", json={"source": source, "name": name})
        assert added.status_code == 201
        eventually(lambda name=name, state=state: state_of(client, name)["state"] == state)
        assert state_of(client, name)["problem"]
    health = client.get(f"{API}/health").json()
    assert health["status"] == "degraded"
    assert sorted(health["cameras_failing"]) == ["absent", "bad", "gone"]
    for name in ("bad", "gone", "absent"):
        assert client.delete(f"{API}/cameras/{name}").status_code == 204
    missing = str(tmp_path / "films" / "missing.mp4")
    assert client.post(f"{API}/cameras", json={"source": missing}).status_code == 422


def test_a_password_in_an_address_is_not_shown(client):
    source = "rtsp://me:secret@127.0.0.1:9/key"
    added = client.post(f"{API}/cameras", json={"source": source, "name": "door"})
    assert added.json()["address"] == "rtsp://127.0.0.1:9/..."
    eventually(lambda: state_of(client, "door")["problem"])
    everything = client.get(f"{API}/cameras").text + client.get(f"{API}/metrics").text
    assert "secret" not in everything


def test_results_arrive_over_a_websocket(client, service):
    teach(client, 1, "ana", [0])
    with client.websocket_connect(f"{SOCKETS}/live") as socket:
        eventually(lambda: service.broadcast.listeners == 1)
        service.recognize(Frame("door", 7, 0.5, scene(1)))
        result = socket.receive_json()
        assert (result["camera"], result["frame"]) == ("door", 7)
        assert result["faces"][0]["name"] == "ana"
    eventually(lambda: service.broadcast.listeners == 0)  # who left is not waited for


def test_a_browsers_own_camera(client, service):
    teach(client, 1, "ana", [0])
    with client.websocket_connect(f"{SOCKETS}/browser/laptop") as socket:
        for number in range(3):
            socket.send_bytes(photo(1, suffix=".jpg"))
            result = socket.receive_json()
            assert (result["camera"], result["frame"]) == ("laptop", number)
            assert result["faces"][0]["name"] == "ana"
        assert state_of(client, "laptop")["frames"] == 3
        socket.send_bytes(b"\xff\xd8\xff nonsense")
        assert "picture" in socket.receive_json()["detail"]
        with client.websocket_connect(f"{SOCKETS}/browser/laptop") as second:
            assert "already" in second.receive_json()["detail"]
        socket.send_bytes(bytes(MAX_FRAME + 1))
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1009
    eventually(lambda: state_of(client, "laptop") is None)


def test_a_browser_without_the_token_is_refused(service, tmp_path):
    nobody = client_of(service, tmp_path / "home", token=False)
    with (
        pytest.raises(WebSocketDisconnect) as closed,
        nobody.websocket_connect(f"{SOCKETS}/browser/laptop"),
    ):
        pass
    assert "token" in closed.value.reason


def events_of(lines):
    event = {}
    for text in lines:
        key, _, value = text.partition(": ")
        if text == "" and event:
            yield event
            event = {}
        elif key:
            event[key] = value


def test_events_are_told_as_they_happen(client, service):
    teach(client, 1, "ana", [0])
    key = {"authorization": f"Bearer {client.token}"}
    path = f"{API}/events/stream?after=0"
    with (
        serving(client.app) as address,
        httpx2.stream("GET", f"{address}{path}", timeout=DEADLINE, headers=key) as response,
    ):
        assert response.headers["content-type"].startswith("text/event-stream")
        events = events_of(response.iter_lines())
        first = next(events)
        assert (first["id"], first["event"]) == ("1", "teach")
        teach(client, 2, "ben", [0])
        second = next(events)
        assert json.loads(second["data"])["sequence"] == 2
        assert json.loads(second["data"])["changes"][0][0] == "new"


def test_a_picture_of_anything_is_no_server_error(client):
    for content in (b"", b"\x89PNG\r\n\x1a\n", photo(1)[:500], encoded(scene(1))[:-20]):
        assert client.post(f"{API}/recognize", content=content).status_code == 422


def test_one_odd_frame_does_not_end_a_camera(service, client, film, monkeypatch):
    see, frames = service.recognizer.see, itertools.count()

    def moody(frame):
        if next(frames) % 2:
            raise RuntimeError("odd")
        return see(frame)

    monkeypatch.setattr(service.recognizer, "see", moody)
    client.post(f"{API}/cameras", json={"source": str(film), "name": "door"})
    state = eventually(lambda: (s := state_of(client, "door"))["state"] == "ended" and s)
    assert state["frames"] > 2
    assert state["frames"] + state["dropped"] == 50


def show(service, person, index, *, camera="door", number=0, shift=0):
    return service.recognize(
        Frame(camera, index, index / 12, scene(person, number, shift))
    ).sightings


def test_a_result_is_followed_by_exactly_its_picture(client, service):
    teach(client, 1, "ana", [0])
    show(service, 1, 0)
    with client.websocket_connect(f"{SOCKETS}/live/door") as socket:
        for index, person in enumerate((1, 2, 1)):
            if index:
                eventually(lambda: service.broadcast.listeners == 1)
                show(service, person, index)
            result = socket.receive_json()
            pixels = cv2.imdecode(np.frombuffer(socket.receive_bytes(), np.uint8), 1)
            assert (result["camera"], result["frame"]) == ("door", index)
            difference = np.abs(pixels.astype(int) - scene(person)).mean()
            assert difference < 2  # JPEG, and no boxes drawn
            assert set(result["seconds"]) == {"detect", "features", "learn"}
            assert result["learned"] == client.get(f"{API}/summary").json()["learned"]
        (face,) = result["faces"]
        assert (face["name"], face["state"], face["card"]) == ("ana", "known", None)
        assert face["vertex"] is not None
    eventually(lambda: service.broadcast.listeners == 0)


def test_a_stranger_in_the_view_has_the_card_they_went_to(client, service):
    with client.websocket_connect(f"{SOCKETS}/browser/laptop") as camera:
        camera.send_bytes(photo(1, suffix=".jpg"))
        (face,) = camera.receive_json()["faces"]
        (card,) = client.get(f"{API}/strangers").json()
        assert (face["state"], face["vertex"]) == ("nobody", None)
        assert face["card"] == card["card"]
        with client.websocket_connect(f"{SOCKETS}/live/laptop") as socket:
            assert socket.receive_json()["camera"] == "laptop"
            assert socket.receive_bytes().startswith(b"\xff\xd8")


def test_an_unknown_camera_is_told_and_closed(client):
    with client.websocket_connect(f"{SOCKETS}/live/attic") as socket:
        assert "attic" in socket.receive_json()["detail"]
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
    assert closed.value.code == 4404


def test_who_is_slow_gets_the_newest(client, service):
    show(service, 1, 0)
    with client.websocket_connect(f"{SOCKETS}/live/door") as socket:
        eventually(lambda: service.broadcast.listeners == 1)
        assert socket.receive_json()["frame"] == 0
        socket.receive_bytes()
        view = service.latest("door")
        for _ in range(50):  # faster than anybody can look
            service.broadcast.publish("live door", view)
        show(service, 1, 1)
        frames = []
        while not frames or frames[-1] != 1:
            frames.append(socket.receive_json()["frame"])
            socket.receive_bytes()
        assert len(frames) < 50
