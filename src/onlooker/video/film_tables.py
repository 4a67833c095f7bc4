"""How many frames the tables of an MP4 or MOV film say that it has, before FFmpeg reads them.

A table of equal sizes, or of a fragment, is a few bytes for any number of frames, and FFmpeg makes
60 bytes of room for each when it opens the film. Other containers have tables as long as what they
say.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

_TABLES = re.compile(rb"(?:stsz|stz2).{8}(.{4})|trun.{4}(.{4})", re.DOTALL)
"""The number of frames in the boxes of sample sizes, and in those of fragments."""
_HEADERS = {b"moov", b"moof"}
LARGEST = 1 << 26
"""Bytes of a header that are looked at: those of a film of a day are smaller."""
MOST_BOXES = 20_000
"""Boxes that are looked at: a fragmented film of ten hours has fewer."""


def claimed_frames(path: Path) -> int:
    """The most frames that one table says; 0 for a file without such tables."""
    return max((_largest(header) for header in _headers(path)), default=0)


def _largest(header: bytes) -> int:
    counts = (match[1] or match[2] for match in _TABLES.finditer(header))
    return max((int.from_bytes(count) for count in counts), default=0)


def _headers(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        start, end = 0, os.fstat(file.fileno()).st_size
        for _ in range(MOST_BOXES):
            file.seek(start)
            box = file.read(16)
            length = int.from_bytes(box[:4])
            if length == 1:
                length = int.from_bytes(box[8:])
            elif length == 0:
                length = end - start
            if length < 8:
                return
            if box[4:8] in _HEADERS:
                file.seek(start)
                yield file.read(min(length, LARGEST))
            start += length
            if start >= end:
                return
