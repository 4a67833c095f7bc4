"""Picture and result together: what a page draws belongs to the very frame it draws it on."""

import cv2
import numpy as np
import pytest
from starlette.websockets import WebSocketDisconnect

from helpers.services import API, SOCKETS, photo, scene, teach
from helpers.waiting import eventually
from onlooker.core.records import Prediction
from onlooker.vision.types import FaceBox, Frame, Refusal, Sighting
from onlooker.web.schemas import state_of


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


BOX, BLURRED = FaceBox(0, 0, 40, 40), Refusal("too blurred", 1.0, 2.0)


def said(name, confidence=1.0):
    return Prediction(name, {name: confidence} if name else {}, 1 - confidence, None)


@pytest.mark.parametrize(
    ("track", "answer", "refusal", "state"),
    [
        ("ana", said("ana"), None, "known"),
        ("ana", said("ana", 0.4), None, "unsure"),
        ("ana", said("ben"), None, "unsure"),
        ("ana", said(None, 0.0), None, "unsure"),
        ("ana", None, BLURRED, "unsure"),
        (None, said("ana"), None, "unsure"),
        (None, said(None, 0.0), None, "nobody"),
        (None, None, BLURRED, "poor"),
        (None, None, None, "nobody"),
    ],
)
def test_a_page_looks_as_sure_as_the_learner_is(track, answer, refusal, state):
    assert state_of(Sighting("door", 0, 0.0, 1, BOX, track, answer, refusal)) == state
