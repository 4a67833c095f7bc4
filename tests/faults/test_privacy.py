"""A model of privacy: after every forgetting, no file holds a name, vector or picture of theirs.

    scripts/soak privacy --sequences 10000     so many sequences of steps; the suite runs a few

The model knows which person every vector and picture was given to, and what persons were called.
After each forgetting every file of the home and of the temporary directory is searched: raw, in
JSON, in base64, in zip archives; pictures are decoded. Copies that a user made are not searched.
Where the shim is preloaded (`shim.c`), some steps are killed at one of their file calls.
"""

import argparse
import base64
import io
import json
import random
import re
import shutil
import sys
import tempfile
import time
import zipfile
import zlib
from contextlib import suppress
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults.test_nth_failure import Shim, found_with_shim, in_child
from helpers.homes import opened, png
from helpers.killing import scratch
from onlooker.core.errors import OnlookerError
from onlooker.home.backup import back_up, backup_archive
from onlooker.home.people import merge, rename
from onlooker.home.retention import RetentionPolicy
from onlooker.home.transfer import export
from onlooker.strangers.book import StrangerBook

NAMES = ["Zebedee", "Quillon", "Ysolde"]
RETENTION = RetentionPolicy(snapshot_every=7, ballast_megabytes=0)


# ---- searching


def pixels(content):
    """The pixels of every PNG in some bytes, however they were compressed."""
    for start in (match.start() for match in re.finditer(b"\x89PNG\r\n\x1a\n", content)):
        at, packed = start + 8, b""
        while at + 8 <= len(content) and content[at + 4 : at + 8] in (b"IHDR", b"IDAT"):
            size = int.from_bytes(content[at : at + 4], "big")
            if content[at + 4 : at + 8] == b"IDAT":
                packed += content[at + 8 : at + 8 + size]
            at += size + 12
        with suppress(zlib.error):
            yield zlib.decompress(packed)


class Mark:
    """Something of a person that must not be found, in every form it may have."""

    def __init__(self, value):
        self.value, self.pixels = value, None
        if isinstance(value, str):
            self.needles = [value.encode(), base64.b64encode(value.encode()).rstrip(b"=")[:-1]]
        elif isinstance(value, bytes):
            (self.pixels,) = pixels(value)
            packed = base64.b64encode(value)[60:160]  # behind what all PNGs have in common
            self.needles = [value[40:], packed]
        else:
            forms = [np.asarray(value, kind) for kind in ("f4", "f8")]
            self.needles = [form.tobytes() for form in forms]
            self.needles += [base64.b64encode(form.tobytes())[:40] for form in forms]
            self.needles += [
                json.dumps(form[:4].tolist(), separators=gap)[1:-1].encode()
                for form in forms
                for gap in ((",", ":"), (", ", ": "))
            ]

    def is_of(self, value):
        """Whether it is the mark of this vector or picture."""
        return type(value) is type(self.value) and np.array_equal(value, self.value)

    def is_in(self, content):
        """Whether some bytes hold it."""
        if any(needle in content for needle in self.needles):
            return True
        if self.pixels is not None and any(found == self.pixels for found in pixels(content)):
            return True
        if not content.startswith(b"PK"):
            return False
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as archive:
            return any(self.is_in(archive.read(name)) for name in archive.namelist())
        return False


def leaks(folders, marks):
    """Files that hold any of the marks."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    contents = {path.name: path.read_bytes() for path in files}
    return [
        (name, mark.value if isinstance(mark.value, str) else type(mark.value).__name__)
        for name, content in contents.items()
        for mark in marks
        if mark.is_in(content)
    ]


def zipped(content, method):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", method) as archive:
        archive.writestr("inside", content)
    return written.getvalue()


def packed_again(picture):
    """The same picture, compressed otherwise."""
    (raw,) = pixels(picture)
    data = zlib.compress(raw, 0)
    ihdr = picture[8:33]
    return picture[:8] + ihdr + len(data).to_bytes(4, "big") + b"IDAT" + data + bytes(4)


VECTOR, PICTURE = np.linspace(0.1, 0.9, 8).astype("f4"), png(77, side=12)
LEAKS = {
    "name": (NAMES[0], NAMES[0].encode()),
    "name in base64": (NAMES[0], base64.b64encode(NAMES[0].encode())),
    "vector": (VECTOR, VECTOR.tobytes()),
    "vector of doubles": (VECTOR, VECTOR.astype("f8").tobytes()),
    "vector in JSON": (VECTOR, json.dumps({"x": VECTOR.tolist()}).encode()),
    "vector in base64": (VECTOR, base64.b64encode(VECTOR.tobytes())),
    "picture": (PICTURE, PICTURE),
    "picture in base64": (PICTURE, base64.b64encode(PICTURE)),
    "picture packed again": (PICTURE, packed_again(PICTURE)),
    "free page": (VECTOR, bytes(3000) + VECTOR.tobytes() + bytes(1000)),
}


@pytest.mark.parametrize("kind", LEAKS)
def test_a_leaked_copy_of_each_kind_is_found(tmp_path, kind):
    value, content = LEAKS[kind]
    mark, path = Mark(value), tmp_path / "leaked"
    for leaked in (
        content,
        b"onlooker" + content,
        zipped(content, zipfile.ZIP_STORED),
        zipped(content, zipfile.ZIP_DEFLATED),
    ):
        path.write_bytes(leaked)
        assert len(leaks([tmp_path], [mark, Mark("Nobody")])) == 1
    (tmp_path / "leaked").write_bytes(bytes(5000))
    assert leaks([tmp_path], [mark]) == []


# ---- the model


class Model:
    """A home, and who everything in it belongs to."""

    def __init__(self, place):
        self.place, self.temporary, self.outside = (place / n for n in ("home", "tmp", "outside"))
        for folder in (self.temporary, self.outside):
            folder.mkdir()
        self._numbers = count()
        self.called, self.owned, self.before, self.first = {}, {}, {}, {}
        """By person: the name now, marks, names of before, the first name."""
        self.history, self.gone, self.kills, self.sighted = {0: {}}, [], 0, {}
        self.moved = []
        """What had another owner before: at which event, vector and picture, and whose it was."""
        self.open()

    def open(self):
        self.home = opened(self.place, retention=RETENTION)
        self.book = StrangerBook(self.home)

    def person(self, name):
        """The person of a name, who is new if nobody has it."""
        found = [person for person, each in self.called.items() if each == name]
        if not found:
            found = [next(self._numbers)]
            self.called[found[0]] = self.first[found[0]] = name
            self.owned[found[0]] = []
        return found[0]

    def own(self, name, vector, picture=None):
        """Something was named so."""
        new = self.person(name)
        for person in self.owned:  # "wrong", then named again: it is the new one's alone
            if self.disown(person, vector, picture) and person != new:
                self.moved.append((self.home.sequence, vector, picture, person))
        self.owned[new] += [Mark(each) for each in (vector, picture) if each is not None]

    def disown(self, person, *values):
        """It is not theirs any more: whether it was."""
        marks = self.owned[person]
        left = [mark for mark in marks if not any(mark.is_of(each) for each in values)]
        self.owned[person] = left
        return len(left) < len(marks)

    def give_back(self, to):
        """What changed hands after that event is whose it was, unless the home says otherwise."""
        vertices = self.home.vertices()
        for sequence, vector, picture, person in self.moved[::-1]:  # at last the first after `to`
            if sequence > to and person in self.owned:
                names = [
                    name
                    for row, name in zip(vertices.vectors, vertices.names, strict=True)
                    if name is not None and np.array_equal(row, vector)
                ]
                self.own(names[0] if names else self.called[person], vector, picture)

    def face(self, who):
        number = next(self._numbers)
        home = np.random.default_rng([5, who]).normal(size=8) * 3
        noise = np.random.default_rng([6, number]).normal(size=8) * 0.3
        return (home + noise).astype("f4"), png(1000 + number, side=12), number

    # ---- steps

    def teach(self, who, name):
        vector, picture, _ = self.face(who)
        self.home.teach(vector, name, picture=picture)
        self.own(name, vector, picture)

    def observe(self, who, _):
        vector, picture, number = self.face(who)
        label = self.home.observe(vector, camera="door", frame=number, picture=picture).label
        if label is not None:
            self.own(label, vector, picture)
            self.record(vector, number, label)

    def meet(self, who, name):
        vector, picture, number = self.face(who + 9)
        card = self.book.observe(vector, camera="door", frame=number, picture=picture)
        self.record(vector, number, None, card)
        if number % 2:
            faces = self.book.strangers.card(card).faces
            self.book.name(card, name)
            for face in faces:
                self.own(name, face.vector, face.picture)
            for seen in self.home.album.newest_sightings(name=name):
                if seen.card == card:
                    self.own(name, *self.sighted[seen.frame])

    def record(self, vector, number, name, card=None):
        """A sighting has a vector and a picture of its own."""
        self.sighted[number] = (vector + np.float32(0.001), png(50000 + number, side=12))
        face = dict(zip(("vector", "picture"), self.sighted[number], strict=True))
        self.home.record_sighting(camera="door", frame=number, name=name, card=card, **face)
        if name is not None:
            self.own(name, *self.sighted[number])

    def unteach(self, who, _):
        known = self.home.vertices()
        rows = [row for row, name in enumerate(known.names) if name is not None]
        if rows:
            self.home.unteach(known.vectors[rows[who % len(rows)]])

    def wrong(self, who, _):
        ids = self.home.vertices().ids.tolist()
        if ids:
            self.book.wrong(ids[who % len(ids)])

    def rename(self, who, name):
        self._change(rename, who, name)

    def merge(self, who, name):
        self._change(merge, who, name)

    def _change(self, change, who, to):
        names = self.home.learner.names
        if names and names[who % len(names)] != to:
            name = names[who % len(names)]
            self.book.change_name(change, name, to)
            for person in [p for p, each in self.called.items() if each == name]:
                self.called[person] = to
                self.before.setdefault(person, set()).add(name)

    def undo(self, who, _):
        to = max(self.home.health().oldest, self.home.sequence - 1 - who)
        self.home.undo(to=to)
        self.book.undone(to)
        then = self.history[max(s for s in self.history if s <= to)]
        for person in self.called:  # who came later has the name they came with
            name = then.get(person, self.first[person])
            if self.called[person] != name:
                self.before.setdefault(person, set()).add(self.called[person])
                self.called[person] = name
        self.give_back(to)

    def crash(self, _, __):
        copy = self.place.with_name("killed")
        shutil.copytree(self.place, copy)
        self.book.close()
        self.home.close()
        shutil.rmtree(self.place)
        copy.rename(self.place)
        self.open()

    def kill(self, who, name):
        """A step that is killed at one of its file calls: it happened, or it did not."""
        verb, most = (("teach", 14), ("observe", 14), ("forget", 130), ("forget", 130))[who]
        vector, picture, number = self.face(who)
        label = name if verb == "teach" else self.home.predict(vector).label
        if verb != "forget" and label is not None:
            self.own(label, vector, picture)

        def act(say):
            self.open()
            shim.arm(self.place, "kill", 1 + number * 37 % most, False)
            match verb:
                case "teach":
                    self.home.teach(vector, name, picture=picture)
                case "observe":
                    self.home.observe(vector, camera="door", frame=number, picture=picture)
                case "forget":
                    self.book.forget(name)
            say("done")

        shim = Shim()
        self.close()
        reports = in_child(act)
        self.kills += not reports
        self.open()
        if verb == "forget" and not self.home.mentions(name):
            self.gone_for_good(name)

    def export(self, _, __):
        export(self.home, self.outside / f"{next(self._numbers)}")

    def backup(self, _, __):
        back_up(self.place, self.outside / f"{next(self._numbers)}")
        with backup_archive(self.place) as (_, chunks):
            assert next(chunks)

    def expire(self, _, __):
        self.home.expire()
        self.home.checkpoint()

    def forget(self, _, name):
        self.book.forget(name)
        self.gone_for_good(name)

    def gone_for_good(self, name):
        """Whoever had the name is forgotten, and nothing of them may be found."""
        doomed = [person for person, each in self.called.items() if each == name]
        names = {name}
        for person in doomed:
            del self.called[person]
            self.gone += self.owned.pop(person)
            names |= self.before.pop(person, set())
        used = set(self.called.values()) | {n for names in self.before.values() for n in names}
        unused = [Mark(each) for each in names if each == name or each not in used]
        found = leaks([self.place, self.temporary], [*unused, *self.gone])
        assert found == [], found

    def step(self, verb, who, name):
        """One step; what the home refuses did not happen."""
        with suppress(OnlookerError):
            getattr(self, verb)(who, name)
        self.history[self.home.sequence] = dict(self.called)

    def close(self):
        self.book.close()
        self.home.close()


VERBS = [
    "teach", "teach", "observe", "observe", "meet", "unteach", "wrong", "rename", "merge", "undo",
    "crash", "export", "backup", "expire", "forget", "forget",
]  # fmt: skip
steps = st.lists(
    st.tuples(st.sampled_from(VERBS), st.integers(0, 3), st.sampled_from(NAMES)),
    min_size=3,
    max_size=20,
)


def follow(sequence):
    """Take the steps, then forget everybody: how many steps were killed."""
    place = scratch()
    try:
        model = Model(place)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(model.temporary))
            try:
                for verb, who, name in sequence:
                    model.step(verb, who, name)
                for name in NAMES:
                    model.step("forget", 0, name)
                return model.kills
            finally:
                model.close()
    finally:
        shutil.rmtree(place)


@given(steps)
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_no_byte_is_left_of_who_was_forgotten(sequence):
    follow([("teach", 0, NAMES[0]), ("teach", 1, NAMES[1]), *sequence])


def test_a_face_that_an_undo_gave_back_is_not_searched_for_when_its_later_owner_is_forgotten():
    first = [("meet", 1, NAMES[0]), ("meet", 0, NAMES[2]), ("wrong", 0, NAMES[0])]
    follow([*first, ("meet", 0, NAMES[1]), ("undo", 2, NAMES[0]), ("forget", 0, NAMES[1])])


def test_no_byte_is_left_of_who_was_forgotten_by_a_home_that_was_killed(tmp_path):
    found = found_with_shim(tmp_path, __file__, "--sequences", 12, "--seed", 1)
    assert found["kills"] >= 5


def many(sequences, seed, minutes=float("inf")):
    """Follow random sequences in which one step of five is killed: how many, and how many kills."""
    rng, made, kills, end = random.Random(seed), 0, 0, time.monotonic() + 60 * minutes
    while made < sequences and time.monotonic() < end:
        choices = [*VERBS, *["kill"] * 4]
        taken = [("teach", 0, NAMES[0]), ("teach", 1, NAMES[1])]
        for _ in range(rng.randrange(3, 19)):
            taken.append((rng.choice(choices), rng.randrange(4), rng.choice(NAMES)))
        try:
            kills += follow(taken)
        except BaseException:
            print(f"sequence {made} of seed {seed}: {taken}", file=sys.stderr)
            raise
        made += 1
    return {"sequences": made, "kills": kills}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="scripts/soak privacy", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end then, if before")
    options = parser.parse_args()
    print(json.dumps(many(**vars(options))))
