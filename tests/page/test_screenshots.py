"""Screenshots of every view, on a phone and on a desktop, light and dark, empty and full.

They are written to the folder ONLOOKER_SCREENSHOTS, or to a temporary folder of pytest. They show
real people: look at them, but do not store or publish them.
"""

import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from playwright.sync_api import expect

from helpers.browsing import VIEWS, open_person
from helpers.waiting import eventually

SIZES = {"phone": (390, 844), "desktop": (1280, 800)}
THERE = {
    "live": ".box",
    "strangers": ".card",
    "people": ".montage img",
    "map": ".map-canvas[data-painted]",
    "audit": "[data-person] [data-far] img",
    "events": "tbody tr",
    "health": "tr[data-camera]",
    "add": ".choice",
}
LOOKS = [
    ("phone", "dark"),
    pytest.param("desktop", "light", marks=pytest.mark.slow),
    pytest.param("phone", "light", marks=pytest.mark.slow),
    pytest.param("desktop", "dark", marks=pytest.mark.slow),
]
"""All of them: scripts/test tests/page -m "slow or not slow"."""
COLORS = 24
"""A page with text and a button has more colors than this, and a blank one has one."""


@pytest.fixture
def folder(tmp_path):
    place = Path(os.environ.get("ONLOOKER_SCREENSHOTS", tmp_path))
    place.mkdir(parents=True, exist_ok=True)
    return place


SEEN = """() => [...document.querySelectorAll("main img, dialog img")].every((image) =>
    image.getBoundingClientRect().top >= innerHeight || (image.complete && image.naturalWidth))"""
"""Whether every image in the visible part of the page is loaded; others may load lazily."""


def shoot(page, path):
    """Take a screenshot; check that it is not blank and the page not wider than the screen."""
    eventually(lambda: page.evaluate(SEEN))
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], f"{path.name} is wider than the screen: {wide}"
    page.screenshot(path=path, animations="disabled")
    pixels = cv2.imread(str(path))
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > COLORS, f"{path.name} is blank"


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_empty_views(empty, visit, folder, size, theme):
    tab = visit(empty, **looks(size, theme))
    page = tab.open()
    for view in VIEWS:
        tab.go(view)
        expect(page.locator(".empty:visible, .choice, .health-lists .panel").first).to_be_visible()
        expect(page.get_by_text("Comparing the faces")).not_to_be_visible()
        shoot(page, folder / f"empty-{view}-{size}-{theme}.png")


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_full_views(full, visit, folder, size, theme):
    tab = visit(full, **looks(size, theme))
    page = tab.open()
    for view in VIEWS:
        tab.go(view)
        expect(page.locator(THERE[view]).first).to_be_visible()
        shoot(page, folder / f"full-{view}-{size}-{theme}.png")
    open_person(tab, "Anastasia")
    expect(page.locator(".face-button").first).to_be_visible()
    shoot(page, folder / f"full-person-{size}-{theme}.png")
    page.locator("[data-faces=learned] .face-button").first.click()
    expect(page.locator("dialog .why-part").first).to_be_visible()
    shoot(page, folder / f"full-why-{size}-{theme}.png")


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_a_question(strict, visit, folder, size, theme):
    page = visit(strict, **looks(size, theme)).open("strangers")
    expect(page.locator("[data-answer=yes]")).to_be_visible()
    shoot(page, folder / f"question-{size}-{theme}.png")


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_a_question_with_learned_faces(trusting, visit, folder, size, theme):
    page = visit(trusting, **looks(size, theme)).open("strangers")
    expect(page.locator(".card-learned")).to_be_visible()
    shoot(page, folder / f"question-learned-{size}-{theme}.png")


def looks(size, theme):
    """Options of a browser context."""
    width, height = SIZES[size]
    more = {"has_touch": True, "is_mobile": True} if size == "phone" else {}
    viewport = {"width": width, "height": height}
    return {"viewport": viewport, "color_scheme": theme, "reduced_motion": "reduce", **more}
