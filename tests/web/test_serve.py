"""`onlooker serve` as a process of its own: token, kill, restart, a second one, the end."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread

import httpx2
import pytest
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from helpers.ports import free_port
from helpers.services import API, encoded, photo, scene, service_in
from helpers.waiting import DEADLINE, eventually
from onlooker.cli.app import app
from onlooker.core.errors import install_command
from onlooker.web.credentials import Token

WEBCAMS = Path(__file__).parents[3] / "shared" / "data" / "webcams"
MAIN = (sys.executable, "-c", "from onlooker.cli import main; main()")


@contextmanager
def served(folder, *arguments, port=None):
    """The process, its address and what it said first; killed if it still runs at the end."""
    port = port or free_port()
    settings = {k: v for k, v in os.environ.items() if not k.startswith("ONLOOKER_")}
    process = subprocess.Popen(
        [*MAIN, "serve", *map(str, arguments), "--home", str(folder), "--port", str(port)],
        stderr=subprocess.PIPE,
        text=True,
        env={**settings, "XDG_CONFIG_HOME": str(folder.parent / "config")},
        cwd=folder.parent,
    )
    process.address = f"http://127.0.0.1:{port}"
    process.said = process.stderr.readline()
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(DEADLINE)
        process.stderr.close()


def ready(process):
    """Wait until it answers."""
    assert "listening on" in process.said, process.said + process.stderr.read()
    return httpx2.Client(
        base_url=process.address, transport=httpx2.HTTPTransport(retries=10), timeout=DEADLINE
    )


def token_of(folder):
    """A new token, as `onlooker login --new-token` makes it while the service runs."""
    _, text = Token.in_folder(folder, new=True)
    return {"authorization": f"Bearer {text}"}


@contextmanager
def signed_in(process, folder):
    with ready(process) as client:
        client.headers |= token_of(folder)
        yield client


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "home"


def test_what_was_acknowledged_survives_a_kill(folder, tmp_path):
    with served(folder) as process:
        with ready(process) as client:
            key = token_of(folder)
            client.headers |= key
            for number in range(3):
                content = photo(1, number)
                answer = client.post(f"{API}/faces", params={"name": "ana"}, content=content)
                assert answer.status_code == 201
            before = client.get(f"{API}/people").json(), client.get(f"{API}/events").json()
        process.kill()
        process.wait(DEADLINE)
    with served(folder) as process, ready(process) as client:
        assert client.get(f"{API}/people").status_code == 401
        client.headers |= key
        after = client.get(f"{API}/people").json(), client.get(f"{API}/events").json()
        assert after == before
        assert client.post(f"{API}/undo", json={"to": 1}).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 130
        assert re.fullmatch(r"onlooker: to use the page, open \S+ .*\n", process.stderr.read())
    assert "onlooker.db-wal" not in {path.name for path in folder.iterdir()}


def test_a_second_service_on_one_home_refuses_and_so_does_a_taken_port(folder, tmp_path):
    with served(folder) as first, ready(first) as client:
        with served(folder) as second:
            assert second.wait(DEADLINE) == 1
            assert "in use by process" in second.said
        port = int(first.address.rpartition(":")[2])
        with served(tmp_path / "other", port=port) as third:
            assert third.wait(DEADLINE) == 1
            assert f"port {port}" in third.said
            assert third.stderr.read() == ""
        assert not (tmp_path / "other").exists()
        assert client.get(f"{API}/alive").json() == {"status": "ok"}


def test_ctrl_c_ends_live_streams_too(folder, tmp_path):
    frames = tmp_path / "frames"
    frames.mkdir()
    for index in range(100):
        (frames / f"{index:03}.png").write_bytes(encoded(scene(1, shift=index % 5)))
    people = tmp_path / "people"
    people.mkdir()
    (people / "ana.png").write_bytes(photo(1))
    arguments = (f"door={frames}", "--people", people)
    with (
        served(folder, *arguments) as process,
        signed_in(process, folder) as client,
        client.stream("GET", "/live/door.mjpeg") as pictures,
        client.stream("GET", f"{API}/events/stream?after=0") as events,
    ):
        assert next(pictures.iter_bytes())
        assert next(events.iter_lines())
        assert [one["name"] for one in client.get(f"{API}/people").json()] == ["ana"]
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 130
        assert "Traceback" not in process.stderr.read()


def test_the_printed_link_holds_a_code_and_no_token_and_login_prints_another(folder):
    """A service manager's log keeps what is printed."""
    assert "is not a home" in command_error("login", "--home", str(folder))
    with served(folder) as process, ready(process) as client:
        printed = process.stderr.readline()
        link = re.search(r"open (\S+)#login=(\S+) \(once", printed)
        assert link[1] == f"{process.address}/"
        again = CliRunner().invoke(app, ["login", "--home", str(folder)])
        other = re.search(r"open (\S+)#login=(\S+) \(once", again.stderr)
        assert other[1] == link[1]
        for code in (link[2], other[2]):
            client.cookies.clear()
            assert client.get(f"{API}/people", headers=bearer(code)).status_code == 401
            assert client.post(f"{API}/session", json={"token": code}).status_code == 204
            assert client.post(f"{API}/session", json={"token": code}).status_code == 401
        assert client.get(f"{API}/people").status_code == 200
        new = CliRunner().invoke(app, ["login", "--home", str(folder), "--new-token"])
        assert client.get(f"{API}/people").status_code == 401  # the session has ended
        key = bearer(new.stdout.strip())
        assert client.get(f"{API}/people", headers=key).status_code == 200


def bearer(text):
    return {"authorization": f"Bearer {text}"}


def command_error(*arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code != 0
    return result.stderr


def test_serve_speaks_tls_with_a_certificate(folder, certificate):
    with served(folder, "--tls-cert", certificate) as process:
        assert "listening on https://127.0.0.1" in process.said
        address = process.address.replace("http", "https")
        trusting = ssl.create_default_context(cafile=certificate)
        trusting.check_hostname = False
        with httpx2.Client(base_url=address, verify=trusting) as client:
            assert eventually(lambda: answers(client))
    assert "--tls-cert" in error_of("--home", folder, "--tls-key", certificate, code=2)


def answers(client):
    try:
        return client.get(f"{API}/alive").status_code == 200
    except httpx2.TransportError:
        return False


def error_of(*arguments, code):
    """What a command prints that ends with an error before it serves."""
    result = CliRunner().invoke(app, ["serve", "--port", str(free_port()), *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.stderr.strip()


def test_numbers_that_are_not_those_of_the_home_are_refused(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    service_in(folder).close()
    message = error_of("--home", folder, "--bandwidth", 0.5, code=1)
    assert "was built with bandwidth 0.025, --bandwidth says 0.5" in message
    assert not (folder / "token.json").exists()


def test_a_source_that_is_not_there_is_one_line(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert error_of("missing.mp4", "--home", folder, code=1).count("\n") == 0
    assert not (folder / "token.json").exists()  # it would never have been shown


def test_without_the_extra_it_says_what_to_install(folder, monkeypatch):
    monkeypatch.delitem(sys.modules, "onlooker.web.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert install_command("web") in error_of("--home", folder, code=2)


def test_a_large_body_is_refused_by_its_header(folder):
    with served(folder) as process, ready(process):
        key = token_of(folder)["authorization"]
        host, port = process.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=DEADLINE) as raw:
            raw.sendall(
                f"POST {API}/recognize HTTP/1.1\r\nHost: {host}:{port}\r\n"
                f"Authorization: {key}\r\nContent-Length: {100 << 20}\r\n\r\n".encode()
            )
            assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_a_public_service_answers_nobody_without_the_token(folder):
    with served(folder, "--host", "0.0.0.0") as process, ready(process) as client:
        key = token_of(folder)
        assert client.get(f"{API}/people").status_code == 401
        assert client.get(f"{API}/people", headers=key).status_code == 200
        assert client.get("/", headers={**key, "host": "evil.example"}).status_code == 400


@pytest.mark.slow
@pytest.mark.skipif(not WEBCAMS.exists(), reason="the shared frames are absent")
def test_nobody_at_five_webcams_gets_more_than_two_cards_and_no_two_people_one(folder):
    """Light, occlusion and blur; nobody is labeled, and each camera shows one of five people.

    One after another: a busy computer would drop nearly all frames of five at once.
    """
    people = sorted(path.name for path in WEBCAMS.iterdir())
    heard = set()  # camera and card of each face

    def listen(address):
        live = connect(f"ws{address}{API}/live", additional_headers=key)
        with live as results, suppress(ConnectionClosed):
            for result in map(json.loads, results):
                cards = {face["card"] for face in result["faces"]} - {None}
                heard.update((result["camera"], card) for card in cards)

    with served(folder, "--folder", WEBCAMS) as process, ready(process) as client:
        client.headers |= (key := token_of(folder))
        address = process.address.removeprefix("http")
        Thread(target=listen, args=[address], daemon=True).start()

        def cameras():
            return {each["name"]: each for each in client.get(f"{API}/cameras").json()}

        def ended(name):
            return cameras()[name]["state"] == "ended"

        for name in people:
            source = {"source": str(WEBCAMS / name), "name": name}
            assert client.post(f"{API}/cameras", json=source).status_code == 201
            eventually(partial(ended, name))
        cards = client.get(f"{API}/strangers").json()
        dropped = {name: each["dropped"] for name, each in cameras().items()}
    count = Counter(card["first"]["camera"] for card in cards)
    print(f"cards {dict(count)}, frames dropped {dropped}")
    assert max(Counter(card for _, card in heard).values()) == 1
    assert set(count) == set(people)
    assert max(count.values()) <= 2
