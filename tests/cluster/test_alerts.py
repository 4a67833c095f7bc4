"""Alerts about the cameras of a cluster: the same ones that a service sends, and with the site."""

import json
from functools import partial
from pathlib import Path

import pytest

from helpers.hooks import Hook
from helpers.mosquitto import PASSWORD, USER, Mosquitto, listening
from helpers.waiting import eventually
from onlooker.alerts.channels import Alerts
from onlooker.core.errors import BadValue
from onlooker.video.decoding import CameraCondition
from onlooker.video.live import CameraChange

pytest.importorskip("ray")

REFUSED = CameraCondition("failing", 60.0, "Connection refused")


def away(site):
    from onlooker.cluster.transport import SiteUnavailable

    raise SiteUnavailable("it is not up")


def coordinator(condition, *channels):
    """One that watches the camera `door` of a site that is away; condition() is how it is.

    channels are those of `Alerts`: webhook, broker, file with its password.
    """
    from dataclasses import replace

    from onlooker.cluster.camera import RemoteCameraStatus
    from onlooker.cluster.coordinator import Coordinator

    def ask(cameras):
        return [replace(RemoteCameraStatus.unknown(name, ""), condition=condition())
                for name in cameras]  # fmt: skip

    made = Coordinator(
        {"north": Path("north")},
        3600,
        find=away,
        ask_cameras=ask,
        alerts=partial(Alerts, *channels),
        identity="7f",
    )
    made.watch_cameras({"north": ["door"]})
    return made


def without_times(alert):
    return {key: value for key, value in alert.items() if key not in ("time", "since", "seen")}


def test_a_camera_of_a_cluster_that_fails_is_an_alert_though_its_site_is_away():
    """Once, however often it is asked; and once more when it is over."""
    now = [REFUSED]
    with Hook() as hook:
        made = coordinator(lambda: now[0], hook.address)
        eventually(lambda: hook.heard)
        made.watch_cameras({"north": ["door"]})
        now[0] = CameraCondition("ended", 70.0)
        eventually(lambda: len(hook.heard) > 1)
        made.end()
    about = {"event": "camera", "site": "north", "camera": "door", "problem": REFUSED.problem}
    failing, over = (without_times(alert) for _, alert in hook.heard)
    assert failing == {**about, "state": "failing"}
    assert over == {**about, "state": "ended"}


def test_a_cluster_sends_what_a_service_sends_and_the_site():
    with Hook() as served, Hook() as clustered:
        alerts = Alerts(served.address)
        alerts.camera(CameraChange("door", "failing", REFUSED.since, REFUSED.problem))
        alerts.close()
        coordinator(lambda: REFUSED, clustered.address).end()
    ((_, service),), ((_, cluster),) = served.heard, clustered.heard
    assert cluster.pop("site") == "north"
    assert without_times(cluster) == without_times(service)
    assert cluster["since"] == service["since"]


def test_alerts_that_cannot_be_sent_are_a_problem_without_secrets():
    with Hook(answer=500) as hook:
        made = coordinator(lambda: REFUSED, hook.address)
        (problem,) = eventually(made.alert_problems)
        made.end()
    assert problem.endswith("it answered 500")
    assert "secret" not in problem


def texts(heard, topic):
    return [text for where, text, _ in list(heard) if where == f"onlooker/7f/{topic}"]


def test_a_coordinator_tells_home_assistant_over_mqtt_what_a_webhook_is_told(tmp_path):
    """A real broker that asks for a password, which the coordinator reads from its file."""
    (tmp_path / "password").write_text(PASSWORD)
    now = [REFUSED]
    with (
        Hook() as hook,
        Mosquitto(tmp_path, password=True) as broker,
        listening(broker.port, USER, PASSWORD) as heard,
    ):
        address = f"mqtt://{USER}@127.0.0.1:{broker.port}"
        made = coordinator(lambda: now[0], hook.address, address, tmp_path / "password")
        eventually(lambda: texts(heard, "camera"))
        assert texts(heard, "availability") == ["online"]
        now[0] = CameraCondition("live", 70.0)
        eventually(lambda: len(texts(heard, "camera")) > 1)
        assert made.alert_problems() == []
        made.end()
        eventually(lambda: texts(heard, "availability") == ["online", "offline"])
    alerts = [without_times(json.loads(text)) for text in texts(heard, "camera")]
    assert [alert.pop("event_type") for alert in alerts] == ["camera", "camera"]
    assert [alert["state"] for alert in alerts] == ["failing", "live"]
    assert {alert["site"] for alert in alerts} == {"north"}
    assert alerts == [without_times(alert) for _, alert in hook.heard]
    found = [json.loads(text) for topic, text, _ in heard if topic.endswith("camera/config")]
    assert [entity["state_topic"] for entity in found] == ["onlooker/7f/camera"]


def test_an_alert_of_a_coordinator_waits_for_its_broker(tmp_path):
    broker = Mosquitto(tmp_path)
    made = coordinator(lambda: REFUSED, None, broker.address)
    (problem,) = eventually(made.alert_problems)
    assert problem == f"mqtt 127.0.0.1:{broker.port}: Connection refused"
    with broker, listening(broker.port) as heard:
        (text,) = eventually(lambda: texts(heard, "camera"))
        assert (json.loads(text)["site"], json.loads(text)["camera"]) == ("north", "door")
        eventually(lambda: made.alert_problems() == [])
        made.end()


def test_the_configuration_says_where_alerts_go_and_hides_it():
    from onlooker.cluster.config import config_of

    table = {"sites": {"north": {}}, "webhook": "http://10.0.0.5/hook?token=secret"}
    config = config_of(table, Path("base"))
    assert config.alerts().wanted
    assert "secret" not in repr(config)
    assert not config_of({"sites": {"north": {}}}, Path("base")).alerts().wanted
    with pytest.raises(BadValue, match="a webhook has an address like"):
        config_of({**table, "webhook": "file:///x"}, Path("base")).alerts()
