"""Discovery messages for Home Assistant: strangers, alarms and cameras appear without any set-up.

Four entities of one device. The events are for automations: they fire once for each stranger, each
alarm, and each camera that begins or ceases to fail, because Home Assistant ignores retained
messages for events. The sensor shows when the
last stranger came, and which one, also after a restart.
"""

import json
from typing import Any

from onlooker import __version__

ROOT = "homeassistant"
"""The default prefix of the topics that Home Assistant subscribes to."""
ONLINE, OFFLINE = "online", "offline"


def configurations(
    identity: str, topic: str, alarm_topic: str, camera_topic: str, availability: str
) -> dict[str, str]:
    """The discovery messages to publish as retained, by topic.

    >>> last = ("stranger", "alarm", "camera", "availability")
    >>> topics = [f"onlooker/7f/{each}" for each in last]
    >>> for topic in configurations("7f", *topics):
    ...     print(topic)
    homeassistant/event/onlooker_7f/stranger/config
    homeassistant/sensor/onlooker_7f/last_stranger/config
    homeassistant/event/onlooker_7f/alarm/config
    homeassistant/event/onlooker_7f/camera/config
    """
    ours = f"onlooker_{identity}"
    common: dict[str, Any] = {
        "availability_topic": availability,
        "payload_available": ONLINE,
        "payload_not_available": OFFLINE,
        "device": {
            "identifiers": [ours],
            "name": "Onlooker",
            "manufacturer": "Onlooker",
            "sw_version": __version__,
        },
        "origin": {"name": "Onlooker", "sw_version": __version__},
    }
    event = {
        "name": "Stranger",
        "state_topic": topic,
        "unique_id": f"{ours}_stranger",
        "event_types": ["stranger"],
        "icon": "mdi:account-question",
        **common,
    }
    alarm = {
        "name": "Alarm",
        "state_topic": alarm_topic,
        "unique_id": f"{ours}_alarm",
        "event_types": ["alarm"],
        "icon": "mdi:account-alert",
        **common,
    }
    camera = {
        "name": "Camera",
        "state_topic": camera_topic,
        "unique_id": f"{ours}_camera",
        "event_types": ["camera"],
        "icon": "mdi:cctv",
        **common,
    }
    sensor = {
        "name": "Last stranger",
        "state_topic": topic,
        "unique_id": f"{ours}_last_stranger",
        "device_class": "timestamp",
        "value_template": "{{ value_json.seen }}",
        "json_attributes_topic": topic,
        "icon": "mdi:account-clock",
        **common,
    }
    return {
        f"{ROOT}/event/{ours}/stranger/config": json.dumps(event),
        f"{ROOT}/sensor/{ours}/last_stranger/config": json.dumps(sensor),
        f"{ROOT}/event/{ours}/alarm/config": json.dumps(alarm),
        f"{ROOT}/event/{ours}/camera/config": json.dumps(camera),
    }
