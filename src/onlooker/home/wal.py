"""The write-ahead log of a database that nobody has open: damage is found and repaired.

SQLite reads its log up to the first frame with a wrong checksum and silently ignores the rest: one
flipped bit would cost every transaction behind it. So the log is read here first. A frame is a
header (page number; pages of the database if it ends a transaction, otherwise 0; two salts, equal
in all frames of one log; two checksums) and a page. The checksums continue those of the frame
before, and are linear in the words of the frame modulo 2^32. So a single flipped bit is found from
the difference of the checksums, and a frame behind a bad one can be checked nevertheless.

What lies behind a bad frame that cannot be corrected may be two things. Either it was acknowledged
and the frame was damaged since; or it was never acknowledged: a power cut tore it, or a failed
transaction left it behind a shorter one that came later. Nothing in the log tells them apart, so
`without_damage` is used only if something that was acknowledged is missing without it.
"""

import struct
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint32]
_MAGIC = 0x377F0682
"""The last bit says how the words of the checksums are read: 0: little end first."""
_VERSION = 3007000
PAGE_SIZES = frozenset(1 << bits for bits in range(9, 17))
"""Those that SQLite has."""
_LOG_HEADER, _FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")
_SUMMED = 8
"""Bytes of a frame's header that its checksum covers; salts and checksums follow."""


class _Frame(NamedTuple):
    summed: bytes
    """What the checksums cover: page number, pages of the database, and the page."""
    is_good: bool

    @property
    def ends_transaction(self) -> bool:
        return self.is_good and self.summed[4:_SUMMED] != bytes(4)


class WriteAheadLog:
    """A log as it was found on the disk.

    page_size is that of the database, in case the log's own header is gone.

    >>> WriteAheadLog(b"", page_size=4096).corrected
    0
    """

    def __init__(self, content: bytes, page_size: int) -> None:
        self.corrected = 0
        """How many bits were flipped back."""
        self._frames: list[_Frame] = []
        self._header = content[: _LOG_HEADER.size]
        self._order = _word_order(self._header)
        page_size = self._stated_page_size() or page_size
        if len(content) >= _LOG_HEADER.size + _FRAME_HEADER.size + page_size:
            self._read(content, page_size)
        bad = (at for at, frame in enumerate(self._frames) if not frame.is_good)
        self._first_bad = next(bad, len(self._frames))

    @property
    def transactions_behind(self) -> int:
        """How many transactions end behind the first frame that cannot be corrected."""
        return sum(frame.ends_transaction for frame in self._frames[self._first_bad :])

    def before_damage(self) -> bytes:
        """The log with its bits corrected, up to the first frame that cannot be."""
        return self._written(self._frames[: self._first_bad])

    def without_damage(self) -> bytes:
        """The log without the frames that cannot be corrected.

        A page may then be older than it was, or missing: whoever uses it checks pages and rows.
        """
        return self._written([frame for frame in self._frames if frame.is_good])

    # ---- reading

    def _stated_page_size(self) -> int | None:
        """The page size in the header of the log, if its checksums hold: the database may lie."""
        if len(self._header) < _LOG_HEADER.size:
            return None
        numbers = np.frombuffer(self._header, ">u4").astype(np.uint32)
        words = np.frombuffer(self._header[:24], self._order).astype(np.uint32)
        is_sound = bool((words @ _coefficients(6) == numbers[6:]).all())
        return int(numbers[2]) if is_sound and int(numbers[2]) in PAGE_SIZES else None

    def _read(self, content: bytes, page_size: int) -> None:
        size = _FRAME_HEADER.size + page_size
        count = (len(content) - _LOG_HEADER.size) // size
        rows = np.frombuffer(content, np.uint8, count * size, _LOG_HEADER.size).reshape(-1, size)
        heads = rows[:, : _FRAME_HEADER.size].copy().view(">u4").astype(np.uint32)
        summed = np.hstack([rows[:, :_SUMMED], rows[:, _FRAME_HEADER.size :]])
        words = summed.view(self._order).astype(np.uint32)
        length = words.shape[1]
        own, stated = words @ _coefficients(length), heads[:, 4:]
        salts, sums = self._read_header(
            page_size,
            heads,
            lambda sums: bool((_continued(sums, length) + own[0] == stated[0]).all()),
        )
        differing = np.bitwise_count(heads[:, 2:4] ^ salts).sum(axis=1)
        end = _end_of_log(own, stated, differing, length)
        for at in range(end):
            computed = _continued(sums, length) + own[at]
            row, sums = words[at], stated[at]
            is_good = bool((computed == stated[at]).all())
            wrong_bits = int(differing[at])
            if not is_good:
                wrong_bits += 1
                following = _continued(computed, length) + own[min(at + 1, end - 1)]
                if at + 1 < end and (following == stated[at + 1]).all():
                    sums, is_good = computed, True  # only what the frame states is wrong
                else:
                    row, is_good = _one_bit_back(row, stated[at] - computed)
            is_good = is_good and wrong_bits <= 1
            self.corrected += wrong_bits if is_good else 0
            self._frames.append(_Frame(row.astype(self._order).tobytes(), is_good))

    def _read_header(
        self, page_size: int, heads: Words, fits: Callable[[Words], bool]
    ) -> tuple[Words, Words]:
        """Salts and checksums that the log starts with; a header that is damaged is made anew.

        fits: whether the checksums of the first frame continue these.
        """
        numbers = np.frombuffer(self._header, ">u4").astype(np.uint32)
        words = np.frombuffer(self._header[:24], self._order).astype(np.uint32)
        sums = words @ _coefficients(6)
        wrong = np.bitwise_count(sums ^ numbers[6:]).sum()
        if wrong or numbers[2] != page_size:
            before = _MAGIC | (self._order == ">u4"), _VERSION, page_size
            salts, count = _most_frequent(heads[:, 2:4]), int(numbers[3])
            # All is known but the count of checkpoints: its own bits may be the ones that flipped.
            for guess in (count, *(count ^ 1 << bit for bit in range(32)), count):
                self._header = _LOG_HEADER.pack(*before, guess, *salts, 0, 0)
                words = np.frombuffer(self._header[:24], self._order).astype(np.uint32)
                sums = words @ _coefficients(6)
                if fits(sums):
                    break
            self.corrected += 1
        return np.frombuffer(self._header, ">u4")[4:6].astype(np.uint32), sums

    # ---- writing

    def _written(self, frames: list[_Frame]) -> bytes:
        ends = [at for at, frame in enumerate(frames) if frame.ends_transaction]
        if not ends:
            return b""
        fields = _LOG_HEADER.unpack(self._header)
        words = np.frombuffer(self._header[:24], self._order).astype(np.uint32)
        sums = words @ _coefficients(6)
        pieces = [self._header[:24], struct.pack(">2I", *sums.tolist())]
        for frame in frames[: ends[-1] + 1]:
            words = np.frombuffer(frame.summed, self._order).astype(np.uint32)
            sums = _continued(sums, len(words)) + words @ _coefficients(len(words))
            head, page = frame.summed[:_SUMMED], frame.summed[_SUMMED:]
            pieces += [head, struct.pack(">4I", *fields[4:6], *sums.tolist()), page]
        return b"".join(pieces)


def _word_order(header: bytes) -> str:
    """How the words of the checksums are read: as the first word says, unless that bit flipped."""
    says_big = header[:4] == struct.pack(">I", _MAGIC | 1)
    for is_big in (says_big, not says_big) if len(header) == _LOG_HEADER.size else ():
        order = ">u4" if is_big else "<u4"
        summed = struct.pack(">I", _MAGIC | is_big) + header[4:24]
        words = np.frombuffer(summed, order).astype(np.uint32)
        if (words @ _coefficients(6) == np.frombuffer(header[24:], ">u4")).all():
            return order
    return ">u4" if says_big else "<u4"


def _end_of_log(own: Words, stated: Words, differing: NDArray[np.integer], length: int) -> int:
    """One more than the last frame of this log; what an earlier log left behind has other salts."""
    current = np.flatnonzero(differing == 0)
    end = int(current[-1]) + 1 if len(current) else 0
    while end < len(own) and end and differing[end] == 1:
        if (_continued(stated[end - 1], length) + own[end] != stated[end]).any():
            break
        end += 1
    return end


def _most_frequent(salts: Words) -> list[int]:
    found, counts = np.unique(salts, axis=0, return_counts=True)
    most: list[int] = found[int(counts.argmax())].tolist()
    return most


@cache
def _coefficients(length: int) -> Words:
    """How much each word counts in the two checksums of so many words.

    One step takes two words: first += word + second; second += next word + first.
    """
    rows, once, twice = [], (1, 1), (0, 1)
    for _ in range(length // 2):
        rows += [twice, once]
        once, twice = _stepped(once), _stepped(twice)
    return np.array(rows[::-1], np.uint32)


def _stepped(sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    return (first + second) % 2**32, (first + 2 * second) % 2**32


@cache
def _carried(length: int) -> Words:
    first, second = (1, 0), (0, 1)
    for _ in range(length // 2):
        first, second = _stepped(first), _stepped(second)
    return np.array([first, second], np.uint32)


def _continued(sums: Words, length: int) -> Words:
    """What checksums become after so many words that are all zero."""
    return sums @ _carried(length)


def _one_bit_back(words: Words, missing: Words) -> tuple[Words, bool]:
    """The words with the one bit flipped whose change makes up what the checksums miss.

    And whether there is one: of the highest bits of a word the sums cannot say which word it was.
    """
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    is_set = (words[:, None] & bits) != 0
    change = np.where(is_set, np.uint32(0) - bits, bits)
    effect = change[:, :, None] * _coefficients(len(words))[:, None, :]
    found = np.argwhere((effect == missing).all(axis=2))
    corrected = words.copy()
    for place, bit in found[:1]:
        corrected[place] ^= bits[bit]
    return corrected, len(found) == 1
