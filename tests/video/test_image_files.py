"""Picture files of every format, damaged, cut short, huge."""

import re
import struct
import time
import zlib
from dataclasses import dataclass
from resource import RUSAGE_SELF, getrusage

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL.ImageFile import ImageFile

from helpers.bombs import jpeg_with_a_marker_without_length, tiff_with_duplicate_tags
from helpers.recordings import shade
from onlooker.video.image_files import PictureError, decode_picture, read_picture
from onlooker.video.sources import frames_from


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "ppm", "pgm"])
def test_pictures_of_every_format_and_of_one_pixel(tmp_path, suffix):
    for size in ((48, 64), (1, 1)):
        path = tmp_path / f"picture.{suffix}"
        cv2.imwrite(str(path), shade(90, size)[:, :, 0] if suffix == "pgm" else shade(90, size))
        pixels = read_picture(path)
        assert pixels.shape == (*size, 3)
        assert pixels.dtype == np.uint8
        assert pixels.mean() == pytest.approx(90, abs=2)


def test_grey_alpha_and_16_bit(tmp_path):
    path = tmp_path / "picture.png"
    for pixels in (
        shade(90)[:, :, 0],
        np.dstack([shade(90), shade(3)[:, :, 0]]),
        shade(90).astype(np.uint16) * 257,
        shade(90)[:, :, 0].astype(np.uint16) * 257,
    ):
        cv2.imwrite(str(path), pixels)
        np.testing.assert_array_equal(read_picture(path), shade(90))


def huge(side, suffix):
    """A small file of that many pixels, or that says so."""
    if suffix == "png":
        head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
        rows = zlib.compress(bytes(1000) * 900, 9) * 3
        chunks = [(b"IHDR", head), (b"IDAT", rows), (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
            for kind, body in chunks
        )
    data = bytearray(cv2.imencode("." + suffix, shade(50)[:, :, 0])[1].tobytes())
    if suffix == "jpg":
        at = data.find(b"\xff\xc0")
        data[at + 5 : at + 9] = struct.pack(">HH", side, side)
    elif suffix == "bmp":
        data[18:26] = struct.pack("<ii", side, -side)
    elif suffix == "webp":
        data[21:25] = struct.pack("<I", (side - 1) | (side - 1) << 14)
    elif suffix == "pgm":
        data = bytearray(b"P5\n# a comment\n%d %d\n255\n" % (side, side))
    return bytes(data)


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "pgm"])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(ImageFile, "load", lambda *_: pytest.fail("was unpacked"))
    path = tmp_path / f"bomb.{suffix}"
    side = 16_000  # the largest that WebP has is 16,383
    path.write_bytes(huge(side, suffix))
    cost = cost_of(lambda: read_picture(path))
    assert re.search(rf"bomb.*has {side} x {side} pixels, at most 50 million", cost.says)
    assert cost.seconds < 0.05
    assert cost.megabytes < 50
    with frames_from(path) as stream:
        assert list(stream) == []
    assert stream.counts["bomb"].corrupt == 1


@dataclass
class Cost:
    """What a refusal took."""

    says: str
    seconds: float
    megabytes: float


def cost_of(refused):
    before, start = getrusage(RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(PictureError) as error:
        refused()
    seconds, after = time.process_time() - start, getrusage(RUSAGE_SELF).ru_maxrss
    return Cost(str(error.value), seconds, (after - before) / 1024)


@pytest.mark.parametrize("bomb", [jpeg_with_a_marker_without_length, tiff_with_duplicate_tags])
def test_a_picture_with_two_sizes_is_not_decoded_with_the_other(bomb):
    """It was: 32000 x 32000 pixels, 6 GB, from a JPEG whose header was read as 16 x 16."""
    data = bomb(16, 32_000)
    assert len(data) < 400
    cost = cost_of(lambda: decode_picture(data))
    assert cost.seconds < 0.05
    assert cost.megabytes < 50


ENCODED = [
    cv2.imencode("." + suffix, shade(90, (24, 32)))[1].tobytes()
    for suffix in ("png", "jpg", "bmp", "webp", "ppm")
] + [jpeg_with_a_marker_without_length(8, 64)]


PIECES = st.sampled_from(
    [b"\xff" + bytes([marker]) for marker in (0x00, 0x01, 0xC8, 0xD0, 0xD8, 0xDC, 0xDE, 0xF0, 0xFF)]
    + [bytes.fromhex("ffc0000b087d007d0001011100"), bytes.fromhex("ffc2000b087d007d0001011100")]
    + [b"IHDR" + struct.pack(">II", 32_000, 32_000), b"\n32000 32000\n"]
)
"""Markers of a JPEG without a length or with one, and large sizes as each format writes them."""


@given(
    st.sampled_from(ENCODED),
    st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=6) | PIECES), max_size=5
    ),
    st.integers(0, 2),
)
@settings(max_examples=400, deadline=None)
def test_no_picture_ever_has_more_pixels_than_allowed(data, changes, inserted):
    """Bytes overwritten or inserted anywhere, markers and sizes among them."""
    damaged = bytearray(data)
    for share, new in changes:
        at = int(share * len(damaged))
        damaged[at : at + (0 if len(new) <= inserted else len(new))] = new
    limit = 24 * 32
    try:
        pixels = decode_picture(bytes(damaged), max_pixels=limit)
    except PictureError:
        return
    assert pixels.shape[0] * pixels.shape[1] <= limit
    assert pixels.dtype == np.uint8
    assert pixels.shape[2] == 3


def test_the_limit_is_adjustable(tmp_path):
    path = tmp_path / "p.png"
    cv2.imwrite(str(path), shade(1))
    assert read_picture(path, max_pixels=48 * 64).shape == (48, 64, 3)
    with pytest.raises(PictureError, match="64 x 48"):
        read_picture(path, max_pixels=48 * 64 - 1)


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "ppm"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.99])
def test_a_picture_cut_short_is_an_error_that_names_it(tmp_path, suffix, share):
    noise = np.random.default_rng(0).integers(0, 255, (48, 64, 3), dtype=np.uint8)
    data = cv2.imencode("." + suffix, noise)[1].tobytes()
    path = tmp_path / f"half.{suffix}"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(PictureError, match=r"half\."):
        read_picture(path)


def test_what_is_no_picture_is_an_error_that_names_it(tmp_path):
    (tmp_path / "text.jpg").write_text("hello")
    (tmp_path / "empty.png").touch()
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "gif.png").write_bytes(b"GIF89a" + bytes(30))
    (tmp_path / "tiff.png").write_bytes(tiff_with_duplicate_tags(16, 32_000))
    says = {
        "text.jpg": "not a JPEG",
        "empty.png": "empty",
        "folder.png": "is a folder; name its files",
        "gif.png": "not a JPEG",
        "tiff.png": "not a JPEG",
        "missing.png": "No such file",
    }
    for name, words in says.items():
        with pytest.raises(PictureError, match=f"{name}.*{words}"):
            read_picture(tmp_path / name)


def test_damaged_pictures_never_crash(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "picture"
    for suffix in ("png", "jpg", "bmp", "webp", "pgm"):
        noise = rng.integers(0, 255, (16, 16), dtype=np.uint8)
        data = cv2.imencode("." + suffix, noise)[1].tobytes()
        for _ in range(60):
            damaged = bytearray(data)
            for at in rng.integers(0, min(len(data), 200), 4):
                damaged[at] = rng.integers(256)
            path.write_bytes(damaged)
            try:
                found = read_picture(path, max_pixels=10**6)
            except PictureError:
                continue  # refused, as it should be
            assert found.shape[2] == 3


@pytest.mark.parametrize("orientation", range(11))
def test_a_photograph_is_turned_upright(orientation):
    """All eight ways to hold a camera, as OpenCV turns them; other numbers mean nothing."""
    picture = shade(20)
    picture[:, :16], picture[:8] = 220, 120
    data = cv2.imencode(".jpg", picture)[1].tobytes()
    tag = struct.pack(">HHIHH", 0x112, 3, 1, orientation, 0)
    exif = b"Exif\0\0" + b"MM\0*\0\0\0\x08\0\x01" + tag + bytes(4)
    data = data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:]
    pixels = decode_picture(data)
    np.testing.assert_array_equal(pixels, cv2.imdecode(np.frombuffer(data, np.uint8), 1))
    assert pixels.flags.c_contiguous
