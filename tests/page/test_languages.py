"""English and German: the same texts with the same placeholders, chosen by the browser."""

import ast
import os
import re
import shutil
from pathlib import Path
from typing import get_args

import pytest
from playwright.sync_api import expect

from helpers.browsing import AXE, VIEWS, running
from helpers.photos import photo_file, photograph
from helpers.pointers import ROOT
from helpers.waiting import eventually
from onlooker.home.alarms import Alarm, AlarmKind
from onlooker.vision.types import Refusal

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


PACKAGE = ROOT / "src" / "onlooker"
SPEAKING = (
    *("web/auth.py", "web/cameras.py", "web/frames.py", "web/people.py", "web/photos.py"),
    *("web/requests.py", "web/service.py", "web/routes"),
    *("video/addresses.py", "video/decoding.py", "video/image_files.py", "video/live.py"),
    *("video/relay.py", "video/rtsp_relay.py", "vision/finder.py", "simulation/orl.py"),
    *("strangers/book.py", "strangers/cards.py", "strangers/strangers.py"),
    *("strangers/correction.py", "home/people.py", "home/home.py", "home/folder.py"),
)
"""The modules whose sentences reach the page: refusals, problems of cameras, damage."""
TELLING = {"failed", "report", "_report"}
"""Functions that are told what went wrong, in words that the page shows."""
NOT_SHOWN = {
    "of the command line, or of what starts the service": (
        *("7 cannot be read, so nobody", "7 was saved with", "cannot open a home in"),
        *("a detector is", "an embedding needs landmarks", "a trusted proxy is written"),
        *("the guard was not passed", "two sources are called", "no source given"),
        *("person 7 is not in the ORL", "7 is not a 7 x 7 picture"),
    ),
    "of a picture file, which the service does not read": (
        *("'7' is a folder", "'7' is not a file", "the picture '7' is too large"),
        "cannot read the picture '7'",
    ),
    "raised and caught inside": ("too many passes",),
    "before a page could be loaded, or of requests that no page sends": (
        *("this Host is not", "forwarded requests", "Forwarded is not", "requests from pages"),
        *("the proxy may not", "the proxy sends", "there is no such file"),
        *("there are 7 faces in the picture; choose one with --face", "nothing to write to"),
        "7 must be a finite number",
    ),
    "of a picture, in whose place there is none": ("there is no picture of",),
}
"""Beginnings of sentences that the page never shows, by the reason."""
SAID = (
    "the token is missing; `onlooker login` prints a link",
    "at most 32 MB are accepted; make it smaller first",
    "a name must not be empty, got ''",
    "a name must be readable text, got 'a\\x00' with U+0000; leave that character out",
    "this place is labeled 'ana' and cannot be 'ben' too; take the first label back with unteach",
    "this place was said not to be 'ana'; take the first label back with unteach",
    "database or disk is full; free some space, or check the disk",
    "the connection broke, or the address redirects (redirects are not followed)",
    "3 stored cameras are damaged and not watched: add them again",
    "webhook: 3 alerts were dropped, too many waited",
    "camera gate is failing: cannot open rtsp://10.0.0.5/...: Connection refused",
    "its clock is +3.1 s off",
    "it was down for 3.1 s before it last opened",
    "no answer within 10 s",
    "the database is damaged (some pages cannot be read) and was set aside as a.db; 9 rows of it "
    "could be read and were taken over",
    "skipped: cannot read snapshot 000000000009.snapshot: its SHA-256 is 1... instead of 5...",
    "event 7 cannot be read (7); lost: events 7 to 9",
    "event 7 contradicts those before it ('7'); lost: event 7",
    "the vector of vertex 7 is damaged; it is lost",
    "cards.json of an earlier version cannot be read (of another version, or damaged); it is in "
    "the copy of the home",
    *(Alarm(kind, "ana", (7,), "ben").words for kind in get_args(AlarmKind)),
    *(
        f"a chosen face cannot be used, {Refusal(reason, 7, 9)}; leave it out"
        for reason in ("too small", "too dark", "too few landmarks")
    ),
)
"""Sentences that are put together elsewhere, or of more than one part."""
ENGLISH = re.compile(
    r"\b(the|no|not|is|it|its|are|there|cannot|of|to|and|or|with|this|that|has|have|for|by|"
    r"pictures?|choose|file|faces?|first|again|already|needs)\b"
)


def sentences_of(path):
    """The sentences that a module raises or tells; a value in one is 7."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            said = node.exc.args
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in TELLING:
            said = node.args
        elif isinstance(node, ast.FunctionDef) and ast.unparse(node.returns or node) == "str":
            said = [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
        else:
            continue
        for one in said:
            yield from (text for text in texts_of(one) if text.count(" ") > 1)


def texts_of(node):
    match node:
        case ast.Constant(str(text)):
            yield text
        case ast.JoinedStr(values):
            yield "".join(map(part_of, values, [None, *values]))
        case ast.IfExp(body=one, orelse=other):
            yield from texts_of(one)
            yield from texts_of(other)


def part_of(part, before):
    if isinstance(part, ast.Constant):
        return part.value
    if isinstance(before, ast.Constant) and before.value[-1].isalpha():
        return ""  # the name of a file, of which a service has none
    return "'7'" if part.conversion == ord("r") else "7"


def spoken():
    """All sentences of the modules that speak to the page, but those that it never shows."""
    files = [
        file
        for name in SPEAKING
        for file in sorted({PACKAGE / name, *(PACKAGE / name).glob("*.py")})
    ]
    found = {text for file in files if file.is_file() for text in sentences_of(file)}
    silent = tuple(start for starts in NOT_SHOWN.values() for start in starts)
    assert [start for start in silent if not any(text.startswith(start) for text in found)] == []
    return sorted(text for text in found if not text.startswith(silent))


def test_german_pages_told_of_refusals_in_english(full, visit):
    """A sentence that is named here is new: its German is missing in static/texts/de.js."""
    said = [*spoken(), *SAID]
    assert len(said) > 90
    page = visit(full, locale="de-DE").open()
    german = page.evaluate(
        "async (said) => {"
        " const { texts } = await import('./static/texts/de.js');"
        " return said.map(texts.fromService); }",
        said,
    )
    pairs = zip(said, german, strict=True)
    assert {one: other for one, other in pairs if one == other or ENGLISH.search(other)} == {}


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


def test_damage_of_the_home_was_told_in_english(taught, visit, tmp_path):
    """Of a real home, whose newest snapshot has one other byte."""
    folder = Path(shutil.copytree(taught, tmp_path / "home"))
    newest = max((folder / "snapshots").glob("*.snapshot"))
    content = bytearray(newest.read_bytes())
    content[-100] ^= 1
    newest.write_bytes(content)
    with running(folder) as service:
        page = visit(service, locale="de-DE").open("health")
        said = page.get_by_text(newest.name)
        expect(said).to_contain_text("ein Zwischenstand ist beschädigt und wurde ausgelassen")
        assert not ENGLISH.search(said.inner_text().replace(str(newest), ""))


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
