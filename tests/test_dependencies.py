"""The audit of dependencies: what is known is listed, and who was not asked has not said yes."""

import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "scripts" / "_dependencies.py"


@contextmanager
def database(answer):
    """A database on loopback: answer(queries) is what it sends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            content = answer(json.loads(self.rfile.read(size))["queries"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/querybatch"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def audited(address):
    return subprocess.run(
        [sys.executable, PROGRAM, "--database", address], capture_output=True, text=True
    )


def holes_in(*names):
    """A database that knows one hole in each of these packages."""

    def answer(queries):
        assert {each["package"]["ecosystem"] for each in queries} == {"PyPI"}
        holes = [{"id": "GHSA-0"}]
        return json.dumps(
            {
                "results": [
                    {"vulns": holes} if q["package"]["name"] in names else {} for q in queries
                ]
            }
        ).encode()

    return answer


def test_packages_without_known_holes_pass():
    with database(holes_in()) as address:
        result = audited(address)
    assert result.returncode == 0, result.stderr
    count = int(result.stdout.split()[0])
    assert count > 20
    assert result.stdout == f"{count} packages audited, 0 with known holes\n"


def test_a_known_hole_is_listed_and_fails():
    with database(holes_in("numpy")) as address:
        result = audited(address)
    assert result.returncode == 1
    assert result.stdout.startswith("numpy ")
    assert "GHSA-0" in result.stdout
    assert "1 with known holes" in result.stdout


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"results": []}', b'{"results": [7]}', b"\xff"]
)
def test_an_answer_without_sense_is_not_audited_and_never_passed(content):
    with database(lambda queries: content) as address:
        result = audited(address)
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("NOT AUDITED: ")


@pytest.mark.parametrize(
    ("one", "missing"), [({}, 1), (7, 0), ({"vulns": 7}, 0), ({"vulns": [{}]}, 0)]
)
def test_an_answer_that_leaves_a_package_open_is_not_audited(one, missing):
    def answer(queries):
        return json.dumps({"results": [one] * (len(queries) - missing)}).encode()

    with database(answer) as address:
        result = audited(address)
    assert (result.returncode, result.stdout) == (3, "")


def test_a_database_that_cannot_be_reached_is_not_audited_and_never_passed():
    with database(holes_in()) as address:
        pass  # nobody listens there any more
    result = audited(address)
    assert (result.returncode, result.stdout) == (3, "")
    (problem,) = result.stderr.splitlines()
    assert "cannot be reached" in problem
    assert "packages are unchecked" in problem
