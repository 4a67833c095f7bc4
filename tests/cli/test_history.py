"""`onlooker history`: who was where, a face found again, and tables of it."""

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.commands import error_of
from helpers.services import FINDER, new_learner, photo, scene
from onlooker.cli.app import app
from onlooker.home.home import Home
from onlooker.vision.types import encode_png


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def rows(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return [json.loads(row) for row in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home that has seen two people and a stranger."""
    folder = tmp_path_factory.mktemp("history") / "home"
    faces = {person: FINDER.faces(scene(person))[0] for person in (1, 2, 3)}
    with Home(folder, new_learner=new_learner) as made:
        for index, (person, name, card) in enumerate(
            ((1, "ana", None), (2, "=ben", None), (1, "ana", None), (3, None, 7))
        ):
            face = {"vector": faces[person].vector, "picture": faces[person].jpeg}
            camera = ("door", "yard")[index % 2]
            made.record_sighting(camera=camera, frame=index, name=name, card=card, **face)
    return folder


@pytest.fixture
def photos(tmp_path):
    wall = scene(1, shift=-200)
    wall[120:344, 420:604] = scene(3)[120:344, 220:404]
    files = {"ana": photo(1), "nobody": photo(9), "two": encode_png(wall)}
    files["none"] = encode_png(np.zeros((99, 99, 3), np.uint8))
    for name, content in files.items():
        (tmp_path / f"{name}.png").write_bytes(content)
    return tmp_path


def test_find_says_when_and_where(home, photos):
    (ana,) = rows("history", "find", photos / "ana.png", "--home", home)
    assert (ana["name"], ana["count"], ana["cameras"]) == ("ana", 2, {"door": 2})
    assert (ana["first"]["number"], ana["last"]["number"]) == (1, 3)
    (stranger,) = rows("history", "find", photos / "two.png", "--face", "2", "--home", home)
    assert (stranger["name"], stranger["card"]) == (None, 7)


def test_nobody_two_faces_and_none_are_one_line_each(home, photos):
    result = run("history", "find", photos / "nobody.png", "--home", home)
    assert result.exit_code == 1
    assert result.stderr == "onlooker: nobody like that was here, as far as is stored\n"
    two = error_of(run("history", "find", photos / "two.png", "--home", home))
    assert (
        "there are 2 faces in the picture; choose one with --face, from 1 on the left to 2" in two
    )
    none = error_of(run("history", "find", photos / "none.png", "--home", home))
    assert "there is no face in the picture" in none


def test_sightings_as_rows_and_as_a_table(home, tmp_path):
    everything = rows("history", "sightings", "--home", home)
    assert [row["number"] for row in everything] == [4, 3, 2, 1]
    newest = rows("history", "sightings", "--limit", 3, "--home", home)
    assert [row["number"] for row in newest] == [4, 3, 2]
    named = rows("history", "sightings", "--name", "ana", "--people", "--home", home)
    assert [row["camera"] for row in named] == ["door", "door"]
    (stranger,) = rows("history", "sightings", "--strangers", "--home", home)
    assert stranger["card"] == 7
    file = tmp_path / "seen.csv"
    assert rows("history", "sightings", "--csv", file, "--home", home)[0]["sightings"] == 4
    assert file.stat().st_mode & 0o077 == 0
    text = run("history", "sightings", "--csv", "-", "--home", home).stdout
    assert list(csv.DictReader(io.StringIO(text))) == list(
        csv.DictReader(io.StringIO(file.read_text()))
    )
    assert [row["name"] for row in csv.DictReader(io.StringIO(text))] == ["", "ana", "'=ben", "ana"]
    lost = error_of(
        run("history", "sightings", "--csv", tmp_path / "no" / "file.csv", "--home", home)
    )
    assert "cannot write" in lost
