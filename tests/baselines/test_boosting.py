"""Boosting as in Section 4.3 of the paper, and our reading of where it is silent."""

import numpy as np
import pytest

from helpers.spiral import KERNEL, follow, spiral
from onlooker import HeatKernel
from onlooker.baselines.boosting import (
    OnlineSemiBoost,
    centres_covering,
    centres_of_quarters,
)
from onlooker.core.errors import BadValue, BadVector, NotFound

COARSE = HeatKernel(bandwidth=1.0, cutoff=0.1)
SIZE = 600


def centres(seed, choose=centres_covering):
    return np.array([x for x, _ in spiral(SIZE, seed)[1]])[choose(SIZE)]


def agrees(found, expected):
    return np.abs(np.asarray(found) - expected).max() <= 5.1e-5


def test_a_worked_example_with_one_name():
    model = OnlineSemiBoost(COARSE, [[0.5], [2.0], [4.0]], sink=1.0)
    model.teach([0.0], "ana")
    assert agrees(model.votes("ana").right, [2.0, 1.7071, 1.0])
    assert agrees(model.votes("ana").alphas, [0.3466, 0.2674, 0.0])
    steps = [
        (1.0, "ana", [2.5144, 2.0315, 1.0], [0.4610, 0.3544, 0.0]),
        (3.0, "ana", [2.5144, 2.2026, 1.1153], [0.4610, 0.3948, 0.0545]),
        (5.5, "ana", [2.5144, 2.2026, 1.1327], [0.4610, 0.3948, 0.0623]),
        (10.0, None, [2.5144, 2.2026, 1.1327], [0.4610, 0.3948, 0.0623]),
    ]
    for x, label, right, alphas in steps:
        assert model.observe([x]).label == label
        assert agrees(model.votes("ana").right, right)
        assert agrees(model.votes("ana").alphas, alphas)
        assert agrees(model.votes("ana").wrong, [1.0, 1.0, 1.0])


def test_a_worked_example_with_two_names():
    model = OnlineSemiBoost(COARSE, [[0.5], [2.0], [3.0]], sink=1.0)
    model.teach([0.0], "ana")
    model.teach([4.0], "ben")
    answer = model.observe([1.5])
    assert answer.scores == {"ana": 0.5, "ben": 0.5}
    assert answer.label == "ana", "a tie goes to the name taught first"
    ana, ben = model.votes("ana"), model.votes("ben")
    assert agrees(ana.right, [2.2560, 1.8222, 1.1151])
    assert agrees(ana.wrong, [1.0, 2.0, 2.0])
    assert agrees(ana.alphas, [0.4068, 0.0, 0.0])
    assert agrees(ben.right, [1.0, 1.7071, 2.0])
    assert agrees(ben.wrong, [2.3541, 2.3541, 1.2560])
    assert agrees(ben.alphas, [0.0, 0.0, 0.2326])


@pytest.mark.parametrize("seed", [0, 1])
def test_with_centres_along_the_stream_it_follows(seed):
    result = follow(OnlineSemiBoost(KERNEL, centres(seed)), SIZE, seed)
    assert result.precision > 0.98
    assert result.late > 0.98
    assert result.taken < 0.05


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("without", [{"graph_weight": 0.0}, {"pseudo": "strict"}])
def test_without_the_graph_it_is_left_behind(seed, without):
    """A control: a stream on which this does not fail tests nothing."""
    result = follow(OnlineSemiBoost(KERNEL, centres(seed), **without), SIZE, seed)
    assert result.recall < 0.4
    assert result.late == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_with_centres_of_two_quarters_it_stops_where_they_stop(seed):
    """What the paper found: it depends on having seen where the stream will go."""
    model = OnlineSemiBoost(KERNEL, centres(seed, centres_of_quarters))
    result = follow(model, SIZE, seed)
    assert 0.25 < result.recall < 0.45
    assert result.late == 0


def test_memory_is_the_centres_and_the_labels():
    model = OnlineSemiBoost(KERNEL, centres(0))
    follow(model, SIZE, seed=0)
    assert len(model) == 500 + 8


def test_it_makes_no_difference_when_a_name_is_first_heard_of():
    late, early = (OnlineSemiBoost(COARSE, [[0.5], [2.0], [3.0]]) for _ in range(2))
    early.teach([90.0], "ben")  # out of reach of every centre: known, and nothing learned
    for model in (late, early):
        model.teach([0.0], "ana")
        for x in (1.0, 2.2, 2.8):
            model.observe([x])
        model.teach([3.5], "ben")
    for table in ("right", "wrong"):
        for name in ("ana", "ben"):
            np.testing.assert_array_equal(
                getattr(late.votes(name), table), getattr(early.votes(name), table)
            )


def test_only_the_least_wrong_vote_where_selectors_are_few():
    everybody = OnlineSemiBoost(COARSE, [[0.0], [1.5], [3.0]])
    one = OnlineSemiBoost(COARSE, [[0.0], [1.5], [3.0]], selectors=1)
    for model in (everybody, one):
        model.teach([0.0], "ana")
    assert everybody.predict([2.5]).label == "ana"
    assert one.predict([2.5]).label is None, "its best centre is at 0"
    assert one.predict([0.5]).label == "ana"


def test_more_selectors_than_learners_are_all_of_them():
    all_of_them = OnlineSemiBoost(COARSE, [[0.0], [1.5]])
    more = OnlineSemiBoost(COARSE, [[0.0], [1.5]], selectors=500)
    for model in (all_of_them, more):
        model.teach([0.0], "ana")
    assert all_of_them.observe([2.0]) == more.observe([2.0])


@pytest.mark.parametrize("choose", [centres_covering, centres_of_quarters])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 499, 500, 501, 777, 2000])
def test_no_example_is_a_centre_twice(choose, n):
    places = choose(n)
    assert len(places) <= 500
    assert (np.diff(places) > 0).all()
    assert 0 <= places[0] <= places[-1] < n
    if choose is centres_covering:
        assert len(places) == min(n, 500)
    else:
        assert ((places < n / 4) | (places >= 3 * n / 4)).all()


def test_quarters_are_taken_from_in_equal_parts():
    places = centres_of_quarters(4000)
    assert (places < 1000).sum() == (places >= 3000).sum() == 250
    assert (places[0], places[-1]) == (0, 3999)


def test_steps_are_bounded_however_sure_the_learners_are():
    """A label against what two hundred learners are sure of: exp(h) is beyond any number."""
    model = OnlineSemiBoost(COARSE, np.zeros((200, 1)), largest_step=3.0)
    for _ in range(60):
        model.teach([0.0], "ana")
    before = model.votes("ana").wrong
    model.teach([0.0], "ben")
    steps = model.votes("ana").wrong - before
    assert steps.max() == 3.0
    assert np.isfinite(model.votes("ana").alphas).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"pseudo": "greedy"}, "pseudo must be 'graph' or 'strict', got 'greedy'"),
        ({"graph_weight": -1}, "graph_weight must be a number of at least 0, got -1"),
        ({"sink": -0.1}, "sink must be a number of at least 0"),
        ({"largest_step": "big"}, "largest_step must be a number"),
        ({"selectors": 0}, "selectors must be a whole number of at least 1, got 0"),
        ({"selectors": 1.5}, "selectors must be a whole number"),
        ({"centres": np.zeros((0, 2))}, "at least one centre"),
        ({"centres": [1.0, 2.0]}, "rows of a table"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(wrong, words):
    with pytest.raises(BadValue, match=words):
        OnlineSemiBoost(KERNEL, **{"centres": [[0.0, 0.0]], **wrong})


def test_places_of_no_examples_are_refused():
    for choose in (centres_covering, centres_of_quarters):
        with pytest.raises(BadValue, match="n must be a whole number of at least 1, got 0"):
            choose(0)
        with pytest.raises(BadValue, match="count"):
            choose(10, 0)


def test_the_centres_fix_the_length_of_vectors():
    with pytest.raises(BadVector, match="length 1, got one of length 2"):
        OnlineSemiBoost(COARSE, [[0.0]]).teach([0.0, 1.0], "ana")


def test_votes_of_a_name_nobody_has_are_not_found():
    with pytest.raises(NotFound, match="nobody is called 'eva'"):
        OnlineSemiBoost(COARSE, [[0.0]]).votes("eva")
