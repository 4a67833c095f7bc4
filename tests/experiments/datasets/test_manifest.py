"""Datasets on disk: a good one is read as written, of a bad one an error lists all faults."""

import cv2
import numpy as np
import pytest

from onlooker.core.errors import BadValue
from onlooker.experiments.datasets.manifest import SHOWN, read_dataset
from onlooker.simulation.filming import Truth
from onlooker.simulation.scenarios import scenario, write_dataset
from onlooker.vision.types import FaceBox, Frame

HEADER = "set,camera,person,frame,path"


@pytest.fixture
def folder(tmp_path):
    for name in ("a.png", "b.png", "c.png", "d.png"):
        cv2.imwrite(str(tmp_path / name), np.zeros((2, 2), np.uint8))
    return tmp_path


def write(folder, *lines, header=HEADER):
    (folder / "manifest.csv").write_text("\n".join([header, *lines, ""]), encoding="utf-8")


def error_of(folder):
    with pytest.raises(BadValue) as caught:
        read_dataset(folder)
    message = str(caught.value)
    assert str(folder / "manifest.csv") in message
    return message


# ---- good ones


def test_what_was_simulated_is_read_back(tmp_path):
    wall = np.zeros((480, 640, 3), np.uint8)
    truths = [
        Truth(person, "hall", FaceBox(0, 0, 1, 1)) for person in ("ana", None, "ana, the 2nd")
    ]
    hall = [(Frame("hall", at, at / 25, wall), truth) for at, truth in enumerate(truths)]
    sets = {"V1": list(scenario("V1", frames=2)), "hall": hall}
    write_dataset(tmp_path / "set", sets)
    dataset = read_dataset(tmp_path / "set")
    assert dataset.name == "set"
    assert dataset.recordings == ("V1", "hall")
    assert dataset.crowd == ()
    for name, scenes in sets.items():
        read = dataset.recording(name)
        assert [(each.set, each.camera, each.person, each.frame) for each in read] == [
            (name, frame.camera, truth.person, frame.index) for frame, truth in scenes
        ]
        assert all(cv2.imread(str(each.path)).shape == (480, 640, 3) for each in read)


def test_the_digest_says_whether_it_is_the_same_dataset(folder):
    lines = ["walk,door,ana,0,a.png", "walk,door,ana,1,b.png"]
    write(folder, *lines)
    digests = [read_dataset(folder).digest, read_dataset(folder).digest]
    assert digests[0] == digests[1]
    cv2.imwrite(str(folder / "b.png"), np.full((9, 9), 7, np.uint8))
    digests.append(read_dataset(folder).digest)
    write(folder, *reversed(lines))
    digests.append(read_dataset(folder).digest)
    assert len(set(digests)) == 3


def test_pictures_at_no_camera_are_the_crowd(folder):
    write(folder, "walk,door,ana,0,a.png", "lfw,,,0,b.png", "lfw,,,1,c.png", "walk,door,,1,d.png")
    dataset = read_dataset(folder)
    assert dataset.recordings == ("walk",)
    assert [each.path.name for each in dataset.crowd] == ["b.png", "c.png"]
    assert [each.person for each in dataset.recording("walk")] == ["ana", None]


def test_the_columns_may_come_in_any_order_and_after_a_byte_order_mark(folder):
    text = "path,frame,person,camera,set\na.png,7,ana,door,walk\n"
    (folder / "manifest.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (picture,) = read_dataset(folder).pictures
    assert (picture.set, picture.camera, picture.person, picture.frame) == (
        ("walk", "door", "ana", 7)
    )
    assert picture.path == folder / "a.png"


def test_an_unknown_set_names_those_that_there_are(folder):
    write(folder, "walk,door,ana,0,a.png", "lfw,,,0,b.png")
    with pytest.raises(BadValue, match=r"'lfw'.*known: walk"):
        read_dataset(folder).recording("lfw")


# ---- bad ones


def test_one_error_names_everything_that_is_wrong(folder):
    write(
        folder,
        "walk,door,ana,0,a.png,",
        "walk,door,ana,1,gone.png,",
        "walk,door,ana,1,b.png,",
        "walk,door,ben,0,a.png,",
        "walk,,eve,0,c.png,",
        "walk,door,ben,1,../outside.png,",
        "walk,door,ben,2,/etc/hostname,",
        "walk,door,ben,3,,",
        "walk,door,ben,soon,d.png,",
        "walk,door,ben,-1,also-gone.png,",
        ",door,ben,9,never.png,",
        "walk,door",
        header=HEADER + ",mood",
    )
    message = error_of(folder)
    for words in (
        "the column 'mood' is unknown",
        "line 3: there is no picture gone.png",
        "frame walk / door / ana / 1 is listed 2 times",
        "the picture a.png is listed 2 times",
        "line 6: eve is at no camera",
        "line 7: the path '../outside.png' does not lie in the folder",
        "line 8: the path '/etc/hostname' does not lie in the folder",
        "line 9: the path '' does not lie in the folder",
        "line 10: frame 'soon' is not a number",
        "line 11: frame '-1' is not a number",
        "line 11: there is no picture also-gone.png",
        "line 12 names no set",
        "line 13 does not have a value for every column",
    ):
        assert words in message
    assert len(message.splitlines()) == 1


def test_the_same_frame_and_the_same_picture_written_otherwise_are_the_same(folder):
    write(folder, "walk,door,ana,1,a.png", "walk,door,ana,01,./a.png")
    message = error_of(folder)
    assert "frame walk / door / ana / 1 is listed 2 times" in message
    assert "the picture a.png is listed 2 times" in message


def test_lines_without_all_values_are_not_taken_for_repeated_ones(folder):
    write(folder, "walk,door", "walk,door")
    message = error_of(folder)
    assert "line 2 does not" in message
    assert "line 3 does not" in message
    assert "times" not in message


def test_a_column_by_another_name_is_missing_and_unknown(folder):
    write(folder, "walk,door,ana,0,a.png", header="set,camera,who,frame,path")
    message = error_of(folder)
    assert "the column person is missing" in message
    assert "the column 'who' is unknown" in message


def test_a_column_twice_is_told(folder):
    write(folder, "walk,door,ana,0,a.png,b.png", header=HEADER + ",path")
    assert "the column path is there twice" in error_of(folder)


def test_a_line_with_too_much_is_told(folder):
    write(folder, "walk,door,ana,0,a.png,b.png")
    assert "line 2 does not have a value for every column" in error_of(folder)


def test_an_empty_manifest_misses_every_column(folder):
    (folder / "manifest.csv").write_bytes(b"")
    message = error_of(folder)
    assert all(f"the column {name} is missing" in message for name in HEADER.split(","))


def test_a_manifest_without_pictures_is_told(folder):
    write(folder)
    assert "it lists no picture" in error_of(folder)


def test_a_missing_manifest_or_folder_is_told(folder):
    assert "No such file" in error_of(folder)
    assert "No such file" in error_of(folder / "nowhere")


def test_text_that_is_not_utf8_is_told(folder):
    (folder / "manifest.csv").write_bytes(HEADER.encode() + b"\nwalk,door,J\xf6rg,0,a.png\n")
    assert "not UTF-8" in error_of(folder)


@pytest.mark.parametrize("lines", [3, 300, 10_000])
def test_a_quote_that_is_never_closed_is_told(folder, lines):
    write(folder, 'walk,door,ana,0,"a.png', *["walk,door,ben,1,b.png"] * lines)
    assert "quote" in error_of(folder)


def test_a_name_that_no_file_can_have_is_told(folder):
    write(folder, f"walk,door,ana,0,{'x' * 5000}.png")
    assert "line 2: there is no picture xxx" in error_of(folder)


def test_so_many_problems_are_counted(folder):
    write(folder, *[f"walk,door,ana,{at},none{at}.png" for at in range(SHOWN + 7)])
    message = error_of(folder)
    assert message.count("there is no picture") == SHOWN
    assert message.endswith("and 7 more")
