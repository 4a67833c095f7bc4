"""The thread that owns the home: what expired is deleted at its start, its queue is bounded."""

import time
from threading import Event

import numpy as np

from helpers.services import API, client_of, new_learner, service_in
from helpers.waiting import DEADLINE, eventually
from onlooker.home.home import Home
from onlooker.home.retention import DAY
from onlooker.strangers.book import StrangerBook


def closed_home(folder, days):
    """A home that was closed days ago, with one sighting and one stranger."""

    def then():
        return time.time() - days * DAY

    with (
        Home(folder, new_learner=new_learner, clock=then) as home,
        StrangerBook(home, clock=then) as book,
    ):
        home.record_sighting(camera="door", frame=1, name="ana", vertex=None)
        book.observe(np.full(96 * 96, 0.5, np.float32), camera="door", frame=2)


def stored(folder):
    """How many sightings and cards a service has just after its start."""
    with service_in(folder) as service:
        sightings = service.home_thread.submit(lambda home: len(home.album.sightings())).result()
        cards = service.home_thread.submit(
            lambda home: len(service.people.strangers(hidden=True))
        ).result()
    return sightings, cards


def test_a_service_that_was_away_for_long_shows_nothing_that_has_expired(tmp_path):
    closed_home(tmp_path / "hour", days=1 / 24)
    closed_home(tmp_path / "day", days=1)
    closed_home(tmp_path / "month", days=31)
    assert stored(tmp_path / "hour") == (1, 1)
    assert stored(tmp_path / "day") == (1, 0)
    assert stored(tmp_path / "month") == (0, 0)


def test_too_much_work_is_refused_not_queued_for_ever(tmp_path):
    with service_in(tmp_path / "home", queue_size=2) as service:
        client = client_of(service, tmp_path / "home")
        go = Event()
        blocked = service.home_thread.submit(lambda home: go.wait(DEADLINE))
        eventually(blocked.running)
        waiting = [service.home_thread.submit(lambda home: home.sequence) for _ in range(2)]
        answer = client.get(f"{API}/people")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert client.get(f"{API}/health").status_code == 200  # needs no turn
        go.set()
        assert [one.result(DEADLINE) for one in waiting] == [0, 0]
        assert client.get(f"{API}/people").status_code == 200


def test_a_frame_waits_for_one_other_job_and_no_job_for_more_than_one_frame_each(tmp_path):
    """Fifty clients that poll took a camera from 12 frames a second to 4."""
    order, go = [], Event()
    with service_in(tmp_path / "home") as service:
        thread = service.home_thread
        jobs = [thread.submit(lambda home: go.wait(DEADLINE))]
        eventually(lambda: thread.waiting == 0)
        for number in range(4):
            jobs.append(thread.submit(lambda home, n=number: order.append(f"reader {n}")))
        jobs.append(thread.submit(lambda home: order.append("frame"), frame=True))
        go.set()
        for job in jobs:
            job.result(DEADLINE)
    assert order == ["reader 0", "frame", "reader 1", "reader 2", "reader 3"]
