"""Settings of the commands: an option, an environment variable, a TOML file, or the default.

Every value remembers where it comes from, so that an error can say what to change and
`onlooker doctor` can list them.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onlooker.core.checks import as_number
from onlooker.core.errors import BadValue
from onlooker.core.files import read_toml
from onlooker.vision.scales import DEFAULT_SCALES, FEATURE_KINDS

FILE_NAME = "onlooker.toml"
FILE_VARIABLE = "ONLOOKER_SETTINGS"

SAMPLES = {
    "people": "people",
    "state": "door.onlooker",
    "home": "home",
    "model": "sface",
    **DEFAULT_SCALES["sface"]._asdict(),
    "min_size": 16,
    "trust_radius": "auto",
}
"""Values that the example of a settings file shows where there is no default."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. Its environment variable is ONLOOKER_KEY unless another one is given."""

    key: str
    default: str | float | bool | None
    description: str
    choices: tuple[str, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    other_variable: str = ""

    @property
    def variable(self) -> str:
        """The name of its environment variable."""
        return self.other_variable or f"ONLOOKER_{self.key.upper()}"

    def checked(self, value: object, origin: str) -> Any:
        """The value if it has the right type; text from the environment is converted first."""
        expected_type = type(self.default)
        try:
            if isinstance(value, str) and expected_type is bool:
                value = {"1": True, "true": True, "0": False, "false": False}[value.lower()]
            elif isinstance(value, str) and self.limits and value not in self.choices:
                value = int(value) if "whole" in self.limits else float(value)
            if self.limits and value not in self.choices:
                return as_number(self.key, value, **self.limits)
            right_kind = isinstance(value, bool if expected_type is bool else str)
            if right_kind and value != "" and (not self.choices or value in self.choices):
                return value
        except (KeyError, ValueError):
            pass  # reported below, with the origin of the value
        raise BadValue(f"{self.key} must be {self._expected()}, got {value!r} ({origin})")

    def _expected(self) -> str:
        """The values that are allowed, for an error message."""
        if not self.limits:
            kind = "true or false" if isinstance(self.default, bool) else "text"
            return " or ".join(self.choices) or kind
        text = "a whole number" if "whole" in self.limits else "a number"
        text = " or ".join((*self.choices, text))
        text += f" from {self.limits['least']:g}" if "least" in self.limits else ""
        return text + (f" to below {self.limits['below']:g}" if "below" in self.limits else "")


ALL_SETTINGS = (
    Setting("people", None, "Folder of labeled pictures, NAME/*.jpg or NAME.jpg."),
    Setting("state", None, "File of `onlooker export` that a new home begins with."),
    Setting("home", None, "Folder that stores everything learned, with its history."),
    Setting(
        "features",
        "sface",
        "Which features of a face are compared; an existing home keeps its own.",
        FEATURE_KINDS,
    ),
    Setting(
        "model",
        None,
        "Embedding model: a name that `onlooker models list` shows, or an ONNX file.",
        other_variable="ONLOOKER_EMBEDDING",
    ),
    Setting(
        "provider",
        "cpu",
        "What computes an embedding model: cpu, or cuda and others that onnxruntime has here.",
    ),
    Setting(
        "bandwidth",
        None,
        "Scale of the distance; that of the features unless given (0.19 for sface).",
        limits={"least": 1e-9},
    ),
    Setting(
        "cutoff",
        None,
        "Similarities below it count as none; that of the features unless given.",
        limits={"least": 1e-300, "below": 1},
    ),
    Setting(
        "vertices",
        500,
        "Unlabeled faces stored at most; labeled faces come on top.",
        limits={"least": 1, "whole": True},
    ),
    Setting(
        "detector", "yunet", "Face detector: yunet, or haar as in the paper.", ("yunet", "haar")
    ),
    Setting(
        "size",
        320,
        "Longer side in pixels of the picture given to the detector; larger finds smaller faces.",
        limits={"least": 64, "whole": True},
    ),
    Setting(
        "min_size",
        None,
        "Faces smaller than this many pixels are not named; 16 for an embedding, 24 for others.",
        limits={"least": 0},
    ),
    Setting(
        "trust_radius",
        None,
        "How far from a labeled face a name is carried: auto, off, or a distance; beyond it a face "
        "is a question. Auto with sface unless given, off with others; a home keeps its own.",
        ("auto", "off"),
        limits={"least": 0},
    ),
    Setting(
        "one_each", True, "Two faces in one frame are two people: only the surer one has a name."
    ),
)

REMOVED = {"save_every": "a home stores every change at once; delete it"}
"""Settings of earlier versions, and what replaces each."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The value of every setting, and where each comes from."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def was_given(self, key: str) -> bool:
        """Whether the value was set by the user rather than by default."""
        return self.origins[key] != "default"


def load_settings(environment: Mapping[str, str] | None = None, **options: object) -> Settings:
    """Options first, then the environment, then the file, then the defaults; None is not given.

    >>> found = load_settings({"ONLOOKER_VERTICES": "200"}, cutoff=1e-6)
    >>> found["cutoff"], found["vertices"], found["bandwidth"]
    (1e-06, 200, None)
    >>> found.origins["vertices"]
    'ONLOOKER_VERTICES'
    """
    environment = os.environ if environment is None else environment
    path = settings_file(environment)
    table = _table(path) if path else {}
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in ALL_SETTINGS:
        for origin, given in (
            (f"--{setting.key.replace('_', '-')}", _given(options.get(setting.key))),
            (setting.variable, environment.get(setting.variable) or None),
            (str(path), table.get(setting.key)),
        ):
            if given is not None:
                values[setting.key], origins[setting.key] = setting.checked(given, origin), origin
                break
        else:
            values[setting.key], origins[setting.key] = setting.default, "default"
    return Settings(values, origins)


def _given(option: object) -> object:
    """The value of an option; a path as text, as it is in the file."""
    return str(option) if isinstance(option, Path) else option


def settings_file(environment: Mapping[str, str]) -> Path | None:
    """The settings file: named by ONLOOKER_SETTINGS, or in this folder, or in the user's."""
    if named := environment.get(FILE_VARIABLE):
        return Path(named).expanduser()
    places = [Path(FILE_NAME)]
    if base := environment.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"):
        places.append(Path(base, "onlooker", FILE_NAME))
    elif home := environment.get("HOME"):
        places.append(Path(home, ".config", "onlooker", FILE_NAME))
    return next((path for path in places if path.is_file()), None)


def example_file() -> str:
    """A settings file with every setting and its meaning, all commented out."""
    lines = [
        "# Settings of Onlooker. An option of a command overrides the environment variable,",
        f"# which overrides this file: ./{FILE_NAME}, or ~/.config/onlooker/{FILE_NAME}, or",
        f"# the file that {FILE_VARIABLE} names.",
    ]
    for setting in ALL_SETTINGS:
        value = setting.default if setting.default is not None else SAMPLES[setting.key]
        shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
        lines += ["", f"# {setting.description} ({setting.variable})", f"# {setting.key} = {shown}"]
    return "\n".join(lines) + "\n"


def _table(path: Path) -> dict[str, Any]:
    table = read_toml(path)
    for key in REMOVED.keys() & table.keys():
        raise BadValue(f"{path} sets {key}, which is no setting any more: {REMOVED[key]}")
    keys = [setting.key for setting in ALL_SETTINGS]
    if unknown := sorted(table.keys() - set(keys)):
        raise BadValue(
            f"{path} has unknown settings: {', '.join(unknown)}; known are {', '.join(keys)}"
        )
    return table
