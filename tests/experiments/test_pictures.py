"""The pictures of the guide are drawn by code, all of them are there, and all are used."""

import re
from pathlib import Path

import pytest

from onlooker.experiments.pictures import PICTURES, arcs, main, taught

DOCS = Path(__file__).parents[2] / "docs"


def test_every_picture_is_drawn_committed_and_used():
    """And none with a face: they are drawings, not photographs."""
    committed = sorted(path.name for path in (DOCS / "pictures").iterdir())
    assert committed == sorted(f"{name}.svg" for name in PICTURES)
    pages = [DOCS / "how-it-works.md", DOCS / "parameters.md"]
    used = [re.findall(r"\(pictures/(\w+)\.svg\)", page.read_text("utf-8")) for page in pages]
    assert used[0] == list(PICTURES)[:10]
    assert sorted(used[1]) == sorted(list(PICTURES)[10:])


@pytest.mark.parametrize("kind", [".svg", ".pdf"])
def test_a_picture_is_drawn_in_the_kind_that_was_wanted(kind, tmp_path):
    assert main(["similarity", "--folder", str(tmp_path / "new"), "--format", kind]) == 0
    (file,) = (tmp_path / "new").iterdir()
    assert file.name == f"similarity{kind}"
    assert file.read_bytes().startswith(b"%PDF" if kind == ".pdf" else b"<?xml")


def test_every_picture_can_be_drawn():
    for draw in PICTURES.values():
        assert draw().axes


def test_an_unknown_picture_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["portrait", "--folder", str(tmp_path)])
    assert "no picture is called portrait" in capsys.readouterr().err


def test_the_learner_is_right_about_both_arcs():
    """What the pages say beside the pictures."""
    learner = taught()
    names = [learner.observe(x).label for x in arcs()]
    assert names == ["ana", "ben"] * (len(names) // 2)
