"""Small files that would become large in memory: pictures, films, exports, states."""

import io
import struct
import zipfile
import zlib

import cv2
import numpy as np
from PIL import Image

from helpers.recordings import jpeg, shade, write_video
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core import snapshot


def jpeg_with_a_marker_without_length(seen, decoded):
    """A JPEG of two sizes. FF 01 has no length: whoever reads one skips the true start of frame.

    It lands in a comment, on the start of frame of a small picture.
    """
    data = cv2.imencode(".jpg", shade(50, (seen, seen))[:, :, 0])[1].tobytes()
    at = data.find(b"\xff\xc0")
    (length,) = struct.unpack_from(">H", data, at + 2)
    small, rest = data[at : at + 2 + length], data[at + 2 + length :]
    skipped = small[:5] + struct.pack(">HH", decoded, decoded) + small[9:]
    skipped += b"\xff\xfe" + struct.pack(">H", 2 + len(small))
    return data[:at] + b"\xff\x01" + struct.pack(">H", 2 + len(skipped)) + skipped + small + rest


def tiff_with_duplicate_tags(seen, decoded):
    """A TIFF of two sizes: of two equal tags some readers take the first, others the last."""
    sizes = [(256, decoded), (257, decoded), (256, seen), (257, seen)]
    rows = [*sizes, (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, decoded), (279, 64)]
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in rows)
    return b"II*\0" + struct.pack("<IH", 8, len(rows)) + entries + bytes(4)


def jpeg_of_many_passes(side, passes):
    """A progressive JPEG whose last pass, of some ten bytes, is there so often."""
    file = io.BytesIO()
    Image.new("L", (side, side)).save(file, "JPEG", progressive=True)
    data = file.getvalue()
    return data[:-2] + data[data.rfind(b"\xff\xda") : -2] * (passes - 1) + data[-2:]


def film_of_many_passes(path, side, passes):
    """MJPEG: a small frame, one that is decoded in so many passes, a small one."""
    path.write_bytes(jpeg(50) + jpeg_of_many_passes(side, passes) + jpeg(50))
    return path


def png_with(*chunks):
    """A small PNG with these chunks, each a kind and its content, before its pixels."""
    data = cv2.imencode(".png", shade(50, (16, 16)))[1].tobytes()
    added = b""
    for kind, content in chunks:
        checked = kind + content
        added += struct.pack(">I", len(content)) + checked
        added += struct.pack(">I", zlib.crc32(checked))
    return data[:33] + added + data[33:]


def png_of_compressed_notes(count):
    """Each a megabyte of zeros."""
    note = zlib.compress(bytes(1 << 20), 9)
    return png_with(*((b"zTXt", b"%d\0\0" % number + note) for number in range(count)))


def png_of_overlapping_notes(count, size):
    """EXIF with so many tags, each of which says that nearly all of the notes are its value."""
    tags = b"".join(struct.pack("<HHII", 1 + tag, 7, size - 2, 2) for tag in range(count))
    notes = b"II*\0" + struct.pack("<IH", 8, count) + tags + bytes(4)
    return png_with((b"eXIf", notes.ljust(size, b"\0")))


def film_of_two_sizes(path, side):
    """MJPEG: two small frames, one that says it has side x side pixels, two small ones."""
    large = bytearray(jpeg(50))
    at = large.find(b"\xff\xc0")
    large[at + 5 : at + 9] = struct.pack(">HH", side, side)
    path.write_bytes(2 * jpeg(50) + bytes(large) + 2 * jpeg(50))
    return path


def film_of_many_frames(path, count):
    """A film of three frames whose header says that there are many more, of one byte each."""
    film = bytearray(write_video(path, [80] * 3).read_bytes())
    for box, offset, values in (
        ("stsz", 8, (1, count)),
        ("stts", 12, (count,)),
        ("stsc", 16, (count,)),
    ):
        at = film.index(box.encode()) + offset
        film[at : at + 4 * len(values)] = struct.pack(f">{len(values)}I", *values)
    path.write_bytes(film)


def film_that_grows(path, side):
    """H.264: frames of 64 x 48 pixels, then of side x side, then small ones again."""
    sizes = [(48, 64), (side, side), (48, 64)]
    parts = [
        write_video(path.with_name(f"part{number}.h264"), [10, 20], size=size)
        for number, size in enumerate(sizes)
    ]
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


def export_with_overlapping_entries(path, entries, megabytes):
    """As many entries of that size each, all at one place in the file."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", bytes(megabytes << 20))
    content = path.read_bytes()
    start = content.index(b"PK\1\2")
    record, end = content[start:-22], content[-22:]
    fields = list(struct.unpack("<4s4H2IH", end))
    fields[3] = fields[4] = entries
    fields[5] = entries * len(record)
    path.write_bytes(content[:start] + entries * record + struct.pack("<4s4H2IH", *fields))
    return path


def export_of_a_long_list(path):
    """An export that claims 65,535 entries and has none."""
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 65535, 65535, 999, 0, 0)
    path.write_bytes(b"PK\1\2" + bytes(1000) + end)
    return path


def state_of_many_vertices(path, count):
    """A state of so many unlabeled vertices, each of one number, and one label."""
    learner = OnlineHarmonicLearner(HeatKernel(0.4, 1e-4), features="x")
    learner.teach([0.0], "ana")
    learner.save(path)
    sizes = {"max_vertices": 20_000, "next_id": count + 1}
    header = snapshot.read(path).header | sizes
    arrays = {
        "ids": np.arange(count + 1),
        "labels": np.where(np.arange(count + 1), -1, 0),
        "multiplicities": np.ones(count + 1, dtype=np.int64),
        "vectors": np.arange(count + 1, dtype=np.float32)[:, None],
        "negatives": np.zeros((0, 2), dtype=np.int64),
    }
    snapshot.write(path, header, arrays)
    return path
