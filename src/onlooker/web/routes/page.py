"""The page: the files under static/, and nothing else; the browser revalidates them each time."""

import hashlib
import re
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from onlooker.core.errors import NotFound

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_PATH = re.compile(r"(?:[A-Za-z0-9_-]+/){0,4}[A-Za-z0-9_-]+\.(html|js|css|svg)")
"""Only the last dot is permitted, so no path can lead out of the folder."""

FilePath = Annotated[str, Path(max_length=200)]


def page_routes() -> APIRouter:
    """The start page and its files."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    def index(request: Request) -> Response:
        return _static("index.html", request)

    @routes.get("/static/{path:path}")
    def static_file(request: Request, path: FilePath) -> Response:
        return _static(path, request)

    return routes


def _static(path: str, request: Request) -> Response:
    match = _PATH.fullmatch(path)
    found = (files("onlooker.web") / "static").joinpath(*path.split("/")) if match else None
    if match is None or found is None or not found.is_file():
        raise NotFound("there is no such file")
    content = found.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"cache-control": "no-cache", "etag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=MEDIA_TYPES[match[1]], headers=headers)
