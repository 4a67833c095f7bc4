"""Shared by the tests of a home: a small learner, its stream, pictures, a search of the files."""

import struct
import tarfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from helpers.streams import QUANTIZERS
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.home.database import Database
from onlooker.home.home import Home
from onlooker.home.retention import RetentionPolicy

OLD_HOMES = Path(__file__).parents[1] / "data" / "homes"
"""Homes that earlier versions wrote."""
LENGTH = 8


def small_learner(quantizer="closest", max_vertices=12):
    return OnlineHarmonicLearner(
        HeatKernel(0.4, 1e-4),
        sink=1e-3,
        max_vertices=max_vertices,
        quantizer=QUANTIZERS[quantizer](),
        features="test/8",
    )


def stream(seed, count, people=2):
    """Noisy faces of a few people, every 13th of a stranger: vectors and names."""
    rng = np.random.default_rng(seed)
    homes = rng.normal(size=(people, LENGTH)) * 2
    for number in range(count):
        person = int(rng.integers(people))
        if number % 13 == 12:
            yield (rng.normal(size=LENGTH) * 50).astype(np.float32), None
        else:
            at = homes[person] + rng.normal(size=LENGTH) * 0.25
            yield at.astype(np.float32), f"person{person}"


def png(seed=0, side=4):
    """A small PNG picture of gray noise."""
    rng = np.random.default_rng(seed)
    rows = b"".join(b"\0" + rng.bytes(side) for _ in range(side))
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    body = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def files_with(folder, *needles):
    """The files of a folder that hold any of these bytes."""
    return [
        path.name
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]


def unpacked(name, folder):
    """The folder of a home that an earlier version wrote."""
    with tarfile.open(OLD_HOMES / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in (folder / name, folder) if path.is_dir())


def open_database(path):
    """A database with all its tables."""
    database = Database(path)
    try:
        database.upgrade()
    except BaseException:
        database.close_as_it_is()
        raise
    return database


NEVER = RetentionPolicy(snapshot_every=10**9)


class Clock:
    """A clock that stands until it is set."""

    def __init__(self, now=1e9):
        self.now = now

    def __call__(self):
        return self.now


def opened(folder, **options):
    """A home whose time is nobody's but the test's, if the test has a clock."""
    steady = {"steady": options["clock"]} if "clock" in options else {}
    home = Home(folder, **({"new_learner": small_learner} | steady | options))
    home._files.database.query("PRAGMA synchronous = OFF")  # nobody pulls the plug here
    return home


def crash(home):
    """What a kill leaves behind: the files as they are, and a lock that nobody holds.

    SQLite writes its log back when it is closed, so the files are put back as they were before.
    """
    left = {path: path.read_bytes() for path in home.folder.rglob("*") if path.is_file()}
    home._files.database.close_as_it_is()
    home._files._lock.release()
    for path, content in left.items():
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def watch(home, seed, count, start=0, teach=2):
    """Some labels, then the stream."""
    for number, (x, name) in list(enumerate(stream(seed, start + count)))[start:]:
        if number < 2 * teach:
            home.teach(x, name)
        else:
            home.observe(x, camera="door", frame=number)


def assert_same_answers(home, learner, seed):
    for x, _ in stream(seed, 15):
        found, expected = home.predict(x), learner.predict(x)
        assert found.label == expected.label
        for name, score in expected.scores.items():
            assert found.scores[name] == pytest.approx(score, abs=1e-8)


def snapshot_files(folder):
    return sorted(folder.glob("snapshots/*.snapshot"))


def flip_bit(path, at=-3):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def change_database(folder, sql, *values):

    store = open_database(folder / "onlooker.db")
    with store.transaction():
        store.execute(sql, values)
    store.close()
