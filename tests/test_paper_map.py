"""Each row of docs/paper-map.md points at objects that exist and at tests that exist."""

import re

import pytest

from helpers.pointers import ROOT, import_object, in_backticks, missing_test

PAGE = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")


def table_rows(page: str) -> list[list[str]]:
    r"""The cells of every table row below a header; `\|` is a bar inside a cell.

    >>> table_rows("| Paper | Code |\n|---|---|\n| $\\|f\\|$ | `abs` |\n")
    [['$\\|f\\|$', '`abs`']]
    """
    rows: list[list[str]] = []
    below_header = False
    for text in page.splitlines():
        if not text.startswith("|"):
            below_header = False
        elif re.fullmatch(r"[|\s:-]+", text):
            below_header = True
        elif below_header:
            cells = re.split(r"(?<!\\)\|", text.strip().removeprefix("|").removesuffix("|"))
            rows.append([cell.strip() for cell in cells])
    return rows


ROWS = table_rows(PAGE)
each_row = pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])


def test_the_map_has_rows():
    assert ROWS


@each_row
def test_row_has_statement_objects_tests(row):
    assert len(row) == 3, f"a row is statement | objects | tests, not {row}"
    assert all(row), f"an empty cell in {row}"


@each_row
def test_objects_exist(row):
    objects = in_backticks(row[1])
    assert objects, f"no object in backticks: {row[1]!r}"
    for path in objects:
        assert path.startswith("onlooker."), f"not a dotted import path: {path}"
        import_object(path)


@each_row
def test_tests_exist(row):
    tests = in_backticks(row[2])
    assert tests, f"no test in backticks: {row[2]!r}"
    assert [reason for test in tests if (reason := missing_test(test))] == []


def test_every_paper_test_is_on_the_map():
    mapped = {test.partition("::")[0] for row in ROWS for test in in_backticks(row[-1])}
    written = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/paper").glob("test_*.py")
    }
    assert written - mapped == set()
