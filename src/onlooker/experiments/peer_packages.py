"""Classifiers of other packages behind the verbs that `onlooker bench peers` calls.

river is always there. GraphLearning and CapyMOA are used where they can be imported; where not,
`what_is_missing` says in a line what to install. CapyMOA drives MOA in a Java machine, which is
started once in a process; what its models hold there is `java_megabytes`.
"""

import gc
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from river import neighbors

from onlooker import Prediction
from onlooker.core.checks import Floats
from onlooker.experiments.paper.references import LabeledStream

NEIGHBOURS = 10
"""Those of every example in GraphLearning's documentation."""
COLLECTIONS = 3


@dataclass(frozen=True, slots=True)
class Package:
    """A package that may be there, and what to do where it is not."""

    module: str
    name: str
    install: str
    parts: tuple[str, ...] = ()
    """Modules of the package that are used."""
    java: bool = False

    def load(self) -> None:
        """Import what is used, and start the Java machine if it needs one."""
        for module in (self.module, *self.parts):
            import_module(module)

    @property
    def missing(self) -> str | None:
        """What to install, or None if nothing is missing."""
        if find_spec(self.module) is None:
            return f"{self.name} is not compared: {self.install}"
        if self.java and not (os.environ.get("JAVA_HOME") or shutil.which("java")):
            return f"{self.name} is not compared: it needs Java, install a runtime of version 17"
        return None


GRAPH_LEARNING = Package(
    "graphlearning", "GraphLearning", "pip install graphlearning (needs a C compiler)"
)
CAPYMOA = Package(
    "capymoa",
    "CapyMOA",
    "pip install capymoa (needs Java)",
    parts=("capymoa.classifier", "capymoa.core", "capymoa.ssl", "capymoa.stream"),
    java=True,
)


def what_is_missing() -> Iterator[str]:
    """A line for each package that is not there: what to install."""
    for package in (GRAPH_LEARNING, CAPYMOA):
        if package.missing:
            yield package.missing


def _answer(name: str | None) -> Prediction:
    return Prediction(name, {} if name is None else {name: 1.0}, sink=0.0, vertex=None)


# ---- those that see a stream


class RiverNearest:
    """river's nearest neighbours: they learn from labels only."""

    def __init__(self, n_neighbors: int) -> None:
        self._model: Any = neighbors.KNNClassifier(n_neighbors=n_neighbors)

    def teach(self, x: Any, name: str) -> None:
        """A labeled example."""
        self._model.learn_one(dict(enumerate(x)), name)

    def observe(self, x: Any) -> Prediction:
        """An answer; there is nothing to learn without a label."""
        name = self._model.predict_one(dict(enumerate(x)))
        return _answer(None if name is None else str(name))


class CapyMoa:
    """A classifier of CapyMOA; it learns from unlabeled examples if it can."""

    def __init__(self, module: str, classifier: str, stream: LabeledStream) -> None:
        self._classes = sorted(set(stream.names))
        self._core: Any = import_module("capymoa.core")
        features = [str(place) for place in range(stream.labeled.shape[1])]
        self._schema = import_module("capymoa.stream").Schema.from_custom(
            [*features, "class"], "class", categories={"class": self._classes}
        )
        self._model: Any = getattr(import_module(module), classifier)(self._schema)

    def teach(self, x: Any, name: str) -> None:
        """A labeled example."""
        code = self._classes.index(name)
        self._model.train(self._core.LabeledInstance.from_array(self._schema, x, code))

    def observe(self, x: Any) -> Prediction:
        """An answer; then it learns from x, if it is semi-supervised."""
        example = self._core.Instance.from_array(self._schema, x)
        code = self._model.predict(example)
        if hasattr(self._model, "train_on_unlabeled"):
            self._model.train_on_unlabeled(example)
        return _answer(None if code is None else self._classes[code])


def java_megabytes(models: list[Any]) -> float:
    """Megabytes in the Java machine that are free once the list is emptied: what it held there."""
    runtime: Any = import_module("jpype").JClass("java.lang.Runtime").getRuntime()

    def lives() -> float:
        for _ in range(COLLECTIONS):  # Python lets go first, of what Java may then let go
            gc.collect()
            runtime.gc()
        return float(runtime.totalMemory() - runtime.freeMemory()) / 1e6

    before = lives()
    models.clear()
    return before - lives()


# ---- those that see everything


class GraphLearning:
    """A method of GraphLearning on the graph of nearest neighbours that its documentation uses.

    Its default weights divide by the distance of the farthest neighbour: where an example has that
    many duplicates they are no numbers, and all weights are 1 instead, which the library offers.
    """

    def __init__(self, method: str) -> None:
        self._package: Any = import_module("graphlearning")
        self._method = method
        self._found: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def fit(self, rows: Floats, codes: NDArray[np.intp]) -> Self:
        """Solve for every row; -1 marks those without a label."""
        graphs = self._package.weightmatrix
        near = graphs.knnsearch(rows, NEIGHBOURS + 1, method="kdtree")  # the row itself is one
        kernel = "gaussian" if near[1][:, -1].all() else "uniform"
        weights = graphs.knn(rows, NEIGHBOURS, kernel=kernel, knn_data=near)
        given = np.flatnonzero(codes >= 0)
        self._found = getattr(self._package.ssl, self._method)(weights).fit_predict(
            given, codes[given]
        )
        return self

    def predict(self, rows: Floats) -> NDArray[np.intp]:
        """The answers for the last of the rows that it was fitted with: as many as are given."""
        return self._found[-len(rows) :]
