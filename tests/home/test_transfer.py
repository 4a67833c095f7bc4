"""Export and import: complete or not at all, nothing in the temporary directory, no bombs."""

import subprocess
import sys
import tempfile
import time
import tracemalloc

import numpy as np
import pytest

from helpers.bombs import (
    export_of_a_long_list,
    export_with_overlapping_entries,
    state_of_many_vertices,
)
from helpers.homes import opened, png, watch
from helpers.killing import environment
from onlooker.home.events import digest
from onlooker.home.reopen import is_home
from onlooker.home.transfer import (
    Export,
    ExportError,
    export,
    export_person,
    import_into,
    read,
    to_bytes,
)


@pytest.fixture
def exported(tmp_path):
    """A file that a home wrote, and the digest of its learner."""
    with opened(tmp_path / "first") as home:
        watch(home, 2, 20)
        home.teach(np.full(8, 9.0), "ana", picture=png(1))
        export(home, tmp_path / "people.onlooker")
        return tmp_path / "people.onlooker", digest(home.learner)


def test_an_export_makes_the_same_home_again(exported, tmp_path):
    path, word = exported
    import_into(tmp_path / "second", path)
    with opened(tmp_path / "second") as home:
        assert digest(home.learner) == word
        assert len(home.album.vertices()) == 1
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_an_import_makes_the_folders_its_home_lies_in(exported, tmp_path):
    path, word = exported
    place = tmp_path / "not" / "there" / "yet"
    import_into(place, path)
    with opened(place) as home:
        assert digest(home.learner) == word


def test_what_an_import_left_that_was_killed_does_not_stop_the_next(exported, tmp_path):
    path, _ = exported
    (tmp_path / ".second.partial" / "snapshots").mkdir(parents=True)
    import_into(tmp_path / "second", path)
    assert not (tmp_path / ".second.partial").exists()


def test_the_export_of_a_person_has_their_faces_and_nobody_elses(tmp_path):
    """Labeled and learned ones, and their pictures; not what is stored to say who it is not."""
    with opened(tmp_path) as home:
        home.teach(np.full(8, 5.0), "ben", picture=png(1))
        home.teach(np.zeros(8), "ana", picture=png(2))
        home.teach(np.zeros(8), not_name="ben")
        learned = home.observe(np.full(8, 0.1), camera="door", frame=1, picture=png(3)).vertex
        home.teach(np.full(8, 0.2), not_name="ben", picture=png(4))
        excluded = int(home.vertices().ids[-1])
        mine = [1, learned, excluded]
        made = export_person(home, "ana", mine).export()
        known = made.learner.vertices()
        assert known.ids.tolist() == [1, learned]
        assert known.names == ("ana", None)
        assert made.learner.names == ("ana",)
        assert made.pictures[1] == png(2)
        assert made.pictures[learned] == png(3)
        assert 0 not in made.pictures


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a limit")
@pytest.mark.parametrize("syncs", [0, 2, 4])
def test_an_import_that_was_killed_can_be_repeated(exported, tmp_path, syncs):
    """What is left of the first is a whole home, or nothing that the second minds."""
    path, word = exported
    program = (
        "import os, sys; from onlooker.home.transfer import import_into\n"
        "left, sync = int(sys.argv[3]), os.fsync\n"
        "def killing(descriptor):\n"
        "    global left\n"
        "    left -= 1\n"
        "    if left < 0: os.kill(os.getpid(), 9)\n"
        "    sync(descriptor)\n"
        "os.fsync = killing\n"
        "import_into(sys.argv[1], sys.argv[2])\n"
    )
    place = tmp_path / "second"
    command = [sys.executable, "-c", program, str(place), str(path), str(syncs)]
    run = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert run.returncode in (0, -9), run.stderr
    if not is_home(place):
        import_into(place, path)
    with opened(place) as home:
        assert digest(home.learner) == word
    assert {each.name for each in tmp_path.iterdir()} == {"first", "people.onlooker", "second"}


def test_faces_never_pass_through_the_temporary_directory(exported, tmp_path, monkeypatch):
    """A process that is killed would leave them there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no such folder"))
    path, _ = exported
    import_into(tmp_path / "second", path)
    with opened(tmp_path / "second") as home:
        export(home, tmp_path / "again")
        to_bytes(Export(home.learner, {}))


def refused(path, match):
    """That it is refused, in how many seconds, and how many bytes of memory that took."""
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(ExportError, match=match):
            read(path)
        return time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_entries_that_overlap_are_refused_before_they_are_read(tmp_path):
    """Four hundred entries of one megabyte each, in two megabytes."""
    path = export_with_overlapping_entries(tmp_path / "bomb", 400, 1)
    _, memory = refused(path, "claim 419430400 bytes in a file of 10")
    assert memory < 50e6


def test_a_list_of_a_million_entries_is_refused_before_it_is_read(tmp_path):
    path = export_of_a_long_list(tmp_path / "bomb")
    _, memory = refused(path, "claims 65535 entries, at most 50000")
    assert memory < 1e6


def test_a_state_of_12_000_vertices_is_refused_before_its_graph_is_built(tmp_path):
    """337 kB that would take 2.3 GB."""
    state_of_many_vertices(tmp_path / "bomb", 12_000)
    _, memory = refused(tmp_path / "bomb", r"12001 vertices.*2\.3 GB of memory; at most 0\.3 GB")
    assert memory < 50e6
