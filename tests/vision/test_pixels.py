"""Pixels of a face as the paper prepares them."""

import cv2
import numpy as np
import pytest

from onlooker import OnlookerError
from onlooker.vision.pixels import PixelFeatures, psi
from onlooker.vision.types import FaceBox, picture, square_crop

RNG = np.random.default_rng(0)
PICTURE = cv2.GaussianBlur(RNG.integers(0, 255, (240, 320, 3), dtype=np.uint8), (0, 0), 4)


def test_the_vector_is_the_recipe_step_by_step():
    box = FaceBox(100, 60, 70, 90)
    crop = PICTURE[60:150, 90:180]  # a square of side 90 around (135, 105)
    grey = cv2.resize(
        cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY), (96, 96), interpolation=cv2.INTER_AREA
    )
    prepared = cv2.equalizeHist(cv2.GaussianBlur(grey, (0, 0), 1.5)) / 255.0
    expected = prepared.ravel() * np.sqrt(psi(96, 0.35))
    np.testing.assert_allclose(PixelFeatures()(PICTURE, box), expected, rtol=1e-6)


def test_vectors_are_single_precision_and_the_tag_names_every_parameter():
    features = PixelFeatures(side=48, blur=2.0, spread=0.3)
    assert features(PICTURE, FaceBox(10, 10, 50, 50)).dtype == np.float32
    assert features.tag == "pixels/48/2/0.3"
    assert features.tag != PixelFeatures().tag


def test_a_face_at_the_border_is_continued_by_its_edge():
    above_left = square_crop(PICTURE, FaceBox(-20, -20, 60, 60))
    assert (above_left[:20] == above_left[20]).all()
    assert (above_left[:, :20] == above_left[:, 20:21]).all()
    assert (above_left[20:, 20:] == PICTURE[:40, :40]).all()
    below_right = square_crop(PICTURE, FaceBox(290, 210, 60, 60))
    assert (below_right[30:] == below_right[29]).all()
    assert (below_right[:30, :30] == PICTURE[210:, 290:]).all()


def test_a_box_outside_the_picture_is_refused_with_both_sizes():
    with pytest.raises(OnlookerError, match="320 x 240"):
        PixelFeatures()(PICTURE, FaceBox(400, 10, 50, 50))


def test_twice_the_resolution_is_nearly_the_same_vector():
    box, twice = FaceBox(80, 40, 96, 96), FaceBox(160, 80, 192, 192)
    double = cv2.resize(PICTURE, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR)
    features = PixelFeatures()
    gap = np.linalg.norm(features(PICTURE, box) - features(double, twice))
    assert gap < 0.03


@pytest.mark.parametrize(
    "pixels",
    [
        PICTURE[:, :, 0],
        PICTURE[:, :, :1],
        np.dstack([PICTURE, PICTURE[:, :, 0]]),
        PICTURE.astype(np.uint16) * 257,
    ],
    ids=["grey", "one channel", "alpha", "16 bit"],
)
def test_every_kind_of_picture_becomes_three_bytes_a_pixel(pixels):
    found = picture(pixels)
    assert found.shape == PICTURE.shape
    assert found.dtype == np.uint8
