"""Ray itself: one that is started for a cluster on this machine, or one that runs already.

A Ray that we start has a token of its own, in the folder of the cluster. Ray's processes listen on
every interface, whatever address they are given (2.60; only the dashboard, which we switch off,
obeys), so the token is what keeps others out. Usage statistics are never sent.
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

ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""No statistics; and no lower priority for workers, Ray's default: sites would starve."""
START_WITHIN = 90.0
STOP_WITHIN = 45.0
"""Seconds for Ray to start, and to stop."""


class LocalRay:
    """A Ray on this machine that belongs to one folder, and outlives the command that starts it.

    Its address and process are in `ray.json` in that folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute() / "ray"
        self._file = self._folder / "ray.json"

    @property
    def address(self) -> str | None:
        """HOST:PORT, if it runs."""
        known = self._known()
        return None if known is None else str(known["address"])

    def start(self, cpus: int) -> str:
        """Start it, unless it runs already; returns its address."""
        if (address := self.address) is not None:
            self.use()
            return address
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_token()
        self.use()
        # Names of Unix sockets are short, and the cluster's own folder may be deep.
        # Ray opens its folder to everybody, so it lies in one that is ours alone.
        temporary = tempfile.mkdtemp(prefix="onlooker-")
        port = _free_port()
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
        command += ["--port", str(port), "--node-ip-address", "127.0.0.1", "--temp-dir"]
        command += [os.path.join(temporary, "r")]
        command += ["--include-dashboard=false", "--disable-usage-stats", "--num-cpus", str(cpus)]
        with open(self._folder / "ray.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | ENVIRONMENT,
            )
        address = f"127.0.0.1:{port}"
        known = {
            "address": address,
            "process": process.pid,
            "started": _started(process.pid),
            "place": temporary,
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
        """Let this process use the token; to be called before Ray is imported."""
        if (self._folder / "token").exists():
            os.environ["RAY_AUTH_MODE"] = "token"
            os.environ["RAY_AUTH_TOKEN_PATH"] = str(self._folder / "token")

    def stop(self) -> bool:
        """Stop it and all its processes; returns whether it ran."""
        known = self._known()
        if known is not None:
            _end(int(known["process"]))
            shutil.rmtree(known["place"], ignore_errors=True)
        self._file.unlink(missing_ok=True)
        return known is not None

    def _known(self) -> dict[str, Any] | None:
        """The content of `ray.json`, if that process still runs."""
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
    """Connect this process to a Ray for the duration of the block."""
    os.environ.update(ENVIRONMENT)
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
        signal.signal(signal.SIGTERM, before)  # Ray replaces the handler of the command
    try:
        yield
    finally:
        ray.shutdown()


def reachable(address: str, within: float = 5.0) -> bool:
    """Whether anything listens at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=within):
            return True
    except (OSError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _started(process: int) -> str | None:
    """When a process was started: another process may have got the same number since."""
    with suppress(ChildProcessError):
        os.waitpid(process, os.WNOHANG)  # a child that has ended would stay as a zombie
    listed = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(process)], capture_output=True, text=True
    )
    state, _, began = listed.stdout.strip().partition(" ")
    return None if not began or state.startswith("Z") else began.strip()


def _end(process: int) -> None:
    """SIGTERM to Ray's parent process, which stops its children; then SIGKILL to the group."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + STOP_WITHIN
        while _started(process) is not None and time.monotonic() < deadline:
            time.sleep(0.1)
        os.killpg(process, signal.SIGKILL)
