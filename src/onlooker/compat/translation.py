"""What both adapters convert: labels of any type to names and back, words to settings."""

from collections.abc import Hashable, Mapping
from itertools import chain, count
from typing import Any, Generic, TypeVar

from numpy.typing import ArrayLike

from onlooker.core.class_prior import ClassPrior
from onlooker.core.errors import BadValue, LabelConflict, install_command
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import (
    ClosestPair,
    ClosestSafePair,
    Doubling,
    LeastVariance,
    Quantizer,
)

Label = TypeVar("Label", bound=Hashable)

QUANTIZERS: dict[str, Quantizer] = {
    "closest-pair": ClosestPair(),
    "closest-safe-pair": ClosestSafePair(),
    "least-variance": LeastVariance(),
    "doubling": Doubling(),
}


def missing_library(error: ModuleNotFoundError, extra: str) -> ModuleNotFoundError:
    """The same error, with the command that installs what is missing.

    >>> print(missing_library(ModuleNotFoundError("No module named 'river'"), "river"))
    No module named 'river'; it comes with the extra "river": pip install ...[river]"
    """
    text = f'{error}; it comes with the extra "{extra}": {install_command(extra)}'
    return ModuleNotFoundError(text, name=error.name, path=error.path)


def as_quantizer(choice: str | Quantizer) -> Quantizer:
    """A quantizer by its word, or the object itself.

    >>> as_quantizer("doubling")
    Doubling()
    """
    if not isinstance(choice, str):
        return choice
    if choice not in QUANTIZERS:
        raise BadValue(f"quantizer must be one of {', '.join(QUANTIZERS)}, got {choice!r}")
    return QUANTIZERS[choice]


def as_class_prior(choice: Any) -> ClassPrior | None:
    """What is expected of the classes: nothing, that all are equally frequent, or their shares.

    >>> as_class_prior("uniform").shares, as_class_prior({"spam": 1, "ham": 9}).shares
    (None, {'spam': 1.0, 'ham': 9.0})
    """
    if choice is None:
        return None
    if isinstance(choice, str) and choice == "uniform":
        return ClassPrior()
    if not isinstance(choice, Mapping):
        raise BadValue(
            "class_prior must be None, 'uniform' or a dictionary from classes to shares, "
            f"got {choice!r}"
        )
    return ClassPrior(choice)


def teach_latest(learner: OnlineHarmonicLearner, x: ArrayLike, name: str) -> None:
    """Teach; at a place that has another name already, the latest name counts.

    The learner itself refuses a second name. Tables repeat rows and contradict themselves, and
    neither scikit-learn nor river refuses that.
    """
    try:
        learner.teach(x, name)
    except LabelConflict:
        learner.unteach(x)
        learner.teach(x, name)


class LabelNames(Generic[Label]):
    """A name for every label, and the label of every name, in order of arrival.

    The learner calls its classes by strings. The name of a label is its text; where that is taken
    by another label, its `repr`, then the `repr` with a number. Names are never parsed.

    >>> names = LabelNames[int | str]()
    >>> [names.name(label) for label in (1, "1", "ana", 1, " ")]
    ['1', "'1'", 'ana', '1', "' '"]
    >>> names.label("'1'")
    '1'
    >>> names.labels
    [1, '1', 'ana', ' ']
    """

    def __init__(self) -> None:
        self._name: dict[Label, str] = {}
        self._label: dict[str, Label] = {}

    @property
    def labels(self) -> list[Label]:
        """Every label that has a name."""
        return list(self._name)

    def name(self, label: Label) -> str:
        """The name of a label; a new label gets a new name."""
        if label not in self._name:
            numbered = (f"{label!r} {n}" for n in count(2))
            candidates = chain([str(label), repr(label)], numbered)
            name = next(text for text in candidates if text.strip() and text not in self._label)
            self._name[label] = name
            self._label[name] = label
        return self._name[label]

    def label(self, name: str) -> Label:
        """The label with that name."""
        return self._label[name]
