"""Alerts over MQTT, with a real broker: arrival, discovery, the last will, and all that fails."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import numpy as np
import pytest

from helpers.homes import LENGTH, small_learner
from helpers.mosquitto import PASSWORD, USER, Mosquitto, listening
from helpers.ports import free_port
from helpers.waiting import DEADLINE, eventually
from onlooker.alerts.mqtt import Broker, MqttAlerts
from onlooker.alerts.queue import WAITING
from onlooker.core.errors import BadValue
from onlooker.home.home import Home
from onlooker.strangers.book import StrangerBook

ALERT = {"event": "stranger", "card": 3, "count": 1, "camera": "door", "frame": 7, "time": 5.25}
CAMERA = {"event": "camera", "camera": "door", "state": "failing", "problem": "lost", "time": 7.5}
ALARM = {"event": "alarm", "kind": "region", "sequence": 9, "camera": "door", "time": 6.5}
ALERTS, PRESENCE = "onlooker/7f/stranger", "onlooker/7f/availability"
GREETING = 5  # four configurations and "online"


@pytest.fixture
def broker(tmp_path):
    with Mosquitto(tmp_path) as running:
        yield running


def sender(address, identity="7f", password=None, **options):
    return MqttAlerts(
        Broker.at(address, password), identity, **{"pause": 0.05, "timeout": 3} | options
    )


def texts(heard, topic):
    return [text for where, text, _ in list(heard) if where == topic]


def test_a_new_stranger_arrives_once_with_all_that_is_known(broker, tmp_path):
    folder = tmp_path / "home"
    with (
        listening(broker.port) as heard,
        Home(folder, new_learner=small_learner) as home,
    ):
        mqtt = sender(broker.address)
        with StrangerBook(home, alert=mqtt, clock=lambda: 5.25) as visitors:
            for frame in range(3):
                visitors.observe(np.zeros(LENGTH), camera="door", frame=frame)
        mqtt.close()
        (text,) = eventually(lambda: texts(heard, ALERTS))
    expected = {"event_type": "stranger", "card": 1, "count": 1, "camera": "door", "time": 5.25}
    sent = json.loads(text)
    assert expected.items() <= sent.items()
    assert datetime.fromisoformat(sent["seen"]) == datetime.fromtimestamp(5, UTC)
    assert (mqtt.sent, mqtt.failed, mqtt.dropped, mqtt.problems) == (1, 0, 0, [])


def test_the_broker_retains_what_home_assistant_needs(broker):
    mqtt = sender(f"{broker.address}/cams/front")
    mqtt(ALERT)
    mqtt(ALARM)
    mqtt(CAMERA)
    eventually(lambda: mqtt.sent == 3)
    with listening(broker.port) as heard:  # as Home Assistant after a restart of its own
        eventually(lambda: len(heard) == GREETING + 3)
    mqtt.close()
    assert all(repeated for *_, repeated in heard)
    retained = {topic: text for topic, text, _ in heard}
    assert retained["cams/front/7f/availability"] == "online"
    seen = set()
    for topic in [topic for topic in retained if topic.startswith("homeassistant/")]:
        _, kind, device, _, last = topic.split("/")
        assert (device, last) == ("onlooker_7f", "config")
        entity = json.loads(retained[topic])
        assert entity["name"]
        assert entity["device"]["identifiers"] == ["onlooker_7f"]
        assert entity["origin"]["name"] == "Onlooker"
        assert entity["availability_topic"] == "cams/front/7f/availability"
        assert (entity["payload_available"], entity["payload_not_available"]) == (
            "online", "offline",
        )  # fmt: skip
        assert retained[entity["state_topic"]]
        seen.add(entity["unique_id"])
        if kind == "event":
            alert = json.loads(retained[entity["state_topic"]])
            assert alert["event_type"] in entity["event_types"]
        else:
            assert entity["json_attributes_topic"] == entity["state_topic"]
            assert entity["device_class"] == "timestamp"
            assert "value_json.seen" in entity["value_template"]
    assert len(seen) == 4


def test_two_homes_are_two_devices(broker):
    first, second = sender(broker.address), sender(broker.address, "a0")
    with listening(broker.port) as heard:
        eventually(lambda: len({topic for topic, *_ in heard}) == 2 * GREETING)
    for mqtt in (first, second):
        mqtt.close()
    texts_ = [json.loads(text) for topic, text, _ in heard if topic.endswith("config")]
    assert len({entity["unique_id"] for entity in texts_}) == 8


def test_closing_publishes_that_it_is_offline(broker):
    with listening(broker.port) as heard:
        mqtt = sender(broker.address)
        eventually(lambda: texts(heard, PRESENCE) == ["online"])
        mqtt.close()
        eventually(lambda: texts(heard, PRESENCE) == ["online", "offline"])
    with listening(broker.port) as later:
        eventually(lambda: (PRESENCE, "offline", True) in later)


KILLED = """
import sys, time
from onlooker.alerts.mqtt import Broker
from onlooker.alerts.mqtt import MqttAlerts
MqttAlerts(Broker.at(sys.argv[1]), "7f")
time.sleep(60)
"""


def test_a_home_that_is_killed_is_offline(broker):
    with listening(broker.port) as heard:
        process = subprocess.Popen([sys.executable, "-c", KILLED, broker.address])
        try:
            eventually(lambda: texts(heard, PRESENCE) == ["online"], seconds=30)
        finally:
            process.kill()
            process.wait(DEADLINE)
        eventually(lambda: texts(heard, PRESENCE) == ["online", "offline"])


def test_queued_alerts_are_delivered_when_the_broker_is_back(broker):
    mqtt = sender(broker.address)
    mqtt(ALERT)
    eventually(lambda: mqtt.sent == 1)
    broker.stop()
    eventually(lambda: mqtt.problem)
    assert f"mqtt 127.0.0.1:{broker.port}: " in mqtt.problems[0]
    for card in range(5):
        mqtt({**ALERT, "card": card})
    broker.start()
    eventually(lambda: mqtt.sent == 6)
    with listening(broker.port) as heard:  # a broker that lost everything gets it again
        eventually(lambda: len(heard) == GREETING + 1)
    assert json.loads(texts(heard, ALERTS)[0])["card"] == 4
    mqtt.close()
    assert (mqtt.sent, mqtt.failed, mqtt.dropped, mqtt.problems) == (6, 0, 0, [])


def test_without_a_broker_callers_do_not_wait_and_dropped_alerts_are_counted():
    mqtt = sender(f"mqtt://127.0.0.1:{free_port()}")
    eventually(lambda: "refused" in mqtt.problem)
    begun = time.monotonic()
    for _ in range(WAITING + 20):
        mqtt(ALERT)
    assert time.monotonic() - begun < 0.2
    assert 19 <= mqtt.dropped <= 20  # one may be in hand
    assert any(f"{mqtt.dropped} alerts were dropped" in words for words in mqtt.problems)
    begun = time.monotonic()
    mqtt.close()
    assert time.monotonic() - begun < 4
    assert mqtt.failed + mqtt.dropped == WAITING + 20


def test_pauses_between_attempts_grow(monkeypatch):
    tried = []

    def refuse(*_, **__):
        tried.append(time.monotonic())
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(socket, "create_connection", refuse)
    mqtt = sender("mqtt://127.0.0.1:1", pause=0.02)
    mqtt(ALERT)
    eventually(lambda: len(tried) >= 5)
    mqtt.close()
    gaps = np.diff(tried[:5])
    assert (gaps >= 0.02 * 2.0 ** np.arange(4) * 0.99).all(), gaps


@pytest.mark.parametrize("password", ["wrong-secret", None])
def test_a_wrong_password_is_reported_and_not_shown(tmp_path, password, caplog):
    with Mosquitto(tmp_path, password=True) as broker:
        address = f"mqtt://{USER}@127.0.0.1:{broker.port}"
        mqtt = sender(address, password=password)
        words = eventually(lambda: mqtt.problem)
        mqtt.close()
    assert "it refuses the connection (Not authorized)" in words
    assert "check the user and the password" in words
    assert "secret" not in words + caplog.text + repr(Broker.at(address, "secret"))


def test_the_right_password_connects(tmp_path):
    with Mosquitto(tmp_path, password=True) as broker:
        mqtt = sender(f"mqtt://{USER}@127.0.0.1:{broker.port}", password=PASSWORD)
        with listening(broker.port, USER, PASSWORD) as heard:
            mqtt(ALERT)
            eventually(lambda: texts(heard, ALERTS))
        mqtt.close()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x20\xff\xff\xff"])
def test_a_host_that_is_not_a_broker_is_reported(answer):
    stop = threading.Event()

    def talk(server):
        while not stop.is_set():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            with connection:
                connection.sendall(answer)
                connection.recv(1000)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        thread = threading.Thread(target=talk, args=(server,))
        thread.start()
        mqtt = sender(f"mqtt://127.0.0.1:{server.getsockname()[1]}", timeout=1)
        assert eventually(lambda: mqtt.problem)
        mqtt.close()
        assert not mqtt._thread.is_alive()
        stop.set()
        thread.join(DEADLINE)


def certificate(folder):
    """Of 127.0.0.1, signed by itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here; install Debian's package openssl")
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1"
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert]
    subprocess.run([*words.split(), *more], check=True, capture_output=True)
    return key, cert


# paho leaves the socket of a handshake that failed to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_encrypted_connection_needs_a_certificate_that_is_trusted(tmp_path, monkeypatch):
    key, cert = certificate(tmp_path)
    with Mosquitto(tmp_path, more=[f"certfile {cert}", f"keyfile {key}"]) as broker:
        address = f"mqtts://127.0.0.1:{broker.port}"
        mqtt = sender(address)
        assert "certificate verify failed" in eventually(lambda: mqtt.problem)
        mqtt.close()
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        trusting = sender(address)
        trusting(ALERT)
        eventually(lambda: trusting.sent == 1)
        trusting.close()


@pytest.mark.parametrize(
    "address",
    ["http://a", "mqtt://", "mqtt:///x", "mqtt://u:secret@a", "a", "", "mqtt://a/b c", "mqtt://a/#",
     "mqtt://a/+/x", "mqtt://a/$SYS", "mqtt://a:99999", "mqtt://a:0", "mqtt://a/?secret",
     "mqtt://[a", "mqtt://a\r\n"],
)  # fmt: skip
def test_bad_addresses_are_refused(address):
    with pytest.raises(BadValue, match="a broker has an address") as error:
        Broker.at(address)
    assert "secret" not in str(error.value)


def test_the_error_about_an_address_with_a_line_break_is_one_line():
    with pytest.raises(BadValue, match="a broker has an address like") as refused:
        Broker.at("a\nb://h")
    assert "\n" not in str(refused.value)


def test_good_addresses_are_parsed():
    assert Broker.at("mqtt://box.local") == Broker("box.local", 1883)
    assert Broker.at("mqtts://a%40b@[::1]:99/x/y/") == Broker(
        "::1", 99, "x/y", "a@b", encrypted=True
    )
    with pytest.raises(BadValue, match="needs a user"):
        Broker.at("mqtt://box.local", "secret")
