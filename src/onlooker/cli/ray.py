"""Which Ray a command works with: none, one of its own, one that is there; or none installed."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import typer

from onlooker.cluster.messages import ClusterError
from onlooker.cluster.ray_cluster import LocalRay, connected, reachable
from onlooker.experiments.parallel import running_on

LOCAL = "local"


@contextmanager
def naming_the_extra(command: str) -> Iterator[None]:
    """Where Ray is not installed: one line that says what to install, and exit code 2."""
    try:
        if find_spec("ray") is None:  # not imported yet: it reads the environment then
            raise ModuleNotFoundError("ray", name="ray")
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "ray":
            raise
        print(
            f'onlooker: {command} needs ray, not installed here: pip install "onlooker[cluster]"',
            file=sys.stderr,
        )
        raise typer.Exit(2) from error


@contextmanager
def talking_to(address: str) -> Iterator[None]:
    """A Ray that is there, for the time of the block."""
    if not reachable(address):
        raise ClusterError(f"nothing answers at {address}; an address is HOST:PORT, as Ray told it")
    with connected(address):
        yield


@contextmanager
def engine(address: str | None) -> Iterator[None]:
    """Have the jobs of experiments run on a Ray; without an address, on this machine."""
    if address is None:
        yield
        return
    with naming_the_extra("--cluster"):
        if address != LOCAL:
            with talking_to(address), _on_ray():
                yield
            return
        with tempfile.TemporaryDirectory() as folder:
            own = LocalRay(Path(folder))
            try:
                with talking_to(own.start(os.cpu_count() or 1)), _on_ray():
                    yield
            finally:
                own.stop()


@contextmanager
def _on_ray() -> Iterator[None]:
    from onlooker.cluster.ray_jobs import run_on_ray

    with running_on(run_on_ray):
        yield
