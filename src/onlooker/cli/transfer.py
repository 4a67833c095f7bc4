"""`onlooker export`, `import` and `backup`: a home in a file, or a second time."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.homes import HomeOption, folder_of, opened, print_row
from onlooker.home import transfer
from onlooker.home.backup import back_up
from onlooker.home.transfer import Export
from onlooker.recognition.pipeline import undisturbed
from onlooker.vision.finder import face_distances

NewFileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The file to make.", show_default=False)
]
FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="What export made.", show_default=False)
]
NewFolderArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder to make.", show_default=False)
]


def export(file: NewFileArgument, home: HomeOption = None) -> None:
    """Write what a home has learned, with its pictures, into one file; history stays at home.

    The file holds faces: give it to nobody who should not have them.

    Example: onlooker export people.onlooker --home home/
    """
    with opened(home) as found:
        _tell(file, transfer.export(found, file))


def bring_in(file: FileArgument, home: HomeOption = None) -> None:
    """Take in what another home has learned; where there is no home, make one of it.

    The file is checked first, and refused if it was made with other features.

    Example: onlooker import people.onlooker --home home/
    """
    with undisturbed():
        _tell(file, transfer.bring(folder_of(home), file, face_distances()))


def backup(folder: NewFolderArgument, home: HomeOption = None) -> None:
    """Copy a home with all its history, and verify the copy, which is a home itself.

    What is forgotten later stays in it: delete old backups.

    Example: onlooker backup /mnt/disk/home-monday --home home/
    """
    with undisturbed():
        print_row(folder=str(folder), **asdict(back_up(folder_of(home), folder, face_distances())))


def _tell(file: Path, told: Export) -> None:
    learner = told.learner
    what = {"people": list(learner.names), "vertices": len(learner), "pictures": len(told.pictures)}
    print_row(file=str(file), features=learner.features, **what)
