"""What expires, by which clock."""

import numpy as np

from helpers.homes import Clock, crash, opened, small_learner, stream
from onlooker.home.events import digest
from onlooker.home.retention import DAY, TOLERANCE, RetentionPolicy, TrustedClock


def test_sightings_expire(tmp_path):
    clock = Clock()
    with opened(tmp_path, clock=clock) as home:
        for number in range(4):
            home.record_sighting(camera="door", frame=number, name="ana", vertex=None)
            clock.now += DAY
        assert home.expire(clock.now + 26 * DAY).sightings == 0
        assert home.expire(clock.now + 27.5 * DAY).sightings == 2
        clock.now += 31 * DAY
        assert home.expire().sightings == 2


class TwoClocks:
    """A home with a diary, beside a clock that is set and one that cannot be."""

    def __init__(self, folder):
        self.wall, self.steady = Clock(), Clock(0.0)
        retention = RetentionPolicy(snapshot_every=3)
        self.home = opened(folder, clock=self.wall, steady=self.steady, retention=retention)
        for number in range(12):
            self.home.teach(np.full(8, float(number)), "ana")
            self.home.record_sighting(camera="door", frame=number, name="ana", vertex=None)
            self.go_on(60)

    def go_on(self, seconds):
        self.wall.now += seconds
        self.steady.now += seconds

    @property
    def lines(self):
        return len(self.home.album.sightings())


def test_a_clock_that_jumps_ahead_for_a_minute_deletes_nothing(tmp_path):
    both = TwoClocks(tmp_path)
    with both.home as home:
        for _ in range(3):
            both.wall.now += 365 * DAY
            both.go_on(60)
            home.record_sighting(camera="door", frame=0, name="ana", vertex=None)
            home.teach(np.full(8, 90.0 + both.lines), "ana")
            tidied = home.expire()
            assert (tidied.sightings, tidied.events) == (0, 0)
            both.wall.now -= 365 * DAY
            both.go_on(4000)
            home.expire()
        assert both.lines == 15
        assert home.health().oldest == 0
        both.go_on(31 * DAY)  # what was seen in those minutes expires like everything else
        assert home.expire().sightings == 15


def test_a_clock_that_was_set_is_believed_after_an_hour(tmp_path):
    both = TwoClocks(tmp_path)
    with both.home as home:
        both.wall.now += 365 * DAY
        for _ in range(6):
            assert home.expire().sightings == 0
            both.go_on(600)
        assert home.expire().sightings == 12
        assert both.lines == 0


def test_a_clock_that_is_set_back_changes_nothing(tmp_path):
    clock = Clock()
    plain = small_learner()
    home = opened(tmp_path, clock=clock, retention=RetentionPolicy(snapshot_every=7))
    for number, (x, name) in enumerate(stream(9, 60)):
        if number in (20, 40):
            clock.now -= DAY
        clock.now += 1
        if number < 4:
            home.teach(x, name)
            plain.teach(x, name)
        else:
            home.observe(x, camera="door", frame=number)
            plain.observe(x)
        home.expire()
    sequences = [event.sequence for event in home.events()]
    assert sequences == list(range(1, home.sequence + 1))
    crash(home)
    with opened(tmp_path, clock=clock) as home:
        assert digest(home.learner) == digest(plain)
        home.undo(to=1)


def test_a_clock_may_be_corrected_by_a_minute_at_once():
    wall, steady = Clock(1000.0), Clock(0.0)
    clock = TrustedClock(wall, steady)
    wall.now += TOLERANCE
    assert clock() == 1000.0 + TOLERANCE
    wall.now -= TOLERANCE
    assert clock() == 1000.0
    wall.now += TOLERANCE + 1
    assert clock() == 1000.0
