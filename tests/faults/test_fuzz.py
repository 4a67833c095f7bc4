"""Fuzzing of everything that is parsed before it is trusted: a value, or the documented error.

    scripts/soak fuzz                     all targets, a million executions in memory, 10^5 on files
    scripts/soak fuzz pictures --runs 5000

A target has examples that are generated here, and a law. The law of all: a parser returns a value,
or raises its error, in one line; no other exception, no hang, no memory above a limit. Where two
readers exist they agree, and what is written again is read again as the same. With atheris
(`pip install atheris`) inputs are guided by what they reach, otherwise they are drawn from a seed.
"""

import argparse
import faulthandler
import inspect
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from faults.fuzz_targets import NUMBERS, ON_FILES, TARGETS, Target, work_folder, written

MOST_MEMORY = 1 << 30
"""Bytes of address space that a parser may take beyond what the process has."""
MOST_RESIDENT = 256 << 20
LONGEST = 20.0
"""Seconds of one execution on a busy machine."""


# ---- inputs


@cache
def examples_of(target):
    """Its examples, made once."""
    return target.examples()


def changed(data, rng, target):
    """An input with a few changes."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 4, 8, 40, 400)))
        match rng.randrange(8):
            case 0 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(data):
                data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                del data[at:end]
            case 3:
                data[at:at] = data[at:end] * rng.choice((1, 1, 2, 50))
            case 4 if target.words:
                data[at:at] = rng.choice(target.words)
            case 5:  # a number, or a word, for another
                found = list(re.finditer(rb"-?\d+(\.\d+)?|\"[^\"\n]{0,40}\"|\w+", data[:4000]))
                if found:
                    where = rng.choice(found)
                    other = rng.choice((*(target.words or NUMBERS), rng.choice(found)[0]))
                    data[where.start() : where.end()] = other
            case 6:
                other = rng.choice(examples_of(target))
                start = rng.randrange(len(other) + 1)
                data[at:end] = other[start : start + rng.randrange(1, 200)]
            case _:
                del data[at:]
    return bytes(data)


def inputs(target, seed, runs):
    """Examples, then changed ones; half of them are made plausible again."""
    rng = random.Random(seed)
    known = examples_of(target)
    yield from known[:runs]
    for _ in range(runs - len(known)):
        data = changed(rng.choice(known), rng, target)
        yield target.mend(data) if rng.random() < 0.6 else data


# ---- running


class Hang(BaseException):
    """An execution took too long; parsers do not catch it."""


@contextmanager
def bounded():
    """Little memory, a clock, and a folder of its own."""

    def late(*_):
        raise Hang(f"it took longer than {LONGEST} seconds")

    before, folder = signal.signal(signal.SIGALRM, late), Path.cwd()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    os.chdir(work_folder())
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_MEMORY, hard))
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        os.chdir(folder)


def resident():
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def broken(target, data):
    """What an input breaks: None if it was parsed or refused as documented."""
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    before = resident()
    try:
        target.law(data)
    except target.errors as error:
        if "\n" in str(error) or not str(error):
            return f"an error has several lines: {error!r}"
    except (Exception, Hang) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"[
            :300
        ]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    grown = resident() - before
    return f"it took {grown >> 20} MB" if grown > MOST_RESIDENT else None


def fuzz(name, runs, seed, minutes=float("inf")):
    """Run one target here: executions, how many were accepted, and one input of each fault."""
    target, faults, accepted, made = TARGETS[name], {}, 0, 0
    end = time.monotonic() + 60 * minutes

    def law(data):
        nonlocal accepted
        target.law(data)
        accepted += 1

    counted = Target(target.examples, law, target.errors)
    with bounded():
        for data in inputs(target, f"{name} {seed}", runs):
            made += 1
            if fault := broken(counted, data):
                faults.setdefault(fault.partition(": ")[0], (fault, data))
            if time.monotonic() > end:
                break
    return made, accepted, list(faults.values())


def fuzz_guided(name, runs, seed, minutes):
    """The same with atheris, which keeps inputs that reach something new; ends the process."""
    import atheris

    target, rng = TARGETS[name], random.Random(seed)
    for module in [m for n, m in sys.modules.items() if n.startswith("onlooker.")]:
        for each in [*vars(module).values()]:
            for function in [each, *(vars(each).values() if inspect.isclass(each) else ())]:
                if inspect.isfunction(function) and function.__module__ == module.__name__:
                    atheris.instrument_func(function)

    def once(data):
        if fault := broken(target, data):
            written("fault", data)
            print(f"{name}: {fault}\n{data!r}", flush=True)
            os._exit(1)

    def mutate(data, size, _):
        data = changed(data or rng.choice(examples_of(target)), rng, target)
        return (target.mend(data) if rng.random() < 0.6 else data)[:size]

    with bounded():
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)  # it counts itself
        corpus = work_folder() / "corpus"
        corpus.mkdir()
        for number, data in enumerate(target.examples()):
            (corpus / str(number)).write_bytes(data)
        limits = ["-max_len=65536", f"-timeout={int(LONGEST)}", "-rss_limit_mb=1500"]
        limits += [f"-max_total_time={int(60 * minutes)}"] if minutes < 1e6 else []
        arguments = [sys.argv[0], str(corpus), f"-runs={runs}", f"-seed={seed + 1}", *limits]
        atheris.Setup(arguments, once, custom_mutator=mutate)
        atheris.Fuzz()


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_is_parsed_is_a_value_or_the_documented_error(name):
    """Some hundred inputs of each; the long form is scripts/soak fuzz."""
    runs = 150 if name in ON_FILES else 400
    made, accepted, faults = fuzz(name, runs, seed=0)
    assert made == runs
    assert accepted >= 1
    assert not faults, faults


def main():
    """Fuzz targets, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="scripts/soak fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--runs", type=int, help="executions; default 10^6, and 10^5 on files")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeded", action="store_true", help="not by atheris, even if it is there")
    parser.add_argument("--here", action="store_true", help="one target, in this process")
    options = parser.parse_args()
    if unknown := set(options.targets) - TARGETS.keys():
        parser.error(f"there is no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    failed = []
    for name in options.targets or TARGETS:
        runs = options.runs or (10**5 if name in ON_FILES else 10**6)
        if not options.here:
            limits = ["--runs", str(runs), "--seed", str(options.seed)]
            limits += ["--minutes", str(options.minutes), *["--seeded"] * options.seeded]
            command = [sys.executable, __file__, name, "--here", *limits]
            failed += [name] if subprocess.run(command).returncode else []
            continue
        warnings.simplefilter("ignore")  # Pillow's, about damaged notes in a picture
        faulthandler.dump_traceback_later(600 + 60 * min(options.minutes, 1e6), exit=True)
        if find_spec("atheris") and not options.seeded:
            fuzz_guided(name, runs, options.seed, options.minutes)
        start = time.monotonic()
        made, accepted, faults = fuzz(name, runs, options.seed, options.minutes)
        peak = f"{resident() >> 20} MB at most, {time.monotonic() - start:.0f} s"
        print(f"{name}: {made} executions, {accepted} accepted, {len(faults)} faults, {peak}")
        for number, (fault, data) in enumerate(faults):
            print(f"  {fault}\n  {data[:300]!r}", flush=True)
            Path(tempfile.gettempdir(), f"fuzz-{name}-{number}").write_bytes(data)
        failed += [name] if faults else []
    if failed:
        raise SystemExit(f"faults in {', '.join(failed)}")


if __name__ == "__main__":
    main()
