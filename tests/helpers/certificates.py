"""Certificates for servers on loopback."""

import shutil
import subprocess

import pytest


def self_signed(folder):
    """A certificate for localhost and its key in one file, signed by itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = folder / "certificate.pem"
    options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days 2"
    subprocess.run(
        ["openssl", "req", *options.split(), "-keyout", path, "-out", f"{path}.crt"],
        check=True,
        capture_output=True,
    )
    path.write_bytes(path.read_bytes() + (folder / "certificate.pem.crt").read_bytes())
    return path
