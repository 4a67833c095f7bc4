"""Picture files, read with OpenCV after a check of the header: a small file may need gigabytes."""

import os
import re
import stat
import struct
from pathlib import Path

import cv2
import numpy as np

from onlooker.core.errors import OnlookerError
from onlooker.vision.types import Pixels, picture

MAX_PIXELS = 50_000_000
"""Larger pictures and frames are refused before they are decoded."""

SUFFIXES = frozenset(
    {".bmp", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"}
)
"""Lower-case suffixes of the files that count as pictures in a folder."""

_MAX_BYTES = 512 * 1024 * 1024
_CUT_SHORT = "it was cut short"


class PictureError(OnlookerError):
    """A picture file that cannot be used: missing, empty, cut short, too large, not a picture."""


def read_picture(path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS) -> Pixels:
    """The pixels of a JPEG, PNG, BMP, WebP, TIFF or PNM file, grey, alpha and 16 bit converted.

    The picture is rotated as its EXIF data says, as picture viewers do. Transparent pixels get the
    colour that is stored for them.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "grey.pgm")
    ...     _ = file.write_bytes(b"P5 2 1 255 " + bytes([0, 255]))
    ...     read_picture(file).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """
    data = _contents(Path(path))
    try:
        width, height = picture_size(data)
    except ValueError as error:
        raise PictureError(f"cannot read the picture {str(path)!r}: {error}") from None
    if width * height > max_pixels:
        raise PictureError(
            f"the picture {str(path)!r} has {width} x {height} pixels, "
            f"at most {max_pixels / 1e6:g} million are read; make it smaller first"
        )
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_ANYDEPTH)
    except cv2.error:
        pixels = None
    if pixels is None or pixels.dtype not in (np.uint8, np.uint16):
        raise PictureError(f"cannot read the picture {str(path)!r}: damaged, or an unusual format")
    return picture(pixels)


def _contents(path: Path) -> bytes:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise PictureError(f"{str(path)!r} is not a file")
        if about.st_size > _MAX_BYTES:
            raise PictureError(f"the picture {str(path)!r} is too large: {about.st_size} bytes")
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise PictureError(f"cannot read the picture {str(path)!r}: {reason}") from None


def picture_size(data: bytes) -> tuple[int, int]:
    """Width and height from the header; ValueError says why it cannot be read.

    >>> picture_size(b"P5 640 480 255 ")
    (640, 480)
    """
    if not data:
        raise ValueError("the file is empty")
    for magic, size in _FORMATS:
        if magic.match(data):
            try:
                width, height = size(data)
            except (struct.error, IndexError):
                raise ValueError(_CUT_SHORT) from None
            if width < 1 or height < 1:
                raise ValueError(f"a size of {width} x {height} pixels")
            return width, height
    raise ValueError("not a JPEG, PNG, BMP, WebP, TIFF or PNM file")


def _png(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", data, 16)
    if b"IEND" not in data[-4096:]:
        raise ValueError(_CUT_SHORT)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int]:
    """Follow the markers; the size is in the first start of frame, C0 to CF except three."""
    size: tuple[int, int] | None = None
    at = 2
    while True:
        while data[at] == 0xFF:  # fill bytes
            at += 1
        marker = data[at]
        (length,) = struct.unpack_from(">H", data, at + 1)
        if size is None and 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 4)
            size = width, height
        if marker == 0xDA:  # start of scan: inside it FF D9 can only be the end
            if size is None:
                raise ValueError("a JPEG without a size")
            if data.find(b"\xff\xd9", at) < 0:
                raise ValueError(_CUT_SHORT)
            return size
        at += 1 + length
        if data[at] != 0xFF:
            raise ValueError("a damaged JPEG")


def _bmp(data: bytes) -> tuple[int, int]:
    (header,) = struct.unpack_from("<I", data, 14)
    width, height = struct.unpack_from("<HH" if header == 12 else "<ii", data, 18)
    return width, abs(height)  # a negative height means rows from the top


def _webp(data: bytes) -> tuple[int, int]:
    (length,) = struct.unpack_from("<I", data, 4)
    if len(data) < length + 8:
        raise ValueError(_CUT_SHORT)
    kind = data[12:16]
    if kind == b"VP8X":
        return (
            1 + int.from_bytes(data[24:27], "little"),
            1 + int.from_bytes(data[27:30], "little"),
        )
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def _tiff(data: bytes) -> tuple[int, int]:
    order = "<" if data[:2] == b"II" else ">"
    (directory,) = struct.unpack_from(order + "I", data, 4)
    (entries,) = struct.unpack_from(order + "H", data, directory)
    values = {}
    for entry in range(entries):
        tag, kind = struct.unpack_from(order + "HH", data, directory + 2 + 12 * entry)
        form = order + ("H" if kind == 3 else "I")
        (values[tag],) = struct.unpack_from(form, data, directory + 10 + 12 * entry)
    if values.get(277, 1) > 4:
        raise ValueError(f"{values[277]} values per pixel")
    return values.get(256, 0), values.get(257, 0)


def _pnm(data: bytes) -> tuple[int, int]:
    header = re.match(rb"P\d(?:\s|#[^\n]*\n)+(\d{1,9})(?:\s|#[^\n]*\n)+(\d{1,9})\s", data[:4096])
    if header is None:
        raise ValueError(_CUT_SHORT)
    return int(header[1]), int(header[2])


_FORMATS = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), _png),
    (re.compile(rb"\xff\xd8\xff"), _jpeg),
    (re.compile(rb"BM"), _bmp),
    (re.compile(rb"RIFF.{4}WEBPVP8[ LX]", re.DOTALL), _webp),
    (re.compile(rb"II\*\0|MM\0\*"), _tiff),
    (re.compile(rb"P[1-6]\s"), _pnm),
)
