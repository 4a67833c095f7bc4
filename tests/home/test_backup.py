"""A backup is one moment of a home that goes on learning; a restore is all or nothing."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.homes import (
    LENGTH,
    change_database,
    files_with,
    opened,
    png,
    stream,
    unpacked,
    watch,
)
from helpers.waiting import DEADLINE, eventually
from onlooker.core.errors import BadValue, LabelConflict, NotFound, OnlookerError
from onlooker.home import backup
from onlooker.home.backup import BackupFailed, back_up, backup_archive, restore
from onlooker.home.database import Database
from onlooker.home.disk import HomeInUse
from onlooker.home.events import digest
from onlooker.home.people import rename
from onlooker.home.reopen import reopen
from onlooker.home.retention import RetentionPolicy


def word_of(folder):
    with reopen(folder) as home:
        assert home.problems == ()
        return home.sequence, digest(home.learner)


def hidden_in(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


# ---- while it learns


def change(home, number, x, name):
    """One of the things that may happen to a home at any time."""
    kinds = ("observe", "observe", "teach", "batch", "undo", "rename", "unteach", "snapshot")
    kind = kinds[number % len(kinds)]
    if kind == "teach":
        home.teach(x, name or "ana", picture=png(number))
    elif kind == "batch":
        with home.batch():
            home.teach(x, name or "ana", picture=png(number))
            home.observe(x + 0.01, camera="door", frame=number)
    elif kind == "undo":
        home.undo(to=max(home.health().oldest, home.sequence - number % 3))
    elif kind == "rename" and home.learner.names:
        rename(home, home.learner.names[0], f"name {number}")
    elif kind == "unteach":
        home.unteach(home.vertices().vectors[0])
    else:
        home.observe(x, camera="door", frame=number, picture=png(number))


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 9))
def test_a_backup_while_it_learns_opens_with_the_digest_of_its_moment(seed, snapshot_every):
    """Snapshots are written and deleted all the time; the copies are made in another thread."""
    retention = RetentionPolicy(snapshot_every=snapshot_every, undo_days=1e-9)
    with (
        tempfile.TemporaryDirectory() as place,
        opened(Path(place, "home"), retention=retention) as home,
        ThreadPoolExecutor(1) as other,
    ):
        words = {0: digest(home.learner)}
        copies = [Path(place, f"copy {n}") for n in range(3)]
        made = [other.submit(back_up, home.folder, copy) for copy in copies]
        for number, (x, name) in enumerate(stream(seed, 4000)):
            with suppress(NotFound, LabelConflict):
                change(home, number, x, name)
            word = digest(home.learner)
            for event in range(max(words) + 1, home.sequence + 1):
                words[event] = word
            if all(job.done() for job in made):
                break
        for job, copy in zip(made, copies, strict=True):
            copied = job.result()
            assert word_of(copy) == (copied.event, words[copied.event])
        assert hidden_in(Path(place)) == []


@pytest.mark.parametrize("attempts", [1, 3, 9])
def test_a_backup_whose_snapshots_were_all_replaced_while_it_opened_them(
    tmp_path, monkeypatch, attempts
):
    """Between opening the snapshots and holding the database, a quick home goes on."""
    retention = RetentionPolicy(snapshot_every=2, undo_days=1e-9)
    hold, held = Database.hold, []

    def after_many_changes(self):
        if len(held) < attempts:
            watch(home, len(held), 12)
        held.append(home.sequence)
        hold(self)

    with opened(tmp_path / "home", retention=retention) as home:
        watch(home, 99, 20)
        monkeypatch.setattr(Database, "hold", after_many_changes)
        monkeypatch.setattr(backup, "ATTEMPTS", 5)
        if attempts < backup.ATTEMPTS:
            back_up(home.folder, tmp_path / "copy")
            assert len(held) == attempts + 1
            assert word_of(tmp_path / "copy") == (home.sequence, digest(home.learner))
        else:
            with pytest.raises(BackupFailed, match="changed too fast to be copied; try again"):
                back_up(home.folder, tmp_path / "copy")
            assert hidden_in(tmp_path) == []


def test_another_process_backs_up_a_home_that_is_open(tmp_path):
    with opened(tmp_path / "home") as home:
        watch(home, 3, 40)
        command = "import sys; from onlooker.home.backup import back_up; back_up(*sys.argv[1:])"
        folders = [str(home.folder), str(tmp_path / "copy")]
        subprocess.run([sys.executable, "-c", command, *folders], check=True)
        assert word_of(tmp_path / "copy") == (home.sequence, digest(home.learner))
        assert not (tmp_path / "copy" / "lock").exists() or home.problems == ()


def test_idle_moments_do_not_wait_for_a_backup(tmp_path):
    """The log cannot be emptied while somebody reads; that is for the next idle moment."""
    with opened(tmp_path) as home:
        home.teach(np.zeros(LENGTH), "ana")
        reader = Database(tmp_path / "onlooker.db")
        reader.hold()
        home.teach(np.ones(LENGTH), "ben")
        timeout = home.database.query("PRAGMA busy_timeout")
        home.database.query("PRAGMA busy_timeout = 600000")  # a wait would end this test's time
        home.checkpoint()
        assert home.database.query("PRAGMA busy_timeout") == [(600000,)] != timeout
        assert (tmp_path / "onlooker.db-wal").stat().st_size > 0
        reader.close_as_it_is()
        home.checkpoint()
        assert (tmp_path / "onlooker.db-wal").stat().st_size == 0


@pytest.mark.parametrize("how", ["folder", "archive"])
def test_who_is_forgotten_during_a_backup_is_not_in_it(tmp_path, monkeypatch, how):
    """And forgetting reaches its end, though somebody was reading."""
    copying = Event()
    copy_to = Database.copy_to

    def slowly(self, path, between):
        def step():
            copying.set()
            now = Database(tmp_path / "home" / "onlooker.db")
            try:
                eventually(lambda: now.number("forgetting") is not None)
            finally:
                now.close_as_it_is()
            between()

        copy_to(self, path, step)

    def archived():
        with backup_archive(tmp_path / "home") as (_, chunks):
            return b"".join(chunks)

    with opened(tmp_path / "home") as home, ThreadPoolExecutor(1) as other:
        home.teach(np.full(LENGTH, 7.0), "Zebedee", picture=png(1))
        home.teach(np.zeros(LENGTH), "ana")
        monkeypatch.setattr(Database, "copy_to", slowly)
        job = other.submit(
            archived if how == "archive" else lambda: back_up(home.folder, tmp_path / "copy")
        )
        assert copying.wait(DEADLINE)
        assert home.forget("Zebedee").labeled == 1
        with pytest.raises(BackupFailed, match="somebody is being forgotten"):
            job.result()
        assert files_with(tmp_path, b"Zebedee", np.full(LENGTH, 7.0, np.float32).tobytes()) == []
        assert hidden_in(tmp_path) == hidden_in(home.folder) == []


def test_who_is_forgotten_while_an_archive_is_sent_is_sent_no_further(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.full(LENGTH, 7.0), "Zebedee", picture=png(1))
        home.teach(np.zeros(LENGTH), "ana")
        with backup_archive(tmp_path) as (_, chunks):
            next(chunks)
            home.forget("Zebedee")
            assert files_with(tmp_path, b"Zebedee") == []
            with pytest.raises(BackupFailed, match="forgotten"):
                list(chunks)


def test_who_is_forgotten_while_the_copy_is_verified_is_not_in_it(tmp_path, monkeypatch):
    """All is copied by then, but the copy has no name yet."""
    contents = backup._contents
    with opened(tmp_path / "home") as home:
        home.teach(np.full(LENGTH, 7.0), "Zebedee")
        home.teach(np.zeros(LENGTH), "ana")

        def forgotten_meanwhile(*arguments):
            home.forget("Zebedee")
            return contents(*arguments)

        monkeypatch.setattr(backup, "_contents", forgotten_meanwhile)
        with pytest.raises(BackupFailed, match="somebody is being forgotten"):
            back_up(home.folder, tmp_path / "copy")
    assert files_with(tmp_path, b"Zebedee") == []


def test_what_cannot_be_deleted_of_an_earlier_download_does_not_stop_the_next(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(LENGTH), "ana")
        (tmp_path / ".backup-notes").write_bytes(b"somebody's")
        with backup_archive(tmp_path) as (_, chunks):
            assert b"".join(chunks)


def test_a_copy_that_just_fits_is_made_and_one_that_does_not_is_refused(
    home, tmp_path, monkeypatch
):
    """Known before the first byte, for folders and archives, in both directions."""
    needed = back_up(home, tmp_path / "copy").bytes
    archive = archive_of(home, tmp_path / "copy.tar")

    def free(count):
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=count))

    for source, size in ((tmp_path / "copy", needed), (archive, archive.stat().st_size)):
        free(size - 1)
        with pytest.raises(BackupFailed, match="not enough space for the copy"):
            restore(source, tmp_path / "new")
        assert hidden_in(tmp_path) == []
        free(size)
        restore(source, tmp_path / f"new {size}")
    free(1000)
    with pytest.raises(BackupFailed, match="not enough space for the copy"):
        back_up(home, tmp_path / "another")
    assert hidden_in(tmp_path) == []


def test_what_a_killed_process_was_sending_is_deleted_at_the_next_start(tmp_path):
    with opened(tmp_path / "home") as home:
        watch(home, 3, 20)
        with backup_archive(home.folder):
            (unsent,) = home.folder.glob(".backup-*")
            shutil.copytree(unsent, tmp_path / "kept")
    shutil.copytree(tmp_path / "kept", tmp_path / "home" / unsent.name)
    opened(tmp_path / "home").close()
    assert not unsent.exists()


# ---- restore


@pytest.fixture
def home(tmp_path):
    with opened(tmp_path / "home") as made:
        watch(made, 3, 40)
        made.teach(np.full(LENGTH, 9.0), "ana", picture=png(1))
    return tmp_path / "home"


def archive_of(folder, path):
    with reopen(folder), backup_archive(folder) as (size, chunks):
        path.write_bytes(b"".join(chunks))
    assert path.stat().st_size == size
    with tarfile.open(path) as archive:
        assert {member.mode for member in archive} == {0o600}, "faces are for their owner"
    return path


@pytest.mark.parametrize("how", ["folder", "archive"])
def test_a_restored_home_is_the_same(home, tmp_path, how):
    if how == "folder":
        backup = tmp_path / "copy"
        back_up(home, backup)
    else:
        backup = archive_of(home, tmp_path / "copy.tar")
    copied, aside = restore(backup, tmp_path / "new")
    assert aside is None
    assert copied.event == word_of(home)[0]
    assert word_of(tmp_path / "new") == word_of(home)
    with reopen(home) as old, reopen(tmp_path / "new") as new:
        assert new.album.vertices() == old.album.vertices() != []
        assert new.events(limit=999) == old.events(limit=999)
    files = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert {path.stat().st_mode & 0o77 for path in files} == {0}
    assert hidden_in(tmp_path) == []


def test_a_home_is_replaced_only_if_that_was_asked_for_and_is_set_aside(home, tmp_path):
    back_up(home, tmp_path / "copy")
    with opened(home) as changed:
        changed.teach(np.full(LENGTH, 30.0), "later")
    later = word_of(home)
    with pytest.raises(BadValue, match="is a home already; --replace"):
        restore(tmp_path / "copy", home)
    assert word_of(home) == later
    _, aside = restore(tmp_path / "copy", home, replace=True)
    assert word_of(home) == word_of(tmp_path / "copy")
    assert word_of(aside) == later
    assert aside == tmp_path / "home.replaced-1"
    assert restore(tmp_path / "copy", home, replace=True)[1] == tmp_path / "home.replaced-2"


def test_a_restore_into_a_home_that_is_open_changes_nothing(home, tmp_path):
    back_up(home, tmp_path / "copy")
    with opened(home) as serving:
        before = digest(serving.learner)
        with pytest.raises(HomeInUse, match=f"in use by process {os.getpid()}"):
            restore(tmp_path / "copy", home, replace=True)
        with pytest.raises(HomeInUse, match="in use"):
            restore(home, tmp_path / "new")
        serving.teach(np.full(LENGTH, 30.0), "later")
        assert digest(serving.learner) != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "home"]


def test_a_backup_of_a_newer_format_is_refused(home, tmp_path):
    back_up(home, tmp_path / "copy")
    change_database(tmp_path / "copy", "PRAGMA user_version = 99")
    words = r"copy has version 99, this Onlooker reads up to \d+; update Onlooker"
    with pytest.raises(OnlookerError, match=words):
        restore(tmp_path / "copy", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "home"]


def test_a_backup_of_an_earlier_format_is_migrated_in_the_copy(tmp_path):
    old = unpacked("strangers", tmp_path)
    before = sorted(path.relative_to(old) for path in old.rglob("*"))
    copied, _ = restore(old, tmp_path / "new")
    assert copied.people
    assert word_of(tmp_path / "new")[0] == copied.event
    assert sorted(path.relative_to(old) for path in old.rglob("*")) == before


def tar(path, *members):
    with tarfile.open(path, "w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "there is no backup"),
        (lambda path: path.write_bytes(b"not a tar" * 200), "is not a whole backup"),
        (lambda path: path.write_bytes(b""), "is not a whole backup"),
        (lambda path: path.mkdir(), "it holds no home"),
        (lambda path: tar(path), "it holds no home"),
        (lambda path: tar(path, ("../evil", b"x")), r"'../evil' is in it"),
        (lambda path: tar(path, ("/tmp/evil", b"x")), "is in it"),
        (lambda path: tar(path, ("login/code", b"x")), "'login/code' is in it"),
    ],
    ids=["nothing", "no tar", "empty", "folder", "empty tar", "above", "absolute", "other"],
)
def test_what_is_no_backup_is_refused_in_one_line(tmp_path, make, words):
    make(tmp_path / "copy")
    with pytest.raises(BadValue, match=words) as caught:
        restore(tmp_path / "copy", tmp_path / "new")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()
    assert hidden_in(tmp_path) == []


@pytest.mark.parametrize("part", [0.3, 0.7, 0.95])
def test_an_archive_that_was_cut_off_is_refused(home, tmp_path, part):
    path = archive_of(home, tmp_path / "copy.tar")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(OnlookerError):
        restore(path, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert hidden_in(tmp_path) == []


def test_an_empty_folder_becomes_a_home_and_a_file_does_not(home, tmp_path):
    back_up(home, tmp_path / "copy")
    (tmp_path / "empty").mkdir()
    restore(tmp_path / "copy", tmp_path / "empty")
    assert word_of(tmp_path / "empty") == word_of(home)
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(BadValue, match="exists already and is not a home"):
        restore(tmp_path / "copy", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"x"


def test_a_folder_that_is_something_else_is_left_alone(home, tmp_path):
    back_up(home, tmp_path / "copy")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_bytes(b"x")
    with pytest.raises(BadValue, match="exists already and is not a home"):
        restore(tmp_path / "copy", tmp_path / "photos", replace=True)
    assert (tmp_path / "photos" / "one.jpg").exists()
