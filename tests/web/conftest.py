"""A service in a temporary folder, and a client with its token."""

import pytest

from helpers.certificates import self_signed
from helpers.services import client_of, service_in


@pytest.fixture
def service(tmp_path):
    with service_in(tmp_path / "home", folders=[tmp_path / "films"]) as running:
        yield running


@pytest.fixture
def client(service, tmp_path):
    return client_of(service, tmp_path / "home")


@pytest.fixture
def certificate(tmp_path):
    return self_signed(tmp_path)
