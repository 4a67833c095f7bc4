"""Damage to any file of a home is found or does no harm: nothing acknowledged is lost silently.

    scripts/soak damage            5000 cases

A script of all verbs (`helpers/verbs.py`) makes a home, which is closed in order, or copied while
it is open, as a kill would leave it. Then bits are flipped, pages zeroed, files cut or removed, one
file a case. The home must refuse to open, or report a problem at the start or when the damaged row
is read, or hold every row that it held before.
"""

import argparse
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter

from helpers.killing import scratch
from helpers.verbs import STEPS, Opened
from onlooker.core.errors import OnlookerError
from onlooker.home.events import digest
from onlooker.web.credentials import Token

PAGE = 4096
ENDS = "found", "harmless"
LEFT_OUT = "export and import", "backup"
"""Steps that make other folders."""


MOMENTS = "closed", "observe again", "camera", "stranger", "name a stranger", "batch", "undo"
"""How a home ended: closed in order, or killed after a step."""


def make(folder, moment):
    """A home on which the verbs were used up to a moment, in a new folder: what it knows."""
    work, is_killed = scratch(), moment != "closed"
    try:
        now = Opened.open(work)
        for name in (each for each in STEPS if each not in LEFT_OUT):
            STEPS[name](now)
            if name == moment:
                break
        _, text = Token.in_folder(work / "home", new=True)
        if is_killed:
            knows = known(now)
            shutil.copytree(work, folder)
            now.close()
            return knows | {"token": text}
        now.close()
        now = Opened.open(work)
        knows = known(now)
        now.close()
        shutil.copytree(work, folder)
        return knows | {"token": text}
    finally:
        shutil.rmtree(work)


def known(now):
    """All that a home knows, read as its users read it; damaged rows raise HomeDamaged."""
    home = now.home
    album = home.album
    return {
        "event": home.sequence,
        "learner": digest(home.learner),
        "sightings": album.sightings(limit=10**6),
        "pictures": {vertex: album.picture(vertex) for vertex in album.vertices()},
        "cameras": home.cameras.sources(),
        "cards": [
            (
                card.number,
                card.count,
                [(face.vector.tobytes(), face.picture) for face in card.faces],
            )
            for card in now.book.cards(hidden=True)
        ],
        "events": [(each.sequence, each.kind, each.time) for each in home.events(limit=10**6)],
        "numbers": home.numbers("last"),
    }


def damage(path, rng):
    """Damage a file in one way: how."""
    content = bytearray(path.read_bytes())
    how = rng.choice(["bit", "bits", "zeros", "noise", "cut", "cut page", "emptied", "removed"])
    if how == "removed" or not content:
        path.unlink()
        return "removed"
    at = rng.randrange(len(content))
    page = slice(at // PAGE * PAGE, at // PAGE * PAGE + PAGE)
    match how:
        case "bit":
            content[at] ^= 1 << rng.randrange(8)
        case "bits":
            for _ in range(8):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        case "zeros":
            content[page] = bytes(len(content[page]))
        case "noise":
            content[page] = rng.randbytes(len(content[page]))
        case "cut":
            del content[at:]
        case "cut page":
            del content[page.start :]
        case "emptied":
            content.clear()
    path.write_bytes(content)
    return how


def difference(folder, before):
    """Open it: "found", "harmless", or what was lost without a word."""
    try:
        token, new_text = Token.in_folder(folder / "home")
        if new_text is None and not token.matches(before["token"]):
            return "the token is refused"
        now = Opened.open(folder)
        try:
            after = known(now)
            # All that the health of a service consists of (web/service.py).
            reported = bool(now.home.problems or now.book.problems or now.home.cameras.damaged())
        finally:
            now.close()
    except OnlookerError as error:
        return f"several lines: {error}" if "\n" in str(error) else "found"
    except Exception:
        return traceback.format_exc()
    if reported or new_text is not None:
        return "found"
    lost = {key for key in after if after[key] != before[key]}
    return f"{', '.join(sorted(lost))} changed without a word" if lost else "harmless"


def cases(count, seed, first=0):
    """Damage homes so often: how it ended, and what went wrong.

    A case depends on the seed and its number only, apart from times and salts in the files; what
    went wrong stays in a folder.
    """
    ended, wrong = Counter(), []
    place = scratch()
    try:
        homes = [(place / moment, make(place / moment, moment)) for moment in MOMENTS]
        for number in range(first, first + count):
            rng = random.Random(f"{seed} {number}")
            home, before = homes[number % len(homes)]
            copy, unopened = place / "copy", place / "unopened"
            shutil.copytree(home, copy)
            files = sorted(path for path in copy.rglob("*") if path.is_file())
            path = files[number // len(homes) % len(files)]
            what = f"{home.name}: {path.relative_to(copy / 'home')} {damage(path, rng)}"
            shutil.copytree(copy, unopened)
            end = difference(copy, before)
            ended[end if end in ENDS else "wrong"] += 1
            if end not in ENDS:
                damaged = shutil.move(unopened, tempfile.mkdtemp())
                wrong.append(f"case {number}, {what}: {end}; the damaged home is {damaged}")
            for folder in (copy, unopened):
                shutil.rmtree(folder, ignore_errors=True)
        return ended, wrong
    finally:
        shutil.rmtree(place)


def test_damage_to_any_file_is_found_or_harmless():
    """A sample; the long form is scripts/soak damage."""
    ended, wrong = cases(80, seed=1)
    assert wrong == []
    assert ended["found"] > 20
    assert ended["harmless"] > 5


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="scripts/soak damage", description=__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    options = parser.parse_args()
    ended, wrong = cases(options.cases, options.seed, options.first)
    print("\n".join(wrong))
    print(f"{options.cases} cases: {dict(ended)}")
    sys.exit(bool(wrong))
