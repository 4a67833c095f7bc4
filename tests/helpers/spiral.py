"""Two clusters that turn half a revolution while they move out, and strangers beside their tracks.

Late examples are nearest to the labels of the *other* name, so only a method that follows the
stream can name them.
"""

from dataclasses import dataclass

import numpy as np

from onlooker import HeatKernel

KERNEL = HeatKernel(bandwidth=0.1, cutoff=1e-3)
NAMES = ("ana", "ben")


def place(time, name):
    """Where the cluster of a name is at a time in [0, 1]."""
    angle = np.pi * (np.asarray(time) + (name == "ben"))
    radius = 1.0 + 2.0 * np.asarray(time)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def tracks():
    return np.concatenate([place(np.linspace(0, 1, 400), name) for name in NAMES])


def spiral(size, seed, *, labels=4, spread=0.12, strangers=0.2, away=0.55):
    """Labeled examples as (vector, name), then a stream of the same; strangers are called None."""
    random = np.random.default_rng(seed)
    labeled = [
        (place(0.0, name) + spread * random.standard_normal(2), name)
        for name in NAMES
        for _ in range(labels)
    ]
    stream, track = [], tracks()
    for time in np.linspace(0, 1, size):
        if random.random() < strangers:
            x = random.uniform(-4, 4, 2)
            while np.linalg.norm(track - x, axis=1).min() < away:
                x = random.uniform(-4, 4, 2)
            stream.append((x, None))
        else:
            name = NAMES[random.integers(2)]
            stream.append((place(time, name) + spread * random.standard_normal(2), name))
    return labeled, stream


@dataclass(frozen=True)
class Result:
    precision: float
    recall: float
    late: float
    """Recall on the last half."""
    taken: float
    """The share of strangers who were given a name."""


def follow(model, size, seed):
    """Teach, watch, and count."""
    labeled, stream = spiral(size, seed)
    for x, name in labeled:
        model.teach(x, name)
    found = [model.observe(x).label for x, _ in stream]
    truth = [name for _, name in stream]
    right = np.array([a == b and a is not None for a, b in zip(found, truth, strict=True)])
    known = np.array([name is not None for name in truth])
    named = np.array([name is not None for name in found])
    half = np.arange(size) >= size // 2
    return Result(
        precision=right.sum() / max(named.sum(), 1),
        recall=right.sum() / known.sum(),
        late=right[half].sum() / known[half].sum(),
        taken=(named & ~known).sum() / (~known).sum(),
    )
