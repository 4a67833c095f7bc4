"""A station in a folder of its own, and somebody who may ask it."""

import pytest

from helpers.services import client_of, station_in


@pytest.fixture
def station(tmp_path):
    with station_in(tmp_path / "home", folders=[tmp_path / "films"]) as running:
        yield running


@pytest.fixture
def client(station, tmp_path):
    return client_of(station, tmp_path / "home")
