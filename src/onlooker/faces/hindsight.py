"""What a home does about its past: go back to it, forget a person, let old things expire."""

from dataclasses import asdict

from onlooker.core.checks import is_number
from onlooker.core.errors import NotFound, SnapshotError
from onlooker.faces.durable import Durable
from onlooker.faces.keeping import DAY, Forgotten, Tidied
from onlooker.faces.shelf import FORGETTING
from onlooker.faces.store import NotSaved, StoreDamaged, StoreError


def undo(durable: Durable, to: int) -> None:
    """Go on with the learner as it was after an event. That it was done is an event as well."""
    chronicle = durable.chronicle
    if not is_number(to, whole=True) or not chronicle.oldest <= to <= chronicle.sequence:
        raise NotFound(
            f"event {to!r} cannot be undone to; give one from {chronicle.oldest} "
            f"to {chronicle.sequence}"
        )
    durable.be_ready()
    found = chronicle.at(int(to))
    if found.problems:
        raise StoreDamaged(f"cannot undo to event {to}: {found.problems[0]}")
    learner = found.learner(durable.learner.next_id)
    alive = learner.vertices().ids.tolist()
    durable.exchange(
        "undo", learner, [["undo", int(to)]], also=lambda: chronicle.album.keep_only(alive)
    )
    durable.snapshot()


def forget(durable: Durable, name: str) -> Forgotten:
    """Drop a name from the learner, and every byte of it from the disk.

    The first transaction also notes that the erasing is to be done, and only its end takes the
    note back: if it is interrupted, the next start or `tidy` goes on with it.
    """
    chronicle, album = durable.chronicle, durable.chronicle.album
    pictures, sightings = len(album.vertices()), 0

    def erase_the_diary() -> None:
        nonlocal sightings
        sightings = album.forget(name, durable.learner.changes().dropped)
        chronicle.store.mark(FORGETTING, 1)

    receipt = durable.with_room(
        lambda: durable.do("forget", lambda learner: learner.forget(name), also=erase_the_diary)
    )
    try:
        erased = durable.with_room(lambda: chronicle.erase(durable.learner))
    except (StoreError, SnapshotError) as error:
        raise NotSaved(
            f"{name!r} is forgotten, but copies are still on the disk ({error}); tidy, or the "
            "next start, will delete them"
        ) from error
    return Forgotten(
        **asdict(receipt),
        pictures=pictures - len(album.vertices()),
        sightings=sightings,
        events=erased.events,
        snapshots=erased.snapshots,
    )


def tidy(durable: Durable, now: float) -> Tidied:
    """Delete what has expired, and what a forgetting left behind; then see to the ballast."""
    tidied = durable.with_room(lambda: _tidy(durable, now))
    durable.chronicle.ballast.lay()
    return tidied


def _tidy(durable: Durable, now: float) -> Tidied:
    chronicle = durable.chronicle
    if chronicle.store.noted(FORGETTING) is not None:
        durable.be_ready()  # only what is on the disk may become a snapshot
        chronicle.erase(durable.learner)
    sightings = chronicle.album.expire(now - chronicle.keeping.sighting_days * DAY, now)
    erased = chronicle.thin(now)
    return Tidied(sightings, erased.events, erased.snapshots)
