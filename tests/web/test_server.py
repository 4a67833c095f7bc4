"""Connections are bounded in number and time; threads that come and go share heaps."""

import os
import platform
import socket
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import httpx2
import pytest

from helpers.running import serving
from helpers.services import API, teach
from helpers.waiting import DEADLINE, eventually
from onlooker.web import server
from onlooker.web.credentials import Token


def connected(address):
    where = urlsplit(address)
    return socket.create_connection((where.hostname, where.port), timeout=DEADLINE)


def closed(link):
    """Whether the other side has closed, at once."""
    link.settimeout(0.001)
    try:
        return link.recv(1000) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.fixture
def address(client):
    with serving(client.app) as running:
        yield running


def ask(connection, client, path=f"{API}/people"):
    connection.request("GET", path, headers={"authorization": f"Bearer {client.token}"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_256_idle_connections_do_not_stop_the_service(client, address, capfd):
    """They did, and needed no token: 256 sockets, and everybody got 503."""
    where = urlsplit(address).netloc
    with ExitStack() as stack:
        before = stack.enter_context(closing(HTTPConnection(where, timeout=DEADLINE)))
        assert ask(before, client) == 200
        idle = [stack.enter_context(connected(address)) for _ in range(300)]
        for link in idle[::2]:
            with suppress(OSError):  # the first ones are closed already
                link.sendall(f"GET {API}/people HTTP/1.1\r\nHost: ".encode())
        for link in idle[::7]:
            with suppress(OSError):
                link.sendall(b"\r\n\r\n")  # refused, and not logged
        for _ in range(3):
            begun = time.perf_counter()
            with closing(HTTPConnection(where, timeout=DEADLINE)) as late:
                assert ask(late, client) == 200
            assert time.perf_counter() - begun < 1
        assert ask(before, client) == 200  # who was signed in lost nothing
        eventually(lambda: closed(idle[0]))
        assert not closed(idle[-3])
    assert capfd.readouterr() == ("", "")


WEBSOCKET = (
    f"GET {API}/live HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)


def test_256_websocket_requests_with_a_body_do_not_stop_the_service(client, address, monkeypatch):
    """They did: a request that no WebSocket begins with was neither answered nor counted."""
    where = urlsplit(address).netloc
    request = f"{WEBSOCKET}Host: {where}\r\nContent-Length: 9\r\n\r\n".encode()
    with ExitStack() as stack:
        stuck = [stack.enter_context(connected(address)) for _ in range(300)]
        for link in stuck:
            with suppress(OSError):  # the first ones are closed already
                link.sendall(request)
        with closing(HTTPConnection(where, timeout=DEADLINE)) as late:
            assert ask(late, client) == 200
        assert not closed(stuck[-1])
        monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
        eventually(lambda: all(closed(link) for link in stuck))


def test_a_connection_that_asks_for_a_websocket_is_no_younger_for_it(client, address, monkeypatch):
    """256 that ask at the right moment would all be younger than the owner's next one."""
    found, overdue = {}, server.LiveConnection.is_overdue

    def noted(live, now):
        found["opened"] = live.opened
        return overdue(live, now)

    monkeypatch.setattr(server.LiveConnection, "is_overdue", noted)
    where = urlsplit(address).netloc
    with connected(address) as link:
        with closing(HTTPConnection(where, timeout=DEADLINE)) as later:
            assert ask(later, client) == 200  # so the first one was accepted before
        begun = time.monotonic()
        link.sendall(f"{WEBSOCKET}Host: {where}\r\nContent-Length: 9\r\n\r\n".encode())
        eventually(lambda: found)
        assert found["opened"] < begun


def test_streams_end_with_the_session_that_opened_them(client, address, tmp_path):
    """They went on for ever: who was signed out saw everybody who came."""
    host = f"Host: {urlsplit(address).netloc}\r\n"
    with httpx2.Client(base_url=address) as browser:
        assert browser.post(f"{API}/session", json={"token": client.token}).status_code == 204
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        proof = {
            "session": f"Cookie: {cookie}\r\n",
            "token": f"Authorization: Bearer {client.token}\r\n",
        }
        with ExitStack() as stack:
            links = {}
            for who, header in proof.items():
                for kind, head in (
                    ("live", WEBSOCKET),
                    ("events", f"GET {API}/events/stream HTTP/1.1\r\n"),
                ):
                    link = links[who, kind] = stack.enter_context(connected(address))
                    link.sendall(f"{head}{host}{header}\r\n".encode())
                    assert link.recv(12).split()[1] in (b"101", b"200")
            assert browser.delete(f"{API}/session").status_code == 204
            eventually(lambda: closed(links["session", "live"]))
            eventually(lambda: closed(links["session", "events"]))
            assert not closed(links["token", "live"])
            assert not closed(links["token", "events"])
            Token.in_folder(tmp_path / "home", new=True)
            eventually(lambda: closed(links["token", "live"]))
            eventually(lambda: closed(links["token", "events"]))


def test_who_sends_a_request_slowly_is_closed(client, address, monkeypatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.5)
    key = f"Authorization: Bearer {client.token}\r\n"
    host = f"Host: {urlsplit(address).netloc}\r\n"
    with connected(address) as silent, connected(address) as head, connected(address) as body:
        body.sendall(f"POST {API}/undo HTTP/1.1\r\n{host}{key}Content-Length: 9\r\n\r\n".encode())

        def all_closed():
            for link, piece in ((head, b"G"), (body, b" ")):
                if not closed(link):
                    link.sendall(piece)
            return closed(silent) and closed(head) and closed(body)

        eventually(all_closed)


def test_a_stream_of_somebody_signed_in_is_not_closed_for_its_age(client, address, monkeypatch):
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.2)
    key = {"authorization": f"Bearer {client.token}"}
    with httpx2.stream("GET", f"{address}{API}/events/stream", headers=key) as answer:
        lines = answer.iter_lines()
        time.sleep(1.5)  # the age is what is tested
        teach(client, 1, "ana", [0])
        assert any("teach" in text for text in lines)


def test_a_certificate_that_cannot_be_used_is_one_line(client, tmp_path):
    bad = tmp_path / "cert.pem"
    bad.write_text("no certificate")
    for path in (bad, tmp_path / "missing.pem"):
        with pytest.raises(server.CannotListen, match=path.name):
            server.Server(client.app, before_shutdown=print, certificate=path)


def test_tls_is_served_and_an_unfinished_handshake_ends(client, certificate, monkeypatch):
    monkeypatch.setattr(server, "TLS_SECONDS", 0.5)
    with serving(client.app, certificate=certificate) as address:
        trusting = ssl.create_default_context(cafile=certificate)
        trusting.check_hostname = False
        with (
            connected(address) as plain,
            trusting.wrap_socket(connected(address), server_hostname="localhost") as link,
        ):
            host = urlsplit(address).netloc
            body = f'{{"token": "{client.token}"}}'
            link.sendall(
                f"POST {API}/session HTTP/1.1\r\nHost: {host}\r\n"
                "Content-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            answer = link.recv(4000).decode()
            assert answer.startswith("HTTP/1.1 204")
            assert f"set-cookie: __Host-onlooker-{urlsplit(address).port}=" in answer
            eventually(lambda: closed(plain))


CAMERAS_COME_AND_GO = """
import ctypes, sys, threading
from onlooker.web.server import limit_malloc_arenas

if sys.argv[1] == "shared":
    assert limit_malloc_arenas()

together = threading.Barrier(6)

def camera():
    together.wait()
    held = [bytearray(60_000) for _ in range(100)]
    together.wait()

for _ in range(3):
    threads = [threading.Thread(target=camera) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


def heaps(tmp_path, how):
    out = tmp_path / how
    plain = {key: value for key, value in os.environ.items() if key != "MALLOC_ARENA_MAX"}
    subprocess.run(
        [sys.executable, "-c", CAMERAS_COME_AND_GO, how, str(out)],
        check=True,
        env=plain,
    )
    return out.read_text().count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_cameras_that_come_and_go_share_a_heap(tmp_path):
    assert heaps(tmp_path, "shared") <= 2 < heaps(tmp_path, "alone")
