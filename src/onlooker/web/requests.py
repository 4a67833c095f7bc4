"""Uploaded pictures: decoded in memory, never written to a file."""

from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from onlooker.video.image_files import decode_picture
from onlooker.vision.types import Pixels

MAX_PIXELS = 20_000_000
"""Of an uploaded picture or a browser's frame; several are decoded at the same time."""

BINARY = {"schema": {"type": "string", "format": "binary"}}
UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself: JPEG, PNG, BMP, WebP, PNM, or HEIC with the extra heic.",
        "content": {
            "image/jpeg": BINARY,
            "image/png": BINARY,
            "application/octet-stream": BINARY,
        },
    }
}
"""The body of a route that takes a picture, for the OpenAPI description."""


def decoded(data: bytes) -> Pixels:
    """The pixels of an uploaded picture; PictureError if there are none."""
    return decode_picture(data, max_pixels=MAX_PIXELS)


async def uploaded_picture(request: Request) -> Pixels:
    """The picture in the body of a request, decoded outside the event loop."""
    return await run_in_threadpool(decoded, await request.body())
