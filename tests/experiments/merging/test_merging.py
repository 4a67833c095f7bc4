"""Sites and one learner: each gets the stated frames and labels; the comparison is right."""

import json
from collections import Counter
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.union import REFUSED
from onlooker.experiments.merging.experiment import (
    ONE,
    SMALL,
    MergingRow,
    best,
    compared,
    finding,
    points,
)
from onlooker.experiments.merging.plot import recall_over_cutoffs
from onlooker.experiments.merging.sites import (
    DEALS,
    EVERYWHERE,
    MERGES,
    UNIONS,
    SimulatedSite,
    answers,
    dealt,
    judged,
    learned,
    recall_at,
)
from onlooker.experiments.paper.protocol import Step

PEOPLE = {"ana": 0.0, "ben": 5.0}


def stream(count, seed=0):
    """ana around 0 and ben around 5 on a line, in turns; two labels each, some frames empty."""
    rng = np.random.default_rng(seed)
    steps = []
    for at in range(count):
        person = "ana" if at // 7 % 2 == 0 else "ben"
        x = np.array([PEOPLE[person] + rng.normal(0, 0.4)], np.float32)
        faces = {3: (), 5: (None,)}.get(at % 11, (x,))
        steps.append(Step("door", person, faces, labeled=at % 7 < 2 and at < 14))
    return steps


def make(vertices=100):
    return OnlineHarmonicLearner(HeatKernel(0.5, 1e-3), sink=0.01, max_vertices=vertices)


def places(learner):
    vertices = learner.vertices()
    return dict(
        zip(vertices.vectors.ravel().tolist(), vertices.multiplicities.tolist(), strict=True)
    )


@pytest.mark.parametrize("deal", DEALS)
def test_every_frame_goes_to_one_site_and_stays_in_order(deal):
    steps = stream(500)
    some = dealt(steps, deal)
    faces = [step.faces for _, step in some]
    labeled_first = sorted(steps, key=lambda step: not step.labeled) if deal == "shared" else steps
    assert [id(each) for each in faces] == [id(step.faces) for step in labeled_first]
    counts = Counter(site for site, _ in some if site != EVERYWHERE)
    assert set(counts) == set(range(8))
    assert max(counts.values()) - min(counts.values()) <= 30


@pytest.mark.parametrize("deal", ["segments", "turns"])
def test_a_site_gets_one_label_for_each_name_at_a_usable_face(deal):
    labels = [(site, step) for site, step in dealt(stream(500), deal) if step.labeled]
    assert Counter((site, step.person) for site, step in labels) == {
        (site, person): 1 for site in range(8) for person in PEOPLE
    }
    assert all(step.faces and step.faces[0] is not None for _, step in labels)


def test_shared_labels_are_those_of_the_protocol_and_known_everywhere():
    steps = stream(500)
    some = dealt(steps, "shared")
    assert [step for site, step in some if site == EVERYWHERE] == [s for s in steps if s.labeled]
    assert not any(step.labeled for site, step in some if site != EVERYWHERE)
    for part in learned(make, some):
        assert part.learner.vertices().names.count("ana") == 2
        assert part.learner.vertices().names.count("ben") == 2


def test_strangers_are_never_labeled():
    crowd = [replace(step, person=None, labeled=False) for step in stream(100)]
    assert not any(step.labeled for deal in DEALS for _, step in dealt(crowd, deal))


@pytest.mark.parametrize("deal", ["segments", "turns"])
def test_with_room_for_all_merged_sites_are_the_one_learner_in_every_order(deal):
    """Every site has a label at the first face it sees, so that no face is refused here."""
    steps = [step for step in stream(400) if step.faces and step.faces[0] is not None]
    grid = [replace(step, faces=(np.round(4 * step.faces[0]) / 4,)) for step in steps]
    one, *sites = learned(make, dealt(grid, deal))
    whole = places(one.learner)
    assert sum(whole.values()) == len(grid)
    for merge in MERGES.values():
        assert places(merge(make, sites)) == whole
    for unite in UNIONS.values():
        assert places(unite(sites).learner) == whole


def test_a_site_keeps_the_newest_faces_that_it_refused():
    site = SimulatedSite(make())
    site.teach(np.zeros(1, np.float32), "ana")
    far = [np.array([4.0 + at / 1000], np.float32) for at in range(REFUSED + 3)]
    assert [site.observe(x).label for x in (np.full(1, 0.5, np.float32), *far)].count("ana") == 1
    assert list(site.refused) == far[3:]


def test_unions_bring_back_what_sites_refused_before_they_knew_the_name():
    """Half of the sites never meet ben with a name; the one learner knows him from the start."""
    steps = [step for step in stream(400) if step.faces and step.faces[0] is not None]
    late = [
        (site, replace(step, labeled=step.labeled and (site < 4 or step.person == "ana")))
        for site, step in dealt(steps, "segments")
    ]
    one, *sites = learned(make, late)
    assert all(part.refused for part in sites[4:])
    assert sum(places(MERGES["plain, tree"](make, sites)).values()) < len(steps)
    for unite in UNIONS.values():
        assert sum(places(unite(sites).learner).values()) == len(steps)
    assert sum(places(one.learner).values()) == len(steps)


def test_answers_leave_no_trace_and_skip_frames_without_a_face():
    steps = stream(60)
    learner = learned(make, dealt(steps, "shared"))[0].learner
    before = places(learner)
    said = answers(learner, steps)
    assert places(learner) == before
    assert len(said) == sum(bool(step.faces) for step in steps)
    assert all(names == ((None, 0.0),) for (names, _), step in zip(
        said, [step for step in steps if step.faces], strict=True
    ) if step.faces == (None,))  # fmt: skip


names = st.sampled_from(["ana", "ben", None])
frames = st.tuples(
    st.lists(st.tuples(names, st.floats(0.01, 1)), min_size=1, max_size=2).map(
        lambda faces: tuple((name, share if name else 0.0) for name, share in faces)
    ),
    names,
)


@given(said=st.lists(frames, max_size=12), precision=st.floats(0.05, 1))
def test_recall_at_a_precision_is_the_best_of_all_thresholds(said, precision):
    every = {0.0, *(share for faces, _ in said for _, share in faces)}
    scores = [judged(said, least) for least in every]
    enough = [s.recall or 0.0 for s in scores if s.precision and s.precision >= precision]
    assert recall_at(said, precision) == max(enough, default=0.0)


DEFAULT = MergingRow(
    dataset="made up", set="V1", camera="hall", features="pixels", method="online",
    deal="segments", learner=ONE, cutoff=1e-5, bandwidth=0.025, seed=0, n_g=100, view=100,
    labels=8, vertices=108, examples=500, frames=200, precision=1.0, recall=0.9,
    careful_recall=0.9,
)  # fmt: skip


def rows_of(recalls):
    """A row a learner, cutoff and seed, of recalls by learner: a list of cutoffs of seeds."""
    return [
        replace(DEFAULT, learner=learner, cutoff=cutoff, seed=seed, careful_recall=recall)
        for learner, curve in recalls.items()
        for cutoff, seeds in zip((1e-5, 1e-8), curve, strict=True)
        for seed, recall in enumerate(seeds)
    ]


RECALLS = {
    ONE: [[0.6, 0.8], [0.9, 0.9]],
    "in order": [[0.5, 0.7], [0.88, 0.9]],
    "reversed": [[0.6, 0.8], [0.9, 0.9]],
    "tree": [[0.95, 0.95], [0.8, 0.8]],
    SMALL: [[0.6, 0.8], [0.9, 0.92]],
    "plain, in order": [[0.1, 0.1], [0.7, 0.9]],
    "plain, reversed": [[0.1, 0.1], [0.7, 0.7]],
    "plain, tree": [[0.1, 0.1], [0.6, 0.6]],
}


def test_every_learner_is_taken_where_its_mean_is_best():
    rows = rows_of(RECALLS)
    assert best(rows, ONE) == (0.9, 1e-8)
    assert best(rows, "tree") == (0.95, 1e-5)
    assert best(rows_of({ONE: [[0.9], [0.9]]}), ONE) == (0.9, 1e-5)


def test_the_table_says_what_is_lacking_at_the_best_cutoff_and_at_the_worst():
    header, table = compared(rows_of(RECALLS))
    found = {cells[header.index("learner")]: cells[-2:] for cells in table}
    assert found == {
        ONE: ("+0.0", "+0.0"),
        "in order": ("-1.0", "-10.0"),
        "reversed": ("+0.0", "+0.0"),
        "tree": ("+5.0", "-10.0"),
        SMALL: ("+1.0", "+0.0"),
        "plain, in order": ("-10.0", "-60.0"),
        "plain, reversed": ("-20.0", "-60.0"),
        "plain, tree": ("-30.0", "-60.0"),
    }
    assert all(len(cells) == len(header) for cells in table)


def test_the_finding_is_of_the_worst_scene():
    worse = {**RECALLS, "in order": [[0.1, 0.1], [0.5, 0.5]]}
    rows = rows_of(RECALLS) + [replace(row, deal="turns") for row in rows_of(worse)]
    assert ": in order -40.0, reversed +0.0, tree +5.0, in one budget +1.0" in finding(rows)
    assert "at most 45.0 points, merged plainly 20.0" in finding(rows)


def test_rows_can_be_written_and_drawn():
    rows = rows_of(RECALLS) + [replace(row, deal="turns") for row in rows_of(RECALLS)]
    assert [
        MergingRow(**row) for row in json.loads(json.dumps([asdict(row) for row in rows]))
    ] == rows
    figure = recall_over_cutoffs(points(rows))
    panels = [axes for axes in figure.axes if axes.lines]
    assert [len(axes.lines) for axes in panels] == [8, 8]
    assert panels[0].lines[0].get_ydata().tolist() == [0.7, 0.9]
