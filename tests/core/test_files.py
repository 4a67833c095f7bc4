"""One way to replace a file: all of it or nothing, whatever goes wrong."""

import errno
import logging
import os
import stat

import pytest

from onlooker.core.errors import BadValue
from onlooker.core.files import (
    TEMPORARY_FILES,
    move_into_place,
    read_toml,
    refuse_irregular,
    remove_temporary_files,
    replace_file,
    sync_folder,
)


def failing(error):
    def fail(*_args, **_kwargs):
        raise error

    return fail


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write_new(file):
    file.write(b"n")
    file.write(b"ew")


@pytest.mark.parametrize("content", [b"new", write_new], ids=["bytes", "writer"])
@pytest.mark.parametrize("before", [{}, {"names": b"old"}], ids=["new file", "old file"])
def test_the_file_holds_the_new_content_and_nothing_else_is_left(tmp_path, content, before):
    for name, data in before.items():
        (tmp_path / name).write_bytes(data)
    replace_file(tmp_path / "names", content)
    assert contents(tmp_path) == {"names": b"new"}


@pytest.mark.parametrize("step", ["replace", "fsync", "chmod"])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "disk on fire"), KeyboardInterrupt()])
@pytest.mark.parametrize("before", [{}, {"names": b"old"}], ids=["new file", "old file"])
def test_a_failure_leaves_everything_as_it_was(tmp_path, monkeypatch, step, error, before):
    for name, data in before.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.setattr(os, step, failing(error))
    with pytest.raises(type(error)):
        replace_file(tmp_path / "names", b"new")
    assert contents(tmp_path) == before


def test_a_writer_that_fails_leaves_everything_as_it_was(tmp_path):
    (tmp_path / "names").write_bytes(b"old")

    def write(file):
        file.write(b"half")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        replace_file(tmp_path / "names", write)
    assert contents(tmp_path) == {"names": b"old"}


def test_the_file_is_synced_before_it_gets_its_name_and_the_folder_after(tmp_path, monkeypatch):
    steps = []
    real_sync, real_replace = os.fsync, os.replace

    def sync(descriptor):
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_sync(descriptor)

    def rename(source, target):
        steps.append("rename")
        real_replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", rename)
    replace_file(tmp_path / "names", b"new")
    assert steps[:2] == ["file", "rename"]
    assert steps[2:] == (["folder"] if os.name != "nt" else [])


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_the_mode_is_the_one_given_else_the_one_of_before_else_for_the_owner_only(tmp_path):
    path = tmp_path / "names"

    def mode():
        return stat.S_IMODE(path.stat().st_mode)

    replace_file(path, b"")
    assert mode() == 0o600
    path.chmod(0o640)
    replace_file(path, b"")
    assert mode() == 0o640
    replace_file(path, b"", mode=0o600)
    assert mode() == 0o600


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_nobody_else_can_read_the_file_while_it_is_being_written(tmp_path):
    modes = []

    def write(file):
        modes.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))

    replace_file(tmp_path / "names", write, mode=0o644)
    assert modes == [0o600]


@pytest.mark.skipif(os.name == "nt", reason="folders are not synced on Windows")
def test_a_folder_that_cannot_be_synced_is_a_warning_once_the_file_is_in_place(
    tmp_path, monkeypatch, caplog
):
    real = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not here")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    with caplog.at_level(logging.WARNING, logger="onlooker"):
        replace_file(tmp_path / "names", b"new")
    assert contents(tmp_path) == {"names": b"new"}
    assert "cannot sync" in caplog.text
    with pytest.raises(OSError, match="not here"):
        sync_folder(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_symbolic_link_still_points_at_the_file_that_was_replaced(tmp_path):
    real, link = tmp_path / "elsewhere" / "names", tmp_path / "link"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link.symlink_to(real)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert contents(real.parent) == {"names": b"new"}


def test_a_folder_is_not_replaced_by_a_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder, not a file"):
        replace_file(tmp_path, b"new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a device or a pipe, not a file"):
        refuse_irregular(tmp_path / "pipe")


def test_a_whole_folder_gets_its_name_in_one_step(tmp_path):
    (tmp_path / "partial").mkdir()
    (tmp_path / "partial" / "names").write_bytes(b"new")
    move_into_place(tmp_path / "partial", tmp_path / "copy")
    assert contents(tmp_path / "copy") == {"names": b"new"}
    assert not (tmp_path / "partial").exists()


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "names").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", failing(KeyboardInterrupt()))
    monkeypatch.setattr(os, "unlink", failing(OSError()))  # as if the process were gone by then
    with pytest.raises(KeyboardInterrupt):
        replace_file(tmp_path / "names", b"new")
    monkeypatch.undo()
    assert len(list(tmp_path.glob(TEMPORARY_FILES))) == 1
    remove_temporary_files(tmp_path)
    assert contents(tmp_path) == {"names": b"old"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"port = ", "not TOML"),
        (b"\xff\xfe", "not TOML"),
        (b"port = " + b"[" * 5000, "too many brackets"),
        (b"a." * 50_000 + b"b = 1", "a key of 64 parts"),
        (b'"a" . ' * 50_000 + b"b = 1", "a key of 64 parts"),
        (b"# " + b"x" * (1 << 20), "more than 1048576 characters"),
    ],
)
def test_toml_that_is_none_or_takes_for_ever_is_refused_in_one_line(tmp_path, content, words):
    """tomllib needs minutes and a gigabyte for a key of so many parts."""
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(BadValue, match=words) as refused:
        read_toml(path)
    assert "\n" not in str(refused.value)


def test_a_long_word_in_toml_takes_no_time_by_its_square(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b"a = '" + b"x" * 500_000 + b"'\nb.c.d = '1.2.3'")
    assert read_toml(path)["b"] == {"c": {"d": "1.2.3"}}
