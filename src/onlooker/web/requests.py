"""How a route asks the thread that owns the home, without holding up the others.

Pictures from strangers: measured before they are unpacked, and never written to a file.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import cv2
import numpy as np
from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from onlooker.home.home import Home
from onlooker.video.image_files import PictureError, picture_size
from onlooker.vision.types import Pixels, picture
from onlooker.web.service import Service

MAX_PIXELS = 20_000_000
"""Of an upload or a browser's frame; several are unpacked at one time."""


def decoded(data: bytes, *, max_pixels: int = MAX_PIXELS) -> Pixels:
    """The pixels of a JPEG, PNG, BMP, WebP, TIFF or PNM file, or why there are none.

    >>> decoded(b"P5 2 1 255 " + bytes([0, 255])).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """
    try:
        width, height = picture_size(data)
    except ValueError as error:
        raise PictureError(f"the picture cannot be read: {error}") from None
    if width * height > max_pixels:
        raise PictureError(
            f"the picture has {width} x {height} pixels, at most {max_pixels / 1e6:g} million "
            "are read; make it smaller first"
        )
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_ANYDEPTH)
    except cv2.error:
        pixels = None
    if pixels is None or pixels.dtype not in (np.uint8, np.uint16):
        raise PictureError("the picture cannot be read: damaged, or an unusual format")
    return picture(pixels)


_Result = TypeVar("_Result")


async def call_home(service: Service, act: Callable[[Home], _Result]) -> _Result:
    """The answer, once it is there."""
    return await asyncio.wrap_future(service.submit(act))


async def uploaded(request: Request) -> Pixels:
    """The picture that is the body of a request."""
    return await run_in_threadpool(decoded, await request.body())
