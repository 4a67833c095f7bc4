"""The page: every file under static/, and nothing else; checked anew by the browser each time."""

import hashlib
import re
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from onlooker.core.errors import NotFound

KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_PATH = re.compile(r"(?:[A-Za-z0-9_-]+/){0,4}[A-Za-z0-9_-]+\.(html|js|css|svg)")
"""No dots but the last: a way out of the folder cannot be written."""

FilePath = Annotated[str, Path(max_length=200)]


def page_routes() -> APIRouter:
    """The first page, and what it is made of."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    def index(request: Request) -> Response:
        return _file("index.html", request)

    @routes.get("/static/{path:path}")
    def part(request: Request, path: FilePath) -> Response:
        return _file(path, request)

    return routes


def _file(path: str, request: Request) -> Response:
    named = _PATH.fullmatch(path)
    found = (files("onlooker.web") / "static").joinpath(*path.split("/")) if named else None
    if named is None or found is None or not found.is_file():
        raise NotFound("there is no such page")
    content = found.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"cache-control": "no-cache", "etag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=KINDS[named[1]], headers=headers)
