"""What a correction changes: five scenarios, for the learner and for self-training."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from helpers.shades import shade_finder, write_shades
from onlooker import HeatKernel
from onlooker.core.errors import BadValue
from onlooker.experiments.correction import (
    CORRIGIBLE,
    SCENARIOS,
    CorrectionJob,
    CorrectionOutcome,
    CorrectionRow,
    StreamItem,
    chosen_pair,
    corrected,
    correction,
    correction_table,
    finding,
    made_alike,
    measure,
    moments_figure,
)
from onlooker.experiments.digits import DigitsJob
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.report.html import drawing

KERNEL = HeatKernel(0.5, 1e-3)
PLACES = {"ana": 0.0, "ben": 50.0, "eva": 100.0, None: 400.0}


def stream(rounds=60, seed=0):
    """Three people who drift slowly and a stranger, one after the other; two labels each."""
    rng = np.random.default_rng(seed)
    items = []
    for turn in range(rounds):
        for person, place in PLACES.items():
            x = np.array([place + turn / 10 + rng.uniform(-0.3, 0.3)])
            items.append(StreamItem(x, person, labeled=turn < 2 and person is not None))
    return items


def outcome(method, scenario, n_g=200):
    model = CORRIGIBLE[method](KERNEL, n_g, None)
    return corrected(model, stream(), SCENARIOS[scenario], "ben", "ana")


@pytest.mark.parametrize("scenario", ["mistake", "taken back", "split"])
def test_the_learner_says_what_the_labels_of_today_say(scenario):
    """ben and ana never meet, so that every later face of ben follows from his own labels."""
    found = outcome("online", scenario)
    assert (found.at_once, found.after, found.later) == (1, 1, 1)
    assert (found.later_as_other, found.other_lost, found.strangers_named) == (0, 0, 0)
    assert (found.other_before, found.other_after, found.other_later) == (1, 1, 1)
    assert found.before == 0
    assert found.later_faces == 30


@pytest.mark.parametrize("method", [name for name in CORRIGIBLE if name.startswith("self")])
@pytest.mark.parametrize("scenario", ["mistake", "split", "taken back"])
def test_what_self_training_wrote_down_stays(method, scenario):
    """A drifting ben is far from his labels by then: only guesses are near."""
    found = outcome(method, scenario)
    assert (found.before, found.at_once, found.later) == (0, 0, 0)
    assert found.later_as_other == (scenario != "taken back")


@pytest.mark.parametrize("method", ["online", "self-training"])
def test_a_label_that_comes_late_is_as_good_in_both(method):
    found = outcome(method, "late")
    assert (found.before, found.later, found.other_lost) == (0, 1, 0)


def test_nearest_neighbour_forgets_at_once_and_does_not_follow():
    """No guess is stored, so none stays; but ben has drifted away from his labels."""
    found = outcome("nearest", "taken back")
    assert found.at_once == found.later == 1
    assert outcome("nearest", "mistake").later < 0.1


def test_who_is_made_alike_is_within_the_cutoff_of_the_other_and_varies_as_before():
    before = stream()
    after = made_alike(before, "ben", "ana", KERNEL)
    ben, moved, ana = (
        np.array([each.vector[0] for each in items if each.person == person])
        for items, person in ((before, "ben"), (after, "ben"), (after, "ana"))
    )
    assert np.ptp(ben - moved) < 1e-9
    half = len(ben) // 2
    gaps = abs(moved[:half, None] - ana[:half])
    assert (gaps.min(axis=1) < 0.5 * np.sqrt(-2 * np.log(1e-3))).mean() >= 0.5
    for old, new in zip(before, after, strict=True):
        assert (old.person, old.labeled) == (new.person, new.labeled)
        assert old.person == "ben" or old is new


def test_two_who_are_alike_already_are_not_moved():
    items = [replace(each, vector=each.vector % 10) for each in stream()]
    after = made_alike(items, "ben", "ana", KERNEL)
    assert all((old.vector == new.vector).all() for old, new in zip(items, after, strict=True))


def test_the_pair_is_chosen_by_the_seed_among_those_who_are_seen_often():
    pairs = {chosen_pair(stream(), seed) for seed in range(30)}
    assert pairs == {(one, two) for one in PLACES for two in PLACES if one and two and one != two}
    assert chosen_pair(stream(), 4) == chosen_pair(stream(), 4)
    with pytest.raises(BadValue, match="two people with 15 faces in each half"):
        chosen_pair(stream(rounds=20), 0)


def test_digits_are_corrected_too():
    """Everybody is within reach of everybody there; corrections still count."""
    row = measure(CorrectionJob(DigitsJob("online", 60, 3, 500), "split"))
    assert (row.set, row.scenario, row.method, row.seed) == ("digits", "split", "online", 3)
    assert row.subject != row.other
    assert row.outcome.later > row.outcome.before


def made_up():
    values = CorrectionOutcome(0.1, 0.9, 0.95, 1.0, 0.0, 30, 1.0, 1.0, 1.0, 0.004, 0)
    return [
        CorrectionRow(
            "data", name, "pixels", scenario, method, 1e-8, 500, seed, "ben", "ana",
            replace(values, later=1.0 if method == "online" else 0.2 * seed),
        )
        for name in ("V1", "digits")
        for scenario in SCENARIOS
        for method in ("online", "self-training", "nearest")
        for seed in (0, 1)
    ]  # fmt: skip


def test_the_table_has_means_and_the_worst_and_best_order():
    header, table = correction_table(made_up())
    assert len(table) == 2 * len(SCENARIOS) * 3
    rows = [dict(zip(header, row, strict=True)) for row in table]
    assert rows[1]["method"] == "self-training"
    assert (rows[1]["later"], rows[1]["later: worst to best"]) == ("0.100", "0.000 to 0.200")
    assert rows[0]["the other lost"] == "0.004"
    assert [row["set"] for row in rows] == sorted((row["set"] for row in rows), key="Vd".find)


def test_the_finding_says_where_the_rival_is_as_good():
    text = finding(made_up())
    assert "names 1.000 rightly, self-training 0.100, nearest 0.100; the other" in text
    assert "As good with self-training: no scenario." in text
    late = [
        replace(row, outcome=replace(row.outcome, later=1.0)) if row.scenario == "late" else row
        for row in made_up()
    ]
    assert "As good with self-training: late. As good with nearest: late." in finding(late)


def test_a_panel_for_each_set_and_scenario():
    figure = moments_figure(made_up())
    assert len(figure.axes) == 2 * len(SCENARIOS)
    assert {len(axes.lines) for axes in figure.axes} == {3}
    assert drawing(figure).count("<svg") == 1
    for axes, scenario in zip(figure.axes, SCENARIOS.values(), strict=False):
        title = axes.get_title(loc="left")
        assert title.replace("\n", " ") == scenario.title
        assert max(map(len, title.splitlines())) < 19  # the width of a panel


def test_a_dataset_with_people_at_one_camera(tmp_path, monkeypatch):
    """Two people drift away from their labels; runs of thirty frames are interleaved."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    setup = Setup(
        data=write_shades(tmp_path, ("ana", "ben"), 75), seeds=1, cutoffs=(1e-4,), bandwidth=0.1,
        n_g=200, finder=shade_finder(), methods=("online", "boosting", "nearest"),
    )  # fmt: skip
    monkeypatch.setattr("onlooker.experiments.correction.DIGITS_SHOWN", 340)
    section, rows = correction(setup)
    assert section.name == "correction"
    assert {(row.set, row.method) for row in rows} == {
        (name, method) for name in ("door", "digits") for method in ("online", "nearest")
    }
    for row in rows:
        if row.set == "door" and row.method == "online" and row.scenario != "alike":
            assert (row.outcome.later, row.outcome.other_lost) == (1, 0)
            assert row.cutoff == 1e-4


def test_sets_of_one_person_and_methods_that_cannot_be_corrected_are_refused(tmp_path):
    folder = write_shades(tmp_path, ("ana",), 2)
    with pytest.raises(BadValue, match="two named people at its first camera"):
        correction(Setup(data=folder, finder=shade_finder()))
    with pytest.raises(BadValue, match="corrections are compared for online, "):
        correction(Setup(data=folder, finder=shade_finder(), methods=("boosting",)))


def test_rows_are_plain_data():
    assert asdict(made_up()[0])["outcome"]["later"] == 1.0
