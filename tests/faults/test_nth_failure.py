"""The nth file call fails: nothing acknowledged is lost, and no error is a traceback.

    scripts/soak faults            every call, every kind, once and for good; and power cuts

Calls fail below Python and SQLite, in a shim (shim.c) that is compiled here and preloaded. A child
is forked for each failure and uses one verb (`helpers/verbs.py`) and one more, or all of them, or
migrates a home, and says after each step what it knows. Then the home is opened again: it must know
that, or one step more if the last one was not acknowledged.
"""

import argparse
import ctypes
import json
import logging
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, product
from pathlib import Path

import pytest

from helpers.homes import unpacked
from helpers.killing import environment, scratch
from helpers.verbs import MIGRATED, STEPS, Opened, before_each, migrated, run
from onlooker.core.errors import OnlookerError
from onlooker.home.database import Database
from onlooker.home.events import digest
from onlooker.home.reopen import reopen

KINDS = {
    "EIO": 1,
    "ENOSPC": 2,
    "EMFILE": 3,
    "short write": 4,
    "torn write": 5,
    "lost sync": 6,
    "kill": 7,
    "EIO on reading": 8,
}
ENDING = ("torn write", "kill")
"""Kinds that end the process: there is no "for good"."""
MOST_EVENTS = 4
"""Of one step."""
SECTOR, PAGE = 512, 4096
NOTHING = {"sequence": 0, "sightings": 0, "names": []}
"""What a home knows that was never opened."""
CHANGED_BY = {
    "cameras": {"camera"},
    "numbers": {"batch"},
    "cards": {"stranger", "name a stranger", "undo", "rename", "merge names", "forget", "close"},
}
"""What has no event, and the steps that change it: if those fail, both states are right."""


class Shim:
    """The preloaded functions."""

    def __init__(self):
        self._library = ctypes.CDLL(None)
        self._library.fault_count.restype = ctypes.c_long
        self._library.fault_hits.restype = ctypes.c_long

    def arm(self, folder, kind, number, for_good):
        """Let the nth call of a kind fail."""
        self._library.fault_arm(
            os.fsencode(folder), KINDS.get(kind, 0), ctypes.c_long(number), int(for_good)
        )

    def log(self, descriptor):
        """Record all changes from now on."""
        self._library.fault_log(descriptor)

    def mark(self, number):
        """Record that a step was acknowledged."""
        self._library.fault_mark(ctypes.c_long(number))

    @property
    def counts(self):
        """Calls of the kind, and how many of them failed."""
        return self._library.fault_count(), self._library.fault_hits()


def in_child(act):
    """What a forked child reports, one JSON value per report."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, "w", buffering=1) as file:
            try:
                act(lambda *values: print(json.dumps(values), file=file, flush=True))
            except BaseException:
                print(json.dumps(["traceback", traceback.format_exc()]), file=file, flush=True)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        reports = [json.loads(row) for row in file if row.endswith("\n")]
    os.waitpid(child, 0)
    return reports


@dataclass(frozen=True)
class Case:
    """What is done while a call fails."""

    start: Path | None
    """The folder of homes to begin with; None: an empty one."""
    steps: tuple[str, ...] = ()
    opened_before: bool = False
    """Whether only calls of the first step fail, or of closing: not those that open the home."""
    known: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """What is known at the start."""

    def one_failure(self, shim, kind, number, for_good):
        """Run it with one failure: whether it was met, and what is wrong afterwards."""
        with _copy_of(self.start) as folder:

            def act(say):
                arm = partial(shim.arm, folder, kind, number, for_good)
                first = self.steps[0] if self.steps else None

                def done(name, *report):
                    say("step", name, *report)
                    if self.opened_before and name == "open":
                        arm()
                    elif self.opened_before and name == first and not shim.counts[1]:
                        shim.arm(folder, None, 0, False)  # not a call of this step any more

                if not self.opened_before:
                    arm()
                run(folder, done, self.steps)
                say("counts", *shim.counts)

            reports = in_child(act)
            ended = bool(reports) and reports[-1][0] in ("counts", "traceback")
            met = not ended or reports[-1][-1] != 0
            order = ["open", *self.steps]
            return met, wrong_afterwards(folder, reports, order, self.known, ended=ended)


@dataclass(frozen=True)
class Conversion:
    """A home of an earlier version is migrated, or a damaged one repaired, while a call fails."""

    start: Path
    expected: list
    """What it knows after an undisturbed one, and at last what it reports."""

    def one_failure(self, shim, kind, number, for_good):
        """The same of a conversion: afterwards it succeeds."""
        with _copy_of(self.start) as folder:

            def act(say):
                shim.arm(folder, kind, number, for_good)
                try:
                    reopen(folder).close()
                except OnlookerError as error:
                    say("error", str(error))
                say("counts", *shim.counts)

            reports = in_child(act)
            met = not reports or reports[-1][-1] != 0
            for what, *report in reports:
                if what == "traceback" or (what == "error" and "\n" in report[0]):
                    return True, report[0]
            try:
                found = migrated(folder)
            except OnlookerError as error:
                return met, f"it does not open: {error}"
            known = slice(None, -1 if self.expected[-1] else None)  # a repair is reported once
            if found[known] != self.expected[known]:
                return met, f"{found}, not {self.expected}"
            return met, None


@contextmanager
def _copy_of(start):
    folder = scratch()
    try:
        if start is not None:
            shutil.copytree(start, folder, dirs_exist_ok=True)
        yield folder
    finally:
        shutil.rmtree(folder)


def _known(start):
    with _copy_of(start) as folder:
        now = Opened.open(folder)
        try:
            return now.facts()
        finally:
            now.close()


def _damaged(place):
    """A home with a page of pictures zeroed, and what it knows once it is repaired."""
    broken, sound = place / "broken", place / "repaired"
    shutil.copytree(place / "closed" / "home", broken)
    database = Database(broken / "onlooker.db")
    page = database.query("SELECT rootpage FROM sqlite_master WHERE name = 'pictures'")[0][0]
    database.close()
    with (broken / "onlooker.db").open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))
    shutil.copytree(broken, sound)
    return broken, migrated(sound)


SCRIPT = "all verbs"


def cases(place):
    """By name: every verb by itself, opening and closing, migrations, and all verbs in turn."""
    before_each(place)
    found = {
        "open a new home": Case(None),
        "open after a kill": Case(place / "observe again", known=_known(place / "observe again")),
        "open again": Case(place / "closed", known=_known(place / "closed")),
        "close": Case(place / "observe again", opened_before=True),
    }
    found |= {
        verb: Case(place / verb, (verb, "observe again"), opened_before=True) for verb in STEPS
    }
    for name in MIGRATED:
        old, sound = place / f"old {name}", place / f"sound {name}"
        shutil.copytree(unpacked(name, place / f"archive {name}"), old)
        shutil.copytree(old, sound)
        found[f"migrate {name}"] = Conversion(old, migrated(sound))
    found["repair"] = Conversion(*_damaged(place))
    return found | {SCRIPT: Case(None, tuple(STEPS))}


def wrong_afterwards(folder, reports, order, before, *, ended):
    """What a home does not know any more, or knows otherwise; None: nothing."""
    if reports and reports[-1][0] == "traceback":
        return reports[-1][1]
    steps = [report[1:] for report in reports if report[0] == "step"]
    errors = [error for *_, error in steps if error]
    if any("\n" in error for error in errors):
        return f"an error has several lines: {errors}"
    last = ([facts for _, facts, _ in steps if facts] or [before])[-1]
    failed = {name for name, _, error in steps if error}
    if not ended:  # what was under way when the process ended
        failed |= {order[len(steps)] if len(steps) < len(order) else "close"}
    return opened_difference(folder, last, failed)


def opened_difference(folder, last, failed):
    try:
        again = Opened.open(folder)
    except OnlookerError as error:
        return f"it does not open: {error}"
    try:
        return _difference(again, last, failed)
    finally:
        again.close()


def _difference(again, last, failed):
    now, home = again.facts(), again.home
    if home.problems or again.book.problems:
        return f"problems: {home.problems} {again.book.problems}"
    if now["sightings"] < last["sightings"] and "forget" not in failed:
        return f"sightings: {now['sightings']}, not {last['sightings']}"
    extra = now["sequence"] - last["sequence"]
    if extra < 0 or extra > (MOST_EVENTS if failed else 0):
        return f"event {now['sequence']}, not {last['sequence']}; failed: {failed}"
    if not extra:
        same = [key for key in ("digest", "pictures", "names") if key in last]
        same += [key for key, by in CHANGED_BY.items() if last.get(key) and not failed & by]
        other = [f"{key}: {now[key]}, not {last[key]}" for key in same if now[key] != last[key]]
        return other[0] if other else None
    if "forget" in failed and "ben" not in now["names"]:
        return None
    home.undo(to=last["sequence"])
    if "digest" in last and digest(home.learner) != last["digest"]:
        return f"another learner after event {last['sequence']}"
    return None


# ---- power cuts


class Disk:
    """Files as a log of changes and syncs allows them to be after a power cut."""

    def __init__(self, root):
        self.root, self.files, self.folders = root, {}, set()
        self._pending = []
        """Changes of files since their last sync: path, offset, data; data None: cut there."""

    def apply(self, what, path, offset, data):
        """One record. Names are journaled by the file system: they change in order, at once."""
        match what:
            case "D":
                self.folders.add(path)
            case "C":
                self.files.setdefault(path, bytearray())
            case "R":
                target = data.decode()
                for names in (self.files, dict.fromkeys(self.folders)):
                    for name in [n for n in names if n == path or n.startswith(path + "/")]:
                        moved = target + name[len(path) :]
                        if name in self.folders:
                            self.folders = (self.folders - {name}) | {moved}
                        else:
                            self.files[moved] = self.files.pop(name)
                self._pending = [
                    (target + p[len(path) :] if p.startswith(path) else p, o, d)
                    for p, o, d in self._pending
                ]
            case "U":
                self.files.pop(path, None)
                self._pending = [each for each in self._pending if each[0] != path]
            case "W":
                self._pending.append((path, offset, data))
            case "T":
                self._pending.append((path, offset, None))
            case "S":
                self._settle(lambda each: each[0] == path)

    def cut(self, rng):
        """The power goes: of what was not synced all, nothing or any part may be there."""
        how = rng.choice(["all", "nothing", "some", "torn"])
        self._settle(lambda _: how == "all" or (how != "nothing" and rng.random() < 0.5), rng, how)

    def write(self, folder):
        """Make the files."""
        for path in sorted(self.folders):
            Path(folder, os.path.relpath(path, self.root)).mkdir(parents=True, exist_ok=True)
        for path, content in self.files.items():
            target = Path(folder, os.path.relpath(path, self.root))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def _settle(self, is_there, rng=None, how=""):
        rest = []
        for each in self._pending:
            path, offset, data = each
            if not is_there(each):
                rest.append(each)
                continue
            content = self.files.setdefault(path, bytearray())
            if data is None:
                del content[offset:]
                content.extend(bytes(max(0, offset - len(content))))
                continue
            if how == "torn" and len(data) > SECTOR:
                data = data[: SECTOR * rng.randrange(len(data) // SECTOR)]
            content.extend(bytes(max(0, offset + len(data) - len(content))))
            content[offset : offset + len(data)] = data
        self._pending = rest


def records(log):
    """The records of a log of the shim."""
    at = 0
    while at < len(log):
        what, size = chr(log[at]), struct.unpack_from("<I", log, at + 1)[0]
        at += 5 + size
        path = log[at - size : at].decode()
        offset, length = struct.unpack_from("<qI", log, at)
        at += 12 + length
        yield what, path, offset, log[at - length : at]


CUT_STEPS = tuple(name for name in STEPS if name not in ("backup", "export and import"))
"""Files that are copied by the kernel are not in the log."""


def power_cuts(shim, cuts, seed):
    """Cut the power at some of all moments of one run: how many there are, and what went wrong."""
    folder, rng = scratch(), random.Random(seed)
    try:
        with tempfile.TemporaryFile() as file:

            def act(say):
                steps = []

                def done(*report):
                    steps.append(report)
                    shim.mark(len(steps))
                    say("step", *report)

                shim.arm(folder / "disk", None, 0, False)
                shim.log(file.fileno())
                (folder / "disk").mkdir()
                run(folder / "disk", done, CUT_STEPS)

            reports = in_child(act)
            file.seek(0)
            log = list(records(file.read()))
        wrong = []
        for cut in sorted(rng.sample(range(1, len(log)), min(cuts, len(log) - 1))):
            shutil.rmtree(folder / "state", ignore_errors=True)
            disk = Disk(str(folder / "disk"))
            acknowledged = 0
            for what, path, offset, data in log[:cut]:
                if what == "A":
                    acknowledged = offset
                else:
                    disk.apply(what, path, offset, data)
            disk.cut(rng)
            disk.write(folder / "state")
            steps = [["step", *report[1:]] for report in reports[:acknowledged]]
            names = ["open", *CUT_STEPS, "close"]
            failed = {names[min(acknowledged, len(names) - 1)]}
            problem = wrong_after_cut(folder / "state", steps, failed)
            if problem:
                wrong.append(f"power cut at {cut} of {len(log)} after {steps[-1:]}: {problem}")
        return len(log), wrong
    finally:
        shutil.rmtree(folder)


def wrong_after_cut(folder, steps, failed):
    last = ([facts for _, _, facts, _ in steps if facts] or [NOTHING])[-1]
    folder.mkdir(exist_ok=True)
    return opened_difference(folder, last, failed)


# ---- all of it


def sweep(shim, chosen, kinds, every, first, cuts, seed):
    """How many calls of each kind were failed, and what went wrong."""
    failures, wrong = Counter(), []
    place = scratch()
    try:
        every_case = cases(place)
        for name, kind in product(chosen or every_case, kinds):
            for for_good in (False,) if kind in ENDING else (False, True):
                for number in count(first, every):
                    met, problem = every_case[name].one_failure(shim, kind, number, for_good)
                    if problem:
                        how = "for good" if for_good else "once"
                        wrong.append(f"{name}, {kind} {how} at call {number}: {problem}")
                        print(wrong[-1], file=sys.stderr, flush=True)
                    if not met:
                        break
                    failures[kind] += 1
    finally:
        shutil.rmtree(place)
    moments = 0
    if cuts:
        moments, more = power_cuts(shim, cuts, seed)
        wrong += more
    total, cuts = failures.total(), min(cuts, moments)
    return {"failures": total, **failures, "cuts": cuts, "moments": moments, "wrong": wrong}


def found_with_shim(folder, program, *arguments):
    """What a program of this folder prints when it runs with the shim below it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler on Linux")
    library, source = folder / "shim.so", Path(__file__).with_name("shim.c")
    if not library.exists():
        command = [compiler, "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"]
        subprocess.run(command, check=True)
    command = [sys.executable, program, *map(str, arguments)]
    env = environment() | {"LD_PRELOAD": str(library)}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    """Run this file with the shim below it: what it found."""
    folder = tmp_path_factory.mktemp("shim")
    return lambda *arguments: found_with_shim(folder, __file__, *arguments)


@pytest.mark.parametrize("kind", ["EIO", "ENOSPC", "short write", "torn write", "kill"])
def test_nothing_acknowledged_is_lost_to_the_nth_failure(preloaded, kind):
    """A sample: every so manyth call."""
    found = preloaded("--cases", SCRIPT, "--kinds", kind, "--every", 61, "--first", 7)
    assert found["wrong"] == []
    assert found["failures"] > 3


def test_a_disk_that_cannot_be_read_at_the_start_costs_no_database(preloaded):
    """It was taken for a damaged one, and an empty one took its place."""
    opening = "open again", "open after a kill"
    found = preloaded("--cases", *opening, "--kinds", "EIO on reading", "--every", 5)
    assert found["wrong"] == []
    assert found["failures"] > 20


def test_the_health_of_a_home_whose_snapshots_cannot_be_read_is_no_traceback(preloaded):
    found = preloaded("--cases", "undo", "--kinds", "EMFILE", "--every", 1)
    assert found["wrong"] == []
    assert found["failures"] > 3


def test_a_kill_while_a_damaged_database_is_replaced_costs_no_row(preloaded):
    """The damaged one was moved away before the new one was complete."""
    found = preloaded("--cases", "repair", "--kinds", "kill", "EIO on reading", "--every", 4)
    assert found["wrong"] == []
    assert found["failures"] > 30


def test_a_migration_keeps_cameras_whose_file_cannot_be_read_for_a_moment(preloaded):
    """The file was taken for a damaged one, and deleted."""
    kinds = "EIO on reading", "EMFILE"
    found = preloaded("--cases", "migrate cameras", "--kinds", *kinds, "--first", 20, "--every", 1)
    assert found["wrong"] == []
    assert found["failures"] > 20


def test_a_migration_that_fails_can_be_repeated(preloaded):
    migrations = [f"migrate {name}" for name in MIGRATED]
    kinds = "EIO", "ENOSPC", "EMFILE", "EIO on reading"
    found = preloaded("--cases", *migrations, "--kinds", *kinds, "--every", 31, "--first", 5)
    assert found["wrong"] == []
    assert found["failures"] > 30


def test_nothing_acknowledged_is_lost_to_a_power_cut(preloaded):
    found = preloaded("--kinds", "--cuts", 25)
    assert found["wrong"] == []
    assert found["cuts"] == 25


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", dest="chosen", metavar="CASE", help="such as open")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strict", action="store_true", help="fail if anything went wrong")
    options = vars(parser.parse_args())
    strict = options.pop("strict")
    logging.disable()  # a snapshot in place whose folder cannot be synced is a line of the log
    found = sweep(Shim(), **options)
    print(json.dumps(found, indent=1))
    sys.exit(bool(strict and found["wrong"]))
