"""Faces between two people: what the features see of them, and what is stored."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from helpers.shades import shade_finder, whole_picture
from onlooker.core.similarity import squared_distances_of_all
from onlooker.experiments.blends import BlendJob, SourceFace, blended_vectors, shares
from onlooker.simulation.orl import pictures_of
from onlooker.vision.finder import FaceFinder, FinderParts


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def shade_job(folder, *, levels=10):
    sources = []
    for shade in (50, 150):
        picture = np.full((40, 40, 3), shade, np.uint8)
        cv2.imwrite(str(folder / f"{shade}.png"), picture)
        sources.append((SourceFace(folder / f"{shade}.png", whole_picture(picture)[0]),))
    return BlendJob(*sources, shade_finder(), levels)


def test_blends_go_from_the_one_to_the_other_in_equal_steps(tmp_path):
    vectors = blended_vectors(shade_job(tmp_path))
    assert [float(x[0]) for x in vectors] == pytest.approx(
        [5 + 10 * share for share in shares(10)], abs=0.06
    )


def test_a_pair_is_measured_once_and_a_damaged_file_again(tmp_path):
    job = shade_job(tmp_path)
    first = blended_vectors(job)

    class Unused:
        tag = job.finder.features.tag
        distance = job.finder.features.distance

        def __call__(self, pixels, box):
            pytest.fail("measured again")

    parts = job.finder.parts
    unused = FaceFinder(parts=FinderParts(parts.detect, Unused(), parts.judge))
    again = blended_vectors(replace(job, finder=unused))
    assert [x.tolist() for x in again] == [x.tolist() for x in first]
    job.file().write_bytes(b"damaged")
    assert [x.tolist() for x in blended_vectors(job)] == [x.tolist() for x in first]
    assert replace(job, levels=11).file() != job.file()
    assert replace(job, first=job.second, second=job.first).file() != job.file()


@pytest.mark.parametrize("kind", ["pixels", "sface"])
def test_the_first_blend_is_the_one_person_and_the_last_the_other(kind, tmp_path):
    finder = FaceFinder(kind=kind, min_size=1)
    sources, vectors = [], []
    for person in (1, 2):
        wall = np.full((300, 300), 90, np.uint8)
        face = cv2.resize(pictures_of(person)[0], None, fx=2, fy=2)
        wall[30 : 30 + face.shape[0], 50 : 50 + face.shape[1]] = face
        path = tmp_path / f"{person}.png"
        cv2.imwrite(str(path), cv2.cvtColor(wall, cv2.COLOR_GRAY2BGR))
        (found,) = finder.faces(cv2.imread(str(path)))
        sources.append((SourceFace(path, found.box),))
        vectors.append(found.vector)
    blends = blended_vectors(BlendJob(*sources, finder, levels=4))
    to_one, to_other = squared_distances_of_all(
        finder.features.distance, np.array([*vectors, *blends])
    )[:2, 2:]
    assert (np.diff(to_one) > 0).all(), "every step leads away from the one"
    assert (np.diff(to_other) < 0).all(), "and nearer to the other"
