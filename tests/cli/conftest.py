"""Every command runs in an empty folder, with nobody's settings and nobody's cache."""

import os

import pytest

from helpers.filming import write_people_and_frames


@pytest.fixture(autouse=True)
def nobodys_settings(tmp_path, monkeypatch):
    for variable in [name for name in os.environ if name.startswith("ONLOOKER_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def home(tmp_path):
    """The folder it runs in."""
    return tmp_path


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """people/ has four pictures of ana and of ben, frames/ shows them and a stranger."""
    root = tmp_path_factory.mktemp("pictures")
    write_people_and_frames(root)
    return root
