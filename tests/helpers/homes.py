"""What the tests of a home share: a small learner, its stream, pictures, a look at the disk."""

import struct
import zlib

import numpy as np

from onlooker import ClosestPair, Doubling, HeatKernel, OnlineHarmonicLearner
from onlooker.home.database import Database

QUANTIZERS = {"closest": ClosestPair, "doubling": Doubling}
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
    """Faces of people who wander, and now and then a stranger: vectors and names."""
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
    """A real little picture: grey noise."""
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


def open_database(path):
    """A database with all its tables."""
    database = Database(path)
    try:
        database.upgrade()
    except BaseException:
        database.close_as_it_is()
        raise
    return database
