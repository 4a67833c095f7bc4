"""Accessibility: axe-core finds no violation in any view, light or dark, empty or full."""

import pytest
from playwright.sync_api import expect

from helpers.browsing import VIEWS, checked, open_person

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
        "audit": "[data-person] [data-wrong]",
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
    page = tab.page
    page.goto(empty.address)
    expect(page.locator("#token")).to_be_visible()
    checked(page, "token")
    page.locator("#token").fill("guess")
    page.keyboard.press("Enter")
    expect(page.locator("dialog .error")).not_to_be_empty()
    checked(page, "error")
    page.locator("#token").fill(empty.token)
    page.keyboard.press("Enter")
    tab.ready()
    page.keyboard.press("u")
    expect(page.locator(".toast")).to_be_visible()
    checked(page, "toast")
