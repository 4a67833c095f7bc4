"""A household by a simulated clock: disk, history and memory stay within bounds.

Every day 3,000 faces: twenty people come and go, and thirty strangers who are never seen again.
What has expired is deleted every hour, as a service does. No picture is decoded: vectors come from
the generator of the long-run experiment, pictures are noise of the usual size.

`scripts/soak year --days 365` prints a row for each 30 days; the test here is the same, with short
days and a retention of hours.
"""

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil

from helpers.homes import Clock, opened, png
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.experiments.long_run import LENGTH, PEOPLE, Cast, directions
from onlooker.home.retention import DAY, HOUR, RetentionPolicy
from onlooker.strangers.book import StrangerBook
from onlooker.vision.scales import DEFAULT_SCALES, FACE_QUANTIZER

FACES, STRANGERS, STRANGER_FACES, VISIT = 3000, 30, 20, 40
"""A day: faces in all, strangers and faces of each; faces of a visit of somebody known."""
PICTURE_SIDE = 96


def new_learner():
    scale = DEFAULT_SCALES["sface"]
    kernel = HeatKernel(scale.bandwidth, scale.cutoff)
    return OnlineHarmonicLearner(kernel, quantizer=FACE_QUANTIZER, features="year/128")


class Household:
    """A home, its strangers, and the clock on the wall."""

    def __init__(self, folder, *, faces=FACES, retention=None, seed=0):
        self.clock, self.faces, self.frame = Clock(), faces, 0
        self.rng, self.cast = np.random.default_rng([seed, 9]), Cast(seed)
        self.pictures = [png(number, side=PICTURE_SIDE) for number in range(20)]
        self.home = opened(folder, new_learner=new_learner, clock=self.clock, retention=retention)
        self.book = StrangerBook(self.home, clock=self.clock)
        self.seen = self.named = 0
        for who in range(PEOPLE):
            for vector in self.cast.visit(who, 0.5, 4, self.rng).vectors:
                self.home.teach(vector, f"person {who}", picture=self.picture())

    def picture(self):
        return self.pictures[self.rng.integers(len(self.pictures))]

    def visit(self, vectors, truth):
        """Faces in a row; whoever gets a name is recorded once, as a service does."""
        recorded = None
        for vector in vectors:
            self.frame += 1
            self.clock.now += 0.2
            found = self.home.observe(
                vector, camera="door", frame=self.frame, picture=self.picture()
            )
            self.seen += truth is not None
            self.named += truth is not None and found.label == truth
            if found.label is None:
                self.book.observe(vector, camera="door", frame=self.frame, picture=self.picture())
            elif found.label != recorded:
                recorded = found.label
                self.home.record_sighting(
                    camera="door", frame=self.frame, name=recorded, vertex=found.vertex
                )

    def day(self, number):
        """From six to eleven at night; what has expired goes every hour."""
        start, strangers = self.clock.now, int(STRANGERS * self.faces / FACES)
        known = max(1, (self.faces - strangers * STRANGER_FACES) // VISIT)
        visits = self.rng.permutation([True] * known + [False] * strangers)
        hours = np.sort(self.rng.uniform(6, 23, len(visits)))
        for hour in range(24):
            for at, is_known in zip(hours, visits, strict=True):
                if int(at) == hour:
                    self.clock.now = max(self.clock.now, start + at * HOUR)
                    self._come(number + at / 24, is_known)
            self.clock.now = max(self.clock.now, start + (hour + 1) * HOUR)
            self.home.expire()
            self.book.expire()
            self.home.checkpoint()
        self.clock.now = start + DAY

    def _come(self, moment, is_known):
        if is_known:
            who = int(self.rng.integers(PEOPLE))
            # Nobody changes for ever: over a year, there and back.
            self.visit(
                self.cast.visit(who, 70 + 70 * np.sin(moment / 58), VISIT, self.rng).vectors,
                f"person {who}",
            )
            return
        face = directions(self.rng) + 0.2 * directions(self.rng, STRANGER_FACES)
        vectors = face / np.linalg.norm(face, axis=1)[:, None]
        self.visit(vectors.astype(np.float32).reshape(-1, LENGTH), None)

    def row(self, number):
        """What it uses now."""
        files = [path for path in self.home.folder.rglob("*") if path.is_file()]
        table = {
            name: self.home.database.query(f"SELECT count(*) FROM {name}")[0][0]
            for name in ("events", "sightings", "pictures", "cards")
        }
        return {
            "day": number,
            "disk": sum(path.stat().st_size for path in files),
            "database": self.home.database.size,
            "snapshots": sum(path.suffix == ".snapshot" for path in files),
            "memory": psutil.Process().memory_info().rss,
            "vertices": len(self.home.learner),
            **table,
            "newest event": self.home.sequence,
            "named rightly": round(self.named / max(self.seen, 1), 4),
            "problems": len(self.home.problems),
        }

    def close(self):
        self.book.close()
        self.home.close()


def test_what_expires_keeps_a_home_within_bounds(tmp_path):
    """Days of 200 faces, and a retention of hours: after the first days nothing grows."""
    retention = RetentionPolicy(
        snapshot_every=100, undo_days=0.5, sighting_days=1.0, ballast_megabytes=0
    )
    house = Household(tmp_path, faces=200, retention=retention)
    rows = []
    for number in range(6):
        house.day(number)
        rows.append(house.row(number))
    house.close()
    early, late = rows[2:4], rows[4:]
    for figure in ("disk", "database", "events", "snapshots"):
        most = max(row[figure] for row in early)
        assert max(row[figure] for row in late) <= 1.5 * most, (figure, rows)
    assert all(row["sightings"] <= 40 for row in rows)  # of two days at most, five visits each
    assert rows[-1]["newest event"] > 3 * rows[-1]["events"]
    assert all(row["vertices"] <= 500 + 4 * PEOPLE for row in rows)
    assert all(row["cards"] <= 2 * STRANGERS for row in rows)
    assert rows[-1]["problems"] == 0
    assert rows[-1]["named rightly"] > 0.5


def main():
    """The long form: a row for each 30 days, and the first days one by one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--every", type=int, default=30)
    options = parser.parse_args()
    start, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as place:
        house = Household(Path(place), retention=replace(RetentionPolicy(), ballast_megabytes=0))
        for number in range(1, options.days + 1):
            house.day(number)
            if number % options.every == 0 or number in (1, 7, options.days):
                rows.append(house.row(number))
                print(
                    json.dumps(rows[-1] | {"seconds": round(time.monotonic() - start)}), flush=True
                )
        house.close()
    steady = [row for row in rows if row["day"] > 37]
    early, late = steady[: len(steady) // 2], steady[len(steady) // 2 :]
    if not early:
        return 0
    # The largest of each half: events go a few thousand at a time, when a snapshot is dropped.
    grown = [
        figure
        for figure in ("disk", "memory", "events", "sightings")
        if max(row[figure] for row in late) > 1.1 * max(row[figure] for row in early)
    ]
    print(f"grew after day {late[0]['day']}: {', '.join(grown) or 'nothing'}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
