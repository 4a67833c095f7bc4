"""A snapshot is whole or refused, and a failed write changes nothing."""

import errno
import hashlib
import json
import logging
import os
import re
import stat
import tempfile
import tracemalloc
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onlooker.core import snapshot
from onlooker.core.errors import OnlookerError, SnapshotError

DTYPES = ["bool", "uint8", "int32", "int64", "float32", "float64"]
HEADER = {"kernel": {"name": "gaussian", "width": 0.5}, "names": ["ana", "José"]}
ARRAYS = {"centers": np.arange(6.0).reshape(2, 3), "labeled": np.array([True, False])}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
any_order = st.sampled_from(["<", ">"])
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
arrays_of_any_kind = st.tuples(st.sampled_from(DTYPES), any_order).flatmap(
    lambda kind: hnp.arrays(np.dtype(kind[0]).newbyteorder(kind[1]), shapes)
)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "door.onlooker"
    snapshot.write(path, HEADER, ARRAYS)
    return path


def forge(path, document, data=b"", *, length=None):
    """A file with whatever inside and a digest that is right."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    text += b" " * (-(20 + 72 + 22 + len(text)) % 64)
    signed = b"header %08d bytes\n" % (len(text) if length is None else length) + text + data
    digest = hashlib.sha256(signed).hexdigest().encode()
    path.write_bytes(b"onlooker snapshot 1\nsha256 " + digest + b"\n" + signed)
    return path


def table(*entries):
    keys = ("name", "dtype", "shape", "offset")
    return {"header": {}, "arrays": [dict(zip(keys, e, strict=True)) for e in entries]}


@contextmanager
def little_memory():
    """Nothing of any size is allocated inside the block."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


def assert_same_arrays(found, expected):
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape
        little = array.astype(array.dtype.newbyteorder("<"))
        assert found[name].tobytes() == little.tobytes()  # NaN and -0.0 included


# What goes in comes back out


@given(
    header=st.dictionaries(st.text(st.characters()), json_values, max_size=4),
    arrays=st.dictionaries(st.text(st.characters()), arrays_of_any_kind, max_size=4),
)
def test_what_is_written_comes_back(header, arrays):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s")
        snapshot.write(path, header, arrays)
        found = snapshot.read(path)
    assert found.header == header
    assert list(found.header) == list(header)
    assert_same_arrays(found.arrays, arrays)


def test_half_characters_survive(tmp_path):
    """Names that come from file names may hold lone surrogates."""
    name = os.fsdecode(b"ana\xff") if os.name != "nt" else "ana\udcff"
    snapshot.write(tmp_path / "s", {name: "\ud83d\ude00"}, {name: np.zeros(1)})
    found = snapshot.read(tmp_path / "s")
    assert found.header == {name: "\ud83d\ude00"}
    assert list(found.arrays) == [name]


@pytest.mark.parametrize("order", ["transposed", "strided", "fortran"])
def test_memory_order_does_not_matter(tmp_path, order):
    base = np.arange(24.0).reshape(4, 6)
    array = {"transposed": base.T, "strided": base[::2, ::-3], "fortran": np.asfortranarray(base)}
    snapshot.write(tmp_path / "s", {}, {"x": array[order]})
    np.testing.assert_array_equal(snapshot.read(tmp_path / "s").arrays["x"], array[order])


def test_arrays_read_back_can_be_changed_and_stand_alone(saved):
    arrays = snapshot.read(saved).arrays
    assert all(a.flags.writeable and a.flags.owndata for a in arrays.values())


def test_the_same_content_is_the_same_file(saved, tmp_path):
    snapshot.write(tmp_path / "again", HEADER, ARRAYS)
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_arrays_begin_at_multiples_of_64(saved):
    raw = saved.read_bytes()
    for array in ARRAYS.values():
        assert any(raw[i : i + array.nbytes] == array.tobytes() for i in range(0, len(raw), 64))


def test_the_header_is_readable_as_text(saved):
    magic, digest, length, rest = saved.read_bytes().split(b"\n", 3)
    assert magic == b"onlooker snapshot 1"
    assert re.fullmatch(rb"sha256 [0-9a-f]{64}", digest)
    size = int(re.fullmatch(rb"header (\d{8}) bytes", length)[1])
    text = rest[:size].decode()
    assert "José" in text
    assert text.endswith("\n")
    document = json.loads(text)
    assert document["header"] == HEADER
    assert document["arrays"] == [
        {"name": "centers", "dtype": "float64", "shape": [2, 3], "offset": 0},
        {"name": "labeled", "dtype": "bool", "shape": [2], "offset": 64},
    ]


# Damage


def test_every_flipped_bit_is_refused(saved):
    raw = saved.read_bytes()
    for position in range(len(raw)):
        for bit in range(8):
            damaged = bytearray(raw)
            damaged[position] ^= 1 << bit
            saved.write_bytes(damaged)
            with pytest.raises(SnapshotError, match="cannot read snapshot"):
                snapshot.read(saved)


def test_every_truncation_is_refused(saved):
    raw = saved.read_bytes()
    for length in range(len(raw)):
        saved.write_bytes(raw[:length])
        with pytest.raises(SnapshotError, match="cannot read snapshot"):
            snapshot.read(saved)


@given(extra=st.binary(min_size=1, max_size=200))
def test_appended_bytes_are_refused(extra):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s")
        snapshot.write(path, HEADER, ARRAYS)
        path.write_bytes(path.read_bytes() + extra)
        with pytest.raises(SnapshotError, match="SHA-256"):
            snapshot.read(path)


@given(raw=st.binary(max_size=300), start=st.sampled_from([b"", b"onlooker snapshot 1\nsha256 "]))
def test_arbitrary_bytes_are_refused(raw, start):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s")
        path.write_bytes(start + raw)
        with pytest.raises(SnapshotError):
            snapshot.read(path)


@pytest.mark.parametrize("version", [2, 12])
def test_another_version_has_its_own_message(saved, version):
    raw = saved.read_bytes()
    saved.write_bytes(raw.replace(b"snapshot 1\n", b"snapshot %d\n" % version, 1))
    message = rf"format version {version}, .* reads version 1; update Onlooker, or save it again"
    with pytest.raises(SnapshotError, match=message):
        snapshot.read(saved)


# Forgery: the digest is right, the content is not


def test_a_forged_file_that_is_sound_is_read(tmp_path):
    """The tests below fail for the reason they name, not because the forger cannot forge."""
    path = forge(tmp_path / "s", table(("x", "uint8", [3], 0)), b"abc")
    assert bytes(snapshot.read(path).arrays["x"]) == b"abc"


HOSTILE_TABLES = {
    "huge": [("x", "float64", [2**40], 0)],
    "huge product": [("x", "float64", [2**32, 2**32, 2**32], 0)],
    "wraps around to zero in 64 bits": [("x", "float64", [2**61], 0)],
    "negative": [("x", "uint8", [-3], 0)],
    "two negatives make a plus": [("x", "uint8", [-3, -1], 0)],
    "fraction": [("x", "uint8", [3.0], 0)],
    "bool as length": [("x", "uint8", [3, True], 0)],
    "string as length": [("x", "uint8", ["3"], 0)],
    "shape is no list": [("x", "uint8", 3, 0)],
    "too many dimensions": [("x", "uint8", [3] + [1] * 64, 0)],
    "one byte too many": [("x", "uint8", [4], 0)],
    "one byte too few": [("x", "uint8", [2], 0)],
    "offset beyond the end": [("x", "uint8", [3], 2**40)],
    "negative offset": [("x", "uint8", [3], -64)],
    "unaligned offset": [("x", "uint8", [2], 1)],
    "overlap": [("x", "uint8", [3], 0), ("y", "uint8", [3], 0)],
    "object": [("x", "object", [3], 0)],
    "object by code": [("x", "O", [3], 0)],
    "complex": [("x", "complex64", [0], 0)],
    "name is a number": [(1, "uint8", [3], 0)],
    "no arrays": [],
}


@pytest.mark.parametrize("entries", HOSTILE_TABLES.values(), ids=HOSTILE_TABLES)
def test_a_hostile_table_is_refused_before_memory_is_asked_for(tmp_path, entries):
    path = forge(tmp_path / "s", table(*entries), b"abc")
    with little_memory(), pytest.raises(SnapshotError, match="damaged or was edited"):
        snapshot.read(path)


def test_an_empty_array_too_long_for_numpy_is_refused(tmp_path):
    path = forge(tmp_path / "s", table(("x", "float64", [0, 2**62], 0)))
    with pytest.raises(SnapshotError, match="does not describe an array"):
        snapshot.read(path)


def test_two_arrays_of_one_name_are_refused(tmp_path):
    path = forge(tmp_path / "s", table(("x", "uint8", [64], 0), ("x", "uint8", [3], 64)), bytes(67))
    with pytest.raises(SnapshotError, match="'x' is listed twice"):
        snapshot.read(path)


@pytest.mark.parametrize("offset", [0, 3, 128])
def test_an_array_out_of_its_place_is_refused(tmp_path, offset):
    entries = table(("x", "uint8", [3], 0), ("y", "uint8", [3], offset))
    with pytest.raises(SnapshotError, match="'y' is listed twice or not in its place"):
        snapshot.read(forge(tmp_path / "s", entries, bytes(offset + 3)))


def test_arrays_that_begin_unaligned_are_refused(tmp_path):
    text = json.dumps(table(("x", "uint8", [4], 0))).encode()
    with pytest.raises(SnapshotError, match="header claims"):
        snapshot.read(forge(tmp_path / "s", text + b" " * 64, b"abc", length=len(text) + 1))


def test_nothing_is_allocated_for_a_table_with_one_bad_line(tmp_path):
    size = 32 << 20
    entries = table(("good", "uint8", [size], 0), ("bad", "uint8", [2**40], size))
    path = forge(tmp_path / "s", entries, bytes(size))
    with (
        little_memory(),
        pytest.raises(SnapshotError, match=r"'bad' of shape .* larger than the file"),
    ):
        snapshot.read(path)


HOSTILE_HEADERS = {
    "deeply nested": b'{"header": {"a": ' + b"[" * 200_000 + b"]" * 200_000 + b'}, "arrays": []}',
    "NaN": b'{"header": {"sink": NaN}, "arrays": []}',
    "Infinity": b'{"header": {"sink": -Infinity}, "arrays": []}',
    "overflow to infinity": b'{"header": {"sink": 1e999}, "arrays": []}',
    "endless integer": b'{"header": {"sink": ' + b"9" * 10_000 + b'}, "arrays": []}',
    "a key twice": b'{"header": {"sink": 1, "sink": 2}, "arrays": []}',
    "not JSON": b"{",
    "nothing": b"",
    "not UTF-8": b'{"header": {"a": "\xff"}, "arrays": []}',
    "a list": b"[]",
    "header is a list": b'{"header": [], "arrays": []}',
    "arrays is a dict": b'{"header": {}, "arrays": {}}',
    "an array is a number": b'{"header": {}, "arrays": [1]}',
    "no arrays": b'{"header": {}}',
    "something else": b'{"header": {}, "arrays": [], "code": 1}',
}


@pytest.mark.parametrize("text", HOSTILE_HEADERS.values(), ids=HOSTILE_HEADERS)
def test_a_hostile_header_is_refused(tmp_path, text):
    with pytest.raises(SnapshotError, match="damaged or was edited") as caught:
        snapshot.read(forge(tmp_path / "s", text))
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


@pytest.mark.parametrize("length", [0, 1, 2**20, 99_999_999])
def test_a_header_length_that_is_wrong_is_refused(tmp_path, length):
    with pytest.raises(SnapshotError, match="damaged or was edited"):
        snapshot.read(forge(tmp_path / "s", table(), length=length))


def test_a_header_over_the_limit_is_refused_before_it_is_read(tmp_path):
    path = forge(tmp_path / "s", b'{"header": {}, "arrays": []}' + b" " * (16 << 20))
    with little_memory(), pytest.raises(SnapshotError, match="header claims"):
        snapshot.read(path)


def test_a_bool_that_is_neither_is_refused(tmp_path):
    path = forge(tmp_path / "s", table(("x", "bool", [3], 0)), b"\0\1\2")
    with pytest.raises(SnapshotError, match="neither 0 nor 1"):
        snapshot.read(path)


def test_a_file_over_max_bytes_is_refused(saved):
    size = saved.stat().st_size
    assert snapshot.read(saved, max_bytes=size).header == HEADER
    with pytest.raises(SnapshotError, match=f"{size} bytes, the limit is {size - 1}; raise max_b"):
        snapshot.read(saved, max_bytes=size - 1)


# What cannot be written


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array(["text"]),
        np.array([1j]),
        np.zeros(2, [("a", "f8")]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        [1.0, 2.0],
    ],
    ids=lambda array: str(getattr(array, "dtype", "list")),
)
def test_arrays_that_are_not_plain_numbers_are_refused(saved, array):
    before = saved.read_bytes()
    with pytest.raises(SnapshotError, match=r"array 'x' is .*float64"):
        snapshot.write(saved, {}, {"x": array})
    assert saved.read_bytes() == before


def deep_list():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "header",
    [
        {"sink": float("nan")},
        {"sink": float("inf")},
        {"names": ("ana", "ben")},
        {"ids": {1: "ana"}},
        {1: "ana"},
        {"sink": np.int64(1)},
        {"who": object()},
        {"sink": 10**5000},
        {"deep": deep_list()},
    ],
    ids=["nan", "inf", "tuple", "inner key", "key", "numpy", "object", "endless", "deep"],
)
def test_headers_that_would_not_come_back_are_refused(saved, header):
    before = saved.read_bytes()
    with pytest.raises(SnapshotError, match="does not fit JSON"):
        snapshot.write(saved, header, {})
    assert saved.read_bytes() == before


def test_a_header_over_the_limit_is_not_written(tmp_path):
    with pytest.raises(SnapshotError, match="use arrays instead"):
        snapshot.write(tmp_path / "s", {"text": "a" * (16 << 20)}, {})
    assert list(tmp_path.iterdir()) == []


def test_an_array_name_that_is_not_a_string_is_refused(tmp_path):
    with pytest.raises(SnapshotError, match="array 1 is"):
        snapshot.write(tmp_path / "s", {}, {1: np.zeros(2)})


def test_unusual_bytes_in_a_bool_array_are_written_as_true(tmp_path):
    odd = np.array([0, 1, 2], dtype=np.uint8).view(np.bool_)
    snapshot.write(tmp_path / "s", {}, {"x": odd, "scalar": odd[2:].reshape(())})
    found = snapshot.read(tmp_path / "s").arrays
    assert found["x"].view(np.uint8).tolist() == [0, 1, 1]
    assert found["scalar"].shape == ()


def test_no_pickle_in_the_module():
    source = Path(snapshot.__file__).read_text(encoding="utf-8")
    for word in ("import pickle", "allow_pickle", "np.load", "np.save", "eval(", "marshal"):
        assert word not in source


# Writing is all or nothing


class FullDisk:
    """A file that takes some bytes and then has no room."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, part):
        taken = memoryview(part)[: self.room]
        self.room -= len(taken)
        self.file.write(taken)
        if len(taken) < len(part):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def failing(error):
    def fail(*_args, **_kwargs):
        raise error

    return fail


def break_disk(monkeypatch, room):
    real = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda *a, **k: FullDisk(real(*a, **k), room))


@pytest.mark.parametrize("step", ["replace", "fsync", "chmod"])
@pytest.mark.parametrize("fresh", [True, False], ids=["new file", "old file"])
def test_an_interrupted_write_leaves_everything_as_it_was(tmp_path, monkeypatch, step, fresh):
    path = tmp_path / "s"
    if not fresh:
        snapshot.write(path, HEADER, ARRAYS)
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    monkeypatch.setattr(os, step, failing(OSError(errno.EIO, "disk on fire")))
    with pytest.raises(SnapshotError, match=r"cannot write snapshot .*: disk on fire; check"):
        snapshot.write(path, {}, {"x": np.zeros(9)})
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("room", [0, 10, 100, 400])
def test_a_full_disk_leaves_everything_as_it_was(saved, monkeypatch, room):
    before = saved.read_bytes()
    break_disk(monkeypatch, room)
    with pytest.raises(SnapshotError, match="No space left"):
        snapshot.write(saved, {}, {"x": np.zeros(99)})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_ctrl_c_during_a_write_leaves_everything_as_it_was(saved, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr(os, "replace", failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        snapshot.write(saved, {}, {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.skipif(os.name == "nt", reason="folders are not synced on Windows")
def test_a_folder_that_cannot_be_synced_is_only_a_warning(saved, monkeypatch, caplog):
    """By then the new file is in place; calling the write a failure would be a lie."""
    real = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not here")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    with caplog.at_level(logging.WARNING, logger="onlooker"):
        snapshot.write(saved, {"new": True}, {})
    assert snapshot.read(saved).header == {"new": True}
    assert "cannot sync" in caplog.text


def test_the_file_is_synced_before_it_gets_its_name(tmp_path, monkeypatch):
    steps = []
    for step in ("fsync", "replace"):
        real = getattr(os, step)
        monkeypatch.setattr(os, step, lambda *a, s=step, r=real: (steps.append(s), r(*a))[1])
    snapshot.write(tmp_path / "s", HEADER, ARRAYS)
    assert steps[:2] == ["fsync", "replace"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_mode_of_an_existing_file_is_kept(saved, mode):
    saved.chmod(mode)
    snapshot.write(saved, {}, {})
    assert stat.S_IMODE(saved.stat().st_mode) == mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_a_new_file_is_for_its_owner_only(saved):
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_written_through(tmp_path, exists):
    real, link = tmp_path / "there" / "real", tmp_path / "link"
    real.parent.mkdir()
    if exists:
        real.write_text("old")
    link.symlink_to(real)
    snapshot.write(link, HEADER, ARRAYS)
    assert link.is_symlink()
    assert snapshot.read(real).header == HEADER
    assert list(real.parent.iterdir()) == [real]


# Paths


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(OnlookerError, match=r"nobody: No such file.*check the path") as caught:
        snapshot.read(tmp_path / "nobody")
    assert isinstance(caught.value, SnapshotError)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_folder_is_not_a_snapshot(tmp_path):
    with pytest.raises(SnapshotError, match="it is a folder"):
        snapshot.read(tmp_path)
    with pytest.raises(SnapshotError, match="it is a folder"):
        snapshot.write(tmp_path, HEADER, ARRAYS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SnapshotError, match="a device or a pipe"):
        snapshot.read(tmp_path / "pipe")
    with pytest.raises(SnapshotError, match="a device or a pipe"):
        snapshot.write(tmp_path / "pipe", {}, {})


def test_a_folder_that_does_not_exist_says_what_to_do(tmp_path):
    with pytest.raises(SnapshotError, match=r"No such file or directory; check the folder"):
        snapshot.write(tmp_path / "nowhere" / "s", HEADER, ARRAYS)


def test_a_path_with_a_null_byte_is_refused(tmp_path):
    path = f"{tmp_path}/a\0b"
    with pytest.raises(SnapshotError, match="null"):
        snapshot.read(path)
    with pytest.raises(SnapshotError, match="null"):
        snapshot.write(path, {}, {})


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(SnapshotError, match="symbolic links"):
        snapshot.write(tmp_path / "loop", {}, {})
    assert (tmp_path / "loop").is_symlink()


def test_no_permission_is_told_with_the_reason(saved, monkeypatch):
    """Simulated, because root may read everything."""
    denied = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr("builtins.open", failing(denied))
    with pytest.raises(SnapshotError, match="Permission denied; check the path and its perm"):
        snapshot.read(saved)
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "mkstemp", failing(denied))
    with pytest.raises(SnapshotError, match="Permission denied; check the folder"):
        snapshot.write(saved, {}, {})


def test_what_is_written_to_memory_comes_back_from_its_start():
    memory = BytesIO()
    snapshot.write(memory, {"names": ["ana"]}, {"centers": np.arange(6.0).reshape(2, 3)})
    for _ in range(2):  # wherever the last reading ended
        found = snapshot.read(memory)
        assert found.header == {"names": ["ana"]}
        np.testing.assert_array_equal(found.arrays["centers"], np.arange(6.0).reshape(2, 3))


def test_an_array_of_as_many_dimensions_as_are_allowed_comes_back(tmp_path):
    shape = (1,) * snapshot._MAX_DIMENSIONS
    snapshot.write(tmp_path / "file", {}, {"deep": np.ones(shape)})
    assert snapshot.read(tmp_path / "file").arrays["deep"].shape == shape
