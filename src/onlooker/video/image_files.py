"""Picture files: Pillow reads the header and decodes, so that both mean the same picture.

A small file may need gigabytes. Two libraries that read one header can disagree about its size; the
object that is checked here is the one that decodes. Photos of phones (HEIC) are decoded by another
process, because their decoder may crash.
"""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.BmpImagePlugin import BmpImageFile
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.PpmImagePlugin import PpmImageFile
from PIL.WebPImagePlugin import WebPImageFile

from onlooker.core.errors import OnlookerError, install_command
from onlooker.vision.types import Pixels, picture

MAX_PIXELS = 50_000_000
"""Larger pictures and frames are refused before they are decoded."""

SUFFIXES = frozenset(
    {".bmp", ".heic", ".heif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".webp"}
)
"""Lower-case suffixes of the files that count as pictures in a folder."""

_MAX_BYTES = 512 * 1024 * 1024
SCAN, MAX_SCANS = b"\xff\xda", 64
"""The marker of a pass over all pixels of a JPEG, and how many one may have; ten are usual. A pass
takes as long at 15 bytes as at a million, so a file of 32 MB may ask for hours."""
_MAX_NOTES = 16
"""Compressed notes in one PNG: each may take a megabyte of memory."""


class _Jpeg(JpegImageFile):
    """Counts the passes in what the decoder is about to read."""

    _scans = 0

    def load_read(self, read_bytes: int) -> bytes:
        block = super().load_read(read_bytes)
        self._scans += block.count(SCAN)
        if self._scans > MAX_SCANS:
            raise ValueError("too many passes")
        return block


_HEIC = re.compile(rb".{4}ftyp(he[iv][cmsx]|mif1|msf1)", re.DOTALL)
"""How a photo begins that phones take; its decoder is an extra, and turns it upright."""
_HEIC_TO_PPM = """
import sys
from io import BytesIO
from pi_heif.as_plugin import HeifImageFile

image = HeifImageFile(BytesIO(sys.stdin.buffer.read()))
pixels = b""
if image.width * image.height <= int(sys.argv[1]):
    image = image.convert("RGB")
    pixels = image.tobytes()
sys.stdout.buffer.write(b"P6 %d %d 255 " % image.size + pixels)
"""
_HEIC_SECONDS = 120.0
"""For one such photo on a busy machine."""
_FORMATS: tuple[tuple[re.Pattern[bytes], Callable[[BytesIO], ImageFile]], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), PngImageFile),
    (re.compile(rb"\xff\xd8\xff"), _Jpeg),
    (re.compile(rb"BM"), BmpImageFile),
    (re.compile(rb"RIFF.{4}WEBPVP8[ LX]", re.DOTALL), WebPImageFile),
    (re.compile(rb"P[1-6]\s"), PpmImageFile),
)
"""The few formats that users have, each by how a file of it begins."""
_ORIENTATION = 0x0112
"""The EXIF tag that says how the camera was held."""
_UPRIGHT: dict[int, Callable[[Pixels], Pixels]] = {
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.swapaxes(0, 1),
    6: lambda pixels: np.rot90(pixels, -1),
    7: lambda pixels: pixels[::-1, ::-1].swapaxes(0, 1),
    8: lambda pixels: np.rot90(pixels),
}


class PictureError(OnlookerError):
    """A picture file that cannot be used: missing, empty, cut short, too large, not a picture."""


def read_picture(path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS) -> Pixels:
    """The pixels of a picture file, as `decode_picture` gives them; the error names the file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "grey.pgm")
    ...     _ = file.write_bytes(b"P5 2 1 255 " + bytes([0, 255]))
    ...     read_picture(file).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """
    return decode_picture(_contents(Path(path)), max_pixels=max_pixels, shown=f" {str(path)!r}")


def decode_picture(data: bytes, *, max_pixels: int = MAX_PIXELS, shown: str = "") -> Pixels:
    """The pixels of a JPEG, PNG, BMP, WebP, HEIC or PNM file, grey, alpha and 16 bit converted.

    The picture is rotated as its EXIF data says, as picture viewers do. Transparent pixels get the
    colour that is stored for them. shown names the picture in errors.

    >>> decode_picture(b"P5 2 1 255 " + bytes([0, 255])).tolist()
    [[[0, 0, 0], [255, 255, 255]]]
    """

    def check(width: int, height: int) -> None:
        if width * height > max_pixels:
            raise PictureError(
                f"the picture{shown} has {width} x {height} pixels, "
                f"at most {max_pixels / 1e6:g} million are read; make it smaller first"
            )

    if data[12:15] == b"VP8":
        check(*_webp_size(data))  # libwebp takes the memory when it opens the file
    try:
        image = _opened(data, max_pixels)
    except ValueError as error:
        raise PictureError(f"cannot read the picture{shown}: {error}") from None
    check(*image.size)
    try:
        return _upright(_pixels(image), image)
    except Exception:
        raise PictureError(
            f"cannot read the picture{shown}: damaged, cut short, or an unusual format"
        ) from None


def is_picture(data: bytes) -> bool:
    """Whether a file with this content is a picture, as far as its header says.

    >>> is_picture(b"P5 2 1 255 "), is_picture(b"notes")
    (True, False)
    """
    try:
        return bool(_opened(data, max_pixels=0))
    except ValueError:
        return False


def _contents(path: Path) -> bytes:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise PictureError(
                f"{str(path)!r} is a folder; name its files"
                if path.is_dir()
                else f"{str(path)!r} is not a file"
            )
        if about.st_size > _MAX_BYTES:
            raise PictureError(f"the picture {str(path)!r} is too large: {about.st_size} bytes")
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise PictureError(f"cannot read the picture {str(path)!r}: {reason}") from None


def _opened(data: bytes, max_pixels: int) -> ImageFile:
    """The picture with its header read; ValueError says why not.

    Nothing is decoded, but for photos of phones that have at most so many pixels.

    The class of the format is called, not `Image.open`, whose limit belongs to the whole process.
    """
    if not data:
        raise ValueError("the file is empty")
    if _HEIC.match(data):
        data = _as_ppm(data, max_pixels)
    for magic, opened in _FORMATS:
        if magic.match(data):
            if opened is PngImageFile and b"IEND" not in data[-4096:]:
                raise ValueError("it was cut short")
            if opened is PngImageFile and data.count(b"zTXt") + data.count(b"iTXt") > _MAX_NOTES:
                raise ValueError(f"it has more than {_MAX_NOTES} notes; save it without them")
            try:
                return opened(BytesIO(data))
            # Damaged files end a parser in many ways, and each means the same for the caller.
            except Exception:
                raise ValueError("its header is damaged, or it was cut short") from None
    raise ValueError("not a JPEG, PNG, BMP, WebP, HEIC or PNM file")


def _as_ppm(heic: bytes, max_pixels: int) -> bytes:
    """A photo in a format without surprises, without its pixels if there are too many of them.

    In a process of its own: one wrong bit in such a photo is enough to crash its decoder.
    """
    if find_spec("pi_heif") is None:
        how = install_command("heic")
        raise ValueError(f"HEIC needs pi-heif ({how}); or save it as JPEG")
    command = [sys.executable, "-P", "-c", _HEIC_TO_PPM, str(max_pixels)]
    try:
        done = subprocess.run(command, input=heic, capture_output=True, timeout=_HEIC_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"its decoder gave no answer ({type(error).__name__})") from None
    if done.returncode != 0:
        raise ValueError("damaged, cut short, or an unusual format")
    return done.stdout


def _webp_size(data: bytes) -> tuple[int, int]:
    """Width and height that the header of a WebP file gives, whole or not."""
    kind, header = data[12:16], data[20:30].ljust(10, b"\0")
    if kind == b"VP8X":
        return 1 + int.from_bytes(header[4:7], "little"), 1 + int.from_bytes(header[7:], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(header[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    sizes = int.from_bytes(header[6:], "little")
    return sizes & 0x3FFF, sizes >> 16 & 0x3FFF


def _pixels(image: ImageFile) -> Pixels:
    image.load()
    if image.mode.startswith("I"):  # 16 bit of grey
        return picture(np.asarray(image).astype(np.uint16))
    colours: Image.Image = image if image.mode == "RGB" else image.convert("RGB")
    rows = bytearray(colours.tobytes("raw", "BGR"))
    return np.frombuffer(rows, np.uint8).reshape(image.height, image.width, 3)


def _upright(pixels: Pixels, image: ImageFile) -> Pixels:
    try:
        orientation = image.getexif().get(_ORIENTATION)
    except Exception:  # notes about the picture that cannot be read do not spoil it
        return pixels
    turn = _UPRIGHT.get(orientation) if isinstance(orientation, int) else None
    return pixels if turn is None else np.ascontiguousarray(turn(pixels))
