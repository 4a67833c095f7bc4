"""Predictions of the baselines: the learner's record, scores that add up to 1, or 0 for nobody."""

from collections.abc import Sequence

import numpy as np

from onlooker.core.checks import Floats
from onlooker.core.records import Prediction


def nobody(names: Sequence[str]) -> Prediction:
    """The prediction that says nobody: no name fits.

    >>> nobody(["ana", "ben"]).scores
    {'ana': 0.0, 'ben': 0.0}
    """
    return Prediction(None, dict.fromkeys(names, 0.0), 1.0, None)


def sums(names: Sequence[str], labels: Sequence[int], weights: Floats) -> Floats:
    """The total weight of each name; a label is an index into the names.

    >>> sums(["ana", "ben"], [0, 1, 1], np.array([1.0, 2.0, 0.5]))
    array([1. , 2.5])
    """
    totals = np.zeros(len(names))
    np.add.at(totals, np.array(labels, dtype=np.intp), weights)
    return totals


def by_votes(names: Sequence[str], votes: Floats) -> Prediction:
    """The name with the most votes, the first one on a tie; nobody if there is no vote.

    >>> by_votes(["ana", "ben"], np.array([0.5, 1.5])).scores
    {'ana': 0.25, 'ben': 0.75}
    """
    total = votes.sum()
    return _named(names, votes, votes / total) if total > 0 else nobody(names)


def by_margins(names: Sequence[str], margins: Floats) -> Prediction:
    """The name with the largest margin f, the first one on a tie; scores are the softmax of f.

    >>> by_margins(["ana", "ben"], np.array([1.0, -1.0])).label
    'ana'
    """
    exponentials = np.exp(margins - margins.max())
    return _named(names, margins, exponentials / exponentials.sum())


def _named(names: Sequence[str], evidence: Floats, shares: Floats) -> Prediction:
    scores = dict(zip(names, shares.tolist(), strict=True))
    return Prediction(names[int(evidence.argmax())], scores, 0.0, None)
