"""The algorithm figure, "online harmonic function solution at time t", replayed by hand on a line.

Similarities with sigma = 1 and epsilon = 0.1, so that everything up to 2.146 is connected:

    distance   0.5     1       1.5     2       2.5
    w          0.8825  0.6065  0.3247  0.1353  0

gamma_g = 0.1 and n_g = 2. Ana is taught at 0 and ben at 5.
"""

from math import exp

import pytest

from onlooker import Doubling, HeatKernel, OnlineHarmonicLearner

GAMMA = 0.1
W1, W15, W2 = exp(-0.5), exp(-1.125), exp(-2.0)


@pytest.fixture
def learner():
    learner = OnlineHarmonicLearner(
        HeatKernel(1.0, 0.1), sink=GAMMA, max_vertices=2, quantizer=Doubling()
    )
    learner.teach([0.0], "ana")
    learner.teach([5.0], "ben")
    return learner


def graph(learner):
    """{place: (id, multiplicity)}, and R."""
    vertices = learner.vertices()
    places = zip(
        vertices.vectors.ravel().tolist(),
        vertices.ids.tolist(),
        vertices.multiplicities.tolist(),
        strict=True,
    )
    return {place: (vertex, count) for place, vertex, count in places}, learner.radius


def ends(ana, ben, sink):
    return {
        "ana": pytest.approx(ana, abs=1e-12),
        "ben": pytest.approx(ben, abs=1e-12),
        "sink": pytest.approx(sink, abs=1e-12),
    }


def test_the_figure_step_by_step(learner):
    def step(x):
        seen = learner.observe([x])
        return seen.label, seen.vertex, {**seen.scores, "sink": seen.sink}

    assert graph(learner) == ({0.0: (0, 1), 5.0: (1, 1)}, 0.0)

    # x = 1 sees ana only: one step, to her or into the sink. It becomes vertex 2.
    p = W1 / (W1 + GAMMA)
    assert step(1.0) == ("ana", 2, ends(p, 0, 1 - p))
    assert graph(learner) == ({0.0: (0, 1), 5.0: (1, 1), 1.0: (2, 1)}, 0.0)

    # x = 9 sees nobody: an outlier leaves no trace.
    assert step(9.0) == (None, None, ends(0, 0, 1))
    assert graph(learner) == ({0.0: (0, 1), 5.0: (1, 1), 1.0: (2, 1)}, 0.0)

    # x = 4 mirrors x = 1.
    assert step(4.0) == ("ben", 3, ends(0, p, 1 - p))
    assert graph(learner) == ({0.0: (0, 1), 5.0: (1, 1), 1.0: (2, 1), 4.0: (3, 1)}, 0.0)

    # x = 2.5 sees 1 and 4 alike. From there the walk goes on to a label, back, or into the sink:
    # p = a (b + c p) + a c p. A tie, up to the rounding of the walk.
    a = W15 / (2 * W15 + GAMMA)
    b, c = W1 / (W1 + W15 + GAMMA), W15 / (W1 + W15 + GAMMA)
    p = a * b / (1 - 2 * a * c)
    assert learner.predict([2.5]).confidence == pytest.approx(0, abs=1e-15)
    label, vertex, found = step(2.5)
    assert (label in ("ana", "ben"), vertex, found) == (True, 4, ends(p, p, 1 - 2 * p))
    # Now there are three, n_g + 1. R starts at the smallest gap, 1, which merges nothing (closer
    # than R, not as close as R). R = 2: labels first, so 0 takes 1 and 5 takes 4; 2.5 stays.
    assert learner.changes().doubled == (1.0, 2.0)
    assert learner.changes().merged == {2: 0, 3: 1}
    assert graph(learner) == ({0.0: (0, 2), 5.0: (1, 2), 2.5: (4, 1)}, 2.0)

    # x = 1.5 is closer than R to 2.5, its nearest, which speaks for it. But from 2.5 nobody can
    # be reached any more: nobody, and no trace.
    assert step(1.5) == (None, None, ends(0, 0, 1))
    assert graph(learner) == ({0.0: (0, 2), 5.0: (1, 2), 2.5: (4, 1)}, 2.0)

    # x = 0.5 is closer than R to ana, who absorbs it.
    assert step(0.5) == ("ana", 0, ends(1, 0, 0))
    assert graph(learner) == ({0.0: (0, 3), 5.0: (1, 2), 2.5: (4, 1)}, 2.0)

    # x = -2 is not closer than R to anything: vertex 5. Ana counts three times.
    p = 3 * W2 / (3 * W2 + GAMMA)
    assert step(-2.0) == ("ana", 5, ends(p, 0, 1 - p))
    assert graph(learner) == ({0.0: (0, 3), 5.0: (1, 2), 2.5: (4, 1), -2.0: (5, 1)}, 2.0)

    # x = -3 does not see ana itself, but vertex 5 absorbs it and answers for both. Twice the
    # weight to ana, twice the sink: the same answer.
    assert step(-3.0) == ("ana", 5, ends(p, 0, 1 - p))
    assert graph(learner) == ({0.0: (0, 3), 5.0: (1, 2), 2.5: (4, 1), -2.0: (5, 2)}, 2.0)

    # x = 7 sees ben, who counts twice, and is the third again: R = 4. 2.5 is as far from ana as
    # from ben, and ana is older; -2 goes to ana, 7 to ben.
    p = 2 * W2 / (2 * W2 + GAMMA)
    assert step(7.0) == ("ben", 6, ends(0, p, 1 - p))
    assert learner.changes().doubled == (4.0,)
    assert learner.changes().merged == {4: 0, 5: 0, 6: 1}
    assert graph(learner) == ({0.0: (0, 6), 5.0: (1, 3)}, 4.0)


def test_the_answer_is_given_before_the_graph_shrinks(learner):
    """Place, solve, name; then shrink: the third vertex is named while all three are there."""
    for x in (1.0, 4.0):
        learner.observe([x])
    foretold = learner.predict([2.5])
    assert learner.observe([2.5]) == foretold
    assert learner.predict([2.5]).label is None  # afterwards it stands alone
