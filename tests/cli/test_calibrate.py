"""`onlooker calibrate` as people use it: JSON, a plot, and one clear line where it cannot work."""

import json
import shutil

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.commands import error_of
from helpers.homes import LENGTH, small_learner
from onlooker.cli.app import app
from onlooker.experiments.datasets.facebank import find_faces
from onlooker.experiments.datasets.manifest import Picture
from onlooker.home.home import Home
from onlooker.simulation.orl import pictures_of
from onlooker.vision.finder import FaceFinder

STRANGERS = 26


def write(path, picture):
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), picture)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """strangers/ has one of each, and one of them twice; people/ has two by name."""
    root = tmp_path_factory.mktemp("pictures")
    for person in range(1, STRANGERS + 1):
        name = f"{person % 2}/{person:02d}.png"
        write(root / "strangers" / name, pictures_of(person)[0])
    write(root / "strangers" / "twice.png", pictures_of(1)[0])
    for name, person in (("ana", 30), ("ben", 31)):
        for number in range(3):
            write(root / "people" / name / f"{number}.png", pictures_of(person)[number])
    return root


@pytest.fixture(scope="module")
def found(pictures, tmp_path_factory):
    """The faces of all strangers, cached as the command would."""
    folder = tmp_path_factory.mktemp("faces")
    files = sorted((pictures / "strangers").rglob("*.png"))
    crowd = [Picture("strangers", "", None, at, file) for at, file in enumerate(files)]
    find_faces(crowd, FaceFinder(), folder=folder)
    return folder


def calibrate(*arguments):
    return CliRunner().invoke(app, ["calibrate", *map(str, arguments)])


def test_the_choice_is_json_and_the_trade_off_is_drawn(pictures, home):
    result = calibrate(pictures / "strangers", "--rate", "0.2", "--vertices", "20")
    assert result.exit_code == 0, result.output
    chosen = json.loads(result.stdout)
    assert " ".join(chosen) == (
        "bandwidth cutoff rate asked_rate cliff margin chains strangers plot"
    )
    assert chosen["margin"] == chosen["cutoff"] / chosen["cliff"] >= 20
    for row in chosen["chains"]:
        assert 0 <= row["direct"] <= row["named"] <= 1
    assert f"the cliff is at cutoff {chosen['cliff']:.2g}" in result.stderr
    assert chosen["strangers"] == STRANGERS
    assert chosen["asked_rate"] == 0.2
    assert 0 <= chosen["rate"] <= 0.2
    assert 0 < chosen["cutoff"] < 1
    assert 0.1 < chosen["bandwidth"] < 0.3, "the default is from thousands of strangers"
    assert chosen["plot"] == "calibration.svg"
    assert (home / "calibration.svg").read_text(encoding="utf-8").count("<svg") == 1
    assert f"bandwidth = {chosen['bandwidth']:g}" in result.stderr
    assert f"cutoff = {chosen['cutoff']:g}" in result.stderr
    assert f"{STRANGERS} strangers in {STRANGERS + 1} pictures (1 left out" in result.stderr
    cached = list((home / "cache" / "onlooker" / "faces").iterdir())
    assert [file.suffix for file in cached] == [".npz"]
    # Again, from what was found before: the same, to the last byte of the drawing.
    drawing = (home / "calibration.svg").read_bytes()
    again = calibrate(pictures / "strangers", "--rate", "0.2", "--vertices", "20")
    assert (again.stdout, again.stderr) == (result.stdout, result.stderr)
    assert (home / "calibration.svg").read_bytes() == drawing
    assert list((home / "cache" / "onlooker" / "faces").iterdir()) == cached


def test_so_few_strangers_say_nothing_about_one_in_a_million(pictures, home, found):
    shutil.copytree(found, home / "cache" / "onlooker" / "faces")
    result = calibrate(pictures / "strangers", "--rate", "1e-6")
    assert result.exit_code == 0, result.output
    assert "warning: so few strangers" in result.stderr
    assert json.loads(result.stdout)["rate"] == 0


def test_people_by_name_are_drawn_too(pictures, home, found):
    shutil.copytree(found, home / "cache" / "onlooker" / "faces")
    arguments = (pictures / "strangers", "--rate", "0.2", "--plot", home / "both.png")
    result = calibrate(*arguments, "--people", pictures / "people")
    assert result.exit_code == 0, result.output
    with_people = cv2.imread(str(home / "both.png"))
    assert calibrate(*arguments).stdout == result.stdout
    without = cv2.imread(str(home / "both.png"))
    assert with_people.shape == without.shape
    assert (with_people != without).any()


def test_the_settings_decide_what_the_options_leave_open(pictures, home, found):
    shutil.copytree(found, home / "cache" / "onlooker" / "faces")
    (home / "onlooker.toml").write_text("vertices = 1\n")
    one = calibrate(pictures / "strangers", "--rate", "0.02")
    many = calibrate(pictures / "strangers", "--rate", "0.02", "--vertices", 500)
    assert one.exit_code == many.exit_code == 0
    assert "warning: so few strangers" not in one.stderr
    assert "warning: so few strangers" in many.stderr, "one pair is near to many, of so many faces"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none"], "none is not a folder"),
        (["empty"], "there is no picture in empty"),
        (["walls"], "none of the 2 pictures in walls shows a usable face"),
        (["few"], "3 different strangers are too few"),
        (["damaged"], "two.png"),  # all of them, not only the first
        (["damaged", "--people", "none"], "none is not a folder"),  # before any picture is read
        (["few", "--people", "walls"], "nobody in walls has two pictures with a usable face"),
        (["few", "--features", "embedding", "--detector", "haar"], "landmarks"),
        (["few", "--features", "embedding"], "ONLOOKER_EMBEDDING"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_work_is_one_line(home, arguments, words):
    (home / "empty" / "folder.jpg").mkdir(parents=True)
    (home / "empty" / "words.txt").write_text("no picture")
    for name in ("one.png", "two.png"):
        write(home / "walls" / name, np.full((480, 640), 90, np.uint8))
        (home / "damaged").mkdir(exist_ok=True)
        (home / "damaged" / name).write_bytes(b"\x89PNG\r\n\x1a\n")
    for person in range(1, 4):
        write(home / "few" / f"{person}.png", pictures_of(person)[0])
    text = error_of(calibrate(*arguments))
    assert words in text
    assert not (home / "calibration.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "STRANGERS"),
        (["people", "--home", "people"], "not both"),
        (["people", "--plot", "plot.txt"], ".svg or .pdf or .png"),
        (["people", "--plot", "plot"], ".svg or .pdf or .png"),
        (["people", "--plot", "none/plot.svg"], "make none first"),
        (["people", "--plot", "folder.svg"], "folder.svg is a folder"),
        (["people", "--rate", "0"], "--rate"),
        (["people", "--rate", "1"], "--rate"),
        (["people", "--features", "smells"], "--features"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_exit_code_2_before_anything_is_done(home, arguments, words):
    (home / "people").mkdir()
    (home / "folder.svg").mkdir()
    result = calibrate(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in " ".join(result.stderr.split())
    assert not (home / "cache").exists()


# ---- the people of a home


def known(folder, *taught, observed=(), trust_radius=None):
    """A home whose faces differ in one number."""
    empty = small_learner().empty_copy(trust_radius=trust_radius)
    with Home(folder, new_learner=lambda: empty) as made:
        for x, name in taught:
            made.teach(np.full(LENGTH, x / np.sqrt(LENGTH)), name)
        for frame, x in enumerate(observed):
            made.observe(np.full(LENGTH, x / np.sqrt(LENGTH)), camera="door", frame=frame)
    return folder


def test_the_people_of_a_home_are_compared_and_drawn(home):
    folder = known(home / "known", (0, "ana"), (9, "ben"), (2.4, "twin"), observed=(0.6, 1.1, 8.4))
    result = calibrate("--home", folder, "--plot", home / "people.png")
    assert result.exit_code == 0, result.output
    *pairs, everybody = map(json.loads, result.stdout.splitlines())
    assert [(row["first"], row["second"], row["alike"]) for row in pairs] == [
        ("ana", "twin", "faces"), ("ben", "twin", None), ("ana", "ben", None),
    ]  # fmt: skip
    assert pairs[0]["doubt"]["not_name"] == "twin"
    assert everybody["proposed"] == 5.99
    assert [row["name"] for row in everybody["people"]] == ["ana", "ben", "twin"]
    assert "ana and twin" in result.stderr
    assert "say 'not twin' of face" in result.stderr
    assert "--trust-radius 5.99" in result.stderr
    assert cv2.imread(str(home / "people.png")).std() > 1


@pytest.mark.parametrize(
    ("taught", "radius", "words"),
    [
        ([(0, "ana"), (0.5, "ana")], None, "only ana has a name here: there is nobody"),
        ([(0, "ana"), (1e-5, "twin")], None, "even labeled faces are linked"),
        ([(0, "ana"), (5, "ana"), (9, "b")], 0.5, "more than the trust radius of 0.5: each"),
        ([(0, "ana"), (9, "ben")], 8.99, "the trust radius of 8.99 is right"),
        ([(0, "ana"), (9, "ben")], None, "no two people are too alike"),
    ],
    ids=["one person", "twins", "a radius smaller than a person", "right", "apart"],
)  # fmt: skip
def test_what_a_home_needs_is_said_in_words(home, taught, radius, words):
    result = calibrate("--home", known(home / "known", *taught, trust_radius=radius))
    assert result.exit_code == 0, result.output
    assert words in " ".join(result.stderr.split())


def test_a_home_without_names_cannot_be_compared(home):
    assert "nobody has a name" in error_of(calibrate("--home", known(home / "known")))
    assert "is not a home" in error_of(calibrate("--home", home / "none"))
    assert not (home / "calibration.svg").exists()
