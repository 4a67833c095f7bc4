"""`onlooker export`, `import`, `backup` and `restore`: a home as one file, or a second folder."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.homes import (
    HomeOption,
    ServedHomeOption,
    home_folder,
    open_existing,
)
from onlooker.cli.output import print_row
from onlooker.cli.settings import load_settings
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home import transfer
from onlooker.home.backup import back_up, restore
from onlooker.home.reopen import learner_like
from onlooker.home.transfer import Export
from onlooker.recognition.pipeline import deferred_signals
from onlooker.vision.finder import face_distances, kind_of
from onlooker.vision.scales import Scale
from onlooker.vision.scales import trust_radius as radius_of
from onlooker.web.backup_process import copy_in_process

NewFileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The file to make.", show_default=False)
]
FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A file that `export` wrote.", show_default=False)
]
BackupArgument = Annotated[
    Path, typer.Argument(metavar="BACKUP", help="A backup: folder or .tar.", show_default=False)
]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Set aside the home that is there.")]
ImportHomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home", metavar="DIR", help="The home, made if absent; no service may use it now."
    ),
]
RestoredHomeOption = Annotated[
    Path | None, typer.Option("--home", metavar="DIR", help="The home to make.")
]
ImportRadiusOption = Annotated[
    str | None,
    typer.Option(
        "--trust-radius",
        metavar="auto|off|NUMBER",
        help="How far from a labeled face a new home carries a name. [that of the file]",
    ),
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


def import_command(
    file: FileArgument, home: ImportHomeOption = None, trust_radius: ImportRadiusOption = None
) -> None:
    """Add what another home has learned; where there is no home, make one of the file.

    The file is verified first, and refused if it was made with other features. A new home may have
    another trust radius than the one that the file is from. Whoever was forgotten here after the
    file was made comes back with it.

    Example: onlooker import people.onlooker --home home/
    """
    chosen = load_settings(trust_radius=trust_radius)["trust_radius"]

    def radius_for(exported: OnlineHarmonicLearner) -> float | None:
        return radius_of(chosen, kind_of(exported.features), Scale.of(exported.kernel))

    with deferred_signals():
        exported = transfer.import_into(
            home_folder(home),
            file,
            face_distances(),
            trust_radius=None if trust_radius is None else radius_for,
        )
        _print_export(file, exported)


def backup(folder: NewFolderArgument, home: ServedHomeOption = None) -> None:
    """Copy a home with all its history, also while a service uses it, and verify the copy.

    The copy is a home itself, as of one moment. People who are forgotten later remain in it, and
    come back with it: delete old backups.

    Example: onlooker backup /mnt/disk/home-monday --home home/
    """
    source = home_folder(home)
    learner_like(source, face_distances())  # fails before a lock is made where no home is
    with deferred_signals():
        copied = back_up(source, folder, face_distances(), copy=copy_in_process)
    print_row(folder=str(folder), **asdict(copied))


def restore_command(
    backup: BackupArgument, home: RestoredHomeOption = None, replace: ReplaceOption = False
) -> None:
    """Make a home of a backup: a folder that `backup` made, or an archive that a service sent.

    The copy is verified before it gets its name, and brought to the newest version. Whoever was
    forgotten after the backup was made is known again.

    Example: onlooker restore /mnt/disk/home-monday --home home/
    """
    folder = home_folder(home)
    with deferred_signals():
        copied, aside = restore(backup, folder, face_distances(), replace=replace)
    print_row(home=str(folder), **asdict(copied), replaced=None if aside is None else str(aside))


def _print_export(file: Path, exported: Export) -> None:
    learner = exported.learner
    print_row(
        file=str(file),
        features=learner.features,
        people=list(learner.names),
        vertices=len(learner),
        pictures=len(exported.pictures),
    )
