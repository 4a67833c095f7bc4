"""Where a command finds Ray: a cluster that runs, one started for the command, or none at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from onlooker.cli.output import requires
from onlooker.cluster.messages import ClusterError
from onlooker.cluster.ray_cluster import LocalRay, connected, reachable
from onlooker.experiments.parallel import running_on

LOCAL = "local"
"""The address that asks for a Ray started for this command only."""


@contextmanager
def requires_ray(command: str) -> Iterator[None]:
    """Exit with one line that says what to install if Ray is not installed."""
    with requires(command, {"ray": "cluster"}):
        # Not imported yet: Ray reads the environment when it is imported.
        if find_spec("ray") is None:
            raise ModuleNotFoundError("ray", name="ray")
        yield


@contextmanager
def connection(address: str) -> Iterator[None]:
    """A connection to a running Ray for the duration of the block."""
    if not reachable(address):
        raise ClusterError(
            f"nothing answers at {address}; an address is HOST:PORT, as `ray start` prints it"
        )
    with connected(address):
        yield


@contextmanager
def experiments_on(address: str | None) -> Iterator[None]:
    """Run the jobs of experiments on Ray; without an address, in processes of this machine."""
    if address is None:
        yield
        return
    with requires_ray("--cluster"):
        if address != LOCAL:
            with connection(address), _jobs_on_ray():
                yield
            return
        with tempfile.TemporaryDirectory() as folder:
            own = LocalRay(Path(folder))
            try:
                with connection(own.start(os.cpu_count() or 1)), _jobs_on_ray():
                    yield
            finally:
                own.stop()


@contextmanager
def _jobs_on_ray() -> Iterator[None]:
    from onlooker.cluster.ray_jobs import run_on_ray

    with running_on(run_on_ray):
        yield
