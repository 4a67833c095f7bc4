"""Faces as the vectors of an ArcFace-style model, computed by onnxruntime."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import as_number
from onlooker.core.errors import install_command
from onlooker.core.similarity import Euclidean
from onlooker.vision.alignment import aligned
from onlooker.vision.models import ModelError, Recipe, find_model, recipe_for
from onlooker.vision.types import FaceBox, Pixels

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


CPU = "cpu"
"""The provider that every onnxruntime has."""
LARGEST = 2**31
"""Bytes of an ONNX file: the format itself ends there."""


class EmbeddingFeatures:
    """Faces as vectors of length one, by a model that is given by name, path or environment.

    >>> features = EmbeddingFeatures("sface")  # doctest: +SKIP
    >>> features(pixels, box).shape  # doctest: +SKIP
    (128,)
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        provider: str = CPU,
        threads: int = 1,
        cache: Path | None = None,
    ) -> None:
        as_number("threads", threads, least=1, whole=True)
        self.path = find_model(model, cache)
        content = _content(self.path)
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.recipe = recipe_for(self.path, self.sha256)
        std = np.array(self.recipe.std)[:, None, None]
        self._factor = (self.recipe.scale / std).astype(np.float32)
        self._offset = (np.array(self.recipe.mean)[:, None, None] / std).astype(np.float32)
        self._session = _session(content, provider, threads, self.path)
        _refuse_other_input(self._session, self.recipe, self.path)
        # A model that fails should fail now, not at the first face.
        self._output(np.full((*self.recipe.size, 3), 128, np.uint8))

    @property
    def tag(self) -> str:
        """What the learner remembers of the features it was built with."""
        return f"{self.recipe.name}/{self.sha256[:12]}"

    @property
    def distance(self) -> Euclidean:
        """The distance these vectors are made for."""
        return Euclidean()

    def __call__(self, pixels: Pixels, box: FaceBox) -> NDArray[np.float32]:
        """The vector of the face in a box."""
        answer = self._output(self.face(pixels, box))
        length = float(np.linalg.norm(answer))
        if length == 0:
            raise ModelError(f"{self.path} answers zeros: is the recipe the right one?")
        vector: NDArray[np.float32] = (answer / length).astype(np.float32)
        return vector

    def face(self, pixels: Pixels, box: FaceBox) -> Pixels:
        """The aligned picture of the face: what the model is given."""
        return aligned(pixels, box)

    def _output(self, face: Pixels) -> NDArray[np.float64]:
        """The output of the model for an aligned face, checked."""
        channels = (face[:, :, ::-1] if self.recipe.colour == "rgb" else face).transpose(2, 0, 1)
        batch = (channels * self._factor - self._offset)[None]
        try:
            answer = self._session.run(None, {self.recipe.input: batch})[0]
        except Exception as error:  # onnxruntime's have no root of their own
            raise ModelError(f"{self.path} fails on a face: {_first_line(error)}") from error
        vector = np.asarray(answer, dtype=np.float64).ravel()
        if len(vector) != self.recipe.dimensions:
            raise ModelError(
                f"{self.path} answers {len(vector)} numbers, its recipe says "
                f"{self.recipe.dimensions}; is it the recipe of another model?"
            )
        if not np.isfinite(vector).all():
            raise ModelError(f"{self.path} answers NaN or infinite numbers; it cannot be used")
        return vector


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size < LARGEST:
            return path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror or error}") from error
    raise ModelError(f"{path} is larger than an ONNX model can be")


def _session(content: bytes, provider: str, threads: int, path: Path) -> "InferenceSession":
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError(f"embeddings need onnxruntime: {install_command('embedding')}") from error
    available = onnxruntime.get_available_providers()
    chosen = next((each for each in available if short_name(each) == provider), None)
    if chosen is None:
        raise ModelError(
            f"onnxruntime has no provider {provider!r} here; it has "
            f"{', '.join(map(short_name, available))}"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # its complaints come as exceptions
    try:
        return onnxruntime.InferenceSession(content, options, providers=[chosen])
    except Exception as error:  # onnxruntime's have no root of their own
        raise ModelError(f"{path} is not a usable ONNX model: {_first_line(error)}") from error


def short_name(provider: str) -> str:
    """What a user writes for one of onnxruntime's providers.

    >>> short_name("CUDAExecutionProvider")
    'cuda'
    """
    return provider.removesuffix("ExecutionProvider").lower()


def _refuse_other_input(session: "InferenceSession", recipe: Recipe, path: Path) -> None:
    """One picture of three channels; a size that the model leaves open is a text or None."""
    has = [(node.name, node.type, node.shape) for node in session.get_inputs()]
    wanted = [1, 3, *recipe.size]
    if [(name, kind, len(shape)) for name, kind, shape in has] != [
        (recipe.input, "tensor(float)", len(wanted))
    ] or any(isinstance(n, int) and n != w for n, w in zip(has[0][2], wanted, strict=True)):
        raise ModelError(
            f"{path} takes {has}, its recipe says {recipe.input!r}, floats of shape {wanted}; "
            "is it the recipe of another model?"
        )


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:300]
