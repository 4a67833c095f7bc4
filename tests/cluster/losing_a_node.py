"""Two raylets, one of which is killed: run by test_node.py in a process of its own.

Prints one line of JSON. Both nodes share the disk of this machine, as the nodes of a cluster must
share the storage of the homes.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from helpers.sites import LEARNER_CONFIG, example
from helpers.waiting import DEADLINE, eventually
from onlooker.home.events import digest

COUNT = 60


def wait_for_the_end_of(process, seconds=DEADLINE):
    """A process that nobody waits for may stay in the table as a zombie."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    raise TimeoutError(f"process {process} of the lost node lives on")


def main(folder):
    import ray
    from ray.cluster_utils import Cluster

    from onlooker.cluster.coordinator import Coordinator
    from onlooker.cluster.ray_site import (
        NAMESPACE,
        RayTransport,
        SiteSpec,
        find_site,
        result_of,
        start_site,
    )
    from onlooker.cluster.sender import Sender

    quick = {
        "health_check_initial_delay_ms": 500,
        "health_check_period_ms": 300,
        "health_check_failure_threshold": 3,
    }
    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 3,
            "include_dashboard": False,
            "object_store_memory": 80 * 2**20,
            "_system_config": quick,
        },
    )
    second = cluster.add_node(num_cpus=3, object_store_memory=80 * 2**20)
    ray.init(
        address=cluster.address, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR"
    )
    lost_node = second.node_id
    sites = [f"s{at}" for at in range(3)]
    specs = {site: SiteSpec(site, folder / site, LEARNER_CONFIG) for site in sites}
    handles = {site: start_site(spec) for site, spec in specs.items()}
    coordinator = Coordinator(
        {site: spec.folder for site, spec in specs.items()}, interval=3600, timeout=DEADLINE
    )
    before = {
        site: result_of(handle.call.remote("report"), DEADLINE) for site, handle in handles.items()
    }
    coordinator.look()  # a whole round would tell names, and this test compares digests
    senders = {
        site: Sender("door", lambda site=site: RayTransport(site), give_up_after=4 * DEADLINE)
        for site in sites
    }
    for sender in senders.values():
        sender.wait_until_connected()
    lost = {site: report.process for site, report in before.items() if report.node == lost_node}
    for number in range(1, COUNT + 1):
        if number == COUNT // 2:  # with an example on its way that is never answered
            for process in lost.values():
                os.kill(process, signal.SIGSTOP)
        for at, site in enumerate(sites):
            x, name = example(at, number)
            senders[site].put(x, name=name)
        if number == COUNT // 2:
            for site in lost:
                eventually(lambda site=site: senders[site]._window._in_flight)
            raylet = second.all_processes["raylet"][0].process
            for process in (raylet.pid, *lost.values()):
                os.kill(process, signal.SIGKILL)
            raylet.wait()
            for process in lost.values():
                wait_for_the_end_of(process)
    sent = {site: sender.close(4 * DEADLINE) for site, sender in senders.items()}
    after = {site: result_of(find_site(site).call.remote("report"), DEADLINE) for site in sites}
    words = {
        site: digest(result_of(find_site(site).call.remote("snapshot"), DEADLINE).learner())
        for site in sites
    }
    coordinator.look()
    states = {state.site: state for state in coordinator.statuses()}
    coordinator.end()
    result = {
        site: {
            "moved": before[site].node == lost_node,
            "node_is_the_lost_one": after[site].node == lost_node,
            "acknowledged": sent[site].acknowledged,
            "away": sent[site].outage_seconds,
            "gap": after[site].downtime,
            "said": states[site].problems(),
            "moves": states[site].restarts,
            "digest": words[site],
        }
        for site in sites
    }
    ray.shutdown()
    cluster.shutdown()
    print(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
