"""Discovery messages for Home Assistant: strangers appear there without any set-up.

Two entities of one device subscribe to one topic. The event is for automations: it fires once for
each stranger, because Home Assistant ignores retained messages for events. The sensor shows when
the last stranger came, and which one, also after a restart.
"""

import json
from typing import Any

from onlooker import __version__

ROOT = "homeassistant"
"""The default prefix of the topics that Home Assistant subscribes to."""
ONLINE, OFFLINE = "online", "offline"


def configurations(identity: str, topic: str, availability: str) -> dict[str, str]:
    """The discovery messages to publish as retained, by topic.

    >>> list(configurations("7f", "onlooker/7f/stranger", "onlooker/7f/availability"))
    ['homeassistant/event/onlooker_7f/stranger/config', 'homeassistant/sensor/...stranger/config']
    """
    ours = f"onlooker_{identity}"
    common: dict[str, Any] = {
        "state_topic": topic,
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
        "unique_id": f"{ours}_stranger",
        "event_types": ["stranger"],
        "icon": "mdi:account-question",
        **common,
    }
    sensor = {
        "name": "Last stranger",
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
    }
