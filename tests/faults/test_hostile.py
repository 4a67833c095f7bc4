"""Hostile clients beside two cameras: the owner is answered, the cameras go on, nothing grows.

The long form, with memory and times, is `scripts/soak hostile`.
"""

import asyncio
import threading
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from helpers.attackers import Attack, Crowd, let_in
from helpers.running import serving
from helpers.services import API, client_of, scene, service_in, teach
from helpers.waiting import eventually
from onlooker.vision.types import Frame
from onlooker.web import server
from onlooker.web.service import QUEUE_SIZE


@pytest.fixture
def service(tmp_path):
    with service_in(tmp_path / "home") as running:
        yield running


@pytest.fixture
def client(service, tmp_path):
    return client_of(service, tmp_path / "home")


def test_hostile_clients_are_refused_and_the_owner_is_answered(client, service, capfd, monkeypatch):
    """A few of each kind for as long as it takes that every kind was refused or closed."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(server, "REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 40)
    teach(client, 1, "ana")
    crowd = Crowd(idle=45, slow=6, wrong=3, without=3, pollers=5, deaf=3, pause=0.02)
    seen, over, most_waiting = [], threading.Event(), 0

    def watch():
        while not over.is_set():
            result = service.recognize(Frame("door", len(seen), float(len(seen)), scene(1)))
            seen.append(result.frame)

    camera = threading.Thread(target=watch)
    with serving(client.app) as address:
        attack = Attack(address, client.token, "door", crowd)
        attackers = _Background(attack)
        camera.start()
        try:
            frames = len(seen)
            owner, statuses = _Owner(address, client.token), []

            def every_kind_was_met():
                nonlocal most_waiting
                statuses.append(owner.status())
                most_waiting = max(most_waiting, service.home_thread.waiting)
                kinds = {what.partition(":")[0] for what in attack.counts}
                answered = attack.counts["poll: 200"] and attack.counts["wrong: 429"]
                return answered and kinds >= {"idle", "slow_head", "slow_body", "without"}

            eventually(every_kind_was_met)
            eventually(lambda: len(seen) > frames + 3)
        finally:
            over.set()
            attackers.close()
            camera.join()
    assert set(statuses) == {200}
    assert let_in(attack.counts) == {}
    assert most_waiting <= QUEUE_SIZE
    assert capfd.readouterr() == ("", "")  # no line for any refusal


class _Background:
    """An attack in a thread with an event loop, until it is closed."""

    def __init__(self, attack):
        self._loop, self._task = asyncio.new_event_loop(), None
        self._thread = threading.Thread(target=self._run, args=(attack,))
        self._thread.start()

    def _run(self, attack):
        async def begin():
            self._task = asyncio.current_task()
            await attack.run()

        try:
            self._loop.run_until_complete(begin())
        except asyncio.CancelledError:
            pass
        finally:
            self._loop.close()

    def close(self):
        eventually(lambda: self._task)
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()


class _Owner:
    """Opens the page anew each time, as somebody does who looks in now and then."""

    def __init__(self, address, token):
        self._where = urlsplit(address).netloc
        self._token = {"authorization": f"Bearer {token}"}

    def status(self, path="/people"):
        """The status of an answer.

        Where newer connections arrive faster than a request is read, it is closed as they are, and
        asks again, as browsers do.
        """
        while True:
            connection = HTTPConnection(self._where, timeout=60)
            try:
                connection.request("GET", API + path, headers=self._token)
                return connection.getresponse().status
            except ConnectionError:
                continue
            finally:
                connection.close()
