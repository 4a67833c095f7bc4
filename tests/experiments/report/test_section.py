"""Sections of a report: no cell of a table is ever cut off, on a terminal, in a file, in a page."""

import csv
import io

import pytest
from rich.console import Console

from onlooker.experiments.report.section import DataTable, Section

HEADER = ["set", "method", *(f"column {number} of many" for number in range(12))]
ROWS = [
    [name, "self-training-strict", *(f"0.{number:03d} to 1.000" for number in range(12))]
    for name in ("two-cameras", "a set of [brackets]")
]
TABLE = DataTable("At the fixed cutoff", HEADER, [*ROWS, ["x", "online", *["–"] * 12]], words=2)


def shown(what, width):
    out = io.StringIO()
    what.show(Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [40, 80, 300])
def test_no_cell_is_cut_off_however_narrow_the_terminal_is(width):
    text = shown(TABLE, width)
    assert "…" not in text
    for row in TABLE.rows:
        (found,) = [part for part in text.splitlines() if part.strip().startswith(row[0] + " ")]
        assert found.split() == " ".join(row).split()  # all of it, in one row


@pytest.mark.parametrize("width", [40, 80, 300])
def test_headers_are_broken_between_words_only(width):
    words = shown(TABLE, width).split()
    for number in range(12):
        assert str(number) in words
    assert words.count("column") == words.count("many") == 12


def test_a_constant_column_becomes_a_sentence():
    text = shown(DataTable("", ["set", "recall"], [["V1", "0.1"], ["V1", "0.2"]]), 80)
    assert "In all rows: set V1" in text
    assert "recall" in text


def section(**given):
    return Section("name", "Title", "The paper.", "Found.", HEADER, ROWS, words=2, **given)


def test_every_table_is_a_file_with_all_its_cells():
    files = dict(section(further=[TABLE]).files())
    assert list(files) == ["name.csv", "name-2.csv"]
    assert list(csv.reader(io.StringIO(files["name-2.csv"]))) == [HEADER, *TABLE.rows]


def test_the_page_has_all_tables_and_escapes_captions():
    page = section(caption="first < second", further=[TABLE]).html()
    assert page.count("<table>") == 2
    assert "<h3>first &lt; second</h3>" in page
    assert page.index("first &lt;") < page.index("At the fixed cutoff")
