"""Each section of docs/choices.md asks, quotes, decides, and names the tests that hold it."""

import re

import pytest

from helpers.pointers import ROOT, in_backticks, missing_test

PAGE = (ROOT / "docs" / "choices.md").read_text(encoding="utf-8")
LEADS = ["Question.", "The paper.", "We do.", "Test."]
SECTIONS = re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", PAGE, flags=re.MULTILINE)
each_section = pytest.mark.parametrize(
    "body", [body for _, body in SECTIONS], ids=[title[:50] for title, _ in SECTIONS]
)


def test_sections_are_numbered_without_gaps():
    numbers = [int(title.partition(". ")[0]) for title, _ in SECTIONS]
    assert numbers
    assert numbers == list(range(1, len(numbers) + 1))


@each_section
def test_section_has_the_four_leads(body):
    leads = re.findall(r"^\*\*([^*]+)\*\*", body, flags=re.MULTILINE)
    assert [lead for lead in leads if lead in LEADS] == LEADS


@each_section
def test_named_tests_exist(body):
    named = [
        pointer
        for pointer in in_backticks(body.partition("**Test.**")[2])
        if pointer.startswith("tests/")
    ]
    assert named, "no `tests/file.py::test_name` after **Test.**"
    for pointer in named:
        assert "::" in pointer, f"name the function, not only the file: {pointer}"
        assert missing_test(pointer) is None, missing_test(pointer)


def test_what_stops_somebody_is_held_by_tests_that_exist():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    pointers = re.findall(r"`(tests/[^`]+)`", page)
    assert len(pointers) > 10
    assert [missing for each in pointers if (missing := missing_test(each))] == []
