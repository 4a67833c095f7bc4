"""The folder of labeled pictures of a cluster: who is in it is taught once.

`up` reads it each time. A register in the folder of the cluster remembers who was taught, so that
whoever was forgotten since does not come back with the pictures.
"""

from collections.abc import Collection, Sequence

from onlooker.cluster.config import Config
from onlooker.cluster.messages import Label
from onlooker.core.errors import BadValue
from onlooker.home.taught import Register
from onlooker.recognition.recognizer import FaceRecognizer


def labels_of(config: Config) -> list[Label]:
    """The people in the folder of labeled pictures, if there is one; looked at here."""
    if config.people is None:
        return []
    learner = config.learner_config.learner()
    recognizer = FaceRecognizer(learner, config.finder)
    if not config.people.is_dir():
        raise BadValue(f"{config.people} is not a folder of people, NAME/*.jpg or NAME.jpg")
    recognizer.enrol_folder(config.people)
    known = learner.vertices()
    rows = zip(known.names, known.vectors, strict=True)
    return [Label(name, vector) for name, vector in rows if name is not None]


def untaught(
    labels: Sequence[Label], known: Collection[str], register: Register
) -> tuple[list[str], list[Label]]:
    """Names that were taught once and no site knows any more; and labels that are new.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> ana, ben = Label("ana", np.zeros(2)), Label("ben", np.ones(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     register = Register(Path(folder))
    ...     noted([ana], register)
    ...     left_out, new = untaught([ana, ben], {"cid"}, register)
    >>> left_out, [label.name for label in new]
    (['ana'], ['ben'])
    """
    left_out = register.left_out(dict.fromkeys(label.name for label in labels), known)
    wanted = [label for label in labels if label.name not in left_out]
    return left_out, [one for one in wanted if not register.knows(one.name, one.vector)]


def noted(labels: Sequence[Label], register: Register) -> None:
    """These are taught now."""
    for label in labels:
        register.add(label.name, label.vector)
    register.save()
