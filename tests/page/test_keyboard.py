"""The page is operated with the keyboard alone: no test in this file uses the mouse."""

import re

from playwright.sync_api import expect

from helpers.waiting import eventually

MOST = 120
"""Presses of Tab after which an element counts as unreachable."""
_NUMBER = re.compile(r"\d+")


def tab_to(page, selector):
    """Press Tab until the focus is there."""
    for _ in range(MOST):
        if page.evaluate("what => document.activeElement.matches(what)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {selector}")


def enter(page, selector):
    tab_to(page, selector)
    page.keyboard.press("Enter")


def test_from_the_first_run_to_forgetting(empty, visit):
    tab = visit(empty, signed_in=False)
    page = tab.page
    press = page.keyboard.press
    page.goto(empty.address)

    # The token field has the focus by itself. Choose the camera.
    expect(page.locator("#token")).to_be_focused()
    page.keyboard.type(empty.token)
    press("Enter")
    tab.ready()
    enter(page, "[data-choice=camera] button")
    expect(page.locator(".box").first).to_be_visible()

    # Name a stranger by single keys.
    enter(page, "nav [data-to=strangers]")
    expect(page.locator(".view-strangers h1")).to_be_focused()
    card = page.locator(".card:has([data-face='3'])").first
    expect(card).to_be_visible()
    number = card.get_attribute("data-card")
    for _ in range(page.locator(".card").count()):
        press("j")
        if page.evaluate("document.activeElement.dataset.card") == number:
            break
    card = page.locator(f".card[data-card='{number}']")
    expect(card).to_be_focused()
    for key in "1234":
        press(key)
    expect(card.locator("[aria-pressed=true]")).to_have_count(4)
    press("n")
    page.keyboard.type("Dorothea")
    press("Enter")
    expect(page.locator(".toast")).to_contain_text("as Dorothea")

    # Undo by a key, and name again.
    press("u")
    expect(page.locator(".toast")).to_contain_text("Undone")
    assert tab.fetched("/people") == []
    expect(card).to_be_visible()
    tab_to(page, f".card[data-card='{number}'] .naming input")
    page.keyboard.type("Dorothea")
    press("Enter")
    expect(page.locator(".toast")).to_contain_text("as Dorothea")

    # Open the explanation of a face in the picture, and close it: the focus returns.
    enter(page, "nav [data-to=live]")
    expect(page.locator(".box[data-name=Dorothea]")).to_be_visible()
    eventually(lambda: explanation_opened(page))
    tab_to(page, "dialog .chain")
    press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    assert page.evaluate("document.activeElement !== document.body")

    # Open the explanation of a stored face, mark it as wrong, and undo that.
    enter(page, "nav [data-to=people]")
    expect(page.locator(".person")).to_have_count(1)
    enter(page, ".person a")
    expect(page.locator(".view h1")).to_have_text("Dorothea")
    expect(page.locator("[data-faces=learned] .face-button").first).to_be_visible()
    enter(page, "[data-faces=learned] .face-button")
    expect(page.locator("dialog [data-wrong]")).to_be_visible()
    enter(page, "dialog [data-wrong]")
    expect(page.locator(".toast")).to_contain_text("removed")
    press("u")
    expect(page.locator(".toast")).to_contain_text("Undone")

    # Forget.
    enter(page, ".view-tools .danger")
    enter(page, "dialog .danger")
    expect(page.get_by_role("dialog", name="Dorothea is forgotten")).to_be_visible()
    press("Escape")
    expect(page.locator(".view-people .empty")).to_be_visible()
    assert tab.fetched("/people") == []


def explanation_opened(page):
    """Whether Enter on a face opened its explanation; a face may disappear before that."""
    enter(page, ".box, .here button")
    dialog = page.locator("dialog[data-view=why]")
    if not dialog.count():
        return False
    expect(dialog.locator(".dialog-body > *").first).to_be_visible()
    if dialog.locator(".chain").count():
        return True
    page.keyboard.press("Escape")
    return False


def test_the_map_without_a_mouse(full, visit):
    page = visit(full).open("map")
    expect(page.locator(".map-canvas[data-vertices]")).to_be_visible()
    tab_to(page, ".map-canvas")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".map-canvas")).to_have_attribute("data-active", _NUMBER)
    expect(page.locator("[role=status]", has_text="represents")).to_be_attached()
    page.keyboard.press("Enter")
    expect(
        page.locator("dialog[data-view=why] .chain, dialog[data-view=why] .quiet").first
    ).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".map-canvas")).to_be_focused()


def test_the_content_can_be_skipped_to(full, visit):
    page = visit(full).open("people")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_single_keys_can_be_switched_off(full, visit):
    page = visit(full).open("strangers")
    expect(page.locator(".card").first).to_be_visible()
    page.keyboard.press("?")
    tab_to(page, "#keys-on")
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    page.keyboard.press("j")
    expect(page.locator("[aria-pressed=true]")).to_have_count(0)
    assert page.evaluate("document.activeElement.closest('.card') === null")
