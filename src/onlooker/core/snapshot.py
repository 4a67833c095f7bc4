"""A file of arrays and a readable header that is read as a whole or refused.

    onlooker snapshot 1                     what it is, and the version of the format
    sha256 9f86d081884c7d65...              of every byte after this line
    header 00000398 bytes                   how long the JSON is, padding included
    {"header": {...}, "arrays": [...]}      per array: name, dtype, shape, offset
    (raw bytes)                             little-endian, C order, each array aligned to 64

Offsets count from the end of the JSON. Nothing in the file is code, so a snapshot from an untrusted
source can be wrong but cannot run anything. The digest finds damage, not malice (anybody can
compute one), which is why every size is checked against that of the file before memory is
allocated.
"""

import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from reprlib import repr as brief  # a hostile value must not fill the screen
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onlooker.core.errors import SnapshotError
from onlooker.core.files import refuse_irregular, replace_file

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Source: TypeAlias = "str | os.PathLike[str] | BytesIO"
"""A file by its path, or one in memory: what is only passed on must not be left on a disk."""
_File: TypeAlias = BufferedReader | BytesIO
_Bytes: TypeAlias = bytes | memoryview
_Place: TypeAlias = tuple[int, np.dtype[Any], tuple[int, ...]]  # offset, dtype, shape

FORMAT_VERSION = 1
_ALIGNMENT = 64
_MAX_HEADER = 16 << 20
_MAX_DIMENSIONS = 64
_DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in ("bool", "uint8", "int32", "int64", "float32", "float64")
}
_MAGIC = re.compile(rb"onlooker snapshot ([1-9]\d{0,8})\n")
_DIGEST = re.compile(rb"sha256 ([0-9a-f]{64})\n")
_LENGTH = re.compile(rb"header (\d{8}) bytes\n")
_MAX_LINE = 128  # longer than any of the three
_UNSIGNED = len("onlooker snapshot 1\nsha256 \n") + 64


@dataclass(frozen=True, eq=False, slots=True)
class Snapshot:
    """What a snapshot file holds.

    >>> Snapshot({"sink": 0.1}, {"radius": np.array(2.0)}).header["sink"]
    0.1
    """

    header: dict[str, Json]
    arrays: dict[str, NDArray[Any]]


def write(path: Source, header: Mapping[str, Json], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write header and arrays into one file, completely or not at all.

    An existing file is replaced in one step and keeps its mode; a link is followed. A new file can
    be read by its owner only, since what people save may be faces. After an error the old file is
    as it was.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder, "door"), {"names": ["ana"]}, {"centers": np.zeros((2, 3))})
    ...     Path(folder, "door").read_bytes()[:19]
    b'onlooker snapshot 1'
    """
    with _errors_about("write", path, "check the folder, its permissions and the free space"):
        parts = _encoded(header, arrays)
        if isinstance(path, BytesIO):
            path.writelines(parts)
        else:
            replace_file(path, lambda file: [file.write(part) for part in parts])


def read(path: Source, *, max_bytes: int = 4 << 30) -> Snapshot:
    """Header and arrays of a file that `write` made; anything incomplete is an error.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder, "door"), {"names": ["ana"]}, {"centers": np.zeros((2, 3))})
    ...     snapshot = read(Path(folder, "door"))
    >>> snapshot.header, snapshot.arrays["centers"].shape
    ({'names': ['ana']}, (2, 3))
    """
    with _errors_about("read", path, "check the path and its permissions, or save one there first"):
        if isinstance(path, BytesIO):
            path.seek(0)
            return _decoded(path, len(path.getbuffer()), max_bytes)
        refuse_irregular(path)  # before opening: a pipe would make us wait forever
        with open(path, "rb") as file:
            return _decoded(file, os.fstat(file.fileno()).st_size, max_bytes)


def name_of(source: Source) -> str:
    """How an error calls it.

    >>> name_of(BytesIO())
    'in memory'
    """
    return "in memory" if isinstance(source, BytesIO) else os.fspath(source)


@contextmanager
def _errors_about(verb: str, path: Source, advice: str) -> Iterator[None]:
    """Every failure names the file; the operating system's come with advice."""
    path = name_of(path)
    try:
        yield
    except SnapshotError as error:
        raise SnapshotError(f"cannot {verb} snapshot {path}: {error}") from error.__cause__
    except (OSError, ValueError) as error:  # a path with a null byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise SnapshotError(f"cannot {verb} snapshot {path}: {reason}; {advice}") from error


def _damaged(what: str) -> SnapshotError:
    return SnapshotError(f"{what}; it is damaged or was edited: save it again or restore a backup")


def _aligned(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT


# Writing


def _encoded(header: Mapping[str, Json], arrays: Mapping[str, NDArray[Any]]) -> list[_Bytes]:
    """The file as a list of buffers, so that large arrays are not copied."""
    entries: list[Json] = []
    body: list[_Bytes] = []
    end = 0
    for name, given in arrays.items():
        array = _little_endian(name, given)
        start = _aligned(end)
        shape: list[Json] = list(array.shape)
        entries.append({"name": name, "dtype": array.dtype.name, "shape": shape, "offset": start})
        body += [bytes(start - end), array.reshape(-1).view(np.uint8).data]
        end = start + array.nbytes
    signed = [_header_bytes({"header": dict(header), "arrays": entries}), *body]
    digest = hashlib.sha256()
    for part in signed:
        digest.update(part)
    first = f"onlooker snapshot {FORMAT_VERSION}\nsha256 {digest.hexdigest()}\n"
    return [first.encode(), *signed]


def _little_endian(name: Any, array: Any) -> NDArray[Any]:
    kind = array.dtype.name if isinstance(array, np.ndarray) else type(array).__name__
    if not isinstance(name, str) or not isinstance(array, np.ndarray) or kind not in _DTYPES:
        raise SnapshotError(
            f"array {brief(name)} is {kind}; give it a string as name and one of {list(_DTYPES)}"
        )
    if array.dtype == np.bool_:
        array = np.asarray(array.view(np.uint8) != 0)  # numpy tolerates other bytes, read does not
    return np.asarray(array, _DTYPES[kind], order="C")  # ascontiguousarray would lose the 0-d shape


def _header_bytes(document: dict[str, Json]) -> bytes:
    """The length line and the JSON, padded so that the arrays begin at a multiple of 64."""
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)
        raw = text.encode("utf-8", "surrogatepass")  # file names may carry half characters
        if _from_json(raw) != document:  # tuples and numbers as keys change silently
            raise ValueError("it would come back changed")
    except (TypeError, ValueError, RecursionError) as error:
        raise SnapshotError(
            f"the header does not fit JSON ({error}); use only dict with string keys, list, str, "
            "int, finite float, bool and None"
        ) from error
    before = _UNSIGNED + len("header 00000000 bytes\n")
    length = _aligned(before + len(raw) + 1) - before
    if length > _MAX_HEADER:
        raise SnapshotError(
            f"its header has {length} bytes, over {_MAX_HEADER}; use arrays instead"
        )
    return f"header {length:08d} bytes\n".encode() + raw.ljust(length - 1) + b"\n"


# Reading


def _decoded(file: _File, size: int, max_bytes: int) -> Snapshot:
    if size > max_bytes:
        raise SnapshotError(f"it has {size} bytes, the limit is {max_bytes}; raise max_bytes")
    _check_version(file.readline(_MAX_LINE))
    _check_digest(file)
    header, entries = _read_header(file, size)
    start = file.tell()
    # The whole table is checked before the first array is allocated.
    places = _places(entries, size - start)
    return Snapshot(header, {name: _read_array(file, start, *at) for name, at in places.items()})


def _check_version(first: bytes) -> None:
    match = _MAGIC.fullmatch(first)
    if match is None:
        raise SnapshotError(f"it begins with {first[:20]!r}, so it is not a snapshot; give another")
    if (version := int(match[1])) != FORMAT_VERSION:
        raise SnapshotError(
            f"it has format version {version}, this Onlooker reads version {FORMAT_VERSION}; "
            f"update Onlooker, or save it again with one that writes version {FORMAT_VERSION}"
        )


def _check_digest(file: _File) -> None:
    """Compare, and go back to where the signed bytes begin.

    Reading twice keeps a refused file from ever being in memory as a whole. It is safe because
    `write` replaces files and never changes one that is open.
    """
    match = _DIGEST.fullmatch(file.readline(_MAX_LINE))
    if match is None:
        raise _damaged("its second line is not a SHA-256")
    if isinstance(file, BytesIO):  # file_digest would begin at its start
        digest = hashlib.sha256(file.getbuffer()[file.tell() :])
    else:
        digest = hashlib.file_digest(file, "sha256")
    found, promised = digest.hexdigest(), match[1].decode()
    if found != promised:
        raise _damaged(f"its SHA-256 is {found[:12]}... instead of {promised[:12]}...")
    file.seek(_UNSIGNED)


def _read_header(file: _File, size: int) -> tuple[dict[str, Json], list[Json]]:
    match = _LENGTH.fullmatch(file.readline(_MAX_LINE))
    length = int(match[1]) if match else -1
    room = min(_MAX_HEADER, size - file.tell())
    if not 0 <= length <= room or (file.tell() + length) % _ALIGNMENT:
        raise _damaged(f"its header claims {length} bytes where at most {room} can be")
    try:
        document = _from_json(file.read(length))
    except (ValueError, RecursionError) as error:
        raise _damaged(f"its header is not strict JSON ({error})") from error
    match document:
        case {"header": dict(header), "arrays": list(entries), **others} if not others:
            return header, entries
    raise _damaged("its header does not consist of header and arrays")


def _from_json(raw: bytes) -> Json:
    """Strict JSON, so that what a person sees in the file is what we read."""
    found: Json = json.loads(
        raw.decode("utf-8", "surrogatepass"),
        object_pairs_hook=_without_duplicates,
        parse_float=_finite,
        parse_constant=_finite,
    )
    return found


def _without_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key appears twice")
    return result


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):  # NaN, Infinity, and 1e999, which Python reads as infinite
        raise ValueError(f"{brief(text)} is not a finite number")
    return value


def _places(entries: list[Json], room: int) -> dict[str, _Place]:
    """Offset, dtype and shape of every array.

    There is one right place for each array, the next multiple of 64. Asking for exactly that one
    refuses gaps, overlaps and offsets outside the file at once.
    """
    places: dict[str, _Place] = {}
    end = 0
    for entry in entries:
        name, (offset, dtype, shape) = _place(entry)
        if name in places or offset != _aligned(end):
            raise _damaged(f"array {brief(name)} is listed twice or not in its place")
        end = offset + math.prod(shape) * dtype.itemsize
        if end > room:
            raise _damaged(f"array {brief(name)} of shape {brief(shape)} is larger than the file")
        places[name] = offset, dtype, shape
    if end != room:
        raise _damaged(f"{room - end} bytes follow the last array")
    return places


def _place(entry: Json) -> tuple[str, _Place]:
    match entry:
        case {"name": str(name), "dtype": str(kind), "shape": list(lengths), "offset": int(offset)}:
            shape = tuple(n for n in lengths if type(n) is int and n >= 0)
            if kind in _DTYPES and len(shape) == len(lengths) <= _MAX_DIMENSIONS:
                dtype = _DTYPES[kind]
                # even an empty array can have a length that numpy cannot hold
                if math.prod(n or 1 for n in shape) * dtype.itemsize <= sys.maxsize:
                    return name, (offset, dtype, shape)
    raise _damaged(f"{brief(entry)} does not describe an array")


def _read_array(
    file: _File, start: int, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    array = np.empty(shape, dtype)
    raw = array.reshape(-1).view(np.uint8)
    file.seek(start + offset)
    if file.readinto(raw.data) != raw.size:
        raise SnapshotError("it became shorter while being read; try again")
    if dtype == np.bool_ and (raw > 1).any():  # numpy counts such bytes wrongly
        raise _damaged("a bool in it is neither 0 nor 1")
    return array.astype(dtype.newbyteorder("="), copy=False)
