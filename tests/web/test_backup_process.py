"""A copy that another process makes: the same copy, when nobody else needs the processor."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psutil
import pytest

from helpers.homes import opened, watch
from helpers.waiting import eventually
from onlooker.home.backup import BackupFailed, verified_copy
from onlooker.web.backup_process import LOWEST, copy_in_process

COPY = (
    "import sys; from pathlib import Path; from onlooker.web.backup_process import copy_in_process;"
    "copy_in_process(*map(Path, sys.argv[1:]))"
)


@pytest.fixture
def home(tmp_path):
    with opened(tmp_path / "home") as made:
        watch(made, 3, 20)
        yield made.folder


@pytest.fixture
def stuck(home, tmp_path):
    """A home that takes for ever to copy: nobody writes into the pipe that is to be read."""
    os.mkfifo(home / "token.json")
    (tmp_path / "copy").mkdir()
    yield home, tmp_path / "copy"
    (home / "token.json").unlink()


def the_child_of(process):
    """The process that copies: tests before this one may have left others."""

    def found():
        for child in psutil.Process(process).children():
            with suppress(psutil.NoSuchProcess):  # or a zombie
                if copy_in_process.__module__ in child.cmdline():
                    return child
        return None

    return eventually(found)


def is_over(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_the_copy_of_another_process_is_the_one_that_this_would_make(home, tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    assert copy_in_process(home, tmp_path / "there") == verified_copy(home, tmp_path / "here")
    names = [sorted(path.name for path in (tmp_path / n).rglob("*")) for n in ("here", "there")]
    assert names[0] == names[1]


def test_it_has_the_lowest_priority_and_when_it_is_killed_one_line_says_so(stuck):
    with ThreadPoolExecutor(1) as other:
        job = other.submit(copy_in_process, *stuck)
        child = the_child_of(os.getpid())
        try:
            assert eventually(lambda: child.nice() == LOWEST)
        finally:
            child.kill()
        with pytest.raises(BackupFailed, match=r"the process that made the copy ended \(-9\)"):
            job.result()


def test_a_copy_goes_on_writing_after_its_service_was_killed(stuck):
    service = subprocess.Popen([sys.executable, "-c", COPY, *map(str, stuck)])
    child = the_child_of(service.pid)
    service.send_signal(signal.SIGKILL)
    service.wait()
    try:
        assert eventually(lambda: is_over(child))
    finally:
        with suppress(psutil.NoSuchProcess):
            child.kill()


def test_what_goes_wrong_there_is_said_here(home, tmp_path):
    with pytest.raises(BackupFailed, match=r"cannot write .*no such folder: No such file"):
        copy_in_process(home, tmp_path / "no such folder")
