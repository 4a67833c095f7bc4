"""Picture files of every format, damaged, cut short, huge."""

import struct
import time
import zlib

import cv2
import numpy as np
import pytest

from helpers.recordings import shade
from onlooker.video.image_files import PictureError, read_picture
from onlooker.video.sources import frames_from


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "tiff", "ppm", "pgm"])
def test_pictures_of_every_format_and_of_one_pixel(tmp_path, suffix):
    for size in ((48, 64), (1, 1)):
        path = tmp_path / f"picture.{suffix}"
        cv2.imwrite(str(path), shade(90, size)[:, :, 0] if suffix == "pgm" else shade(90, size))
        pixels = read_picture(path)
        assert pixels.shape == (*size, 3)
        assert pixels.dtype == np.uint8
        assert pixels.mean() == pytest.approx(90, abs=2)


@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_grey_alpha_and_16_bit(tmp_path, suffix):
    path = tmp_path / f"picture.{suffix}"
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
        data = bytearray(b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0")
        data += (side - 1).to_bytes(3, "little") * 2
    elif suffix == "tiff":
        (directory,) = struct.unpack_from("<I", data, 4)
        for entry in range(directory + 2, len(data) - 11, 12):
            tag, kind = struct.unpack_from("<HH", data, entry)
            if tag in (256, 257):
                struct.pack_into("<H" if kind == 3 else "<I", data, entry + 8, side)
    elif suffix == "pgm":
        data = bytearray(b"P5\n# a comment\n%d %d\n255\n" % (side, side))
    return bytes(data)


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "tiff", "pgm"])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(cv2, "imdecode", lambda *_: pytest.fail("was unpacked"))
    path = tmp_path / f"bomb.{suffix}"
    path.write_bytes(huge(30_000, suffix))
    start = time.perf_counter()
    with pytest.raises(PictureError, match=r"bomb.*has 30000 x 30000 pixels, at most 50 million"):
        read_picture(path)
    assert time.perf_counter() - start < 0.1
    with frames_from(path) as stream:
        assert list(stream) == []
    assert stream.counts["bomb"].corrupt == 1


def test_the_limit_is_adjustable(tmp_path):
    path = tmp_path / "p.png"
    cv2.imwrite(str(path), shade(1))
    assert read_picture(path, max_pixels=48 * 64).shape == (48, 64, 3)
    with pytest.raises(PictureError, match="64 x 48"):
        read_picture(path, max_pixels=48 * 64 - 1)


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "tiff", "ppm"])
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
    says = {
        "text.jpg": "not a JPEG",
        "empty.png": "empty",
        "folder.png": "not a file",
        "gif.png": "not a JPEG",
        "missing.png": "No such file",
    }
    for name, words in says.items():
        with pytest.raises(PictureError, match=f"{name}.*{words}"):
            read_picture(tmp_path / name)


def test_damaged_pictures_never_crash(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "picture"
    for suffix in ("png", "jpg", "bmp", "webp", "tiff", "pgm"):
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


def test_a_photograph_is_turned_upright(tmp_path):
    """EXIF orientation 6: the camera was held so that the left edge is the top."""
    picture = shade(20)
    picture[:, :16] = 220
    data = cv2.imencode(".jpg", picture)[1].tobytes()
    exif = (
        b"Exif\0\0" + b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHH", 0x112, 3, 1, 6, 0) + bytes(4)
    )
    path = tmp_path / "photo.jpg"
    path.write_bytes(data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:])
    pixels = read_picture(path)
    assert pixels.shape == (64, 48, 3)
    assert pixels[:12].mean() > 200
