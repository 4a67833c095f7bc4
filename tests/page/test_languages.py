"""English and German: the same texts with the same placeholders, chosen by the browser."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from helpers.browsing import AXE, VIEWS
from helpers.photos import photo_file, photograph
from helpers.pointers import ROOT
from helpers.waiting import eventually

STATIC = ROOT / "src" / "onlooker" / "web" / "static"
SENTENCE = re.compile(r"""(["'`])([A-Z][a-z]+ [a-z]+[^"'`]*)\1""")
COMPARED = """async () => {
  const en = await import("./static/texts/en.js");
  const de = await import("./static/texts/de.js");
  const wrong = [];
  const numbers = [7001, 7002, 7003, 7004];
  function used(text, given) {
    try {
      const said = String(text(...given)).replace(/[.,\\s]/g, "");
      return given.filter((one) => said.includes(String(one))).join();
    } catch {
      return "an error";
    }
  }
  function compare(en, de, path) {
    if (typeof en !== typeof de) wrong.push(`${path} is missing or of another kind`);
    else if (typeof en === "function") {
      const given = numbers.slice(0, en.length);
      if (en.length !== de.length) wrong.push(`${path} has other placeholders`);
      else if (used(en, given) !== used(de, given)) wrong.push(`${path} uses other placeholders`);
    } else if (typeof en === "object") {
      for (const key of new Set([...Object.keys(en), ...Object.keys(de)])) {
        compare(en[key], de[key], `${path}.${key}`);
      }
    } else if (!en !== !de) wrong.push(`${path} is empty in one of them`);
  }
  compare(en.texts, de.texts, "S");
  return wrong;
}"""

CUT_OFF = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5)
  .filter((one) => !one.closest(".chain, .table-box"))
  .map((one) => `${one.tagName}.${one.className}: ${one.textContent.slice(0, 30)}`)"""
"""Elements beyond the right edge, but those that scroll by themselves."""


def test_both_languages_have_the_same_texts_and_placeholders(full, visit):
    """A missing German text is named here; add it to static/texts/de.js."""
    page = visit(full).open()
    assert page.evaluate(COMPARED) == []


def test_no_text_is_outside_the_files_of_the_languages():
    found = {path.name: sentences(path) for path in STATIC.glob("js/*.js")}
    assert len(found) > 40
    assert {name: texts for name, texts in found.items() if texts} == {}


def sentences(path):
    """What looks like a text for people in a module."""
    code = re.sub(r"//.*|/\*\*.*", "", path.read_text(encoding="utf-8"))
    return [found[2] for found in SENTENCE.finditer(code)]


@pytest.mark.parametrize(
    ("locale", "language", "word"),
    [("de-AT", "de", "Personen"), ("en-US", "en", "People"), ("fr-FR", "en", "People")],
)
def test_the_browser_chooses_the_language(full, visit, locale, language, word):
    page = visit(full, locale=locale).open()
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.locator("[data-to=people]")).to_contain_text(word)


def test_german_can_be_chosen_and_is_remembered_in_every_view(full, visit, tmp_path):
    tab = visit(full, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = tab.open()
    page.get_by_role("button", name="Diese Seite auf Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    place = Path(os.environ.get("ONLOOKER_SCREENSHOTS", tmp_path))
    for view in VIEWS:
        tab.open(view)
        expect(page.locator(f".view-{view} h1")).to_be_attached()
        page.screenshot(path=place / f"german-{view}.png", animations="disabled")
        assert page.evaluate(CUT_OFF) == [], view
        assert "=>" not in page.locator("body").inner_text()  # a function in place of a text
    found = AXE.run(page).response["violations"]
    assert found == [], found


SAID = (
    "no face was found in this photo; choose one that shows a face from the front",
    "20 faces are in this photo, more than the 16 to choose from; crop it to the people you want",
    "there is no face in the picture; choose another",
    "cannot read the picture: not a JPEG, PNG, BMP, WebP, HEIC or PNM file",
    "cannot read the picture: the file is empty",
    "cannot read the picture: damaged, cut short, or an unusual format",
    "cannot read the picture: HEIC needs pi-heif (pip install it); or save it as JPEG",
    "cannot open rtsp://10.0.0.5/...: Connection refused",
    "lost rtsp://10.0.0.5/...: no frame for 20 s",
)
"""What the service says of photos and cameras."""
ENGLISH = re.compile(r"\b(the|no|is|it|not|cannot|picture|choose|file|for|was)\b")


def test_german_pages_told_of_bad_photos_and_cameras_in_english(full, visit):
    page = visit(full, locale="de-DE").open()
    german = page.evaluate(
        "async (said) => {"
        " const { texts } = await import('./static/texts/de.js');"
        " return said.map(texts.fromService); }",
        list(SAID),
    )
    left = [one for one in german if ENGLISH.search(one.replace("(pip install it)", ""))]
    assert left == []


def test_a_photo_without_a_face_is_told_in_german(full, visit, tmp_path):
    """The list that is translated has the words of the service, not others."""
    file = tmp_path / "strand.jpg"
    file.write_bytes(photo_file(photograph()))
    tab = visit(full, locale="de-DE", forgiven=["422"])
    page = tab.open("photos")
    page.set_input_files("#photo-files", str(file))
    expect(page.locator(".photo-problems")).to_contain_text("strand.jpg: kein Gesicht gefunden")


def test_a_failing_camera_is_told_in_german(empty, visit):
    tab = visit(empty, locale="de-DE")
    page = tab.open("add")
    page.locator("#source").fill("rtsp://127.0.0.1:9/none")
    page.locator("#source").press("Enter")
    expect(page.locator(".tile-note")).to_contain_text("Verbindung abgelehnt")


APART = """() => document.querySelector(".tools").getBoundingClientRect().left
  - document.querySelector(".top nav li:last-child").getBoundingClientRect().right"""
"""Pixels between the last view of the navigation and the buttons beside it."""


@pytest.mark.parametrize("locale", ["de-DE", "en-GB"])
def test_the_last_view_was_under_a_button_on_a_narrow_desktop(full, visit, locale):
    """German at 1280 pixels, English at 1100."""
    page = visit(full, locale=locale).open("people")
    expect(page.locator(".badge")).to_be_visible()
    for wide in (1600, 1280, 1100, 1000, 940):
        page.set_viewport_size({"width": wide, "height": 800})
        eventually(lambda: page.evaluate(APART) >= 0)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), wide
