"""What has expired is gone when the service is there again, and not ten minutes later."""

import time

import numpy as np

from helpers.services import new_learner, service_in
from onlooker.home.home import Home
from onlooker.home.retention import DAY
from onlooker.strangers.book import StrangerBook


def left_behind(folder, days):
    """A home that was closed so long ago, with a line in its diary and one stranger."""

    def then():
        return time.time() - days * DAY

    with (
        Home(folder, new_learner=new_learner, clock=then) as home,
        StrangerBook(home, folder, clock=then) as visitors,
    ):
        home.record_sighting(camera="door", frame=1, name="ana", vertex=None)
        visitors.met(np.full(96 * 96, 0.5, np.float32), camera="door", frame=2)


def shown(folder):
    """Lines of the diary, and cards, of a service that has just started."""
    with service_in(folder) as service:
        lines = service.home_thread.submit(lambda home: len(home.album.sightings())).result()
        cards = service.home_thread.submit(
            lambda home: len(service.people.strangers(hidden=True))
        ).result()
    return lines, cards


def test_a_service_that_was_away_for_long_shows_nothing_that_has_expired(tmp_path):
    left_behind(tmp_path / "hour", days=1 / 24)
    left_behind(tmp_path / "day", days=1)
    left_behind(tmp_path / "month", days=31)
    assert shown(tmp_path / "hour") == (1, 1)
    assert shown(tmp_path / "day") == (1, 0)
    assert shown(tmp_path / "month") == (0, 0)
