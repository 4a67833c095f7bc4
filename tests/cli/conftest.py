"""Every command runs in an empty folder, with nobody's settings and nobody's cache."""

import os

import pytest


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
