"""Errors as answers: which status a kind of error has, the same for every route.

Tables for spreadsheets, a page of rows at a time; no cell is ever a formula.
"""

import csv
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from onlooker.core.errors import BadValue, LabelConflict, NotFound, OnlookerError
from onlooker.video.addresses import SourceError
from onlooker.video.image_files import PictureError
from onlooker.web.cameras import CameraTaken
from onlooker.web.people import NothingLearned
from onlooker.web.schemas import Problem

STATUS: tuple[tuple[type[OnlookerError], int], ...] = (
    (NotFound, 404),
    (LabelConflict, 409),
    (CameraTaken, 409),
    (NothingLearned, 409),
    (BadValue, 422),
    (PictureError, 422),
    (SourceError, 422),
    (OnlookerError, 503),
)
"""The first that fits; what is left could not be done now: busy, closing, a disk that refuses."""

WORDS = {
    400: "The Host is not ours.",
    401: "The token is missing or wrong.",
    403: "Another site asks through a browser.",
    404: "There is no such person, face, camera or event.",
    409: "It contradicts what is known.",
    413: "The body is too large.",
    422: "It cannot be understood or used.",
    429: "Too many wrong tokens.",
    503: "Not now: too much waits, or the disk refuses.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer besides success; the guard's answers belong to every route."""
    every = sorted({400, 401, 403, 413, 429, 503, *statuses})
    return {status: {"model": Problem, "description": WORDS[status]} for status in every}


def png_or(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The same for a route that gives a picture."""
    file = {"schema": {"type": "string", "format": "binary"}}
    picture = {"description": "The face.", "content": {"image/png": file}}
    return {**problems(*statuses), 200: picture}


def answer_errors(app: FastAPI) -> None:
    """Let every error be a sentence."""
    app.add_exception_handler(OnlookerError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientDisconnect, _gone)


def _problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    plain = detail.encode("utf-8", "backslashreplace").decode("utf-8")
    return JSONResponse({"detail": plain}, status, headers)


async def _known(request: Request, error: Exception) -> JSONResponse:
    status = next(status for kind, status in STATUS if isinstance(error, kind))
    return _problem(status, str(error), {"retry-after": "1"} if status == 503 else None)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    told = error.errors() if isinstance(error, RequestValidationError) else ()
    parts = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in told]
    return _problem(422, "; ".join(parts) or "it cannot be understood")


async def _http(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    # A body that is not text at all is as little understood as one that is not JSON.
    status = 422 if error.status_code == 400 else error.status_code
    headers = dict(error.headers) if error.headers else None
    return _problem(status, str(error.detail), headers)


async def _gone(request: Request, error: Exception) -> JSONResponse:
    """Whoever left in the middle of an upload hears nothing, and nobody needs to read of it."""
    return _problem(422, "the body ended before it was whole")


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
