"""Refused requests: foreign Host headers, other sites, wrong tokens, large bodies and pictures."""

import json
import os
import re
import stat
import struct
import time
import zlib

import pytest
from starlette.websockets import WebSocketDisconnect

from helpers.services import API, SOCKETS, client_of, photo
from onlooker.core.errors import BadValue
from onlooker.web.auth import HEADERS, TrustedProxy
from onlooker.web.credentials import Token, TokenError

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


DATA = [
    f"{API}/people",
    f"{API}/people.csv",
    f"{API}/health",
    f"{API}/summary",
    f"{API}/metrics",
    f"{API}/map",
    f"{API}/events",
    f"{API}/sightings",
    f"{API}/strangers",
    f"{API}/questions",
    f"{API}/cameras",
    f"{API}/sessions",
    f"{API}/sites",
    f"{API}/openapi.json",
    f"{API}/faces/1/picture",
    "/live/door.mjpeg",
    "/no-such-thing",
]


@pytest.mark.parametrize("path", DATA)
def test_reading_on_this_computer_needs_the_token_too(nobody, path):
    """Another user of the machine, or a proxy on it, got names, vectors and pictures."""
    assert nobody.get(path).status_code == 401
    assert nobody.head(path).status_code == 401


def test_every_route_that_holds_data_needs_the_token(nobody):
    """Also those that are added later: the open ones are listed here."""
    paths = {**nobody.app.openapi()["paths"]}
    for path in (f"{API}/alive", f"{API}/session"):
        del paths[path]
    assert len(paths) > 30
    for path, methods in paths.items():
        for method in methods:
            answer = nobody.request(method, re.sub(r"{[^}]*}", "1", path))
            assert answer.status_code == 401, (method, path)


def test_a_sign_of_life_and_the_empty_page_need_no_token(nobody):
    for path in ("/", "/static/js/main.js"):  # the form for the token is on it
        assert nobody.get(path).status_code == 200
    assert nobody.get(f"{API}/alive").json() == {"status": "ok"}
    session = nobody.get(f"{API}/session").json()
    assert session | {"time": 0} == {"signed_in": False, "store": None, "version": None, "time": 0}


def test_sockets_need_the_token(nobody):
    with pytest.raises(WebSocketDisconnect) as closed, nobody.websocket_connect(f"{SOCKETS}/live"):
        pass
    assert "token" in closed.value.reason


# ---- proxies

FORWARDED = [
    {"forwarded": "for=10.0.0.7"},
    {"x-forwarded-for": "127.0.0.1"},
    {"x-forwarded-proto": "https"},
    {"x-forwarded-host": "localhost"},
    {"x-forwarded-prefix": "/cameras"},
    {"x-forwarded-anything": "1"},
]


@pytest.mark.parametrize("header", FORWARDED)
def test_a_forwarded_request_is_refused_unless_the_proxy_is_trusted(client, header):
    answer = client.get(f"{API}/people", headers=header)
    assert answer.status_code == 400
    assert "--trusted-proxy" in answer.json()["detail"]
    assert client.get("/", headers=header).status_code == 400


@pytest.mark.parametrize("header", FORWARDED)
def test_a_trusted_proxy_may_assert_what_was_configured_and_nothing_else(service, tmp_path, header):
    (name,) = header
    proxies = [TrustedProxy.parse("127.0.0.1=for,proto")]
    near = client_of(service, tmp_path / "home", proxies=proxies)
    unheeded = name == "x-forwarded-anything"
    permitted = name in ("x-forwarded-for", "x-forwarded-proto") or unheeded
    assert near.get(f"{API}/people", headers=header).status_code == (200 if permitted else 400)
    far = client_of(service, tmp_path / "home", near=False, proxies=proxies)
    assert far.get(f"{API}/people", headers=header).status_code == 400


def test_behind_a_proxy_with_tls_the_cookie_is_secure_and_stays_on_its_path(service, tmp_path):
    proxies = [TrustedProxy.parse("127.0.0.1=proto,host,prefix,for")]
    behind = client_of(
        service, tmp_path / "home", token=False, hosts=["house.example"], proxies=proxies
    )
    said = {
        "x-forwarded-proto": "https",
        "x-forwarded-host": "house.example",
        "x-forwarded-for": "evil, 10.0.0.7",
    }

    def cookie(more):
        signing_in = behind.post(
            f"{API}/session", json={"token": behind.token}, headers={**said, **more}
        )
        assert signing_in.status_code == 204
        return signing_in.headers["set-cookie"]

    at_root = cookie({})
    assert at_root.startswith("__Host-onlooker=")
    assert "; Path=/;" in at_root
    assert "; Secure" in at_root
    assert "Domain" not in at_root
    below = cookie({"x-forwarded-prefix": "/cameras/"})
    assert below.startswith("__Secure-onlooker=")
    assert "; Path=/cameras/;" in below
    name, _, value = below.partition(";")[0].partition("=")
    headers = {**said, "x-forwarded-prefix": "/cameras", "cookie": f"{name}={value}"}
    rows = behind.get(f"{API}/sessions", headers=headers).json()
    assert {row["address"] for row in rows} == {"10.0.0.7"}
    plain = {"cookie": f"onlooker-8765={value}"}
    assert behind.get(f"{API}/people", headers=plain).status_code == 200  # the same session


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("for", "unknown"),
        ("for", ""),
        ("proto", "ftp"),
        ("host", "a.example, b.example"),
        ("prefix", "//evil.example"),
        ("prefix", "/../x"),
        ("prefix", "/a; Domain=x"),
    ],
)
def test_what_a_trusted_proxy_says_is_checked(service, tmp_path, name, value):
    proxies = [TrustedProxy.parse("127.0.0.1=proto,host,prefix,for")]
    behind = client_of(service, tmp_path / "home", proxies=proxies)
    answer = behind.get(f"{API}/people", headers={f"x-forwarded-{name}": value})
    assert answer.status_code == 400


@pytest.mark.parametrize("text", ["", "127.0.0.1", "proxy.example=for", "127.0.0.1=all", "=for"])
def test_a_trusted_proxy_is_an_address_and_what_it_may_assert(text):
    with pytest.raises(BadValue, match=r"for,proto,host,prefix"):
        TrustedProxy.parse(text)


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
    assert client.get(f"{API}/people", headers=link).status_code == 403


def test_the_cookie_is_a_session_and_not_the_token(nobody):
    answer = nobody.post(f"{API}/session", json={"token": nobody.token})
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"]
    assert nobody.token not in cookie
    assert "httponly" in cookie.lower()
    assert "samesite=strict" in cookie.lower()
    assert nobody.post(f"{API}/undo", json={"to": 0}).status_code == 200
    value = nobody.cookies["onlooker-8765"]
    nobody.cookies.clear()
    others = f"x={{'y': 1}}; bad; onlooker-8765={value}; z=[1]"
    assert nobody.post(f"{API}/undo", json={"to": 0}, headers={"cookie": others}).is_success
    token = {"cookie": f"onlooker-8765={nobody.token}"}
    assert nobody.get(f"{API}/people", headers=token).status_code == 401
    session = {"authorization": f"Bearer {value}"}
    assert nobody.get(f"{API}/people", headers=session).status_code == 401


def test_five_wrong_tokens_do_not_lock_the_owner_out(nobody):
    """They did, whoever sent them from the owner's address."""
    wrong = {"authorization": "Bearer guess"}
    answers = [nobody.post(f"{API}/undo", headers=wrong).status_code for _ in range(7)]
    assert answers == [401] * 5 + [429] * 2
    right = {"authorization": f"Bearer {nobody.token}"}
    assert nobody.get(f"{API}/people", headers=right).status_code == 200
    assert nobody.post(f"{API}/session", json={"token": nobody.token}).status_code == 204
    assert nobody.get(f"{API}/people", headers=wrong).status_code == 200  # the cookie counts


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
    assert not token.matches(text)  # a running service notices
    assert token.matches(new)


def test_a_flipped_bit_in_the_token_file_does_not_make_the_right_token_wrong(tmp_path):
    """It says that the file is damaged, and how to make another; so does a pipe in its place."""
    Token.in_folder(tmp_path)
    path = tmp_path / "token.json"
    stored = json.loads(path.read_text())
    stored["sha256"] = f"{int(stored['sha256'], 16) ^ 1:064x}"
    path.write_text(json.dumps(stored))
    with pytest.raises(TokenError, match=r"damaged.*--new-token makes another"):
        Token.in_folder(tmp_path)
    path.unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)
        with pytest.raises(TokenError, match="a device or a pipe"):
            Token.in_folder(tmp_path)


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
