"""The experiment on healing: a takeover happens, clicks take it back, and the table says so."""

from dataclasses import asdict, replace
from io import StringIO

import pytest
from rich.console import Console

from helpers import shades
from helpers.shades import one_by_one, shade_finder, write_shades
from onlooker.experiments import healing, takeover
from onlooker.experiments.healing import (
    healing_table,
    object_once,
    objection_jobs,
    objection_table,
    takeover_and_healing,
)
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.parallel import running_on


@pytest.fixture
def setup(tmp_path, monkeypatch):
    """Shades, a tenth apart from frame to frame; people are eight apart."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(takeover, "LENGTHS", (1,))
    monkeypatch.setattr(healing, "FRAMES", 100)
    folder = write_shades(tmp_path, ("ana", "ben"), 16)
    return Setup(data=folder, seeds=1, finder=shade_finder())


def test_clicks_after_a_takeover_and_what_they_leave(setup):
    with running_on(one_by_one):
        section, rows = takeover_and_healing(setup)
    healed = [row for row in rows if isinstance(row, healing.HealingRow)]
    assert [(row.attacker, row.victim) for row in healed] == [("ana", "ben"), ("ben", "ana")]
    for row in healed:
        assert row.succeeded
        assert 1 <= row.clicks <= 2
        assert row.named == 0
        assert (row.right_after, row.labels_lost) == (row.right_before, 0)
        assert row.removed > 0
    table = section.tables[-2]
    assert "Healing after a morph of 100 frames" in table.caption
    assert all(len(row) == len(table.header) for row in table.rows)
    assert asdict(healed[0])["frames"] == 100


def test_a_face_with_somebody_elses_name_is_not_counted_as_the_victims(setup):
    """People who are alike without an attack get each other's names: no click on VICTIM asks that.

    So of three faces that are named, one as the victim, the table says 3 and 1.
    """
    with running_on(one_by_one):
        _, rows = takeover_and_healing(setup)
    healed = [row for row in rows if isinstance(row, healing.HealingRow)]
    assert [row.named_so for row in healed] == [0, 0]
    table = healing_table([replace(healed[0], named=3, named_so=1)])
    (cells,) = table.rows
    found = dict(zip(table.header, cells, strict=True))
    assert found["attacker's faces named"] == f"3 of {healed[0].faces}"
    assert found["of them as the victim"] == "1"


def test_a_set_without_a_takeover_has_nothing_to_heal(setup):
    with running_on(one_by_one):
        _, rows = takeover_and_healing(setup)
    safe = [replace(row, taken=0) for row in rows if isinstance(row, healing.HealingRow)]
    (row,) = healing_table(safe).rows
    assert row[1:4] == ("2", "0", "-")


@pytest.fixture
def alike(tmp_path, monkeypatch):
    """Ana and ben, whose shades are less than a link apart."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shades, "APART", 12)
    folder = write_shades(tmp_path, ("ana", "ben"), 90, period=5)
    return Setup(data=folder, seeds=1, finder=shade_finder())


def test_a_stranger_who_was_named_is_not_named_again_after_one_not_name(alike):
    rows = [row for job in objection_jobs(alike) for row in object_once(job)]
    assert {(row.stranger, row.name, row.looser) for row in rows} == {
        (*pair, looser) for pair in (("ana", "ben"), ("ben", "ana")) for looser in (10, 50)
    }
    for row in rows:
        assert row.labeled == row.name
        assert row.taught >= 1
        assert row.named_without > 0.9 * row.later, "without the objection the name stays"
        assert row.named_so + row.named_others <= 0.05 * row.later
        assert row.right_without - row.right <= 0.01 * row.known
    assert sum(row.known for row in rows) > 0
    table = objection_table(rows)
    assert "100.0% get no name" in table.caption
    assert "recall lost by the named person: 0.00 points" in table.caption
    assert all(len(row) == len(table.header) for row in table.rows)


def test_where_no_stranger_is_named_nobody_objects(setup):
    assert [row for job in objection_jobs(setup) for row in object_once(job)] == []
    nothing, shown = objection_table([]), Console(file=StringIO())
    nothing.show(shown)  # a table without rows is its caption
    assert "nothing to say" in nothing.caption
    assert "nothing to say" in shown.file.getvalue().replace("\n", " ")
