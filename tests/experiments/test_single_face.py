"""One labeled face: the protocol, the rates, and what the report says about small numbers."""

from dataclasses import asdict, replace

import pytest

from helpers.shades import shade_finder, write_shades
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import TrialRow
from onlooker.experiments.report.html import drawing
from onlooker.experiments.single_face import (
    SingleFaceRow,
    best_within,
    curves,
    finding,
    rate_points,
    rates_table,
    roc_figure,
    single_face,
)

TRIAL = TrialRow(
    dataset="data", set="V", camera="door", method="online", features="pixels", cutoff=1e-8,
    bandwidth=0.025, sink=1e-7, n_g=500, seed=0, detector="yunet", strangers=0, precision=1.0,
    recall=0.5, detection_rate=1.0, contamination=None, frames=1010, ms_per_frame=1.0,
    strangers_named=0, known=10,
)  # fmt: skip


def made_up():
    """Two people, two orders; looser cutoffs name more of everybody."""
    return [
        SingleFaceRow(
            person,
            replace(
                TRIAL, method=method, cutoff=cutoff, seed=seed, strangers_named=false,
                recall=recall if seed == 0 else recall / 2,
            ),
        )
        for method in ("online", "nearest")
        for cutoff, recall, false in ((1e-4, 0.2, 0), (1e-6, 0.6, 0), (1e-8, 1.0, 10))
        for person in ("ana", "ben")
        for seed in (0, 1)
    ]  # fmt: skip


def test_rates_are_pooled_over_people_cameras_and_orders():
    points = {(each.method, each.cutoff): each for each in rate_points(made_up())}
    loose = points["online", 1e-8]
    assert (loose.people, loose.negatives, loose.false_positives) == (2, 4000, 40)
    assert loose.false_rate == 0.01
    assert (loose.true_rate, loose.true_low, loose.true_high) == (0.75, 0.5, 1.0)


def test_frames_count_alike_however_many_a_person_has():
    rows = [
        SingleFaceRow("ana", replace(TRIAL, known=30, recall=1.0)),
        SingleFaceRow("ben", replace(TRIAL, known=10, recall=0.0)),
        SingleFaceRow("ben", replace(TRIAL, known=0, recall=None, camera="hall")),
    ]
    (point,) = rate_points(rows)
    assert point.true_rate == 0.75


def test_the_best_cutoff_within_a_rate():
    curve = curves(rate_points(made_up()))["V", "online"]
    assert best_within(curve, 1e-2).cutoff == 1e-8
    assert best_within(curve, 1e-3).cutoff == 1e-6
    assert best_within([each for each in curve if each.false_rate], 1e-3) is None


def test_the_table_begins_with_the_fixed_setting():
    header, table = rates_table(rate_points(made_up()), 1e-6)
    rows = [dict(zip(header, row, strict=True)) for row in table]
    assert [(row["setting"], row["method"]) for row in rows[:3]] == [
        ("fixed", "online"),
        ("fixed", "nearest"),
        ("rate of at most 0.01", "online"),
    ]
    assert (rows[0]["cutoff"], rows[0]["true positives"]) == ("1e-06", "0.450")
    assert rows[0]["worst to best order"] == "0.300 to 0.600"
    assert (rows[0]["false positives"], rows[0]["of frames"]) == ("0", "4000")


def test_a_rate_that_the_frames_do_not_allow_is_said_so():
    assert "allow rates down to 0.0003, not 0.0001." in finding(rate_points(made_up()), 1e-6)
    many = [
        replace(each, row=replace(each.row, frames=10_010, strangers_named=0)) for each in made_up()
    ]
    text = finding(rate_points(many), 1e-6)
    assert "allow rates down to 3e-05." in text
    assert "V, 2 people: 0.450 true positives at a false positive rate of 0 with the fixed" in text


def test_a_panel_for_each_set_with_a_line_and_a_ring_for_each_method():
    figure = roc_figure(rate_points(made_up()), 1e-6)
    (axes,) = figure.axes
    assert [drawn.get_label() for drawn in axes.lines[::2]][:2] == [
        "online (ours)",
        "nearest neighbour",
    ]
    assert drawing(figure).count("<svg") == 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_shades(tmp_path, ("ana", "ben", "eva"), 20)


def test_one_face_of_one_person_is_labeled_and_everybody_else_is_a_stranger(folder):
    """Everybody drifts away from the one label: the learner follows, nearest neighbour does not."""
    setup = Setup(
        data=folder, seeds=1, cutoffs=(1e-4,), bandwidth=0.1, n_g=50, finder=shade_finder()
    )
    section, rows = single_face(setup)
    assert [each.person for each in rows if each.row.method == "online"] == ["ana", "ben", "eva"]
    for each in rows:
        assert (each.row.frames, each.row.known) == (59, 19)
        assert each.row.strangers_named == 0
    recalls = {
        method: {each.row.recall for each in rows if each.row.method == method}
        for method in ("online", "self-training", "nearest")
    }
    assert recalls["online"] == recalls["self-training"] == {1.0}
    assert max(recalls["nearest"]) < 0.5
    assert section.rows[0][:3] == ("door", "fixed", "online")
    assert asdict(rows[0])["row"]["set"] == "door"
