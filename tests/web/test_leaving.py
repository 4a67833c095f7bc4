"""A client that leaves in the middle of an upload: nobody is told, and nothing is printed."""

import socket
from urllib.parse import urlsplit

from running import serving
from services import API, client_of, station_in
from waiting import eventually


def test_a_client_that_leaves_during_an_upload_prints_no_traceback(tmp_path, capfd):
    begun, ended = [], []
    with station_in(tmp_path / "home") as station:
        client = client_of(station, tmp_path / "home")

        async def counted(scope, receive, send):
            begun.append(scope["type"])
            try:
                await client.app(scope, receive, send)
            finally:
                ended.append(scope["type"])

        with serving(station, counted) as address:
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
