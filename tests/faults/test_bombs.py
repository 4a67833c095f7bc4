"""Bombs are refused at once, in little memory beyond their own size; the start is not counted.

python tests/faults/test_bombs.py        # prints what each took (scripts/soak bombs)
"""

import sys
import tempfile
import time
import warnings
from pathlib import Path

import pytest

from helpers import bombs
from helpers.memory import MEASURABLE, PeakMemory
from onlooker.core.errors import OnlookerError
from onlooker.home.transfer import read
from onlooker.video.image_files import decode_picture
from onlooker.video.sources import frames_from

SECONDS, MEGABYTES = 0.05, 50.0
"""Of a refusal, and of its memory beyond the input."""


def films(path, **options):
    """Read a film to its end; what is too large is left out and counted."""
    with frames_from(path, **options) as stream:
        shapes = {frame.pixels.shape[:2] for frame in stream}
    (counts,) = stream.counts.values()
    assert counts.corrupt >= 1, "nothing was refused"
    assert shapes <= {(48, 64)}, shapes
    raise OnlookerError(f"{counts.corrupt} frames left out")


def notes(path):
    """Read a picture whose notes cannot be trusted: it is decoded, and they are left out."""
    with warnings.catch_warnings(action="ignore"):  # Pillow says which
        assert decode_picture(path.read_bytes()).shape == (16, 16, 3)
    raise OnlookerError("the notes were left out")


BOMBS = {
    "JPEG, FF 01 before the start of frame": (
        lambda path: path.write_bytes(bombs.jpeg_with_a_marker_without_length(16, 32_000)),
        lambda path: decode_picture(path.read_bytes()),
    ),
    "TIFF, duplicate tags": (
        lambda path: path.write_bytes(bombs.tiff_with_duplicate_tags(16, 32_000)),
        lambda path: decode_picture(path.read_bytes()),
    ),
    "JPEG, 2,000 passes over 4,000 x 4,000 pixels": (
        lambda path: path.write_bytes(bombs.jpeg_of_many_passes(4000, 2000)),
        lambda path: decode_picture(path.read_bytes()),
    ),
    "PNG, 60 compressed notes of 1 MB": (
        lambda path: path.write_bytes(bombs.png_of_compressed_notes(60)),
        lambda path: decode_picture(path.read_bytes()),
    ),
    "PNG, EXIF of 1 MB that is the value of 300 tags": (
        lambda path: path.write_bytes(bombs.png_of_overlapping_notes(300, 1 << 20)),
        notes,
    ),
    "export, 2,000 entries of 1 MB in one place": (
        lambda path: bombs.export_with_overlapping_entries(path, 2000, 1),
        read,
    ),
    "export, a list of 65,535 entries": (bombs.export_of_a_long_list, read),
    "state, 12,000 vertices": (lambda path: bombs.state_of_many_vertices(path, 12_000), read),
    "MJPEG film, a frame of 32,000 x 32,000": (
        lambda path: bombs.film_of_two_sizes(path.with_suffix(".mjpeg"), 32_000),
        lambda path: films(path.with_suffix(".mjpeg")),
    ),
    "MJPEG film, a frame of 10,000 passes over 2,000 x 2,000 pixels": (
        lambda path: bombs.film_of_many_passes(path.with_suffix(".mjpeg"), 2000, 10_000),
        lambda path: films(path.with_suffix(".mjpeg")),
    ),
    "MP4 film, 60 million frames of one byte in its header": (
        lambda path: bombs.film_of_many_frames(path.with_suffix(".mp4"), 60_000_000),
        lambda path: films(path.with_suffix(".mp4")),
    ),
    "MP4 film, 8 million frames of one byte in its header": (
        lambda path: bombs.film_of_many_frames(path.with_suffix(".mp4"), 8_000_000),
        lambda path: films(path.with_suffix(".mp4")),
    ),
    "H.264 film, grows to 4,096 x 4,096 (limit 1 million pixels)": (
        lambda path: bombs.film_that_grows(path.with_suffix(".h264"), 4096),
        lambda path: films(path.with_suffix(".h264"), max_pixels=1_000_000),
    ),
}


def cost_of(refused, path):
    """Seconds of the processor and by the clock, and megabytes of resident memory at the peak."""
    with PeakMemory() as peak:
        begun, clock = time.process_time(), time.perf_counter()
        with pytest.raises(OnlookerError):
            refused(path)
        seconds, clock = time.process_time() - begun, time.perf_counter() - clock
    return seconds, clock, peak.megabytes


@pytest.mark.skipif(not MEASURABLE, reason="needs Linux's /proc")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_little_memory(name, tmp_path):
    """The time is that of the processor, ten times what is measured alone: others run too.

    The least of three, after one that loads modules: other threads of this process count, too.
    """
    make, refused = BOMBS[name]
    path = tmp_path / "bomb"
    make(path)
    _, _, megabytes = cost_of(refused, path)
    assert megabytes < MEGABYTES
    assert min(cost_of(refused, path)[0] for _ in range(3)) < 10 * SECONDS


def main():
    """Each twice: memory the first time, time the second, when all is loaded. 1: too much."""
    worst = 0
    print("| bomb | bytes | processor | clock | memory |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (make, refused)) in enumerate(BOMBS.items()):
            path = Path(folder) / f"bomb{number}"
            make(path)
            _, _, megabytes = cost_of(refused, path)
            seconds, clock, _ = cost_of(refused, path)
            size = next(each for each in Path(folder).glob(path.name + "*")).stat().st_size
            print(
                f"| {name} | {size:,} | {1e3 * seconds:.1f} ms | {1e3 * clock:.1f} ms "
                f"| {megabytes:.1f} MB |"
            )
            worst |= seconds >= SECONDS or megabytes - size / 2**20 >= MEGABYTES
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
