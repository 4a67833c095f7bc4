"""Signing in and out with the form."""

import os
import stat
import time

import pytest
from starlette.testclient import TestClient

from helpers.services import API, client_of, service_in
from helpers.waiting import eventually
from onlooker.web.app import create_app
from onlooker.web.auth import Guard
from onlooker.web.credentials import (
    Credentials,
    Sessions,
    Token,
    TokenError,
    new_code,
    read_address,
    redeem_code,
    write_address,
)

SESSION = f"{API}/session"


@pytest.fixture
def nobody(service, tmp_path):
    """On this computer, without a token."""
    return client_of(service, tmp_path / "home", token=False)


def test_the_form_signs_in_and_out(nobody):
    assert nobody.get(SESSION).json()["signed_in"] is False
    answer = nobody.post(SESSION, json={"token": nobody.token})
    assert (answer.status_code, answer.content) == (204, b"")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert nobody.get(SESSION).json()["signed_in"] is True
    assert nobody.post(f"{API}/undo", json={"to": 0}).status_code == 200
    assert nobody.delete(SESSION).status_code == 204
    assert nobody.get(SESSION).json()["signed_in"] is False
    assert nobody.post(f"{API}/undo", json={"to": 0}).status_code == 401
    assert nobody.delete(SESSION).status_code == 204


def test_wrong_tokens_in_the_form_have_to_wait(nobody):
    answers = [nobody.post(SESSION, json={"token": "guess"}).status_code for _ in range(7)]
    assert answers == [401] * 5 + [429] * 2
    assert nobody.post(SESSION, json={"token": ""}).status_code == 422
    assert nobody.post(SESSION, json={"token": nobody.token}).status_code == 204


def test_an_old_cookie_does_not_lock_the_owner_out(nobody):
    nobody.cookies.set("onlooker-8765", "of-before")
    assert [nobody.get(SESSION).json()["signed_in"] for _ in range(9)] == [False] * 9
    assert nobody.post(SESSION, json={"token": nobody.token}).status_code == 204


def test_another_site_cannot_sign_anybody_in(nobody):
    evil = {"origin": "https://evil.example"}
    assert nobody.post(SESSION, json={"token": nobody.token}, headers=evil).status_code == 403
    assert nobody.delete(SESSION, headers=evil).status_code == 403


def test_a_code_signs_in_once_and_not_after_a_quarter_of_an_hour(nobody, tmp_path, monkeypatch):
    codes = [new_code(tmp_path / "home") for _ in range(2)]
    assert nobody.post(SESSION, json={"token": codes[0]}).status_code == 204
    assert nobody.get(f"{API}/people").status_code == 200
    assert nobody.post(SESSION, json={"token": codes[0]}).status_code == 401
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 901)
    assert nobody.post(SESSION, json={"token": codes[1]}).status_code == 401
    header = {"authorization": f"Bearer {new_code(tmp_path / 'home')}"}
    nobody.cookies.clear()
    assert nobody.get(f"{API}/people", headers=header).status_code == 401  # it begins sessions only


def test_a_link_from_before_a_new_token_does_not_sign_in(nobody, tmp_path):
    """It did, though a new token is for when somebody may have what was printed before."""
    code = new_code(tmp_path / "home")
    Token.in_folder(tmp_path / "home", new=True)
    assert nobody.post(SESSION, json={"token": code}).status_code == 401
    assert nobody.post(SESSION, json={"token": new_code(tmp_path / "home")}).status_code == 204


def test_codes_and_sessions_are_hashes_for_the_owner_only(nobody, tmp_path):
    home = tmp_path / "home"
    code = new_code(home)
    nobody.post(SESSION, json={"token": nobody.token})
    cookie = nobody.cookies["onlooker-8765"]
    files = [*(home / "login").iterdir(), home / "sessions.json", home / "token.json"]
    for path in files:
        assert not {code, cookie, nobody.token} & {path.name, path.read_text()}
        assert cookie not in path.read_text()
        if os.name == "posix":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    if os.name == "posix":
        assert stat.S_IMODE((home / "login").stat().st_mode) == 0o700


def test_at_most_twenty_codes_wait(tmp_path):
    codes = [new_code(tmp_path) for _ in range(25)]
    assert [redeem_code(tmp_path, code) for code in codes] == [False] * 5 + [True] * 20


def test_a_session_survives_a_restart_and_ends_with_the_token_or_on_the_page(tmp_path):
    home = tmp_path / "home"
    with service_in(home) as service:
        client = client_of(service, home, token=False)
        client.post(SESSION, json={"token": client.token}, headers={"user-agent": "Fire\x1bfox"})
        cookie = {"cookie": f"onlooker-8765={client.cookies['onlooker-8765']}"}

        def restarted():
            app = create_app(service, guard=Guard(Credentials(home)))
            return TestClient(app, base_url="http://127.0.0.1:8765", headers=cookie)

        again = restarted()
        (row,) = again.get(f"{API}/sessions").json()
        assert (row["agent"], row["current"]) == ("Firefox", True)
        assert again.delete(f"{API}/sessions/{row['id']}").status_code == 204
        assert again.get(f"{API}/people").status_code == 401
        assert restarted().get(f"{API}/people").status_code == 401
        client.post(SESSION, json={"token": client.token})
        assert client.get(f"{API}/people").status_code == 200
        Token.in_folder(home, new=True)
        assert client.get(f"{API}/people").status_code == 401


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b'[{"digest": 1}]', b"\xff"])
def test_damaged_sessions_mean_to_sign_in_again(service, tmp_path, content):
    (tmp_path / "home" / "sessions.json").write_bytes(content)
    client = client_of(service, tmp_path / "home", token=False)
    assert client.get(SESSION).json()["signed_in"] is False
    assert client.post(SESSION, json={"token": client.token}).status_code == 204
    assert client.get(SESSION).json()["signed_in"] is True


def test_at_most_64_sessions(tmp_path):
    sessions = Sessions(tmp_path, Token.in_folder(tmp_path)[0])
    cookies = [sessions.begin("", "") for _ in range(66)]
    assert [sessions.find(cookie) is not None for cookie in cookies] == [False] * 2 + [True] * 64


def test_beyond_this_computer_the_form_works(service, tmp_path):
    far = client_of(service, tmp_path / "home", token=False, near=False, public=True)
    assert far.get(f"{API}/people").status_code == 401
    assert far.post(SESSION, json={"token": far.token}).status_code == 204
    assert far.get(SESSION).json()["signed_in"] is True
    assert far.get(f"{API}/people").status_code == 200


def test_the_store_is_the_same_after_a_restart_and_another_elsewhere(tmp_path):
    words = []
    for folder in ("one", "one", "two"):
        with service_in(tmp_path / folder) as service:
            words.append(client_of(service, tmp_path / folder).get(SESSION).json()["store"])
    assert words[0] == words[1] != words[2]
    assert all(len(word) == 16 for word in words)


def test_the_simulated_camera_may_be_added_by_anybody_with_the_token(client, nobody):
    wish = {"source": "simulated:V1", "name": "demo"}
    assert nobody.post(f"{API}/cameras", json=wish).status_code == 401
    added = client.post(f"{API}/cameras", json=wish)
    assert (added.status_code, added.json()["address"]) == (201, "simulated:V1")
    state = eventually(
        lambda: next((c for c in client.get(f"{API}/cameras").json() if c["frames"] >= 3), None)
    )
    assert (state["name"], state["state"]) == ("demo", "live")
    assert client.delete(f"{API}/cameras/demo").status_code == 204
    assert client.post(f"{API}/cameras", json={"source": "simulated:V7"}).status_code == 422


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_in_place_of_the_address_does_not_hang_a_login(tmp_path):
    """`login` waited for ever, and `serve` ended with a traceback."""
    (tmp_path / "login").mkdir()
    os.mkfifo(tmp_path / "login" / "address")
    with pytest.raises(TokenError, match="address: it is a device or a pipe"):
        write_address(tmp_path, "http://127.0.0.1:8765/")
    assert read_address(tmp_path) is None
