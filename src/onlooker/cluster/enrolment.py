"""The folder of labeled pictures of a cluster: everybody in it is taught once.

`up` reads the folder each time. A database in the folder of the cluster records which faces were
taught, so that whoever was forgotten since does not come back with the pictures.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onlooker.cluster.config import Config
from onlooker.cluster.messages import Label
from onlooker.core.errors import BadValue
from onlooker.home.database import Database
from onlooker.home.migration import TAUGHT_FILE, import_taught
from onlooker.home.taught import TaughtFaces
from onlooker.recognition.recognizer import FaceRecognizer


def labels_of(config: Config) -> list[Label]:
    """The labeled faces in the folder of people, if the configuration names one."""
    if config.people is None:
        return []
    if not config.people.is_dir():
        raise BadValue(f"{config.people} is not a folder of people, NAME/*.jpg or NAME.jpg")
    learner = config.learner_config.learner()
    FaceRecognizer(learner, config.finder).enrol_folder(config.people)
    known = learner.vertices()
    named = zip(known.names, known.vectors, strict=True)
    return [Label(name, vector) for name, vector in named if name is not None]


@contextmanager
def taught_faces(folder: Path) -> Iterator[TaughtFaces]:
    """The record, in the folder of a cluster, of the faces taught from the folder of people.

    It is not in the homes of the sites: a site that is added later must not bring back whoever was
    forgotten before.

    >>> import tempfile
    >>> import numpy as np
    >>> ana, ben = Label("ana", np.zeros(2)), Label("ben", np.ones(2))
    >>> with tempfile.TemporaryDirectory() as folder, taught_faces(Path(folder)) as taught:
    ...     taught.add([ana])
    ...     new, forgotten = taught.untaught([ana, ben], {"cid"})
    >>> [label.name for label in new], forgotten
    (['ben'], ['ana'])
    """
    folder.mkdir(parents=True, exist_ok=True)
    database = Database(folder / "taught.db")
    try:
        taught = TaughtFaces(database)
        _migrate(folder / TAUGHT_FILE, database, taught)
        yield taught
    finally:
        database.close()


def _migrate(old: Path, database: Database, taught: TaughtFaces) -> None:
    """Bring the database up to date; the record of earlier versions was a file of its own."""
    try:
        database.upgrade(lambda: import_taught(old, taught) if old.exists() else None)
    except (LookupError, TypeError, ValueError) as error:
        raise BadValue(
            f"{old} cannot be read ({error}), so it is not known who was forgotten; delete it, and "
            "everybody in the folder of people is taught again"
        ) from error
    old.unlink(missing_ok=True)
