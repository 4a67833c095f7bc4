"""Refused requests: foreign Host headers, other sites, wrong tokens, large bodies and pictures."""

import os
import stat
import struct
import time
import zlib

import pytest
from starlette.websockets import WebSocketDisconnect

from helpers.services import API, SOCKETS, client_of, photo
from onlooker.web.auth import HEADERS, Token, TokenChecker, Verdict

CHANGING = [
    ("POST", f"{API}/faces?name=x"),
    ("POST", f"{API}/faces/1/wrong"),
    ("POST", f"{API}/faces/1/label"),
    ("PATCH", f"{API}/people/0123456789abcdef"),
    ("DELETE", f"{API}/people/0123456789abcdef"),
    ("POST", f"{API}/people/merge"),
    ("POST", f"{API}/undo"),
    ("POST", f"{API}/cameras"),
    ("DELETE", f"{API}/cameras/door"),
    ("POST", f"{API}/strangers/1/name"),
    ("POST", f"{API}/strangers/1/ignore"),
    ("POST", f"{API}/strangers/1/show"),
    ("POST", f"{API}/seen/door/1/label"),
    ("POST", f"{API}/seen/door/1/wrong"),
    ("PUT", f"{API}/session"),
]


@pytest.fixture
def nobody(service, tmp_path):
    """On this computer, without a token."""
    return client_of(service, tmp_path / "home", token=False)


@pytest.mark.parametrize(("method", "path"), CHANGING)
def test_whatever_changes_something_needs_the_token(nobody, method, path):
    answer = nobody.request(method, path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_reading_on_this_computer_needs_none(nobody):
    for path in (
        "/",
        "/static/js/main.js",
        f"{API}/people",
        f"{API}/health",
        f"{API}/openapi.json",
    ):
        assert nobody.get(path).status_code == 200


def test_beyond_this_computer_everything_but_the_empty_page_needs_it(service, tmp_path):
    far = client_of(service, tmp_path / "home", token=False, near=False, public=True)
    for path in ("/", "/static/js/main.js"):  # the form for the token is on it
        assert far.get(path).status_code == 200
    for path in (f"{API}/people", f"{API}/metrics", f"{API}/session", "/live/door.mjpeg"):
        assert far.get(path).status_code == 401
        right = far.get(path, headers={"authorization": f"Bearer {far.token}"})
        assert right.status_code == (404 if "door" in path else 200)
    with pytest.raises(WebSocketDisconnect) as closed, far.websocket_connect(f"{SOCKETS}/live"):
        pass
    assert "token" in closed.value.reason


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8765", "localhost.", ""])
def test_a_foreign_host_is_refused(client, host):
    assert client.get(f"{API}/people", headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "[::1]:8765", "[::1]"])
def test_our_own_names_are_not(client, host):
    assert client.get(f"{API}/people", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:9999"},
    ],
)
def test_a_request_through_another_site_is_refused(client, headers):
    assert client.post(f"{API}/undo", json={"to": 0}, headers=headers).status_code == 403
    assert client.get(f"{API}/people", headers=headers).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect) as closed,
        client.websocket_connect(f"{SOCKETS}/live", headers=dict(headers)),
    ):
        pass
    assert "another" in closed.value.reason


def test_our_own_page_may_ask_and_a_link_may_lead_here(client):
    own = {"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:8765"}
    assert client.post(f"{API}/undo", json={"to": 0}, headers=own).status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200
    assert client.get("/login", headers=link).status_code == 403


def test_the_page_logs_in_with_a_cookie(nobody):
    answer = nobody.get("/login", params={"token": nobody.token})
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert nobody.post(f"{API}/undo", json={"to": 0}).status_code == 200
    nobody.cookies.clear()
    others = f"x={{'y': 1}}; bad; onlooker-8765={nobody.token}; z=[1]"
    assert nobody.post(f"{API}/undo", json={"to": 0}, headers={"cookie": others}).is_success


def test_wrong_tokens_are_refused_and_then_have_to_wait(nobody):
    wrong = {"authorization": "Bearer guess"}
    answers = [nobody.post(f"{API}/undo", headers=wrong).status_code for _ in range(7)]
    assert answers == [401] * 5 + [429] * 2
    assert nobody.get("/login", params={"token": "guess"}).status_code == 429
    assert nobody.get(f"{API}/people").status_code == 200


def test_the_limit_for_all_does_not_lock_the_owner_out(tmp_path):
    now = [0.0]
    token, text = Token.in_folder(tmp_path)
    checker = TokenChecker(token, max_per_client=2, max_in_total=4, window=60, clock=lambda: now[0])
    assert checker.check("owner", text) is Verdict.RIGHT
    verdicts = [checker.check(f"client{number}", "guess") for number in range(5)]
    assert verdicts == [Verdict.WRONG] * 4 + [Verdict.TOO_MANY]
    assert checker.check("newcomer", text) is Verdict.TOO_MANY
    assert checker.check("owner", text) is Verdict.RIGHT
    now[0] = 61.0
    assert checker.check("newcomer", text) is Verdict.RIGHT


def test_the_token_is_kept_as_a_hash_and_for_the_owner_only(tmp_path):
    token, text = Token.in_folder(tmp_path)
    (path,) = tmp_path.iterdir()
    assert text not in path.read_text()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again, silent = Token.in_folder(tmp_path)
    assert silent is None
    assert token.matches(text)
    assert again.matches(text)
    assert not again.matches(text[:-1])
    other, new = Token.in_folder(tmp_path, new=True)
    assert new != text
    assert not other.matches(text)


def test_every_answer_carries_the_strict_headers(client):
    for path in ("/", f"{API}/people", "/nothing-here"):
        headers = client.get(path).headers
        caching = "no-cache" if path == "/" else "no-store"
        expected = {**HEADERS, "cache-control": caching}
        assert {name: headers[name] for name in HEADERS} == expected
    page = client.get("/").text
    assert "<script>" not in page
    assert "http:" not in page
    assert "https:" not in page


def test_a_hundred_megabytes_are_refused_before_they_are_read(client):
    begun = time.perf_counter()
    large = {"content-length": str(100 << 20)}
    declared = client.post(f"{API}/recognize", content=b"", headers=large)
    assert declared.status_code == 413
    streamed = client.post(f"{API}/recognize", content=(bytes(1 << 20) for _ in range(100)))
    assert streamed.status_code == 413
    assert time.perf_counter() - begun < 5


def bomb(side=30_000):
    """A few hundred kilobytes that unpack to gigabytes."""
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + side // 8)) for _ in range(side)) + packer.flush()
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)),
        (b"IDAT", rows),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + body


def test_a_bomb_is_refused_before_it_is_unpacked(client):
    content = bomb()
    begun = time.perf_counter()
    answer = client.post(f"{API}/recognize", content=content)
    assert answer.status_code == 422
    assert "30000 x 30000" in answer.json()["detail"]
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize(
    "source", ["/etc/passwd", "file:///etc/passwd", "../x.mp4", "concat:a", ""]
)
def test_a_source_that_is_no_camera_is_refused(client, source):
    answer = client.post(f"{API}/cameras", json={"source": source, "name": "door"})
    assert answer.status_code == 422


def test_pictures_are_not_written_to_the_disk_by_asking(client, tmp_path):
    before = sorted(path for path in tmp_path.rglob("*"))
    client.post(f"{API}/recognize", content=photo(1))
    assert sorted(path for path in tmp_path.rglob("*")) == before
