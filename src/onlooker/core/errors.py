"""Every error that the core raises on purpose; parts above it add their own to the family.

    OnlookerError
    ├── BadValue (also a ValueError)        a parameter or an argument that cannot be used
    │   ├── BadVector                       not numbers, empty, NaN, infinite
    │   │   └── WrongVectorLength           another length than the learner knows
    │   └── BadName                         empty, or not a string
    ├── LabelConflict                       two names at one place
    ├── NotFound (also a LookupError)       no such name, vertex or labeled example
    ├── Incompatible                        learners that cannot become one
    └── SnapshotError                       a file that is not a whole, sound snapshot

    ParameterWarning (a UserWarning)        parameters that do not suit the data: no error

An error is a sentence to a person: what, which value, what now. The learner that raised it is
unchanged.
"""

from pathlib import Path

_SOURCE = Path(__file__).resolve().parents[3]
"""The folder of the clone, where this is one."""


def install_command(extra: str) -> str:
    """What installs an extra: from where this was installed, as long as that is there.

    >>> install_command("web")
    'pip install ...[web]"'
    """
    if (_SOURCE / "pyproject.toml").is_file() and (_SOURCE / "src").is_dir():
        return f'pip install -e "{_SOURCE}[{extra}]"'
    return f'pip install "{_installed_from() or "onlooker"}[{extra}]"'


def _installed_from() -> Path | None:
    """The folder or the wheel that pip was given; None if it was a name, or is gone."""
    import json  # these take longer to import than the core, which needs none of them
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        origin = json.loads(distribution("onlooker").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return None
    address = urlsplit(origin.get("url", ""))
    path = Path(url2pathname(address.path))
    return path if address.scheme == "file" and path.exists() else None


class OnlookerError(Exception):
    """The root of the family: catch this one to catch them all.

    >>> import onlooker
    >>> try:
    ...     onlooker.HeatKernel(bandwidth=0.3, cutoff=2.0)
    ... except onlooker.OnlookerError as error:
    ...     print(error)
    cutoff must lie strictly between 0 and 1, got 2.0; 1e-5 is a cautious start
    """


class BadValue(OnlookerError, ValueError):
    """A parameter or an argument that cannot be used."""


class BadVector(BadValue):
    """A vector that is not a row of finite numbers."""


class WrongVectorLength(BadVector):
    """A vector of another length than the learner knows.

    >>> raise WrongVectorLength(3, 128)
    Traceback (most recent call last):
    ...
    onlooker.core.errors.WrongVectorLength: this learner knows vectors of length 128, got one ...
    """

    def __init__(self, got: int, expected: int) -> None:
        super().__init__(
            f"this learner knows vectors of length {expected}, got one of length {got}; "
            "were the labeled examples prepared with the same features?"
        )


class BadName(BadValue):
    """A name that is empty or not a string."""


class LabelConflict(OnlookerError):
    """Two names for examples at the same place."""


class NotFound(OnlookerError, LookupError):
    """No such name, vertex or labeled example."""


class Incompatible(OnlookerError):
    """Two learners that cannot become one: other features, kernel, sink or vector length."""


class SnapshotError(OnlookerError):
    """A file that is not a whole, sound snapshot of a version we read."""


class ParameterWarning(UserWarning):
    """The parameters do not suit the data: nearly everything is nobody, or all names are alike.

    A learner gives it once, after 100 examples or later; `diagnose` has the figures.

    >>> import warnings
    >>> warnings.simplefilter("ignore", ParameterWarning)   # where strangers are the rule
    >>> warnings.resetwarnings()
    """
