"""A service in a temporary folder, and a client with its token."""

import shutil
import subprocess

import pytest

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
    """A certificate for localhost and its key in one file, signed by itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path / "certificate.pem"
    options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days 2"
    subprocess.run(
        ["openssl", "req", *options.split(), "-keyout", path, "-out", f"{path}.crt"],
        check=True,
        capture_output=True,
    )
    path.write_bytes(path.read_bytes() + (tmp_path / "certificate.pem.crt").read_bytes())
    return path
