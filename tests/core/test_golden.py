"""Three small recorded streams: what was answered once is answered for ever.

A change of these answers needs a sentence in CHANGELOG.md. Record again with

    PYTHONPATH=src:tests python tests/core/test_golden.py --record
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.streams import QUANTIZERS
from onlooker import Cosine, Euclidean, HeatKernel, OnlineHarmonicLearner

FOLDER = Path(__file__).parents[1] / "data"
DISTANCES = {"euclidean": Euclidean, "cosine": Cosine}
TOLERANCE = 1e-9

STREAMS = {
    "moons": {
        "quantizer": "closest",
        "distance": "euclidean",
        "bandwidth": 0.15,
        "cutoff": 1e-5,
        "sink": None,
        "max_vertices": 20,
        "seed": 1,
    },
    "walkers": {
        "quantizer": "doubling",
        "distance": "euclidean",
        "bandwidth": 0.4,
        "cutoff": 1e-3,
        "sink": 1e-6,
        "max_vertices": 8,
        "seed": 2,
    },
    "directions": {
        "quantizer": "closest",
        "distance": "cosine",
        "bandwidth": 0.2,
        "cutoff": 1e-8,
        "sink": 0.0,
        "max_vertices": 12,
        "seed": 3,
    },
}


def moons(rng):
    """Two half circles in each other, one label on each."""
    angle = np.pi * rng.random(90)
    upper = rng.random(90) < 0.5
    angle[0], angle[1], upper[0], upper[1] = np.pi / 2, np.pi / 2, True, False
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle))
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    points = np.column_stack([x, y]) + rng.normal(scale=0.04, size=(90, 2))
    return points, {0: "upper", 1: "lower"}


def walkers(rng):
    """Three people who drift apart, each taught once, one of them late; some strangers."""
    starts = 4 * rng.normal(size=(3, 3))
    who = rng.integers(3, size=80)
    drift = np.cumsum(rng.normal(scale=0.12, size=(80, 3, 3)), axis=0)
    points = starts[who] + drift[np.arange(80), who]
    points[rng.random(80) < 0.08] += 30
    first = [int(np.flatnonzero(who == person)[0]) for person in range(3)]
    first[2] = int(np.flatnonzero(who == 2)[3])
    return points, dict(zip(first, ["ana", "ben", "cleo"], strict=True))


def directions(rng):
    """Rays of any length around four directions, two labels each for three of them."""
    centres = rng.normal(size=(4, 5))
    who = np.append(np.arange(6) // 2, rng.integers(4, size=70))
    rays = centres[who] + rng.normal(scale=0.25, size=(76, 5))
    points = rays * rng.uniform(0.2, 5.0, size=(76, 1))
    return points, {row: "xyz"[who[row]] for row in range(6)}


MAKERS = {"moons": moons, "walkers": walkers, "directions": directions}


def replay(recorded):
    """The learner's answer to every unlabeled row, and what it holds at the end."""
    setting = recorded["setting"]
    learner = OnlineHarmonicLearner(
        HeatKernel(setting["bandwidth"], setting["cutoff"], DISTANCES[setting["distance"]]()),
        sink=setting["sink"],
        max_vertices=setting["max_vertices"],
        quantizer=QUANTIZERS[setting["quantizer"]](),
    )
    answers = []
    for row, x in enumerate(recorded["points"]):
        name = recorded["taught"].get(str(row))
        if name is not None:
            learner.teach(x, name)
            continue
        seen = learner.observe(x)
        answers.append([seen.label, dict(seen.scores), seen.sink, seen.vertex])
    vertices = learner.vertices()
    end = {
        "ids": vertices.ids.tolist(),
        "multiplicities": vertices.multiplicities.tolist(),
        "radius": learner.radius,
    }
    return answers, end


def record():
    for name, setting in STREAMS.items():
        points, taught = MAKERS[name](np.random.default_rng(setting["seed"]))
        recorded = {
            "setting": setting,
            "taught": {str(row): who for row, who in taught.items()},
            "points": points.round(4).tolist(),
        }
        recorded["answers"], recorded["end"] = replay(recorded)
        lines = ",\n".join(f"{json.dumps(key)}: {_rows(value)}" for key, value in recorded.items())
        (FOLDER / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _rows(value):
    """Lists with a line for each element, so that a change can be read in a diff."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(element) for element in value) + "\n]"
    return json.dumps(value)


@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_stream_is_answered_as_it_was(name):
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    answers, end = replay(recorded)
    for row, (found, expected) in enumerate(zip(answers, recorded["answers"], strict=True)):
        label, scores, sink, vertex = expected
        assert (found[0], found[3]) == (label, vertex), row
        assert found[1] == pytest.approx(scores, abs=TOLERANCE), row
        assert found[2] == pytest.approx(sink, abs=TOLERANCE), row
    assert end["ids"] == recorded["end"]["ids"]
    assert end["multiplicities"] == recorded["end"]["multiplicities"]
    assert end["radius"] == pytest.approx(recorded["end"]["radius"], rel=TOLERANCE)


@pytest.mark.parametrize("name", STREAMS)
def test_a_recorded_stream_is_worth_replaying(name):
    """Somebody and nobody, more than one name, and a budget that binds."""
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    labels = {label for label, *_ in recorded["answers"]}
    assert len(labels - {None}) >= 2
    accepted = sum(label is not None for label, *_ in recorded["answers"])
    assert accepted > 2 * recorded["setting"]["max_vertices"]
    assert recorded["setting"] == STREAMS[name]


if __name__ == "__main__" and "--record" in sys.argv[1:]:
    record()
