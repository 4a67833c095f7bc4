"""Uploaded pictures: their size is checked before they are decoded; never written to a file.

A small file can decode to gigabytes of pixels, so the header is read first.
"""

import cv2
import numpy as np
from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from onlooker.video.image_files import PictureError, picture_size
from onlooker.vision.types import Pixels, picture

MAX_PIXELS = 20_000_000
"""Of an uploaded picture or a browser's frame; several are decoded at the same time."""


def decoded(data: bytes, *, max_pixels: int = MAX_PIXELS) -> Pixels:
    """The pixels of a JPEG, PNG, BMP, WebP, TIFF or PNM file; PictureError if there are none.

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


async def uploaded_picture(request: Request) -> Pixels:
    """The picture in the body of a request, decoded outside the event loop."""
    return await run_in_threadpool(decoded, await request.body())
