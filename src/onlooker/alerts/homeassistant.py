"""What Home Assistant is told so that strangers appear there without any set-up.

Two entities of one device listen to one topic. The event is for automations: it happens once for
each stranger, since Home Assistant ignores what a broker only repeats. The sensor shows when the
last one came, and which, after a restart too.
"""

import json
from typing import Any

from onlooker import __version__

ROOT = "homeassistant"
"""Where Home Assistant listens unless it was told otherwise."""
ONLINE, OFFLINE = "online", "offline"


def configurations(identity: str, topic: str, availability: str) -> dict[str, str]:
    """The retained messages, by topic.

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
