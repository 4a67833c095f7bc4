"""`onlooker export`, `import` and `backup`: a home as one file, or as a second folder."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.homes import HomeOption, home_folder, open_existing
from onlooker.cli.output import print_row
from onlooker.home import transfer
from onlooker.home.backup import back_up
from onlooker.home.transfer import Export
from onlooker.recognition.pipeline import deferred_signals
from onlooker.vision.finder import face_distances

NewFileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The file to make.", show_default=False)
]
FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A file that `export` wrote.", show_default=False)
]
NewFolderArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder to make.", show_default=False)
]


def export(file: NewFileArgument, home: HomeOption = None) -> None:
    """Write what a home has learned, with its pictures, into one file; without its history.

    The file holds pictures of faces: give it only to people who may have them.

    Example: onlooker export people.onlooker --home home/
    """
    with open_existing(home) as found:
        _print_export(file, transfer.export(found, file))


def import_command(file: FileArgument, home: HomeOption = None) -> None:
    """Add what another home has learned; where there is no home, make one of the file.

    The file is verified first, and refused if it was made with other features.

    Example: onlooker import people.onlooker --home home/
    """
    with deferred_signals():
        _print_export(file, transfer.import_into(home_folder(home), file, face_distances()))


def backup(folder: NewFolderArgument, home: HomeOption = None) -> None:
    """Copy a home with all its history, and verify the copy, which is a home itself.

    People who are forgotten later remain in the copy: delete old backups.

    Example: onlooker backup /mnt/disk/home-monday --home home/
    """
    with deferred_signals():
        print_row(
            folder=str(folder), **asdict(back_up(home_folder(home), folder, face_distances()))
        )


def _print_export(file: Path, exported: Export) -> None:
    learner = exported.learner
    print_row(
        file=str(file),
        features=learner.features,
        people=list(learner.names),
        vertices=len(learner),
        pictures=len(exported.pictures),
    )
