"""The oracle: the paper and design.md, section 4, replayed slowly, literally and separately.

Nothing of the package is imported here, and nothing is clever: every step computes all distances,
builds the whole graph and solves it from nothing. If the learner and the oracle disagree, read the
oracle first; it should be short enough to see who is right.

Three solvers answer the same question, where does a walk from one vertex end:

    walk_dense      the closed form with numpy.linalg.inv; wrong where the degrees drown the sink
    walk_gth        vertices taken out one by one, without a subtraction; right everywhere
    walk_mpmath     the closed form in fifty digits; right everywhere, slow

Each takes the plain similarities W (n x n), multiplicities v, a boolean list `labeled`, the sink
gamma and a start vertex, and returns a list with the probability to end at each vertex (zero at
unlabeled ones) and the probability to end nowhere: in the sink, or, where no label can be reached,
simply for ever.
"""

import copy
import itertools
from dataclasses import dataclass, field

import mpmath
import numpy as np


def area(W, labeled, start):
    """Vertices that a walk from start can stand on, start first. Labels end it: no way through."""
    found = [start]
    seen = {start}
    for i in found:
        if not labeled[i]:
            new = [j for j in range(len(W)) if W[i][j] > 0 and j not in seen]
            found += new
            seen.update(new)
    return found


def _before_the_walk(W, labeled, start):
    """The answer if no solving is needed, otherwise None."""
    n = len(W)
    if labeled[start]:
        return [1.0 if i == start else 0.0 for i in range(n)], 0.0
    if not any(labeled[i] for i in area(W, labeled, start)):
        return [0.0] * n, 1.0
    return None


def walk_dense(W, v, labeled, gamma, start):
    """Row `start` of (L_uu + gamma V)^-1 W_ul, for the graph V W V."""
    known = _before_the_walk(W, labeled, start)
    if known:
        return known
    W = np.array(W, dtype=float)
    np.fill_diagonal(W, 0.0)
    V = np.diag(np.array(v, dtype=float))
    W = V @ W @ V
    L = np.diag(W.sum(axis=1)) - W
    inside = area(W, labeled, start)
    u = [i for i in inside if not labeled[i]]
    G = np.linalg.inv((L + gamma * V)[np.ix_(u, u)])
    ends = [0.0] * len(W)
    for k in range(len(W)):
        if labeled[k]:
            ends[k] = float(G[0] @ W[u, k])
    return ends, float(G[0] @ (gamma * np.diag(V)[u]))


def walk_gth(W, v, labeled, gamma, start):
    """Take every unlabeled vertex except start out of the graph, then look where start leads."""
    known = _before_the_walk(W, labeled, start)
    if known:
        return known
    n = len(W)
    sink = n
    inside = area(W, labeled, start)
    rate = {}
    for i in inside:
        if not labeled[i]:
            rate[i] = {j: v[i] * float(W[i][j]) * v[j] for j in inside if j != i and W[i][j] > 0}
            rate[i][sink] = gamma * v[i]
    for k in [i for i in inside if i != start and not labeled[i]]:
        out = rate.pop(k)
        total = sum(out.values())
        for i in rate:
            into_k = rate[i].pop(k, 0.0)
            if into_k:
                for j, onward in out.items():
                    if j != i:
                        rate[i][j] = rate[i].get(j, 0.0) + into_k * (onward / total)
    out = rate[start]
    total = sum(out.values())
    return [out.get(k, 0.0) / total for k in range(n)], out[sink] / total


def walk_mpmath(W, v, labeled, gamma, start):
    """The closed form again, in fifty digits: solve A z = e_start, then z' W_ul."""
    known = _before_the_walk(W, labeled, start)
    if known:
        return known
    n = len(W)
    u = [i for i in area(W, labeled, start) if not labeled[i]]
    with mpmath.workdps(50):

        def weight(i, j):
            if i == j:
                return mpmath.mpf(0)
            return mpmath.mpf(int(v[i])) * mpmath.mpf(float(W[i][j])) * mpmath.mpf(int(v[j]))

        A = mpmath.matrix(len(u), len(u))
        b = mpmath.matrix(len(u), 1)
        b[0] = 1
        for a, i in enumerate(u):
            for c, j in enumerate(u):
                A[a, c] = -weight(i, j)
            A[a, a] = mpmath.fsum(weight(i, j) for j in range(n)) + mpmath.mpf(gamma) * int(v[i])
        # lu_solve loses digits to cancellation as any solver does; fifty leave enough of them.
        z = mpmath.lu_solve(A, b)
        ends = [
            float(mpmath.fsum(z[a] * weight(i, k) for a, i in enumerate(u))) if labeled[k] else 0.0
            for k in range(n)
        ]
        lost = mpmath.fsum(z[a] * mpmath.mpf(gamma) * int(v[i]) for a, i in enumerate(u))
        return ends, float(lost)


SOLVERS = {"dense": walk_dense, "gth": walk_gth, "mpmath": walk_mpmath}


def euclidean(x, y):
    return float(np.sqrt(np.sum((np.asarray(x, float) - np.asarray(y, float)) ** 2)))


class Refused(Exception):
    """The learner must refuse this call and stay as it was."""


@dataclass
class Vertex:
    """A representative. Ids are given in order of age and never used twice."""

    id: int
    vector: np.ndarray
    multiplicity: int
    name: str | None
    not_names: set = field(default_factory=set)  # names a person excluded; None: it is nobody

    @property
    def ends_walks(self):
        return self.name is not None or None in self.not_names

    @property
    def fixed(self):
        """Neither merged nor counted: an unlabeled vertex of which something was said."""
        return self.name is None and bool(self.not_names)


@dataclass
class Example:
    """One accepted example, as it arrived, and the id of the vertex that represents it now."""

    vector: np.ndarray
    vertex: int


@dataclass
class Answer:
    """What observe and predict say. `vertex` is where x was placed, before any shrinking."""

    label: str | None
    scores: dict[str, float]
    sink: float
    vertex: int | None
    candidate: str | None = None
    support: str | None = None

    @property
    def confidence(self):
        best, second = sorted([0.0, 0.0, *self.scores.values()], reverse=True)[:2]
        return best - second


@dataclass
class LiteralLearner:
    """The figure of the paper with the decisions of design.md, section 4."""

    sigma: float
    epsilon: float
    gamma: float
    n_g: int
    quantizer: str = "closest"  # or "safe", "variance" or "doubling"
    min_score: float = 0.0
    solver: str = "gth"
    distance: object = euclidean
    trust_radius: float | None = None

    vertices: list[Vertex] = field(default_factory=list)  # in order of age, that is of id
    names: list[str] = field(default_factory=list)  # in the order first taught
    history: list[Example] = field(default_factory=list)
    radius: float = 0.0
    next_id: int = 0

    def __post_init__(self):
        if self.n_g < 1:
            raise Refused("one unlabeled vertex is the least")

    # The verbs ----------------------------------------------------------------------------

    def teach(self, x, name):
        here = self._at(x)
        if here is None:
            here = self._add(x, name)
        elif here.name not in (None, name):
            raise Refused(f"{here.name!r} is taught at the place of {name!r}")
        elif here.not_names & {None, name}:
            raise Refused(f"it was said that this is not {name!r}")
        else:
            here.name = name
            here.multiplicity += 1
        self.history.append(Example(np.array(x), here.id))
        if name not in self.names:
            self.names.append(name)

    def teach_not(self, x, name):
        """x is not that name; None: x is nobody."""
        here = self._at(x)
        if name is not None and name not in self.names:
            raise Refused(f"nobody is called {name!r}")
        if here is not None and here.name is not None and name in (None, here.name):
            raise Refused(f"{here.name!r} is taught here")
        if here is None:
            here = self._add(x, None)
        else:
            here.multiplicity += 1
        here.not_names.add(name)
        self.history.append(Example(np.array(x), here.id))

    def unteach(self, x):
        here = self._at(x)
        if here is None or (here.name is None and not here.not_names):
            raise Refused("nothing is taught here")
        here.name = None
        here.not_names = set()
        self._forget_empty_names()
        self._shrink()

    def observe(self, x):
        trial = copy.deepcopy(self)
        answer = trial._place_and_answer(x)
        if answer.label is not None:
            trial._shrink()
            self.__dict__ = trial.__dict__
        return answer

    def predict(self, x):
        return copy.deepcopy(self)._place_and_answer(x)

    def drop(self, vertex):
        if vertex not in [c.id for c in self.vertices]:
            raise Refused(f"no vertex {vertex}")
        self.vertices = [c for c in self.vertices if c.id != vertex]
        self.history = [e for e in self.history if e.vertex != vertex]
        self._forget_empty_names()
        self._shrink()  # a vertex that was kept for a name which is gone counts again

    def forget(self, name):
        if name not in self.names:
            raise Refused(f"nobody is called {name!r}")
        leaving = [
            c.id
            for c in self.vertices
            if c.name == name
            or self.best_name(c.id) == name
            or (c.name is None and c.not_names == {name})
        ]
        self.vertices = [c for c in self.vertices if c.id not in leaving]
        self.history = [e for e in self.history if e.vertex not in leaving]
        self._forget_empty_names()
        self._shrink()

    # What it knows ------------------------------------------------------------------------

    def unlabeled(self):
        """Those that count against n_g, and may be merged."""
        return [c for c in self.vertices if c.name is None and not c.not_names]

    def weight(self, x, y):
        w = float(np.exp(-(self.distance(x, y) ** 2) / (2 * self.sigma**2)))
        return w if w >= self.epsilon else 0.0

    def graph(self):
        return [[self.weight(a.vector, b.vector) for b in self.vertices] for a in self.vertices]

    def walk(self, vertex, also_ends=()):
        """Where the walk from the vertex with this id ends: by name, at nobody, in the sink.

        It ends at the vertices `also_ends` too, where no name is reached.
        """
        ids = [c.id for c in self.vertices]
        ends, sink = SOLVERS[self.solver](
            self.graph(),
            [c.multiplicity for c in self.vertices],
            [c.ends_walks or c.id in also_ends for c in self.vertices],
            self.gamma,
            ids.index(vertex),
        )
        scores = dict.fromkeys(self.names, 0.0)
        nobody = 0.0
        for c, probability in zip(self.vertices, ends, strict=True):
            if c.name is not None:
                scores[c.name] += probability
            elif c.ends_walks:
                nobody += probability
        return scores, nobody, sink

    def scores_and_negatives(self, vertex):
        """The scores with all negatives, the sink, and the part of it that ended at negatives."""
        scores, ended, sink = self.walk(vertex)
        for name in self.names:
            negatives = [c.id for c in self.vertices if c.name is None and name in c.not_names]
            if negatives:
                rest = self.walk(vertex, negatives)[0][name]
                ended += scores[name] - rest
                scores[name] = rest
        return scores, sink + ended, ended

    def best_name(self, vertex):
        """The name with the largest score above 0, the one taught first on a tie; or None.

        Whatever was said against it.
        """
        scores, _, _ = self.walk(vertex)
        best = max(self.names, key=scores.get, default=None)  # max keeps the first of equals
        return best if best is not None and scores[best] > 0 else None

    def trusted(self, x, name):
        """Whether x lies within the radius of a labeled example of that name."""
        gaps = [self.distance(x, c.vector) for c in self.vertices if c.name == name]
        return self.trust_radius is None or min(gaps) <= self.trust_radius

    def owner(self, vertex):
        """The name that a vertex carries; min_score is for examples."""
        here = self._by_id(vertex)
        if here.name is not None:
            return here.name
        scores, _, ended = self.scores_and_negatives(vertex)
        best = max(self.names, key=scores.get, default=None)
        if best is None or not scores[best] > ended * (1 + 1e-6):
            return None
        return best if self.trusted(here.vector, best) else None

    def masses(self):
        """How many examples each name has: a labeled one is one, others by their scores."""
        found = dict.fromkeys(self.names, 0.0)
        for c in self.vertices:
            if c.name is not None:
                found[c.name] += c.multiplicity
                continue
            for name, score in self.scores_and_negatives(c.id)[0].items():
                found[name] += c.multiplicity * score
        return found

    def reachable(self):
        """Ids of the labeled vertices, and of the unlabeled ones from which one is reached."""
        W = self.graph()
        ends = [c.ends_walks for c in self.vertices]
        return {
            c.id
            for i, c in enumerate(self.vertices)
            if any(self.vertices[j].name is not None for j in area(W, ends, i))
        }

    def passes(self, start, other):
        """With which probability the walk from one vertex passes another, before it ends."""
        if start == other:
            return 1.0
        ids = [c.id for c in self.vertices]
        ends, _ = SOLVERS[self.solver](
            self.graph(),
            [c.multiplicity for c in self.vertices],
            [c.ends_walks or c.id == other for c in self.vertices],
            self.gamma,
            ids.index(start),
        )
        return ends[ids.index(other)]

    def gain(self, vertex):
        """How much of the stream the label of a vertex would settle."""
        here = self._by_id(vertex)
        total = 0.0
        for c in self.vertices:
            if c.ends_walks:
                continue
            scores = self.walk(c.id)[0]
            best = max(self.names, key=scores.get)
            uncertain = 1 - scores[best] if self.trusted(c.vector, best) else 1.0
            gap = self.distance(c.vector, here.vector)
            if self.trust_radius is None or gap <= self.trust_radius:
                total += c.multiplicity * uncertain * self.passes(c.id, vertex)
        return total

    # One step -----------------------------------------------------------------------------

    def _place_and_answer(self, x):
        """Change the graph as if x were accepted; the caller throws it away if it is not."""
        nobody = Answer(None, dict.fromkeys(self.names, 0.0), 1.0, None)
        connected = {c.id for c in self.vertices if self.weight(x, c.vector) > 0}
        if not connected & self.reachable():
            return nobody
        gaps = [(self.distance(x, c.vector), c.id) for c in self.vertices]
        gap, nearest = min(gaps)
        if gap > 0:  # a vertex of which something was said absorbs at its very place only
            gaps = [(g, i) for g, i in gaps if not self._by_id(i).fixed]
            gap, nearest = min(gaps, default=(np.inf, None))
        if gap < self.radius or gap == 0:
            here = self._by_id(nearest)
            here.multiplicity += 1
        else:
            here = self._add(x, None)
        self.history.append(Example(np.array(x), here.id))
        scores, sink, ended = self.scores_and_negatives(here.id)
        best = max(self.names, key=scores.get, default=None)
        if best is None or not scores[best] > max(self.min_score, ended * (1 + 1e-6)):
            return Answer(None, scores, sink, None)
        linked = [c for c in self.vertices if self.weight(here.vector, c.vector) > 0]
        direct = any(c.name == best for c in linked)
        support = "labeled" if here.name else "direct" if direct else "inferred"
        if not self.trusted(x, best):
            return Answer(None, scores, sink, None, best, support)
        return Answer(best, scores, sink, here.id, None, support)

    # Shrinking ----------------------------------------------------------------------------

    def _shrink(self):
        while len(self.unlabeled()) > self.n_g:
            if self.quantizer == "doubling":
                self.radius = 2 * self.radius or min(gap for gap, _, _ in self._pairs() if gap > 0)
                self._repartition()
            elif self.quantizer == "variance":
                self._merge_at_mean(*self._cheapest_two())
            else:
                self._merge(*self._closest_two())

    def _pairs(self):
        """(gap, lower id, higher id) of all pairs not both labeled, the closest first."""
        return sorted(
            (self.distance(a.vector, b.vector), a.id, b.id)
            for a, b in itertools.combinations(self.vertices, 2)
            if (a.name is None or b.name is None) and not (a.fixed or b.fixed)
        )

    def _repartition(self):
        centers = [c for c in self.vertices if c.name is not None]
        for c in self.unlabeled():
            gaps = [(self.distance(c.vector, k.vector), k.id) for k in centers]
            gap, nearest = min(gaps, default=(np.inf, None))
            if gap < self.radius:
                self._merge(c, self._by_id(nearest))
            else:
                centers.append(c)

    def _closest_two(self):
        """Who goes, and into whom: of the closest pair, or of the closest that cuts nobody off."""
        pairs = [self._who_goes(lower, higher) for _, lower, higher in self._pairs()]
        if self.quantizer == "safe":
            for goes, stays in pairs:
                if self.weight(goes.vector, stays.vector) > 0 and not self._cut_off_without(goes):
                    return goes, stays
        return pairs[0]

    def _cheapest_two(self):
        """The pair whose merging adds least to the variance; linked ones before all others."""
        costs = []
        for gap, lower, higher in self._pairs():
            a, b = self._by_id(lower), self._by_id(higher)
            share = a.multiplicity * b.multiplicity / (a.multiplicity + b.multiplicity)
            is_far = self.weight(a.vector, b.vector) == 0
            costs.append((is_far, share * gap**2, lower, higher))
        _, _, lower, higher = min(costs)
        return self._by_id(lower), self._by_id(higher)

    def _merge_at_mean(self, a, b):
        if a.name is not None or b.name is not None:
            self._merge(*((b, a) if a.name is not None else (a, b)))
            return
        whole = a.multiplicity + b.multiplicity
        mean = (a.multiplicity * a.vector + b.multiplicity * b.vector) / whole
        here = self._at(mean)
        if here is None or here.fixed:
            here = self._add(mean, None)
            here.multiplicity = 0
        for one in (a, b):
            if one is not here:
                self._merge(one, here)

    def _who_goes(self, lower, higher):
        older, younger = self._by_id(lower), self._by_id(higher)
        if younger.name is not None:
            stays = younger
        elif older.name is not None:
            stays = older
        else:
            stays = younger if younger.multiplicity > older.multiplicity else older
        return (older if stays is younger else younger), stays

    def _cut_off_without(self, goes):
        """Ids of the other vertices that reach a label, and would not if this one were gone."""
        without = copy.copy(self)
        without.vertices = [c for c in self.vertices if c is not goes]
        return self.reachable() - {goes.id} - without.reachable()

    def _merge(self, goes, into):
        into.multiplicity += goes.multiplicity
        self.vertices = [c for c in self.vertices if c is not goes]
        for example in self.history:
            if example.vertex == goes.id:
                example.vertex = into.id

    # Small things -------------------------------------------------------------------------

    def _add(self, x, name):
        self.vertices.append(Vertex(self.next_id, np.array(x), 1, name))
        self.next_id += 1
        return self.vertices[-1]

    def _at(self, x):
        return next((c for c in self.vertices if self.distance(x, c.vector) == 0), None)

    def _by_id(self, vertex):
        return next(c for c in self.vertices if c.id == vertex)

    def _forget_empty_names(self):
        self.names = [n for n in self.names if any(c.name == n for c in self.vertices)]
        for c in self.vertices:
            c.not_names &= {None, *self.names}
