"""A script of all verbs of a home, step by step, for the tests that make its file calls fail.

Every step is a function of an `Opened`; input depends on nothing but the step, so any run can be
compared with any other. A step says by returning that what it did is on the disk.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from helpers.homes import png, small_learner
from onlooker.core.errors import NotFound, OnlookerError
from onlooker.home.backup import back_up
from onlooker.home.card_table import CardTable
from onlooker.home.events import digest
from onlooker.home.home import FaceToTeach, Home
from onlooker.home.people import merge, rename
from onlooker.home.reopen import reopen
from onlooker.home.retention import RetentionPolicy
from onlooker.home.transfer import export, import_into
from onlooker.strangers.book import StrangerBook

RETENTION = RetentionPolicy(snapshot_every=6, retry_seconds=0, ballast_megabytes=0.02)


def face(person, number=0):
    """A face of a person, near to the others of the same one."""
    home = np.random.default_rng([3, person]).normal(size=8) * 4
    return (home + np.random.default_rng([4, person, number]).normal(size=8) * 0.2).astype("f4")


@dataclass
class Opened:
    """An open home and its strangers."""

    folder: Path
    home: Home
    book: StrangerBook

    @classmethod
    def open(cls, folder):
        """Open the home of a folder of homes."""
        home = Home(folder / "home", new_learner=small_learner, retention=RETENTION)
        try:
            return cls(folder, home, StrangerBook(home))
        except BaseException:
            home.close()
            raise

    def close(self):
        """Close both."""
        try:
            self.book.close()
        finally:
            self.home.close()

    def facts(self):
        """What must be there again; None in place of cards that could not be saved, as they say."""
        home, book = self.home, self.book
        return {
            "sequence": home.sequence,
            "digest": digest(home.learner),
            "sightings": home.album.newest_number,
            "pictures": home.album.vertices(),
            "names": list(home.learner.names),
            "cameras": home.cameras.sources(),
            "numbers": home.numbers("last"),
            "cards": None
            if book.problems
            else [[card.number, card.count, len(card.faces)] for card in book.cards(hidden=True)],
        }


def _reopened(now):
    now.close()
    again = Opened.open(now.folder)
    now.home, now.book = again.home, again.book


def _other(now):
    other = small_learner()
    other.teach(face(7), "gus")
    other.observe(face(7, 1))
    now.home.merge(other)


def _batch(now):
    with now.home.batch():
        now.home.teach(face(5), "eve", picture=png(5))
        now.home.observe(face(5, 1), camera="door", frame=9)
        now.home.set_number("last door", 2)


def _backup(now):
    now.close()
    try:
        shutil.rmtree(now.folder / "backup", ignore_errors=True)
        back_up(now.folder / "home", now.folder / "backup")
    finally:
        again = Opened.open(now.folder)
        now.home, now.book = again.home, again.book


def _export(now):
    export(now.home, now.folder / "exported")
    import_into(now.folder / "imported", now.folder / "exported")


def _newest(now):
    ids = now.home.vertices().ids
    if not len(ids):
        raise NotFound("there is no vertex")
    return int(ids[-1])


def _seen(now):
    now.home.record_sighting(camera="door", frame=3, name="ana", vertex=None)


def _stranger(now):
    for number in range(3):
        now.book.observe(face(9, number), camera="door", frame=number, picture=png(30 + number))
    now.book.expire()


STEPS = {
    "teach": lambda now: now.home.teach(face(0), "ana", picture=png(1)),
    "teach another": lambda now: now.home.teach(face(1), "ben", picture=png(2)),
    "observe": lambda now: now.home.observe(face(0, 1), camera="door", frame=1, picture=png(3)),
    "sighting": _seen,
    "exclude": lambda now: now.home.teach(face(0, 2), not_name="ben"),
    "nobody": lambda now: now.home.teach(face(8), nobody=True),
    "camera": lambda now: now.home.cameras.add("door", "rtsp://10.0.0.5/1"),
    "stranger": _stranger,
    "name a stranger": lambda now: now.book.name(1, "hal"),
    "teach a third": lambda now: now.home.teach(face(2), "cid", picture=png(4, side=40)),
    "unteach": lambda now: now.home.unteach(face(2)),
    "label": lambda now: now.home.label(_newest(now), "cid"),
    "drop": lambda now: now.home.drop(_newest(now)),
    "merge": _other,
    "rename": lambda now: now.book.change_name(rename, "gus", "gustav"),
    "merge names": lambda now: now.book.change_name(merge, "gustav", "ana"),
    "undo": lambda now: now.home.undo(to=now.home.sequence - 1),
    "batch": _batch,
    "teach once": lambda now: now.home.teach_once([FaceToTeach("fay", face(6), png(6))]),
    "checkpoint": lambda now: now.home.checkpoint(),
    "close and open": _reopened,
    "backup": _backup,
    "export and import": _export,
    "expire": lambda now: now.home.expire(),
    "forget": lambda now: now.book.forget("ben"),
    "observe again": lambda now: now.home.observe(face(0, 3), camera="door", frame=5),
}

MIGRATED = "plain", "strangers_killed", "cameras"
"""Homes that earlier versions wrote."""


def run(folder, done, steps=tuple(STEPS)):
    """All steps; done(name, facts, error) after each. Errors other than ours are not caught."""
    try:
        now = Opened.open(folder)
    except OnlookerError as error:
        done("open", None, str(error))
        return
    done("open", *_facts(now))
    for name in steps:
        error = None
        try:
            STEPS[name](now)
        except OnlookerError as refused:
            error = str(refused)
        if now.home._closed:
            done(name, None, error)
            return
        facts, unreadable = _facts(now)
        done(name, facts, error or unreadable or now.home.health().read_only)
    try:
        now.close()
    except OnlookerError as refused:
        done("close", None, str(refused))


def _facts(now):
    """What it knows, or why that cannot be read."""
    try:
        return now.facts(), None
    except OnlookerError as error:
        return None, str(error)


def before_each(place):
    """The home as it was before each verb, killed there: a folder of homes for each."""
    work = place / "work"
    work.mkdir()
    now = Opened.open(work)
    for name, step in STEPS.items():
        shutil.copytree(work, place / name)
        step(now)
    now.close()
    shutil.copytree(work, place / "closed")


def migrated(folder):
    """What a home of an earlier version knows; it is migrated if it was not."""
    with reopen(folder) as home:
        pictures = {vertex: len(home.album.picture(vertex)) for vertex in home.album.vertices()}
        facts = home.sequence, digest(home.learner), pictures, sorted(home.cameras.sources())
        cards = [[card.number, card.times_seen] for card in CardTable(home.database).cards()]
        return [*facts, len(home.album.sightings(limit=10**6)), cards, list(home.problems)]
