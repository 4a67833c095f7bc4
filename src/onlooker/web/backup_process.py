"""A copy of a home that is made by a process of its own, at the lowest priority.

Copying, hashing and replaying take seconds of the processor. In the process of a service they would
take turns with the cameras, which drop frames meanwhile; in another one of lowest priority they run
when nobody else does.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Thread

from onlooker.core.errors import OnlookerError
from onlooker.home.backup import BackupFailed, Contents, verified_copy
from onlooker.vision.finder import face_distances

LOWEST = 19


class BackupUnderWay(OnlookerError):
    """Another backup is being made: a state that the client can wait for, no failure."""


def copy_in_process(source: Path, to: Path) -> Contents:
    """Copy a home that is open into an empty folder, and verify the copy, in another process.

    It stays in the session of this one: where a system shares the processor between sessions
    first, a priority counts among the processes of a session only.
    """
    command = [sys.executable, "-P", "-m", __name__, str(source.absolute()), str(to.absolute())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            if hasattr(os, "setpriority"):
                with suppress(OSError):  # it has ended already
                    os.setpriority(os.PRIO_PROCESS, child.pid, LOWEST)
            said = child.stdout.read() if child.stdout else b""
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        raise BackupFailed(f"the process that made the copy ended ({child.returncode})")
    found = json.loads(said)
    if "failed" in found:
        raise BackupFailed(found["failed"])
    return Contents(found["event"], tuple(found["people"]), found["digest"])


def _end_with_parent() -> None:
    """Whoever waits for the copy holds the other end of the input: once they are gone, so is this.

    Otherwise it would go on to write into the home after the service that has it open was killed.
    """
    while os.read(0, 1):  # not `sys.stdin`: a thread that waits for it cannot end the process
        pass
    os._exit(1)


def main() -> None:
    """Make a copy and print what it knows, or why there is none, as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who waits
    Thread(target=_end_with_parent, daemon=True).start()
    source, to = map(Path, sys.argv[1:])
    try:
        answer = asdict(verified_copy(source, to, face_distances()))
    except BackupFailed as error:
        answer = {"failed": str(error)}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
