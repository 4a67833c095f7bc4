"""Streams for the speed benchmarks: people who turn their heads, as vectors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

PEOPLE = 8


@dataclass(frozen=True)
class Crowd:
    """People as points of a low-dimensional family each, in vectors of some length.

    Apart, every person is a component of the graph; together, all share one family of poses and
    the graph is a single component.
    """

    length: int
    together: bool
    seed: int = 0

    def faces(self, count: int, start: int = 0) -> Iterator[tuple[Vectors, str]]:
        """Faces in runs of 30 per person, with the person's name."""
        families = 1 if self.together else PEOPLE
        freedoms = 14 if self.together else 10
        rng = np.random.default_rng(self.seed)
        places = rng.normal(size=(families, self.length)) * 3.0 / np.sqrt(2 * self.length)
        poses = [
            np.linalg.qr(rng.normal(size=(self.length, freedoms)))[0].T for _ in range(families)
        ]
        rng = np.random.default_rng([self.seed, start])
        for step in range(start, start + count):
            person = (step // 30) % PEOPLE
            family = person % families
            face = places[family] + 0.3 * rng.normal(size=freedoms) @ poses[family]
            face += rng.normal(size=self.length) * 0.05 / np.sqrt(self.length)
            yield face.astype(np.float32), f"person{person}"
