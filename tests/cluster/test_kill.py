"""Killed at random moments, sites come back as if they had not been: nothing acknowledged is lost.

    PYTHONPATH=tests .venv/bin/python tests/cluster/test_kill.py --full

is four sites with 600 examples each and twelve kills. Input is a function of the number, so that
the result can be compared with that of an undisturbed learner.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest

from helpers.sites import LEARNER_CONFIG, example
from helpers.waiting import DEADLINE, eventually
from onlooker.home.events import digest
from onlooker.home.retention import RetentionPolicy

pytest.importorskip("ray")

KEEPING = RetentionPolicy(snapshot_every=50)


def undisturbed(site, count):
    learner = LEARNER_CONFIG.learner()
    for number in range(1, count + 1):
        x, name = example(site, number)
        learner.observe(x) if name is None else learner.teach(x, name)
    return digest(learner)


def kill_often(folder, sites, count, kills, seed):
    """Stream to all sites, and kill one after every so many acknowledged examples."""
    from onlooker.cluster.ray_site import RayTransport, SiteSpec, result_of, start_site
    from onlooker.cluster.sender import Sender

    moments = random.Random(seed)
    specs = [
        SiteSpec(f"kill{at}", folder / str(at), LEARNER_CONFIG, KEEPING) for at in range(sites)
    ]
    handles = [start_site(spec, cpus=0.1, detached=False) for spec in specs]
    answered = [[] for _ in specs]
    senders = [
        Sender(
            "door",
            lambda spec=spec, handle=handle: RayTransport(spec.name, handle),
            batch_size=8,
            queue_size=8,
            on_answer=answered[at].append,
        )
        for at, (spec, handle) in enumerate(zip(specs, handles, strict=True))
    ]
    deaths = sorted(moments.randrange(5, sites * count - 5) for _ in range(kills))
    killed, steps = [], 0
    for number in range(1, count + 1):
        for at in range(sites):
            x, name = example(at, number)
            senders[at].put(x, name=name, frame=number)
            steps += 1
            while deaths and steps >= deaths[0]:
                at_death = moments.randrange(sites)
                process = _living(handles[at_death])
                time.sleep(moments.random() * 0.05)
                os.kill(process, signal.SIGKILL)
                killed.append(at_death)
                deaths.pop(0)
    sent = [sender.close(4 * DEADLINE) for sender in senders]
    for at, handle in enumerate(handles):
        report = result_of(handle.call.remote("report"), DEADLINE)
        assert sent[at].acknowledged == count
        assert [answer.number for answer in answered[at]] == list(range(1, count + 1))
        assert report.problems == ()
        knowledge = result_of(handle.call.remote("snapshot"), DEADLINE)
        assert digest(knowledge.learner()) == undisturbed(at, count), f"site {at}, killed {killed}"
        if at in killed:
            assert sent[at].outages >= 1
            assert report.downtime is not None
    import ray

    for handle in handles:
        ray.kill(handle)
    return sent, killed


def _living(handle):
    """The process of a site, which may have been killed before, once it answers."""
    from onlooker.cluster.ray_site import result_of
    from onlooker.cluster.transport import SiteUnavailable

    def process():
        try:
            return result_of(handle.call.remote("report"), DEADLINE / 4).process
        except SiteUnavailable:
            return None

    return eventually(process)


def test_nothing_acknowledged_is_lost_to_kill_9_of_sites(ray_here, tmp_path):
    sent, killed = kill_often(tmp_path, sites=2, count=150, kills=3, seed=1)
    assert len(killed) == 3
    assert sum(each.resent for each in sent) > 0


if __name__ == "__main__":
    import ray

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="four sites, 600 examples, 12 kills")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ray.init(
        num_cpus=8,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        logging_level="ERROR",
    )
    size = (4, 600, 12) if options.full else (2, 150, 3)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        sent, killed = kill_often(Path(place), *size, seed=options.seed)
    ray.shutdown()
    for at, each in enumerate(sent):
        print(f"site {at}: killed {killed.count(at)} times, {each}")
    print(f"{len(killed)} kills, {time.monotonic() - began:.0f} s: digests identical, nothing lost")
