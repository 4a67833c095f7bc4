"""The stored vectors, and the search for those within a distance of another one.

Vectors are stored in slots; a freed slot is used again. A search has two passes. The first compares
short sketches and only selects candidates; the second measures these exactly, each pair by itself.
So a sketch can change the time of a search but never its result, and the distance of two vectors
is the same bits in every search.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.core import sketch
from onlooker.core.checks import Floats, Rows, Slots, insert_rows, slots_where
from onlooker.core.similarity import LONG, Distance, squared_gaps, squared_norms

PATIENCE = 30
"""Vectors measured in vain, per stored vector, that are worth the time to learn a new sketch."""


@dataclass(slots=True, eq=False)
class Query:
    """A vector prepared to be searched for and perhaps stored."""

    vector: Rows
    wide: Floats
    """The same in float64."""
    norm: float
    """|x|^2."""
    moments: Floats
    sketch: NDArray[np.float32]
    spread: float
    """|x - o|^2, where o is the sketch's origin."""
    place: int | None = None
    """Its row in the batch, if it belongs to one."""


@dataclass(slots=True, eq=False)
class Batch:
    """Bounds for many queries at once: to every slot, and among the queries."""

    to_slots: Floats
    within: Floats


class Vectors:
    """Slots of vectors of one length and type, under one distance."""

    def __init__(self, distance: Distance, length: int, dtype: Any) -> None:
        self.distance = distance
        self.rows: Rows = np.zeros((0, length), dtype=dtype)
        some = distance.moments(np.ones((1, length))) if length else np.ones((1, 0))
        self.moments: Floats = some[:0]
        self._norms: Floats = np.zeros(0)
        self._spreads: Floats = np.zeros(0)
        self._sketches: NDArray[np.float32]
        self._use(sketch.lengths_only(np.zeros(length, dtype=dtype)))
        self._batch: Batch | None = None
        self._stored = 0

    def grow(self, at: int, extra: int) -> None:
        """Insert free slots at a position; those behind it move up."""
        self.rows = insert_rows(self.rows, extra, 0.0, at)
        self.moments = insert_rows(self.moments, extra, 1.0, at)
        self._sketches = insert_rows(self._sketches, extra, 0.0, at)
        self._norms = insert_rows(self._norms, extra, 0.0, at)
        self._spreads = insert_rows(self._spreads, extra, np.inf, at)
        self._batch = None

    def query(self, vector: Rows) -> Query:
        """Prepare one vector."""
        self._learn_when_due()
        self._batch = None
        return self._prepared(vector[None])[0]

    def queries(self, vectors: Rows) -> list[Query]:
        """Prepare many, with the first pass over all of them done at once."""
        self._learn_when_due()
        queries = self._prepared(vectors)
        sketches = np.array([query.sketch for query in queries])
        spreads = np.array([query.spread for query in queries])
        self._batch = Batch(
            to_slots=self._bounds(sketches, spreads[:, None], self._sketches, self._spreads),
            within=self._bounds(sketches, spreads[:, None], sketches, spreads),
        )
        for place, query in enumerate(queries):
            query.place = place
        return queries

    def put(self, slot: int, query: Query) -> None:
        """Store a vector in a free slot."""
        if not self._stored:
            query = self._choose_sketch(query.vector)
        self._stored += 1
        self.rows[slot] = query.vector
        self.moments[slot] = query.moments
        self._sketches[slot] = query.sketch
        self._norms[slot] = query.norm
        self._spreads[slot] = query.spread
        if self._batch is not None and query.place is not None:
            self._batch.to_slots[:, slot] = self._batch.within[:, query.place]

    def free(self, slot: int) -> None:
        """Free a slot; an infinite spread excludes it from every search."""
        self._stored -= 1
        self.rows[slot] = 0.0
        self._spreads[slot] = np.inf
        if self._batch is not None:
            self._batch.to_slots[:, slot] = np.inf

    def stored(self, slot: int) -> Query:
        """A stored vector as a query."""
        row = self.rows[slot]
        wide, norm = row.astype(np.float64), float(self._norms[slot])
        spread = float(self._spreads[slot])
        return Query(row, wide, norm, self.moments[slot], self._sketches[slot], spread)

    def near(self, query: Query, reach: float) -> tuple[Slots, Floats]:
        """The slots within that distance, in slot order, and their squared distances."""
        if self._batch is not None and query.place is not None:
            bounds = self._batch.to_slots[query.place]
        else:
            bounds = self._bounds(query.sketch, query.spread, self._sketches, self._spreads)
        floor = self.distance.squared(bounds, query.moments, self.moments)
        # Not "floor <= limit": what overflowed to NaN must be measured, not skipped.
        candidates = slots_where(~(floor > reach * reach))
        squared = self.measure(query, candidates)
        inside = squared <= reach * reach
        self._in_vain += len(candidates) - int(np.count_nonzero(inside))
        return candidates[inside], squared[inside]

    def measure(self, query: Query, slots: Slots) -> Floats:
        """Exact squared distances."""
        gaps = squared_gaps(query.wide, query.norm, self.rows, self._norms, slots)
        return self.distance.squared(gaps, query.moments, self.moments[slots])

    def _prepared(self, vectors: Rows) -> list[Query]:
        wide = vectors.astype(np.float64, copy=False)
        sketches, spreads = self._sketch.project(vectors)
        norms, moments = squared_norms(wide).tolist(), self.distance.moments(vectors)
        return list(map(Query, vectors, wide, norms, moments, sketches, spreads.tolist()))

    def _bounds(
        self,
        own: NDArray[np.float32],
        spread: Floats | float,
        sketches: NDArray[np.float32],
        spreads: Floats,
    ) -> Floats:
        """Lower bounds of squared gaps, from |a|^2 + |b|^2 - 2 <a, b> less what rounding took."""
        bounds = spreads + spread
        bounds *= 1.0 - self._sketch.slack
        with np.errstate(over="ignore", invalid="ignore"):
            bounds -= 2.0 * (own @ sketches.T)
        return np.maximum(bounds, 0.0, out=bounds)

    def _choose_sketch(self, first: Rows) -> Query:
        """Choose a sketch with the first vector as origin: bounds are tightest from nearby."""
        own = getattr(self.distance, "sketch", None)
        short = len(first) < LONG
        choose = own or (sketch.whole if short else sketch.lengths_only)
        self._use(choose(first.copy()))
        return self.query(first)

    def _learn_when_due(self) -> None:
        due = self._in_vain > PATIENCE * max(self._stored, sketch.WIDTH)
        learnable = isinstance(self._sketch, sketch.Along) and self.rows.shape[1] >= LONG
        if due and learnable:
            stored = np.isfinite(self._spreads)
            self._use(sketch.learn(self.rows[stored]))
            self._sketches[stored], self._spreads[stored] = self._sketch.project(self.rows[stored])

    def _use(self, chosen: sketch.Sketch) -> None:
        self._sketch = chosen
        self._sketches = np.zeros((len(self.rows), chosen.width), dtype=np.float32)
        self._in_vain = 0
