"""Signing in and out with the form."""

import pytest

from helpers.services import API, client_of, service_in
from helpers.waiting import eventually

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
    assert nobody.post(SESSION, json={"token": nobody.token}).status_code == 429


def test_an_old_cookie_does_not_lock_the_owner_out(nobody):
    nobody.cookies.set("onlooker-8765", "of-before")
    assert [nobody.get(SESSION).json()["signed_in"] for _ in range(9)] == [False] * 9
    assert nobody.post(SESSION, json={"token": nobody.token}).status_code == 204


def test_another_site_cannot_sign_anybody_in(nobody):
    evil = {"origin": "https://evil.example"}
    assert nobody.post(SESSION, json={"token": nobody.token}, headers=evil).status_code == 403
    assert nobody.delete(SESSION, headers=evil).status_code == 403


def test_beyond_this_computer_the_session_is_guarded_but_the_form_works(service, tmp_path):
    far = client_of(service, tmp_path / "home", token=False, near=False, public=True)
    assert far.get(SESSION).status_code == 401
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
    assert (state["name"], state["state"]) == ("demo", "watching")
    assert client.delete(f"{API}/cameras/demo").status_code == 204
    assert client.post(f"{API}/cameras", json={"source": "simulated:V7"}).status_code == 422
