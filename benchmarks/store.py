"""What it costs to lose nothing: durable accepts, and restarts, beside what they replace.

    .venv/bin/python benchmarks/store.py                                 # about ten minutes
    .venv/bin/python benchmarks/store.py --events 10000 --lengths 128    # a look
    .venv/bin/python benchmarks/store.py --json store.json

An accept is `Home.observe` of a face that is named and learned, with its picture, as the service
has it: one that stays leaves an event, a vector and a picture, one that is absorbed an event. Its
durable part, everything but the learner's own step, is compared with one bare SQLite insert of as
many bytes (WAL, synchronous=FULL, a table of its own) made right after it; the whole accept, with
the step, stands beside. A restart, the opening of a home with a long journal, is compared with
observing the same examples again (the learner's steps only, without what it costs to keep them).
Ratios are of medians; disks are noisy, the ratios less so, since both take turns.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from references import seconds
from rich.console import Console
from rich.table import Table
from step import steady_learner
from streams import Crowd

from onlooker import OnlineHarmonicLearner, Prediction
from onlooker.home.album import PNG
from onlooker.home.events import digest
from onlooker.home.home import Home
from onlooker.home.retention import RetentionPolicy

Row = dict[str, Any]
KEEPING = RetentionPolicy(snapshot_every=10**9)
PICTURE = PNG + np.random.default_rng(1).bytes(8000)
"""As large as the 96 x 96 pixels of a face are, losslessly."""


class Bare:
    """The least that a durable insert can be."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for setting in ("journal_mode = WAL", "synchronous = FULL"):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.execute("CREATE TABLE bare (number INTEGER PRIMARY KEY, data BLOB)")

    def insert(self, data: bytes) -> None:
        """One row, one transaction."""
        self._connection.execute("INSERT INTO bare (data) VALUES (?)", (data,))

    def close(self) -> None:
        """Let go."""
        self._connection.close()


class Timed:
    """The learner's step within a durable accept, with the time it took."""

    def __init__(self, face: Any) -> None:
        self.face, self.took = face, 0.0

    def __call__(self, learner: OnlineHarmonicLearner) -> Prediction:
        before = perf_counter()
        seen = learner.observe(self.face)
        self.took = perf_counter() - before
        return seen


def durable_accept(home: Home, face: Any, number: int) -> tuple[float, float, bool]:
    """Seconds of the durable part and of the whole, and whether the face was accepted."""
    step, before = Timed(face), home.sequence
    whole = seconds(
        lambda: home._change("observe", step, picture=PICTURE, camera="door", frame=number)
    )
    return whole - step.took, whole, home.sequence > before


def written_bytes(home: Home) -> tuple[int, bool]:
    """How many bytes the last event took, and whether it brought a vector."""
    (event,) = home.events(home.sequence - 1)
    vectors = [entry.vector for entry in home.learner.entries() if entry.vector is not None]
    text = len(event.kind) + len(event.entries) + len(event.camera or "") + 3 * 8
    picture = len(PICTURE) if vectors else 0
    return text + picture + sum(vector.nbytes for vector in vectors), bool(vectors)


def accepts(folder: Path, learner: OnlineHarmonicLearner, crowd: Crowd, steps: int) -> Row:
    """A home's changes and bare inserts in turns, once the budget has long been full."""
    learner.save(folder / "state")
    bare = Bare(folder / "bare.db")
    random = np.random.default_rng(0)
    kinds: dict[str, list[tuple[float, float, float]]] = {"stays": [], "passes": []}
    with Home(
        folder / "home", new_learner=lambda: learner, adopt=folder / "state", retention=KEEPING
    ) as home:
        for number, (face, _) in enumerate(crowd.faces(steps, start=10**6)):
            part, whole, accepted = durable_accept(home, face, number)
            if accepted:
                size, stays = written_bytes(home)
                data = random.bytes(size)
                home.predict(face)  # a disk answers faster after a pause: the same for both
                inserted = seconds(lambda data=data: bare.insert(data))
                kinds["stays" if stays else "passes"].append((part, whole, inserted))
    bare.close()
    row: Row = {"accepted": sum(map(len, kinds.values()))}
    for kind, times in {"all": [*kinds["stays"], *kinds["passes"]], **kinds}.items():
        if times:
            part, whole, inserted = np.median(np.array(times), axis=0).tolist()
            row[kind] = {
                "count": len(times),
                "durable_ms": 1e3 * part,
                "accept_ms": 1e3 * whole,
                "bare_insert_ms": 1e3 * inserted,
                "durable_over_bare": part / inserted,
            }
    return row


def restart(folder: Path, learner: OnlineHarmonicLearner, crowd: Crowd, events: int) -> Row:
    """Open a home with so many events since its snapshot; watching them is timed on the way."""
    learner.save(folder / "state")
    options = {"new_learner": lambda: learner, "retention": KEEPING}
    home = Home(folder / "home", adopt=folder / "state", **options)
    home._files.database.query("PRAGMA synchronous = OFF")  # only to get there sooner
    observing = 0.0
    for number, (face, _) in enumerate(crowd.faces(2 * events, start=2 * 10**6)):
        step = Timed(face)
        home._change("observe", step, camera="door", frame=number)
        observing += step.took
        if home.sequence == events:
            break
    word = digest(home.learner)
    home._files.close()  # as if killed: no snapshot
    opened: list[Home] = []
    took = [seconds(lambda: opened.append(Home(folder / "home", **options)))]
    for _ in range(2):
        opened.pop()._files.close()
        took.append(seconds(lambda: opened.append(Home(folder / "home", **options))))
    again = opened.pop()
    same = digest(again.learner) == word
    again._files.close()
    return {
        "events": events,
        "restart_s": float(np.median(took)),
        "observing_s": observing,
        "observing_over_restart": observing / float(np.median(took)),
        "same_digest": same,
    }


def measure(vertices: int, length: int, steps: int, events: int) -> Row:
    """One row of both tables."""
    crowd = Crowd(length, together=False)
    learner = steady_learner(crowd, vertices)
    row: Row = {"vertices": vertices, "length": length}
    with tempfile.TemporaryDirectory() as folder:
        row["accepts"] = accepts(Path(folder), learner, crowd, steps)
    with tempfile.TemporaryDirectory() as folder:
        row["restart"] = restart(Path(folder), learner, crowd, events)
    return row


def tables(rows: list[Row]) -> list[Table]:
    """The rows for a person."""
    accept = Table(title="durable part of an accept, beside one bare insert of as many bytes")
    heads = ("vertices", "length", "vector", "count", "whole", "durable", "bare insert", "ratio")
    for head in heads:
        accept.add_column(head, justify="right")
    again = Table(title="restart, beside observing again")
    for head in ("vertices", "length", "events", "restart", "observing", "ratio", "same digest"):
        again.add_column(head, justify="right")
    for row in rows:
        who = str(row["vertices"]), str(row["length"])
        for kind in islice(row["accepts"], 1, None):
            one = row["accepts"][kind]
            accept.add_row(
                *who,
                kind,
                str(one["count"]),
                f"{one['accept_ms']:.3f} ms",
                f"{one['durable_ms']:.3f} ms",
                f"{one['bare_insert_ms']:.3f} ms",
                f"{one['durable_over_bare']:.2f}",
            )
        back = row["restart"]
        again.add_row(
            *who,
            str(back["events"]),
            f"{back['restart_s']:.2f} s",
            f"{back['observing_s']:.1f} s",
            f"{back['observing_over_restart']:.0f} x",
            str(back["same_digest"]),
        )
    return [accept, again]


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for; print tables, and write JSON where wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vertices", type=int, default=500)
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 9216])
    parser.add_argument("--steps", type=int, default=2000, help="durable accepts that are timed")
    parser.add_argument("--events", type=int, default=100_000, help="journal of the restart")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    options = parser.parse_args(arguments)
    rows = []
    for length in options.lengths:
        print(f"{options.vertices} x {length}", file=sys.stderr)
        rows.append(measure(options.vertices, length, options.steps, options.events))
        if options.json:
            options.json.write_text(json.dumps(rows, indent=2) + "\n")
    for shown in tables(rows):
        Console(width=110).print(shown)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
