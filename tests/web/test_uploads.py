"""Clients that disconnect during an upload, and refused requests with a body."""

import socket
from urllib.parse import urlsplit

import httpx2

from helpers.running import serving
from helpers.services import API, client_of, service_in
from helpers.waiting import eventually


def test_a_client_that_leaves_during_an_upload_prints_no_traceback(tmp_path, capfd):
    begun, ended = [], []
    with service_in(tmp_path / "home") as service:
        client = client_of(service, tmp_path / "home")

        async def counted(scope, receive, send):
            begun.append(scope["type"])
            try:
                await client.app(scope, receive, send)
            finally:
                ended.append(scope["type"])

        with serving(counted) as address:
            where = urlsplit(address)
            with socket.create_connection((where.hostname, where.port)) as link:
                link.sendall(
                    f"POST {API}/recognize HTTP/1.1\r\nHost: {where.netloc}\r\n"
                    f"Authorization: Bearer {client.token}\r\n"
                    "Content-Length: 1000\r\n\r\nabc".encode()
                )
                eventually(lambda: "http" in begun)
            eventually(lambda: "http" in ended)
    assert capfd.readouterr() == ("", "")


def test_a_refused_request_with_a_body_gets_its_answer_and_not_a_reset(tmp_path):
    with service_in(tmp_path / "home") as service:
        client = client_of(service, tmp_path / "home")
        with serving(client.app) as address:
            for _ in range(40):
                answer = httpx2.post(f"{address}{API}/undo", json={"to": 1})
                assert answer.status_code == 401
