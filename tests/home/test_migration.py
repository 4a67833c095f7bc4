"""Homes that the code before version 3 wrote open with all they had, after a copy was put aside.

`tests/data/homes` holds them as that code left them, and what it said of each (`make.py.txt`).
"""

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.homes import OLD_HOMES, files_with, unpacked
from onlooker.core.errors import BadValue
from onlooker.home import migration
from onlooker.home.database import SCHEMA_CHANGES, VERSION, Database, HomeError, NotSaved
from onlooker.home.disk import HomeInUse
from onlooker.home.events import digest
from onlooker.home.home import FaceToTeach, Home
from onlooker.home.reopen import DISTANCES, reopen
from onlooker.home.retention import RetentionPolicy
from onlooker.home.transfer import read
from onlooker.strangers.book import StrangerBook

CLUSTERS = ("site", "site_pending", "cluster")
PIXELS = ("pixels",)
HOMES = sorted(
    {path.name.split(".")[0] for path in OLD_HOMES.glob("*.tar.xz")} - {*CLUSTERS, *PIXELS}
)
SOUND = [name for name in HOMES if not name.startswith("damaged")]


def recorded(name):
    return SimpleNamespace(**json.loads((OLD_HOMES / f"{name}.json").read_text("utf-8")))


def opened(folder, old, **options):
    clock = {"clock": lambda: old.clock, "steady": lambda: old.clock}
    return reopen(folder, retention=RetentionPolicy(**old.keeping), **clock, **options)


def answers(home, old):
    rows = [home.predict(np.array(probe, old.type)) for probe in old.probes]
    return [
        {
            "label": row.label,
            "scores": {name: pytest.approx(score, abs=1e-9) for name, score in row.scores.items()},
            "sink": pytest.approx(row.sink, abs=1e-9),
            "vertex": row.vertex,
        }
        for row in rows
    ]


def shown(card):
    return {
        "number": card.number,
        "count": card.count,
        "hidden": card.hidden,
        "told": card.alerted,
        "first": [card.first.time, card.first.camera, card.first.frame],
        "last": [card.last.time, card.last.camera, card.last.frame],
        "faces": [
            {
                "quality": face.quality,
                "seen": [face.seen.time, face.seen.camera, face.seen.frame],
                "vector": face.vector.tolist(),
                "picture": face.picture and hashlib.sha256(face.picture).hexdigest(),
                "key": face.key,
            }
            for face in card.faces
        ],
    }


@pytest.mark.parametrize("name", HOMES)
def test_an_old_home_gives_the_same_digest_answers_and_cards(tmp_path, name):
    folder, old = unpacked(name, tmp_path), recorded(name)
    with opened(folder, old) as home:
        assert digest(home.learner) == old.digest
        assert list(home.learner.names) == old.names
        assert home.learner.next_id == old.next_id
        # The earlier code counted a snapshot from before the events that were lost.
        oldest = home.sequence - 1 if name == "damaged_database" else old.oldest
        assert (home.sequence, home.health().oldest) == (old.sequence, oldest)
        assert len(home.problems) - len(old.problems) == (name == "damaged_cards")
        assert old.answers == answers(home, old)
        sightings = [
            [one.number, one.time, one.camera, one.frame, one.name, one.vertex]
            for one in home.album.sightings()
        ]
        assert sightings == old.sightings
        pictures = {str(v): home.album.picture(v) for v in home.album.vertices()}
        hashes = {v: hashlib.sha256(png).hexdigest() for v, png in pictures.items()}
        assert hashes == old.pictures
        with StrangerBook(home, clock=lambda: old.clock) as book:
            assert [shown(card) for card in book.cards(hidden=True)] == old.cards
            assert len(book.strangers) == old.strangers
            assert book.problems == []
            if old.identity is not None:
                assert home.identity == old.identity
        assert home.database.version == VERSION
    with opened(folder, old) as home, StrangerBook(home) as book:
        assert home.problems == ()
        assert digest(home.learner) == old.digest
        assert [shown(card) for card in book.cards(hidden=True)] == old.cards
    left = {path.name for path in folder.iterdir()}
    assert not left & {"strangers.snapshot", "cameras.json", "register.json"}


@pytest.mark.parametrize("name", ["strangers", "strangers_killed", "register"])
def test_strangers_go_on_with_the_same_cards(tmp_path, name):
    folder, old = unpacked(name, tmp_path), recorded(name)
    with opened(folder, old) as home, StrangerBook(home, clock=lambda: old.clock) as book:
        for vector, card in old.met:
            observed = book.observe(np.array(vector, old.type), camera="door", frame=0)
            assert observed == card


@pytest.mark.parametrize("name", [name for name in SOUND if "after" in vars(recorded(name))])
def test_an_old_home_can_be_undone_to_the_same_events(tmp_path, name):
    folder, old = unpacked(name, tmp_path), recorded(name)
    with opened(folder, old) as home:
        for event in list(old.after)[:: max(1, len(old.after) // 4)]:
            home.undo(to=int(event))
            assert digest(home.learner) == old.after[event]


def test_cameras_and_taught_faces_are_taken_over(tmp_path):
    folder, old = unpacked("cameras", tmp_path), recorded("cameras")
    with opened(folder, old) as home:
        assert home.cameras.sources() == old.sources
    assert (folder / "token.json").exists()
    folder, old = unpacked("register", tmp_path), recorded("register")
    with opened(folder, old) as home:
        assert home.taught.identity == old.register["identity"]
        faces = [
            FaceToTeach(name, np.array(vector, old.type))
            for name, vectors in old.register["people"].items()
            for vector in vectors
        ]
        before = home.sequence
        forgotten = home.teach_once(faces)
        assert home.sequence == before  # every face was taught once
        assert set(forgotten) == set(old.register["people"]) - set(home.learner.names)


@pytest.mark.parametrize("name", SOUND)
def test_the_copy_put_aside_is_the_old_home(tmp_path, name):
    folder, old = unpacked(name, tmp_path / "a"), recorded(name)
    original = unpacked(name, tmp_path / "b")
    opened(folder, old).close()
    copies = list(folder.glob(migration.COPY))
    if name.startswith("forgetting"):
        assert copies == []  # it would hold who was being forgotten
        return
    (copy,) = copies
    with (
        sqlite3.connect(copy / "onlooker.db") as ours,
        sqlite3.connect(original / "onlooker.db") as theirs,
    ):
        dumps = [list(connection.iterdump()) for connection in (ours, theirs)]
        versions = [c.execute("PRAGMA user_version").fetchone() for c in (ours, theirs)]
    ours.close()
    theirs.close()
    assert dumps[0] == dumps[1]
    assert versions[0] == versions[1]
    for path in original.rglob("*"):
        if path.is_file() and not path.name.startswith(("onlooker.db", ".onlooker-")):
            assert (copy / path.relative_to(original)).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["forgotten", "forgetting", "forgetting_half", "version1"])
def test_no_byte_of_somebody_forgotten_is_in_the_copy_either(tmp_path, name):
    folder, old = unpacked(name, tmp_path), recorded(name)
    needles = [bytes.fromhex(needle) for needle in old.gone]
    with opened(folder, old) as home:
        if name == "version1":
            home.forget(home.learner.names[0])
    assert files_with(folder, *needles) == []


def test_forgetting_somebody_deletes_the_copy(tmp_path):
    folder, old = unpacked("strangers", tmp_path), recorded("strangers")
    with opened(folder, old) as home, StrangerBook(home) as book:
        assert list(folder.glob(migration.COPY))
        book.forget("ana")
        assert list(folder.glob(migration.COPY)) == []
    assert files_with(folder, b'"ana"') == []


def test_the_copy_is_deleted_when_nothing_that_old_can_be_undone_to(tmp_path):
    folder, old = unpacked("plain", tmp_path), recorded("plain")
    with opened(folder, old) as home:
        home.expire()
        (copy,) = folder.glob(migration.COPY)
        os.utime(copy, (0, 0))
        home.expire()
        assert not copy.exists()


# ---- what stops a migration

KILLED = """
import os, sys
from onlooker.home.database import Database
from onlooker.home.reopen import reopen
stop, count = int(sys.argv[2]), 0
def traced(sql):
    global count
    count += 1
    if count == stop:
        os.kill(os.getpid(), 9)
set_up = Database.upgrade
def upgrade(self, *arguments):
    self._connection.set_trace_callback(traced)
    set_up(self, *arguments)
    self._connection.set_trace_callback(None)
Database.upgrade = upgrade
reopen(sys.argv[1]).close()
print(count)
"""


def run(folder, stop):
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(stop)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


def test_a_migration_killed_at_any_statement_leaves_the_old_home_or_the_new_one(tmp_path):
    old = recorded("strangers")
    whole = run(unpacked("strangers", tmp_path / "whole"), 0)
    statements = int(whole.stdout)
    assert statements > 40
    chosen = {1, 2, 3, statements - 1, statements, *range(4, statements, statements // 8)}
    for stop in sorted(chosen):
        folder = unpacked("strangers", tmp_path / str(stop))
        assert run(folder, stop).returncode == -signal.SIGKILL
        with sqlite3.connect(folder / "onlooker.db") as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.close()
        assert version in (2, VERSION)
        assert (folder / "strangers.snapshot").exists()
        with opened(folder, old) as home, StrangerBook(home) as book:
            assert home.problems == ()
            assert digest(home.learner) == old.digest
            assert [shown(card) for card in book.cards(hidden=True)] == old.cards


def test_a_full_disk_refuses_the_migration_and_changes_nothing(tmp_path, monkeypatch):
    folder, old = unpacked("strangers", tmp_path / "a"), recorded("strangers")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", full)
        with pytest.raises(HomeError, match=r"No space left.*nothing was changed: free some space"):
            opened(folder, old)
    with monkeypatch.context() as patch:
        patch.setattr(Database, "set_number", lambda *_: (_ for _ in ()).throw(NotSaved("full")))
        with pytest.raises(NotSaved, match="full"):
            opened(folder, old)
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert {name: after[name] for name in before if "wal" not in name} == before
    with opened(folder, old) as home, StrangerBook(home) as book:
        assert [shown(card) for card in book.cards(hidden=True)] == old.cards


def test_code_before_the_migration_refuses_the_new_home(tmp_path):
    """It reads versions up to its own, in words that say what to do; so does this code."""
    folder, old = unpacked("plain", tmp_path), recorded("plain")
    opened(folder, old).close()
    with sqlite3.connect(folder / "onlooker.db") as connection:
        connection.execute(f"PRAGMA user_version = {len(SCHEMA_CHANGES) + 1}")
    connection.close()
    with pytest.raises(HomeError, match=rf"version {VERSION + 1}.*reads up to {VERSION}; update"):
        opened(folder, old)


def test_two_services_at_one_old_home(tmp_path):
    folder, old = unpacked("plain", tmp_path), recorded("plain")
    with opened(folder, old) as home:
        with pytest.raises(HomeInUse, match=f"in use by process {os.getpid()}"):
            opened(folder, old)
        assert digest(home.learner) == old.digest


DAMAGES = {
    "empty": lambda text: "",
    "not JSON": lambda text: text[:-1],
    "nested without end": lambda text: "[" * 10_000,
    "half of it": lambda text: text[: len(text) // 2],
    "another machine, which would get the password": lambda text: text.replace("0.0.1", "0.0.2"),
    "of a later version": lambda text: json.dumps({**json.loads(text), "version": 2}),
    "no cameras": lambda text: json.dumps({**json.loads(text), "cameras": 7}),
    "another shape": lambda text: json.dumps([json.loads(text)]),
    "not text": lambda text: "\xff" + text,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_cameras_that_cannot_be_read_are_reported_and_stay_in_the_copy(tmp_path, damage):
    folder, old = unpacked("cameras", tmp_path), recorded("cameras")
    path = folder / "cameras.json"
    text = damage(path.read_text())
    path.write_text(text, encoding="latin-1")
    with opened(folder, old) as home:
        assert home.cameras.sources() == {}
        (problem,) = home.problems
        assert problem.startswith("cameras.json of an earlier version cannot be read")
        assert "hunter2" not in problem
        home.cameras.add("hall", "0")
    (copy,) = folder.glob(migration.COPY)
    assert (copy / "cameras.json").read_text(encoding="latin-1") == text
    with opened(folder, old) as home:
        assert home.cameras.sources() == {"hall": "0"}
        assert home.problems == ()


@pytest.mark.parametrize("damage", ["[]", '{"key": "00", "taught": []}', "{"])
def test_without_the_record_of_taught_faces_nobody_is_taught_again(tmp_path, damage):
    folder, old = unpacked("register", tmp_path), recorded("register")
    (folder / "register.json").write_text(damage)
    for _ in range(2):
        with opened(folder, old) as home:
            assert digest(home.learner) == old.digest
            with pytest.raises(BadValue, match="nobody can tell who was forgotten; delete it"):
                home.teach_once([FaceToTeach("ana", np.zeros(6))])
    (folder / "register.json").unlink()
    with opened(folder, old) as home:
        assert home.teach_once([FaceToTeach("new", np.full(6, 50.0, np.float32))]) == []


def test_strangers_of_other_features_are_not_shown(tmp_path):
    folder, old = unpacked("strangers", tmp_path), recorded("strangers")
    file = migration.snapshot.read(folder / "strangers.snapshot")
    header = {**file.header, "features": "other/8"}
    migration.snapshot.write(folder / "strangers.snapshot", header, file.arrays)
    with opened(folder, old) as home, StrangerBook(home) as book:
        assert book.cards() == []
        assert "features 'other/8', not 'test/6'" in home.problems[0]


# ---- files of the old format

STATES = sorted(path.name for path in OLD_HOMES.glob("states/*") if path.suffix != ".json")


@pytest.mark.parametrize("name", STATES)
def test_a_file_of_the_old_format_is_read(tmp_path, name):
    old = recorded(f"states/{name}")
    path = OLD_HOMES / "states" / name
    if name.endswith(".onlooker"):
        exported = read(path)
        learner, pictures = exported.learner, exported.pictures
        hashes = {str(v): hashlib.sha256(png).hexdigest() for v, png in pictures.items()}
        assert hashes == old.pictures
    else:
        fresh = migration_learner(path)
        with Home(tmp_path / "home", new_learner=lambda: fresh, adopt=path) as home:
            learner = home.learner
    assert digest(learner) == old.digest
    assert list(learner.names) == old.names
    assert old.answers == answers(learner, old)


def migration_learner(path):
    from onlooker.home.reopen import empty_learner

    return empty_learner(path, DISTANCES)


def test_an_old_home_of_pixels_is_reopened_with_their_distance(tmp_path):
    finder = pytest.importorskip("onlooker.vision.finder")
    folder, old = unpacked("pixels", tmp_path), recorded("pixels")
    with opened(folder, old, distances=finder.face_distances()) as home:
        assert digest(home.learner) == old.digest
        assert list(home.learner.names) == old.names
        assert home.problems == ()
