"""Ray's folder in the temporary directory, without a Ray."""

import os
import subprocess
from pathlib import Path

from onlooker.cluster.ray_cluster import LocalRay


def test_rays_folder_lies_in_one_that_is_its_owners_alone(tmp_path, monkeypatch):
    """Ray opens its folder to everybody, with logs and sockets in it."""
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # restored afterwards
    start, commands, processes = subprocess.Popen, [], []

    def pretend(command, **options):
        if "--temp-dir" not in command:
            return start(command, **options)
        commands.append(command)
        shell = ["sh", "-c", "echo Ray runtime started; exec sleep 600"]
        processes.append(start(shell, **options))
        return processes[0]

    monkeypatch.setattr(subprocess, "Popen", pretend)
    ray = LocalRay(tmp_path)
    old = os.umask(0)
    try:
        ray.start(1)
        (command,) = commands
        folder = Path(command[command.index("--temp-dir") + 1])
        assert folder.parent.stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "ray").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "ray" / "token").stat().st_mode & 0o077 == 0
    finally:
        os.umask(old)
        assert ray.stop()
        processes[0].wait()
    assert not folder.parent.exists()
