"""What routes answer: errors with the same status codes everywhere, and CSV files."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from onlooker.core.errors import BadValue, LabelConflict, NotFound, OnlookerError
from onlooker.home.transfer import csv_text
from onlooker.video.addresses import SourceError
from onlooker.video.image_files import PictureError
from onlooker.web.auth import Refused
from onlooker.web.backup_process import BackupUnderWay
from onlooker.web.cameras import CameraTaken
from onlooker.web.people import NothingLearned
from onlooker.web.schemas import Problem

STATUS: tuple[tuple[type[OnlookerError], int], ...] = (
    (NotFound, 404),
    (LabelConflict, 409),
    (BackupUnderWay, 409),
    (CameraTaken, 409),
    (NothingLearned, 409),
    (BadValue, 422),
    (PictureError, 422),
    (SourceError, 422),
    (OnlookerError, 503),
)
"""The first class that fits. The rest is temporary: a full queue, a closing home, a full disk."""

DESCRIPTIONS = {
    400: "The Host header is not one of this service.",
    401: "The token is missing or wrong.",
    403: "The request comes from a page of another site.",
    404: "There is no such person, face, camera or event.",
    409: "It contradicts what is known, or what is being done.",
    413: "The body is too large.",
    422: "The request is invalid.",
    429: "Too many wrong tokens.",
    503: "Temporarily not possible: the queue is full, or the disk fails.",
}

CSV_CHUNK = 500
"""Rows that are read at a time: the home thread is not blocked for longer."""

_Row = TypeVar("_Row")
ReadRows = Callable[[_Row | None, int], Awaitable[Sequence[_Row]]]
"""Called with the last row that was read, if any, and the largest number of rows to return."""


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route for the OpenAPI description; those of the guard are always added."""
    every = sorted({400, 401, 403, 413, 429, 503, *statuses})
    # One status brings the model; the others name it, because FastAPI would build it anew for each.
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": DESCRIPTIONS[status]}
        | ({"model": Problem} if status == every[0] else {"content": content})
        for status in every
    }


def png_or(*statuses: int, jpeg: bool = False) -> dict[int | str, dict[str, Any]]:
    """The same for a route that returns a picture."""
    file = {"schema": {"type": "string", "format": "binary"}}
    kinds = ("image/png", "image/jpeg") if jpeg else ("image/png",)
    picture = {"description": "The face.", "content": dict.fromkeys(kinds, file)}
    return {**problems(*statuses), 200: picture}


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with a status code and a sentence."""
    app.add_exception_handler(OnlookerError, _onlooker_error)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(ClientDisconnect, _disconnected)


def _problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    encodable = detail.encode("utf-8", "backslashreplace").decode("utf-8")
    return JSONResponse({"detail": encodable}, status, headers)


async def _onlooker_error(request: Request, error: Exception) -> JSONResponse:
    status = next(status for kind, status in STATUS if isinstance(error, kind))
    return _problem(status, str(error), {"retry-after": "1"} if status == 503 else None)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, Refused):
        raise error
    return _problem(error.status, error.detail)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    errors = error.errors() if isinstance(error, RequestValidationError) else ()
    parts = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors]
    return _problem(422, "; ".join(parts) or "the request is invalid")


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    # FastAPI answers 400 to a body that is not text; one that is not JSON gets 422.
    status = 422 if error.status_code == 400 else error.status_code
    headers = dict(error.headers) if error.headers else None
    return _problem(status, str(error.detail), headers)


async def _disconnected(request: Request, error: Exception) -> JSONResponse:
    """The client closed the connection during an upload: nobody reads this, nothing is logged."""
    return _problem(422, "the body ended before it was complete")


def csv_response(
    file_name: str,
    header: Sequence[str],
    read_rows: ReadRows[_Row],
    cells: Callable[[_Row], Sequence[Any]],
    limit: int | None,
) -> StreamingResponse:
    """A CSV file to download, read and sent in chunks; limit is the largest number of rows."""
    return StreamingResponse(
        _csv_chunks(header, read_rows, cells, limit),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{file_name}"'},
    )


async def _csv_chunks(
    header: Sequence[str],
    read_rows: ReadRows[_Row],
    cells: Callable[[_Row], Sequence[Any]],
    limit: int | None,
) -> AsyncIterator[str]:
    yield csv_text([header])
    last, remaining = None, limit
    while remaining is None or remaining > 0:
        wanted = CSV_CHUNK if remaining is None else min(CSV_CHUNK, remaining)
        rows = await read_rows(last, wanted)
        if not rows:
            return
        yield csv_text([cells(row) for row in rows])
        last, remaining = rows[-1], None if remaining is None else remaining - len(rows)
