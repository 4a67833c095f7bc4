"""A Ray of the tests' own, with its own token, and a check that nothing of it is left behind."""

import os
import subprocess
import time

import pytest


def descendants():
    """The processes that stem from this one, by id, with their command lines."""
    rows = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True).stdout
    table = [row.split(None, 2) for row in rows.splitlines()]
    found, grown = {os.getpid()}, True
    while grown:
        more = {int(pid) for pid, parent, *_ in table if int(parent) in found} - found
        grown = bool(more)
        found |= more
    return {
        int(pid): args[0]
        for pid, _, *args in table
        if int(pid) in found - {os.getpid()}
        and args
        and "ray" in args[0]
        and "ps -eo" not in args[0]
    }


@pytest.fixture(scope="session")
def ray_here(tmp_path_factory):
    """Ray for all tests of one process; afterwards none of its processes lives."""
    ray = pytest.importorskip("ray")
    from onlooker.cluster.ray_site import NAMESPACE

    ray.init(
        num_cpus=16,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        object_store_memory=100 * 2**20,
        log_to_driver=False,
        logging_level="ERROR",
        namespace=NAMESPACE,
    )
    known = descendants()
    assert known
    yield ray
    known |= descendants()
    ray.shutdown()
    deadline = time.monotonic() + 20
    while (left := _alive(known)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left, f"Ray left processes behind: {left}"


def _alive(known):
    rows = subprocess.run(["ps", "-eo", "pid=,stat=,args="], capture_output=True, text=True).stdout
    now = {}
    for row in rows.splitlines():
        pid, stat, *args = row.split(None, 2)
        if not stat.startswith("Z") and args:
            now[int(pid)] = args[0]
    return {pid: now[pid] for pid in known if "ray" in now.get(pid, "")}
