"""The figures of the results can be drawn from any rows, and equal rows give equal files."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from onlooker.core.errors import BadValue
from onlooker.experiments.paper.figures import (
    METHOD_STYLES,
    by_size,
    over_cutoffs,
    precision_recall,
)
from onlooker.experiments.paper.methods import METHODS
from onlooker.experiments.paper.trial import TrialRow
from onlooker.experiments.report.html import drawing

CUTOFFS = (1e-1, 1e-4, 1e-8, 1e-14)
SIZES = (20, 200, 1000)
LITERAL = {20: 0.1, 1000: 90.0}
CURVES = [precision_recall, over_cutoffs]
both = pytest.mark.parametrize("draw", CURVES, ids=lambda draw: draw.__name__)


def made_up(panels, methods=tuple(METHODS), seeds=3, cutoffs=CUTOFFS, sizes=(500,)):
    """Recall rises and precision falls as the cutoff is loosened; nothing is named at the first."""
    rng = np.random.default_rng(0)
    return [
        TrialRow(
            dataset="made up", set=f"V{panel // 2}", camera=f"camera{panel % 2}", method=method,
            features="pixels", cutoff=cutoff, bandwidth=0.025, sink=10 * cutoff, n_g=n_g,
            seed=seed, detector="yunet", strangers=0, detection_rate=0.9, contamination=None,
            precision=None if at == 0 else 1 - 0.2 * at * float(rng.random()),
            recall=0.3 * at * float(rng.random()), frames=100, ms_per_frame=n_g / 500,
            strangers_named=0,
        )
        for panel, method, seed, (at, cutoff), n_g in product(
            range(panels), methods, range(seeds), enumerate(cutoffs), sizes
        )
    ]  # fmt: skip


def drawn(figure):
    """The panels that show something."""
    return [axes for axes in figure.axes if axes.axison]


def texts(figure):
    (legend,) = figure.legends or [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    return [text.get_text() for text in legend.get_texts()]


@cache
def curves_of(panels):
    """Both figures of curves."""
    return [draw(made_up(panels)) for draw in CURVES]


@pytest.mark.parametrize("panels", [1, 5, 6])
def test_a_panel_for_each_camera_with_a_line_for_each_method(panels):
    for figure, storeys in zip(curves_of(panels), (1, 2), strict=True):
        assert len(drawn(figure)) == storeys * panels
        assert {len(axes.lines) for axes in drawn(figure)} == {len(METHODS)}
        assert len(texts(figure)) == len(METHODS)
        assert drawing(figure).count("<svg") == 1


@both
def test_the_same_rows_give_the_same_text(draw):
    rows = made_up(1)
    assert drawing(draw(rows)) == drawing(draw(rows))


def places(figure):
    """Where panels with all their words lie, and legends, once the layout has settled."""
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in drawn(figure)]
    inside = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    return boxes + [legend.get_window_extent() for legend in (*figure.legends, *inside)]


def sizes_of(panels):
    return by_size(made_up(panels, ["online"], cutoffs=(1e-5,), sizes=SIZES), LITERAL)


@pytest.mark.parametrize("panels", [1, 5, 6])
def test_no_text_is_outside_the_figure_or_overlaps_another(panels):
    for figure in (*curves_of(panels), sizes_of(panels)):
        boxes = places(figure)
        assert len(boxes) > 1
        for at, box in enumerate(boxes):
            assert min(box.x0, box.y0) >= 0
            assert (box.max <= figure.bbox.max).all()
            assert not any(box.overlaps(other) for other in boxes[:at])


@both
def test_one_method_of_one_seed_at_one_cutoff(draw):
    figure = draw(made_up(1, ["nearest"], 1, cutoffs=(1e-5,))[:1])
    assert texts(figure) == ["nearest neighbour"]
    assert not any(axes.collections for axes in figure.axes)  # no band
    assert drawing(figure)


@both
def test_an_unknown_method_is_drawn_under_its_name(draw):
    figure = draw(made_up(1, ["online", "cheap $ trick"]))
    assert texts(figure) == ["online (ours)", r"cheap \$ trick"]
    assert drawing(figure)


@both
def test_nobody_was_ever_named(draw):
    rows = [replace(row, precision=None, recall=0.0) for row in made_up(2)]
    assert "no p" in drawing_of_text(draw(rows))


def drawing_of_text(figure):
    """All that is written in the axes; and the figure can be saved."""
    assert drawing(figure)
    return " ".join(text.get_text() for axes in figure.axes for text in axes.texts)


def test_nobody_known_was_met():
    rows = [replace(row, recall=None) for row in made_up(1)]
    assert drawing_of_text(over_cutoffs(rows)) == "no recall"
    assert drawing_of_text(precision_recall(rows)) == "no points"


def test_tight_cutoffs_are_on_the_left_and_the_axes_are_those_of_all_panels():
    figure = over_cutoffs(made_up(3))
    left, right = figure.axes[0].get_xlim()
    assert left > max(CUTOFFS)
    assert right < min(CUTOFFS)
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert len({axes.get_ylim() for axes in figure.axes}) == 2


@pytest.mark.parametrize(
    ("precision", "begins"), [(1.0, 0.9), (0.97, 0.9), (0.72, 0.7), (0.3, 0.3)]
)
def test_the_axis_of_precision_begins_where_it_is_interesting(precision, begins):
    rows = [replace(row, precision=precision) for row in made_up(1, ["online"])]
    low, high = precision_recall(rows).axes[0].get_ylim()
    assert begins - 0.03 < low < begins
    assert 1 < high < 1.03


def test_a_careless_method_does_not_squeeze_the_others():
    rows = made_up(1, ["online", "nearest"])
    careless = [replace(row, precision=0.05) if row.cutoff == CUTOFFS[-1] else row for row in rows]
    low, _ = precision_recall(careless).axes[0].get_ylim()
    assert 0.48 < low < 0.5


def test_every_method_has_its_own_style():
    assert set(METHOD_STYLES) == set(METHODS)
    assert len({(style.colour, style.dash) for style in METHOD_STYLES.values()}) == len(
        METHOD_STYLES
    )
    assert len({(style.marker, style.filled) for style in METHOD_STYLES.values()}) == len(
        METHOD_STYLES
    )


@pytest.mark.parametrize("panels", [1, 6])
def test_a_line_for_each_camera_over_the_sizes(panels):
    rows = made_up(panels, ["online", "nearest"], cutoffs=(1e-5,), sizes=SIZES)
    figure = by_size(rows, LITERAL)
    recall, time = figure.axes
    assert len(recall.lines) == panels + 1  # and the paper's 200
    assert time.lines[0].get_ydata() == pytest.approx([size / 500 for size in SIZES])
    assert list(time.lines[1].get_ydata()) == list(LITERAL.values())
    assert time.get_yscale() == "log"
    assert drawing(figure) == drawing(by_size(rows, LITERAL))


@pytest.mark.parametrize("recall", [None, 0.0, 1.0])
def test_sizes_of_one_seed_without_the_literal_algorithm(recall):
    rows = made_up(1, ["online"], 1, cutoffs=(1e-5,), sizes=SIZES[:1])
    figure = by_size([replace(row, recall=recall) for row in rows], {})
    assert len(figure.axes[0].lines) == (1 if recall is None else 2)
    assert drawing(figure)


def test_sizes_are_compared_at_one_cutoff_and_curves_at_one_size():
    with pytest.raises(BadValue, match=r"one cutoff, got 1e-14, 1e-08, 0.0001, 0.1; select"):
        by_size(made_up(1), LITERAL)
    with pytest.raises(BadValue, match="one cutoff, got no rows of online;"):
        by_size([], LITERAL)
    with pytest.raises(BadValue, match="one n_g, got 20, 200, 1000;"):
        precision_recall(made_up(1, sizes=SIZES))
