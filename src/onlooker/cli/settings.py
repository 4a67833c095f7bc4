"""What is in force, and who said so: an option, the environment, a TOML file, or nobody."""

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onlooker.core.checks import as_number
from onlooker.core.errors import BadValue

FILE = "onlooker.toml"
FILE_VARIABLE = "ONLOOKER_SETTINGS"

BY_FEATURES = {
    "pixels": {"bandwidth": 0.025, "cutoff": 1e-8},
    "embedding": {"bandwidth": 0.2, "cutoff": 1e-4},
}
"""The scales that belong to the features; where strangers stay strangers."""


SAMPLES = {
    "people": "people",
    "state": "door.state",
    "home": "home",
    "model": "sface",
    **BY_FEATURES["pixels"],
}
"""What the example of a settings file says where there is no default."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set; the variable is called ONLOOKER_ and the key unless given."""

    key: str
    default: str | float | bool | None
    words: str
    choices: tuple[str, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    other_variable: str = ""

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return self.other_variable or f"ONLOOKER_{self.key.upper()}"

    def checked(self, value: object, origin: str) -> Any:
        """The value, if it is of the right kind; text from the environment is read first."""
        wanted = type(self.default)
        try:
            if isinstance(value, str) and wanted is bool:
                value = {"1": True, "true": True, "0": False, "false": False}[value.lower()]
            elif isinstance(value, str) and self.limits:
                value = int(value) if "whole" in self.limits else float(value)
            if self.limits:
                return as_number(self.key, value, **self.limits)
            right_kind = isinstance(value, bool if wanted is bool else str)
            if right_kind and value != "" and (not self.choices or value in self.choices):
                return value
        except (KeyError, ValueError):
            pass  # told below, with where it comes from
        wish = " or ".join(self.choices) or ("true or false" if wanted is bool else "a text")
        wish = self._limits_in_words() if self.limits else wish
        raise BadValue(f"{self.key} must be {wish}, got {value!r} ({origin})")

    def _limits_in_words(self) -> str:
        wish = "a whole number" if "whole" in self.limits else "a number"
        wish += f" from {self.limits['least']:g}" if "least" in self.limits else ""
        return wish + (f" to below {self.limits['below']:g}" if "below" in self.limits else "")


KNOWN = (
    Setting("people", None, "Folder of labeled pictures, NAME/*.jpg or NAME.jpg."),
    Setting("state", None, "File that keeps what was learned."),
    Setting("home", None, "Folder that keeps all that was learned, with its history."),
    Setting("features", "pixels", "What is compared.", ("pixels", "embedding")),
    Setting(
        "model",
        None,
        "The embedding: a name that `onlooker models list` shows, or an ONNX file.",
        other_variable="ONLOOKER_EMBEDDING",
    ),
    Setting(
        "bandwidth",
        None,
        "Scale of the distance; 0.025 for pixels and 0.2 for an embedding unless given.",
        limits={"least": 1e-9},
    ),
    Setting(
        "cutoff",
        None,
        "Similarities below it count as none; 1e-8 for pixels and 1e-4 for an embedding.",
        limits={"least": 1e-300, "below": 1},
    ),
    Setting("vertices", 500, "Faces kept besides the labeled.", limits={"least": 1, "whole": True}),
    Setting("detector", "yunet", "yunet, or haar as in the paper.", ("yunet", "haar")),
    Setting(
        "size",
        320,
        "Longer side in pixels at which faces are looked for; larger finds smaller faces.",
        limits={"least": 64, "whole": True},
    ),
    Setting("min_size", 24, "Faces below so many pixels are not named.", limits={"least": 0}),
    Setting("one_each", False, "Two faces in one frame are two people."),
    Setting("save_every", 5, "Minutes between two savings while watching.", limits={"least": 0}),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """All values in force by key, and where each comes from."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def was_given(self, key: str) -> bool:
        """Whether anybody asked for this value."""
        return self.origins[key] != "default"


def settings(environment: Mapping[str, str] | None = None, **options: object) -> Settings:
    """Options first, then the environment, then the file, then the defaults; None is not given.

    >>> found = settings({"ONLOOKER_VERTICES": "200"}, cutoff=1e-6)
    >>> found["cutoff"], found["vertices"], found["bandwidth"]
    (1e-06, 200, 0.025)
    >>> found.origins["vertices"]
    'ONLOOKER_VERTICES'
    """
    environment = os.environ if environment is None else environment
    path = settings_file(environment)
    table = _table(path) if path else {}
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for one in KNOWN:
        for origin, given in (
            (f"--{one.key.replace('_', '-')}", _given(options.get(one.key))),
            (one.variable, environment.get(one.variable) or None),
            (str(path), table.get(one.key)),
        ):
            if given is not None:
                values[one.key], origins[one.key] = one.checked(given, origin), origin
                break
        else:
            values[one.key], origins[one.key] = one.default, "default"
    for key, value in BY_FEATURES[values["features"]].items():
        values[key] = value if values[key] is None else values[key]
    return Settings(values, origins)


def _given(option: object) -> object:
    """The value of an option; paths are texts here, as in the file."""
    return str(option) if isinstance(option, Path) else option


def settings_file(environment: Mapping[str, str]) -> Path | None:
    """The one file: named by ONLOOKER_SETTINGS, or in this folder, or in the user's."""
    if named := environment.get(FILE_VARIABLE):
        return Path(named).expanduser()
    places = [Path(FILE)]
    if base := environment.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"):
        places.append(Path(base, "onlooker", FILE))
    elif home := environment.get("HOME"):
        places.append(Path(home, ".config", "onlooker", FILE))
    return next((path for path in places if path.is_file()), None)


def example() -> str:
    """The file with every setting and what it means; defaults or samples, all commented out."""
    lines = [
        "# Settings of Onlooker. An option of the command goes before the environment variable,",
        f"# and that before this file: ./{FILE}, or ~/.config/onlooker/{FILE}, or what the",
        f"# variable {FILE_VARIABLE} names.",
    ]
    for one in KNOWN:
        value = one.default if one.default is not None else SAMPLES[one.key]
        shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
        lines += ["", f"# {one.words} ({one.variable})", f"# {one.key} = {shown}"]
    return "\n".join(lines) + "\n"


def _table(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadValue(f"cannot read the settings {path}: {error.strerror or error}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise BadValue(f"{path} is not a settings file: {error}") from error
    keys = [one.key for one in KNOWN]
    if unknown := sorted(table.keys() - set(keys)):
        raise BadValue(f"{path} sets {', '.join(unknown)}; there is only {', '.join(keys)}")
    return table
