"""Tables for spreadsheets, a page of rows at a time; no cell is ever a formula."""

import csv
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from fastapi.responses import StreamingResponse

PAGE = 500
"""Rows that are read at one time: whoever owns the home is not held up for more."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

_Row = TypeVar("_Row")


def safe(cell: object) -> object:
    """Text that a spreadsheet would run is shown as text; numbers stay numbers.

    >>> safe("=HYPERLINK(1)"), safe(-1.5)
    ("'=HYPERLINK(1)", -1.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def csv_of(
    name: str,
    header: Sequence[str],
    page: Callable[[_Row | None, int], Awaitable[Sequence[_Row]]],
    cells: Callable[[_Row], Sequence[Any]],
    limit: int | None,
) -> StreamingResponse:
    """A file of that name; page gives the rows after a row, at most so many."""
    return StreamingResponse(
        _lines(header, page, cells, limit),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


async def _lines(
    header: Sequence[str],
    page: Callable[[_Row | None, int], Awaitable[Sequence[_Row]]],
    cells: Callable[[_Row], Sequence[Any]],
    limit: int | None,
) -> AsyncIterator[str]:
    yield _written([header])
    last, left = None, limit
    while left is None or left > 0:
        wanted = PAGE if left is None else min(PAGE, left)
        rows = await page(last, wanted)
        if not rows:
            return
        yield _written([cells(row) for row in rows])
        last, left = rows[-1], None if left is None else left - len(rows)


def _written(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([safe(cell) for cell in row] for row in rows)
    return text.getvalue()
