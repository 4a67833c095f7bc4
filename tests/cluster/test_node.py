"""A node is lost with its sites: they come back elsewhere, with state, and tell the gap."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.sites import LEARNER_CONFIG, example
from helpers.waiting import DEADLINE
from onlooker.home.events import digest

pytest.importorskip("ray")


def test_sites_of_a_killed_node_come_back_elsewhere_with_state(tmp_path):
    script = Path(__file__).with_name("losing_a_node.py")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, script, tmp_path],
        capture_output=True,
        text=True,
        timeout=10 * DEADLINE,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    moved = {site: row for site, row in found.items() if row["moved"]}
    assert moved, "no site was on the node that was killed"
    for at, (site, row) in enumerate(found.items()):
        learner = LEARNER_CONFIG.learner()
        for number in range(1, 61):
            x, name = example(at, number)
            learner.observe(x) if name is None else learner.teach(x, name)
        assert row["acknowledged"] == 60
        assert row["digest"] == digest(learner)
        assert not row["node_is_the_lost_one"]
        assert (row["gap"] is not None) == (site in moved)
    for row in moved.values():
        assert row["moves"] == 1
        assert row["away"] > 0
        assert any("it was down for" in words for words in row["said"])
