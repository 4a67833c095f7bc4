"""Accessibility: axe-core finds no violation in any view, light or dark, empty or full."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from helpers.browsing import VIEWS, open_person, use_camera
from helpers.waiting import eventually

AXE = Axe()


def violations(page):
    """The violations that axe-core finds, each with its first elements."""
    found = AXE.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]


def settled(page):
    """Wait until no animation runs: half-faded text has too little contrast."""
    still = "document.getAnimations().every(one => one.playState !== 'running')"
    eventually(lambda: page.evaluate(still))


def checked(page, where):
    settled(page)
    found = violations(page)
    assert not found, (where, found)


THEMES = pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])


@THEMES
def test_empty_views(empty, visit, theme):
    tab = visit(empty, color_scheme=theme, reduced_motion="reduce")
    page = tab.open()
    for view in VIEWS:
        tab.go(view)
        expect(page.locator(".empty:visible, .choice, .health-lists .panel").first).to_be_visible()
        checked(page, view)


@THEMES
def test_full_views(full, visit, theme):
    tab = visit(full, color_scheme=theme, reduced_motion="reduce")
    page = tab.open()
    there = {
        "live": ".box",
        "strangers": ".card",
        "people": ".person",
        "map": ".map-canvas[data-vertices]",
        "events": "tbody tr",
        "health": "tr[data-camera]",
        "add": ".choice",
    }
    for view in VIEWS:
        tab.go(view)
        expect(page.locator(there[view]).first).to_be_visible()
        checked(page, view)
    tab.go("map")
    page.locator(".map-table summary").click()
    checked(page, "map table")
    open_person(tab, "Anastasia")
    expect(page.locator(".face-button").first).to_be_visible()
    checked(page, "person")
    page.locator(".face-button").first.click()
    expect(page.locator(".chain")).to_be_visible()
    checked(page, "why")
    page.keyboard.press("Escape")
    for button in ("Rename", "Merge", "Forget"):
        page.get_by_role("button", name=button).click()
        checked(page, button)
        page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    checked(page, "keys")


@THEMES
def test_a_question(strict, visit, theme):
    page = visit(strict, color_scheme=theme, reduced_motion="reduce").open("strangers")
    expect(page.locator("[data-answer=yes]")).to_be_visible()
    checked(page, "question")


@THEMES
def test_messages_and_the_token(empty, visit, theme):
    tab = visit(empty, signed_in=False, color_scheme=theme, forgiven=["4"])
    page = tab.open()
    use_camera(page)
    expect(page.locator("#token")).to_be_visible()
    checked(page, "token")
    page.keyboard.press("Escape")
    expect(page.locator("[data-choice=camera] .error")).not_to_be_empty()
    checked(page, "error")
    page.keyboard.press("u")
    expect(page.locator(".toast")).to_be_visible()
    checked(page, "toast")
