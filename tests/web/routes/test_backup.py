"""A backup over REST: a home while it learns, only for those who may read it."""

from contextlib import contextmanager

import pytest

from helpers.services import API, client_of, teach
from onlooker.home.backup import BackupFailed, restore
from onlooker.home.events import digest
from onlooker.home.reopen import reopen
from onlooker.vision.finder import face_distances


def test_a_downloaded_backup_can_be_restored(client, service, tmp_path):
    teach(client, 1, "ana", [0, 1])
    teach(client, 2, "ben", [0])
    answer = client.get(f"{API}/backup")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-tar"
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert ".tar" in answer.headers["content-disposition"]
    assert list((tmp_path / "home").glob(".backup-*")) == []
    (tmp_path / "copy.tar").write_bytes(answer.content)
    restore(tmp_path / "copy.tar", tmp_path / "new", face_distances())
    served = service.home_thread.submit(lambda home: (home.sequence, digest(home.learner)))
    with reopen(tmp_path / "new", face_distances()) as home:
        assert (home.sequence, digest(home.learner)) == served.result()
        assert len(home.album.vertices()) == 3
    again = client_of(service, tmp_path / "home")
    assert again.get(f"{API}/backup").status_code == 200


def test_a_backup_needs_the_token(client, service, tmp_path):
    stranger = client_of(service, tmp_path / "home", token=False)
    assert stranger.get(f"{API}/backup").status_code == 401


def test_one_backup_at_a_time(client, monkeypatch):
    @contextmanager
    def nested(*_):
        other = client.get(f"{API}/backup")
        assert (other.status_code, "another backup" in other.text) == (409, True)
        yield 3, iter([b"abc"])

    monkeypatch.setattr("onlooker.web.routes.backup.WAIT", 0.01)
    monkeypatch.setattr("onlooker.web.routes.backup.backup_archive", nested)
    for _ in range(2):
        assert client.get(f"{API}/backup").content == b"abc"


@pytest.mark.parametrize(
    "problem", ["not enough space for the copy", "somebody is being forgotten"]
)
def test_a_backup_that_fails_is_one_line_and_the_next_one_is_tried(client, monkeypatch, problem):
    @contextmanager
    def failing(*_):
        raise BackupFailed(problem)
        yield

    monkeypatch.setattr("onlooker.web.routes.backup.backup_archive", failing)
    for _ in range(2):
        answer = client.get(f"{API}/backup")
        assert (answer.status_code, answer.json()) == (503, {"detail": problem})
