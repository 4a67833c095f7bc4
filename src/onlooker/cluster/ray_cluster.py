"""Ray itself: one that is started for a cluster on this machine, or one that is there already.

A Ray of ours has a token of its own, in the folder of the cluster: Ray's processes listen on every
interface, whatever address they are told (2.60; only the dashboard, which we leave out, obeys),
so that the token is what keeps others out. Usage statistics are never sent.
"""

import json
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from onlooker.cluster.messages import ClusterError

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""No statistics; and sites are not what a busy machine should put last, as Ray has its workers."""
START_WITHIN = 90.0
STOP_WITHIN = 45.0


class LocalRay:
    """A Ray on this machine that belongs to one folder, and outlives the command that starts it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute() / "ray"
        self._file = self._folder / "ray.json"

    @property
    def address(self) -> str | None:
        """Where it is, if it runs."""
        known = self._known()
        return None if known is None else str(known["address"])

    def start(self, cpus: int) -> str:
        """Start it, unless it runs: its address."""
        if (address := self.address) is not None:
            self.use()
            return address
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_token()
        self.use()
        # Unix sockets have short names: not in the folder, which may be deep.
        place = tempfile.mkdtemp(prefix="onlooker-")
        port = _free_port()
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
        command += ["--port", str(port), "--node-ip-address", "127.0.0.1", "--temp-dir", place]
        command += ["--include-dashboard=false", "--disable-usage-stats", "--num-cpus", str(cpus)]
        with open(self._folder / "ray.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | QUIET,
            )
        address = f"127.0.0.1:{port}"
        known = {
            "address": address,
            "process": process.pid,
            "started": _started(process.pid),
            "place": place,
        }
        self._file.write_text(json.dumps(known), encoding="utf-8")
        deadline = time.monotonic() + START_WITHIN
        while "Ray runtime started" not in (self._folder / "ray.log").read_text("utf-8"):
            if process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ClusterError(f"Ray did not start; see {self._folder / 'ray.log'}")
            time.sleep(0.1)
        return address

    def use(self) -> None:
        """Have this process show the token; before Ray is imported."""
        if (self._folder / "token").exists():
            os.environ["RAY_AUTH_MODE"] = "token"
            os.environ["RAY_AUTH_TOKEN_PATH"] = str(self._folder / "token")

    def stop(self) -> bool:
        """End it and all its processes: whether it ran."""
        known = self._known()
        if known is not None:
            _end(int(known["process"]))
            shutil.rmtree(known["place"], ignore_errors=True)
        self._file.unlink(missing_ok=True)
        return known is not None

    def _known(self) -> dict[str, Any] | None:
        """What was written down, if that process is still the one."""
        try:
            known: dict[str, Any] = json.loads(self._file.read_text("utf-8"))
            return known if _started(int(known["process"])) == known["started"] else None
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise ClusterError(f"{self._file} cannot be read: {error}; delete it") from error

    def _make_token(self) -> None:
        descriptor = os.open(self._folder / "token", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))


@contextmanager
def connected(address: str) -> Iterator[None]:
    """This process talks to a Ray for the time of the block."""
    os.environ.update(QUIET)
    import ray

    from onlooker.cluster.ray_site import NAMESPACE

    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address,
            namespace=NAMESPACE,
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=True,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else repr(error)
        raise ClusterError(f"cannot reach a Ray at {address}: {reason}") from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)  # how a command ends is not Ray's to say
    try:
        yield
    finally:
        ray.shutdown()


def reachable(address: str, within: float = 5.0) -> bool:
    """Whether anything listens there: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=within):
            return True
    except (OSError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as ours:
        ours.bind(("127.0.0.1", 0))
        return int(ours.getsockname()[1])


def _started(process: int) -> str | None:
    """When a process began, so that another one with its number is not taken for it."""
    with suppress(ChildProcessError):
        os.waitpid(process, os.WNOHANG)  # if it is a child of ours that has ended, let it go
    told = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(process)], capture_output=True, text=True
    )
    state, _, began = told.stdout.strip().partition(" ")
    return None if not began or state.startswith("Z") else began.strip()


def _end(process: int) -> None:
    """SIGTERM to Ray's parent, which takes its processes down; then the group, which is ours."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + STOP_WITHIN
        while _started(process) is not None and time.monotonic() < deadline:
            time.sleep(0.1)
        os.killpg(process, signal.SIGKILL)
