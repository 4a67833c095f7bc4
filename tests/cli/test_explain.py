"""`onlooker explain`: why a face has its name, in words and as JSON."""

import cv2
import numpy as np
import pytest

from helpers.commands import error_of, onlooker, rows
from helpers.filming import WALL, write_picture
from helpers.tiny_onnx import model_in


@pytest.fixture
def home(pictures):
    rows(onlooker("enroll", "--people", pictures / "people", "--home", "h"))
    return pictures


def person(pictures, name, number=0):
    return sorted((pictures / "people" / name).iterdir())[number]


def test_explain_says_which_labels_and_which_chain(pictures):
    taught = [person(pictures, "ana", number) for number in range(3)]
    rows(onlooker("enroll", "ana", *taught, "--home", "h"))
    picture = person(pictures, "ana", 3)
    (row,) = rows(onlooker("explain", picture, "--home", "h", "--json"))
    assert (row["name"], row["face"], row["faces"]) == ("ana", 1, 1)
    assert row["share"] > 0.1
    assert {ending["name"] for ending in row["endings"]} == {"ana"}
    for ending in row["endings"]:
        assert ending["chain"][-1] == ending["labeled_face"]
    link = row["weakest_link"]
    assert link["to"] in row["endings"][0]["chain"]
    assert 0 < link["similarity"] <= 1
    text = onlooker("explain", picture, "--home", "h").stdout
    assert text.startswith("Face 1 of 1: ana.\n")
    assert f"labeled face {row['endings'][0]['labeled_face']}" in text
    assert "the weakest is between this face and stored face" in text


def test_two_faces_are_explained_from_left_to_right(home, tmp_path):
    both = [cv2.imread(str(person(home, name))) for name in ("ben", "ana")]
    height = min(each.shape[0] for each in both)
    write_picture(tmp_path / "both.png", np.hstack([each[:height] for each in both]))
    found = rows(onlooker("explain", "both.png", "--home", "h", "--json"))
    assert [(row["face"], row["faces"], row["name"]) for row in found] == [
        (1, 2, "ben"),
        (2, 2, "ana"),
    ]
    assert onlooker("explain", "both.png", "--home", "h").stdout.count("Face ") == 2


def test_a_stranger_is_nobody_known(pictures):
    rows(onlooker("enroll", "ana", person(pictures, "ana"), "--home", "h"))
    result = onlooker("explain", person(pictures, "ben"), "--home", "h")
    assert result.stdout == (
        "Face 1 of 1: nobody known. No chain of similar faces leads from it to a label.\n"
    )


def test_what_cannot_be_explained_is_one_line_and_nothing_is_learned(home, tmp_path):
    before = rows(onlooker("events", "--home", "h"))
    write_picture(tmp_path / "wall.png", WALL)
    assert "there is no face in wall.png" in error_of(
        onlooker("explain", "wall.png", "--home", "h")
    )
    assert "No such file" in error_of(onlooker("explain", "no.png", "--home", "h"))
    assert "is not a home" in error_of(onlooker("explain", "wall.png", "--home", "other"))
    onlooker("explain", person(home, "ana"), "--home", "h")
    assert rows(onlooker("events", "--home", "h")) == before


def test_a_home_of_a_model_could_not_explain_and_said_to_give_the_model(pictures, tmp_path):
    pytest.importorskip("onnxruntime")
    model, picture = model_in(tmp_path), person(pictures, "ana")
    rows(onlooker("enroll", "ana", picture, "--home", "h", "--model", model))
    assert "--model FILE" in error_of(onlooker("explain", picture, "--home", "h"))
    (row,) = rows(onlooker("explain", picture, "--home", "h", "--model", model, "--json"))
    assert row["name"] == "ana"
