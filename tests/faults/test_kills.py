"""kill -9 within each verb: nothing acknowledged is lost, and what was cut off can be repeated.

    scripts/soak kills             1000 kills, at least 30 within each verb, and 200 of a home that
                                   learns (tests/home/test_kill.py)

Each verb runs in a forked child on the home as the verbs before it left it (`helpers/verbs.py`);
the shim below Python and SQLite (`shim.c`) kills the child at its first, ..., last file call.
Backup, export and import, opening, and the migration of homes that earlier versions wrote are
among them. Killed at the last calls a verb may be complete; it is never half there.
"""

import argparse
import json
import shutil
import sys
from collections import Counter

from faults.test_nth_failure import Shim, found_with_shim, in_child, opened_difference
from helpers.homes import unpacked
from helpers.killing import scratch
from helpers.verbs import MIGRATED, STEPS, Opened, before_each, migrated
from onlooker.core.errors import OnlookerError
from onlooker.home.reopen import reopen

REPEATED = "backup", "export and import"
"""Verbs that make other folders: after a kill the same command succeeds."""


def killed_within(shim, folder, verb, number):
    """Kill a verb at a file call: file calls it made if it was not killed, and what is wrong."""

    def act(say):
        now = Opened.open(folder)
        say("before", now.facts())
        shim.arm(folder, "kill", number, False)
        error = None
        try:
            STEPS[verb](now)
        except OnlookerError as refused:
            error = str(refused)
        calls, _ = shim.counts
        shim.arm(folder, None, 0, False)
        say("after", now.facts(), error, calls)

    reports = in_child(act)
    if reports[-1][0] == "traceback":
        return None, reports[-1][1]
    calls = reports[-1][3] if reports[-1][0] == "after" else None
    wrong = opened_difference(folder, reports[-1][1], set() if calls else {verb})
    return calls, wrong or (_repeat(folder, verb) if verb in REPEATED else None)


def _repeat(folder, verb):
    now = Opened.open(folder)
    try:
        for leftover in ("exported", "imported"):
            path = folder / leftover
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        STEPS[verb](now)
    except OnlookerError as error:
        return f"{verb} cannot be repeated: {error}"
    finally:
        now.close()
    return None


def killed_migrating(shim, folder, expected, number):
    """Kill the migration of a home at a file call."""

    def act(say):
        shim.arm(folder, "kill", number, False)
        home = reopen(folder)
        calls, _ = shim.counts
        shim.arm(folder, None, 0, False)
        say("after", calls)
        home.close()

    reports = in_child(act)
    if reports and reports[-1][0] == "traceback":
        return None, reports[-1][1]
    try:
        found = migrated(folder)
    except OnlookerError as error:
        return None, f"it does not open: {error}"
    wrong = None if found == expected else f"{found}, not {expected}"
    return reports[-1][1] if reports else None, wrong


def spread(calls, times):
    """So many of the numbers from 1 to calls, from the first to the last."""
    if calls <= 1:
        return [1] * times
    return [1 + round(each * (calls - 1) / (times - 1)) for each in range(times)]


def kill_each(shim, times, verbs):
    """Kill every verb so many times: kills by verb, and what went wrong."""
    place, kills, wrong = scratch(), Counter(), []

    def once(name, act, number):
        folder = shutil.copytree(place / name, place / "copy")
        try:
            calls, problem = act(folder, number)
        finally:
            shutil.rmtree(folder)
        kills[name] += calls is None
        if problem:
            wrong.append(f"{name} killed at call {number}: {problem}")
        return calls

    try:
        before_each(place)
        acts = {
            verb: lambda folder, number, verb=verb: killed_within(shim, folder, verb, number)
            for verb in STEPS
        }
        for name in MIGRATED:
            (place / "old").mkdir()
            shutil.copytree(unpacked(name, place / "old"), place / f"migrate {name}")
            shutil.copytree(place / f"migrate {name}", place / "sound")
            expected = migrated(place / "sound")
            acts[f"migrate {name}"] = lambda folder, number, expected=expected: killed_migrating(
                shim, folder, expected, number
            )
            shutil.rmtree(place / "sound")
            shutil.rmtree(place / "old")
        for name in verbs or acts:
            calls = once(name, acts[name], 10**9)  # not killed
            for number in spread(calls or 1, times):
                once(name, acts[name], number)
        return {"kills": dict(kills), "total": kills.total(), "wrong": wrong}
    finally:
        shutil.rmtree(place)


def test_nothing_is_lost_to_a_kill_within_any_verb(tmp_path):
    """A kill at the first, a middle and the last call of each; the long form is scripts/soak."""
    found = found_with_shim(tmp_path, __file__, "--times", 3)
    assert found["wrong"] == []
    assert found["total"] >= 3 * (len(STEPS) + len(MIGRATED)) - 6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="scripts/soak kills", description=__doc__.splitlines()[0])
    parser.add_argument("verbs", nargs="*", metavar="VERB", help=", ".join(STEPS))
    parser.add_argument("--times", type=int, default=35, help="kills of each verb")
    parser.add_argument("--strict", action="store_true", help="fail if anything went wrong")
    options = parser.parse_args()
    found = kill_each(Shim(), options.times, options.verbs)
    print(json.dumps(found, indent=1))
    sys.exit(bool(options.strict and found["wrong"]))
