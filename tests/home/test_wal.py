"""A damaged write-ahead log: nothing that was acknowledged is lost without a word."""

import os
import random
import shutil
from zlib import crc32

import numpy as np
import pytest

from helpers.homes import NEVER, change_database, opened, png, watch
from helpers.waiting import eventually
from onlooker.home.disk import Lock
from onlooker.home.events import digest
from onlooker.home.wal import WriteAheadLog
from onlooker.strangers.book import StrangerBook
from onlooker.web.service import HomeThread

FRAME = 24 + 4096


class Killed:
    """A home that was killed with all its events in the log, and what it knew after each."""

    def __init__(self, folder):
        self.folder, self._scratch = folder / "killed", folder / "copy"
        home = opened(folder / "home", retention=NEVER)
        self.digests = {0: digest(home.learner)}
        for step in range(40):
            watch(home, 2, 1, start=step)
            self.digests[home.sequence] = digest(home.learner)
            if step % 5 == 0:
                home.teach(np.full(8, 30.0 + step), "pictured", picture=png(step, side=40))
                home.record_sighting(camera="door", frame=step, name="pictured", vertex=None)
            self.digests[home.sequence] = digest(home.learner)
        self.sequence, self.sightings = home.sequence, len(home.album.sightings())
        shutil.copytree(folder / "home", self.folder)  # what a kill leaves
        home.close()
        self.log = (self.folder / "onlooker.db-wal").read_bytes()

    def copy(self, log):
        """The same folder with another log."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        shutil.copytree(self.folder, self._scratch)
        path = self._scratch / "onlooker.db-wal"
        path.unlink() if log is None else path.write_bytes(log)
        return self._scratch


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    return Killed(tmp_path_factory.mktemp("killed"))


def assert_nothing_lost_unsaid(killed, folder):
    """All is there, or the problems say which events are not: how many are lost."""
    with opened(folder) as home:
        lost = [problem for problem in home.problems if "lost: event" in problem]
        if not lost:
            assert digest(home.learner) == killed.digests[killed.sequence]
            seen = len(home.album.sightings())
            assert seen == killed.sightings or any("sightings" in each for each in home.problems)
            return 0
        words = lost[0].split()
        first, last = int(words[words.index("lost:") + 2]), int(words[-1])
        assert last == killed.sequence
        assert digest(home.learner) == killed.digests[first - 1]
        return last - first + 1


def test_one_flipped_bit_in_the_log_loses_no_acknowledged_event(killed):
    rng = random.Random(0)
    for _ in range(12):
        damaged = bytearray(killed.log)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        folder = killed.copy(damaged)
        assert assert_nothing_lost_unsaid(killed, folder) == 0
        copies = list(folder.glob("onlooker.db.damaged-*-wal"))
        assert [copy.read_bytes() for copy in copies] == [bytes(damaged)]


def test_a_bit_that_was_flipped_back_is_said(killed):
    with opened(killed.copy(with_flipped_bits(killed.log, 8 * (32 + 9 * FRAME + 10)))) as home:
        (problem,) = home.problems
        assert problem.startswith("1 flipped bits in the write-ahead log were corrected")
        assert "onlooker.db.damaged-1-wal; check the disk" in problem


def test_most_flipped_bits_are_found_from_the_checksums_alone(killed):
    rng, corrected = random.Random(1), 0
    for _ in range(30):
        damaged = bytearray(killed.log)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        corrected += WriteAheadLog(bytes(damaged), 4096).before_damage() == killed.log
    assert corrected > 20


def test_a_bit_that_was_cleared_is_found_as_one_that_was_set(killed):
    """Most of a page is zeros, so random bits are mostly set."""
    rng, bits = random.Random(3), np.unpackbits(np.frombuffer(killed.log, np.uint8))
    places = [int(at) // 8 for at in np.flatnonzero(bits) if (at // 8 - 32) % FRAME >= 24]
    corrected = 0
    for place in rng.sample(places, 20):
        bit = next(n for n in range(8) if killed.log[place] >> n & 1)
        log = WriteAheadLog(with_flipped_bits(killed.log, 8 * place + bit), 4096)
        corrected += log.before_damage() == killed.log
    assert corrected > 12


def with_flipped_bits(log, *bits):
    """A log with these bits flipped, counted from its start."""
    damaged = bytearray(log)
    for bit in bits:
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def test_every_bit_of_the_header_and_of_what_a_frame_states_is_found_from_the_checksums(killed):
    """Salts and checksums; page number and page are the random bits of the test above."""
    stated = [8 * (32 + frame * FRAME + 8) + bit for frame in (0, 9) for bit in range(128)]
    for bit in [*range(256), *stated]:
        log = WriteAheadLog(with_flipped_bits(killed.log, bit), 4096)
        assert (log.corrected, log.before_damage() == killed.log) == (1, True), bit


def test_every_bit_in_the_salts_of_the_last_frame_is_found(killed):
    """No frame follows that would say that it is one of this log."""
    start = 8 * (len(killed.log) - FRAME + 8)
    for bit in range(start, start + 64):
        log = WriteAheadLog(with_flipped_bits(killed.log, bit), 4096)
        assert (log.corrected, log.before_damage() == killed.log) == (1, True), bit - start


def test_frames_that_an_earlier_log_left_behind_are_not_read(killed):
    """Their salts differ, even if it is by one bit, and no checksum continues that of this log."""
    for bit in (8 * 8, 8 * 12 + 5):
        left = with_flipped_bits(killed.log[32 : 32 + FRAME], bit)
        log = WriteAheadLog(killed.log + left + killed.log[32 + FRAME : 32 + 2 * FRAME][:-1], 4096)
        assert (log.corrected, log.transactions_behind) == (0, 0)
        assert log.before_damage() == killed.log


def test_two_wrong_bits_in_the_salts_of_a_frame_are_not_corrected(killed):
    """With other salts it may be a frame of an earlier log."""
    start = 8 * (32 + 9 * FRAME + 8)
    log = WriteAheadLog(with_flipped_bits(killed.log, start, start + 40), 4096)
    assert log.corrected == 0
    assert log.transactions_behind > 0
    assert len(log.before_damage()) <= 32 + 9 * FRAME


def test_the_header_of_a_log_with_a_wrong_checksum_is_not_asked_for_the_page_size(killed):
    damaged = killed.log[:8] + (8192).to_bytes(4, "big") + killed.log[12:]
    log = WriteAheadLog(damaged, 4096)
    assert (log.corrected, log.before_damage() == killed.log) == (1, True)


def test_a_home_that_was_closed_names_no_process_and_knows_how_far_it_was(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.record_sighting(camera="door", frame=1, name="ana")
        home.cameras.add("door", "rtsp://10.0.0.5/1")
        assert int((tmp_path / "lock").read_bytes()[:20]) == os.getpid()
    assert (tmp_path / "lock").read_bytes()[:20].strip() == b""
    lock = Lock(tmp_path / "lock")
    try:
        mark = lock.acknowledged
        assert (mark.events, mark.sightings) == (1, 1)
        assert mark.changes >= 1
    finally:
        lock.release()


@pytest.mark.parametrize("frame", [0, 7, 30, -1])
def test_a_zeroed_frame_of_the_log_costs_what_is_said_to_be_lost(killed, frame):
    count = (len(killed.log) - 32) // FRAME
    start = 32 + frame % count * FRAME
    damaged = killed.log[:start] + bytes(FRAME) + killed.log[start + FRAME :]
    folder = killed.copy(damaged)
    assert assert_nothing_lost_unsaid(killed, folder) <= 1
    copies = [path.read_bytes() for path in folder.glob("*.damaged-1-wal")]
    assert copies == ([damaged] if frame >= 0 else []), "the log may end before the last one"


def test_what_was_recovered_from_behind_damage_is_said(killed):
    start = 32 + 7 * FRAME
    damaged = killed.log[:start] + bytes(FRAME) + killed.log[start + FRAME :]
    with opened(killed.copy(damaged)) as home:
        said = [each for each in home.problems if "onlooker.db.damaged-1-wal" in each]
        assert len(said) == 1
        assert "what could be read of the " in said[0]


@pytest.mark.parametrize("size", [None, 0, 20, 5000, 200_000, -1])
def test_a_log_that_was_cut_or_removed_does_not_lose_events_silently(killed, size):
    log = None if size is None else killed.log[:size]
    assert assert_nothing_lost_unsaid(killed, killed.copy(log)) > 0


def test_a_database_file_that_was_removed_from_beside_its_log_is_missed(killed):
    folder = killed.copy(killed.log)
    (folder / "onlooker.db").unlink()
    assert assert_nothing_lost_unsaid(killed, folder) == killed.sequence


@pytest.mark.parametrize("stated", [b"\x51\x3c", b"\x20\x00", b"\x00\x07"])
def test_a_wrong_page_size_in_the_database_is_no_traceback_and_spares_the_log(killed, stated):
    folder = killed.copy(killed.log)
    content = (folder / "onlooker.db").read_bytes()
    (folder / "onlooker.db").write_bytes(content[:16] + stated + content[18:])
    assert_nothing_lost_unsaid(killed, folder)
    assert WriteAheadLog(killed.log, int.from_bytes(stated, "big")).corrected == 0


@pytest.mark.parametrize("behind", [1, 2])
def test_what_was_never_acknowledged_is_not_called_lost(killed, behind):
    """A power cut tears the last transaction before anybody heard of it, in one of its frames."""
    folder = killed.copy(killed.log)
    home = opened(folder, retention=NEVER)
    acknowledged = (folder / "lock").read_bytes()
    word = digest(home.learner)
    home.teach(np.full(8, 80.0), "torn", picture=png(1, side=90))
    shutil.rmtree(killed.folder.with_name("torn"), ignore_errors=True)
    torn = shutil.copytree(folder, killed.folder.with_name("torn"))
    home.close()
    log = (torn / "onlooker.db-wal").read_bytes()
    start = len(log) - (behind + 1) * FRAME
    (torn / "onlooker.db-wal").write_bytes(log[:start] + bytes(FRAME) + log[start + FRAME :])
    assert WriteAheadLog((torn / "onlooker.db-wal").read_bytes(), 4096).transactions_behind == (
        behind - 1
    )
    (torn / "lock").write_bytes(acknowledged)
    with opened(torn) as home:
        assert home.problems == ()
        assert digest(home.learner) == word
    assert list(torn.glob("*damaged*")) == []


def meet_a_stranger(home):
    with StrangerBook(home) as book:
        book.observe(np.full(8, 60.0), camera="door", frame=1, picture=png(2))


def add_a_camera(home):
    home.cameras.add("door", "rtsp://10.0.0.5/1")


def remove_a_camera(home):
    home.cameras.remove("shed")


def store_a_number(home):
    home.set_number("last door", 7)


def what_has_no_number(home):
    cards = StrangerBook(home).cards()
    return [card.number for card in cards], home.cameras.sources(), home.numbers("last")


@pytest.mark.parametrize("change", [meet_a_stranger, add_a_camera, remove_a_camera, store_a_number])
def test_a_card_or_a_camera_in_a_cut_log_is_not_lost_without_a_word(tmp_path, change):
    home = opened(tmp_path / "home", retention=NEVER)
    home.cameras.add("shed", "rtsp://10.0.0.6/1")
    home.teach(np.zeros(8), "ana")
    log = tmp_path / "home" / "onlooker.db-wal"
    size = log.stat().st_size
    change(home)
    before = what_has_no_number(home)
    whole = shutil.copytree(tmp_path / "home", tmp_path / "whole")
    cut = shutil.copytree(tmp_path / "home", tmp_path / "cut")
    home.close()
    with (cut / log.name).open("r+b") as file:
        file.truncate(size)
    with opened(whole) as home:
        assert home.problems == ()
        assert what_has_no_number(home) == before
    with opened(cut) as home:
        assert what_has_no_number(home) != before
        (problem,) = home.problems
        assert problem.startswith("the last 1 changes of strangers' cards, cameras or settings")
        home.teach(np.ones(8), "ben")
    with opened(cut) as home:
        assert home.problems == ()  # said once, it is known


def test_a_home_that_counted_no_changes_before_has_lost_none(tmp_path):
    """An earlier version wrote two numbers into the lock file, and none into the database."""
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.cameras.add("shed", "rtsp://10.0.0.6/1")
    change_database(tmp_path, "DELETE FROM meta WHERE key = 'changes'")
    numbers = b"1 0"
    (tmp_path / "lock").write_bytes(b" " * 20 + b"\n%b %08x\n" % (numbers, crc32(numbers)))
    with opened(tmp_path) as home:
        assert home.problems == ()
        assert home._files._lock.acknowledged.events == 1


def test_a_damaged_lock_file_is_no_damage(killed):
    folder = killed.copy(killed.log)
    (folder / "lock").write_bytes(b"\xff" * 60)
    with opened(folder) as home:
        assert home.problems == ()
        assert digest(home.learner) == killed.digests[killed.sequence]


def test_an_idle_service_leaves_nothing_in_the_log(tmp_path):
    thread = HomeThread(lambda: opened(tmp_path))
    log = tmp_path / "onlooker.db-wal"
    try:
        thread.submit(lambda home: home.teach(np.zeros(8), "ana")).result()
        eventually(lambda: log.stat().st_size == 0)
    finally:
        thread.close()
