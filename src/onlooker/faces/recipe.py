"""How an embedding model wants its faces: a small record, or a small file beside the model."""

import tomllib
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any

from onlooker.core.checks import is_number
from onlooker.core.errors import OnlookerError


class ModelError(OnlookerError):
    """A model that is not there, cannot be used, or comes without a usable recipe."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model wants its faces: (pixel * scale - mean) / std, channels in the order of colour.

    >>> from onlooker.faces.models import SFACE
    >>> SFACE.recipe.colour, SFACE.recipe.dimensions
    ('rgb', 128)
    """

    name: str
    input: str
    size: tuple[int, int]
    colour: str
    scale: float
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    alignment: str
    dimensions: int
    licence: str

    def __post_init__(self) -> None:
        for names, wish, granted in (
            ("name input licence", "a text", _is_text),
            ("alignment", "'arcface-112'", "arcface-112".__eq__),
            ("size", "[112, 112], as the alignment is", (112, 112).__eq__),
            ("colour", "'rgb' or 'bgr'", ("rgb", "bgr").__contains__),
            ("scale", "a number other than zero", lambda x: _is_number(x) and x != 0),
            ("mean", "three numbers", _are_three),
            ("std", "three numbers above zero", lambda x: _are_three(x) and min(x) > 0),
            ("dimensions", "a whole number above zero", _is_count),
        ):
            for name in names.split():
                value: Any = getattr(self, name)
                if granted(value) is not True:
                    raise ModelError(f"{name} must be {wish}, got {value!r}")


def read_recipe(path: Path) -> Recipe:
    """A recipe from its TOML file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        wanted = {field.name for field in fields(Recipe)}
        if lacking := wanted - table.keys():
            raise ModelError(f"it lacks {', '.join(sorted(lacking))}")
        if unknown := table.keys() - wanted:
            raise ModelError(f"it may not say {', '.join(sorted(unknown))}")
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
        }
        return Recipe(**given)
    except (OSError, ValueError, ModelError) as error:
        raise ModelError(f"{path} is not a usable recipe: {error}") from error


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return is_number(value) and isfinite(value)


def _are_three(values: object) -> bool:
    return isinstance(values, tuple) and len(values) == 3 and all(map(_is_number, values))


def _is_count(value: object) -> bool:
    return is_number(value, whole=True) and value > 0
