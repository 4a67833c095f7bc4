"""`onlooker explain`: why the faces of a picture get their names, or none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from onlooker.cli.homes import HomeOption, home_folder, open_existing
from onlooker.cli.options import ModelOption
from onlooker.cli.output import one_line, print_row
from onlooker.cli.recognizers import finder_from
from onlooker.cli.settings import load_settings
from onlooker.core.errors import NotFound
from onlooker.core.records import Ending
from onlooker.home.home import Home
from onlooker.home.reopen import learner_like
from onlooker.video.image_files import read_picture
from onlooker.vision.finder import face_distances
from onlooker.vision.types import MeasuredFace

SHOWN_ENDINGS = 5
"""Labeled faces that are listed."""

PictureArgument = Annotated[
    Path, typer.Argument(metavar="PICTURE", help="A photo or a frame.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="One line of JSON for each face.")]


def explain(
    picture: PictureArgument,
    home: HomeOption = None,
    model: ModelOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say why each face of a picture gets its name: at which labeled faces its walks end, and how.

    Nothing is learned from it. Faces are counted from left to right.

    Example: onlooker explain photo.jpg --home home/
    """
    folder = home_folder(home)
    learner_like(folder, face_distances())  # fails before a model is loaded where no home is
    finder = finder_from(load_settings(home=home, model=model)).for_photos()
    faces = sorted(finder.faces(read_picture(picture)), key=lambda face: face.box.left)
    if not faces:
        raise NotFound(f"there is no face in {picture}; take one where it is larger and lit")
    with open_existing(home) as found:
        for number, face in enumerate(faces, start=1):
            row = _row(found, face, number, len(faces))
            if as_json:
                print_row(**row)
            else:
                print("\n".join(_words(row)))


def _row(home: Home, face: MeasuredFace, number: int, count: int) -> dict[str, Any]:
    """All that is known about one face."""
    row: dict[str, Any] = {
        "face": number,
        "faces": count,
        "box": [face.box.left, face.box.top, face.box.width, face.box.height],
        "refused": None if face.refusal is None else str(face.refusal),
    }
    if face.vector is None:
        return row | {"name": None, "candidate": None, "share": 0.0, "nobody": 1.0, "endings": []}
    found = home.explain(face.vector)
    seen, link = found.prediction, found.weakest_link
    best = seen.label or seen.candidate
    return row | {
        "name": seen.label,
        "candidate": seen.candidate,
        "share": seen.scores[best] if best is not None else 0.0,
        "nobody": seen.sink,
        "endings": [_ending(ending) for ending in found.endings[:SHOWN_ENDINGS]],
        "steps": found.hops,
        "weakest_link": None
        if link is None
        else {"from": link.start, "to": link.end, "similarity": link.similarity},
    }


def _ending(ending: Ending) -> dict[str, Any]:
    return {
        "name": ending.name,
        "share": ending.share,
        "labeled_face": ending.vertex,
        "chain": [step.vertex for step in ending.chain],
        "stands_for": [step.multiplicity for step in ending.chain],
    }


def _words(row: dict[str, Any]) -> Iterator[str]:
    """The same for people."""
    place = f"Face {row['face']} of {row['faces']}"
    if row["refused"]:
        yield one_line(f"{place}: it is not compared with anybody: {row['refused']}.")
        return
    if row["name"] is not None:
        yield one_line(f"{place}: {row['name']}.")
    elif row["candidate"] is not None:
        yield one_line(
            f"{place}: maybe {row['candidate']}, but too far from every face that was labeled so."
        )
    else:
        yield f"{place}: nobody known. No chain of similar faces leads from it to a label."
        return
    yield (
        f"  {_percent(row['share'])} of the walks from it end at faces labeled so, "
        f"{_percent(row['nobody'])} nowhere. The labels:"
    )
    for ending in row["endings"]:
        between = [f"learned face {vertex}" for vertex in ending["chain"][:-1]]
        way = " -> ".join(["this face", *between, f"labeled face {ending['labeled_face']}"])
        yield "  " + one_line(f"{_percent(ending['share'])} {ending['name']}: {way}")
    link = row["weakest_link"]
    if link is not None:
        start = "this face" if link["from"] is None else f"stored face {link['from']}"
        steps = "a direct link" if row["steps"] == 1 else f"a chain of {row['steps']} links"
        yield (
            f"  It hangs on {steps}; the weakest is between {start} and stored face {link['to']}, "
            f"similarity {link['similarity']:.2g} (1: the same)."
        )


def _percent(share: float) -> str:
    """A share in words that do not promise too much.

    >>> _percent(0.998), _percent(0.004), _percent(0.42)
    ('more than 99 %', 'less than 1 %', '42 %')
    """
    if share > 0.99:
        return "more than 99 %"
    return "less than 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")
