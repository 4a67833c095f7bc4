"""Who was where: sightings with their faces in Events, and a face found again from a photo."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from helpers.browsing import checked, loaded, open_person
from helpers.services import API, encoded
from helpers.waiting import eventually

SHOTS = os.environ.get("SHOTS")


def shot(page, name):
    """For people to look at: SHOTS=DIR writes pictures of what is tested."""
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png")


def photo(pixels, name="photo.png"):
    return {"name": name, "mimeType": "image/png", "buffer": encoded(pixels)}


ANSWERED = re.compile("^(Yes|No)")
PHONE = {"width": 390, "height": 800}
LOOKS = pytest.mark.parametrize(
    ("theme", "width"), [("light", 1200), ("dark", 390)], ids=["light", "dark-390"]
)


@LOOKS
def test_sightings_have_faces_that_open(full, visit, theme, width):
    tab = visit(
        full,
        color_scheme=theme,
        reduced_motion="reduce",
        viewport={"width": width, "height": 800},
    )
    page = tab.open("events")
    rows = page.locator("tbody tr")
    expect(rows.first).to_be_visible()
    eventually(lambda: loaded(page.locator("tbody img")))
    named = rows.filter(has_text="Anastasia").first
    shot(page, f"events-{theme}")
    checked(page, "events")
    named.locator(".face-button").focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog[data-view=sighting]")
    expect(dialog).to_contain_text("Anastasia")
    expect(dialog).to_contain_text("door")
    eventually(lambda: loaded(dialog.locator("img")))
    shot(page, f"sighting-{theme}")
    checked(page, "sighting")
    dialog.locator("[data-all]").click()
    expect(dialog).to_have_count(0)
    expect(page.locator("#events-name")).to_have_value("=Anastasia")
    expect(rows.filter(has_not_text="Anastasia")).to_have_count(0)
    page.locator("#events-name").select_option(label="strangers")
    expect(rows.first).to_contain_text("Stranger")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@LOOKS
def test_a_photo_is_found_among_those_who_were_here(full, visit, reel, theme, width):
    tab = visit(
        full,
        color_scheme=theme,
        reduced_motion="reduce",
        viewport={"width": width, "height": 800},
        forgiven=["422 (Unprocessable"],
    )
    page = tab.open("events")
    page.locator("[data-find]").focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog[data-view=find]")
    expect(dialog.locator("#find-photo")).to_be_focused()
    checked(page, "find, empty")
    dialog.locator("#find-photo").set_input_files(photo(reel[0][9]))
    first = dialog.locator(".find-list li").first
    expect(first).to_contain_text("Anastasia")
    expect(first).to_contain_text("door")
    eventually(lambda: loaded(dialog.locator("img")))
    shot(page, f"find-{theme}")
    checked(page, "find, found")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    # Two faces: which one?
    wide = np.hstack([reel[0][9], reel[3][9]])
    dialog.locator("#find-photo").set_input_files(photo(wide))
    expect(dialog.locator(".find-said")).to_contain_text("There are 2 faces")
    expect(dialog.locator("[data-face='1']")).to_be_focused()
    shot(page, f"which-{theme}")
    checked(page, "find, which")
    page.keyboard.press("Enter")
    expect(dialog.locator(".find-said")).to_have_text(ANSWERED)

    # No face: one line.
    dialog.locator("#find-photo").set_input_files(photo(wide[:40, :40]))
    expect(dialog.get_by_role("alert")).to_contain_text("there is no face in the picture")
    checked(page, "find, none")
    dialog.locator("#find-photo").set_input_files(photo(reel[0][9]))
    first.get_by_role("button", name="All sightings of Anastasia").click()
    expect(page.locator("#events-name")).to_have_value("=Anastasia")


def test_every_change_can_be_undone_from_events_after_a_reload(own, visit):
    tab = visit(own, color_scheme="dark", reduced_motion="reduce", viewport=PHONE)
    page = tab.open("people")
    person = person_of(tab, "Anastasia")
    tab.posted("/people/merge", person=person["id"], into=person_of(tab, "Benedict")["id"])
    tab.open("events")
    page.reload()
    tab.ready()
    page.locator("[data-list=events]").click()
    newest = page.locator("[data-undo]").first
    expect(newest).to_be_visible()
    box = page.locator(".table-box")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    shot(page, "changes")
    checked(page, "changes")
    newest.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog[data-view=undo]")
    expect(dialog).to_contain_text("Anastasia is known again")
    expect(dialog).to_contain_text("4 labeled faces of Benedict lose their label")
    expect(dialog).to_contain_text("4 faces are labeled Anastasia again")
    expect(dialog.locator("[data-agree]")).to_be_focused()
    shot(page, "undo")
    checked(page, "undo")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Back to event")
    assert person_of(tab, "Anastasia")["labeled"] == person["labeled"]

    # Forget: what goes, what stays; afterwards nothing before can be undone.
    open_person(tab, "Anastasia")
    page.get_by_role("button", name="Forget").click()
    dialog = page.get_by_role("dialog", name="Forget Anastasia?")
    expect(dialog.locator("[data-goes]")).to_contain_text("labeled faces")
    expect(dialog.locator("[data-stays]")).to_contain_text("2 other people")
    shot(page, "forget")
    checked(page, "forget")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    dialog.locator(".danger").click()
    expect(page.get_by_role("dialog", name="Anastasia is forgotten")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".view-people h1")).to_be_visible()
    tab.go("events")
    page.locator("[data-list=events]").click()
    expect(page.locator("tbody tr").first).to_contain_text("cannot be undone")
    expect(page.locator("[data-undo]")).to_have_count(0)


def test_a_click_in_events_is_not_lost_while_the_list_is_updated(own, visit):
    """Every update made all rows anew: one while the mouse was pressed lost the click."""
    tab = visit(own)
    page = tab.open("events")
    page.locator("[data-list=events]").click()
    row = page.locator("[data-list=events] tbody tr").first
    expect(row).to_be_visible()
    newest = row.locator("td").first.inner_text()
    row.evaluate("row => { row.marked = true }")
    card = tab.fetched("/strangers")[0]["card"]
    tab.posted(f"/strangers/{card}/name", name="Dorothea")
    expect(row.locator("td").first).not_to_have_text(newest)
    same = page.locator("tbody tr").filter(has=page.locator(f"td:text-is('{newest}')")).first
    assert same.evaluate("row => row.marked === true")


def person_of(tab, name):
    return next(one for one in tab.fetched("/people") if one["name"] == name)


def test_undo_is_not_offered_from_before_a_forgetting_that_health_has_not_seen(own, visit):
    """Health is as of the last check, a second ago; the list was drawn with it, and stayed so."""
    tab = visit(own)
    page = tab.open("people")
    late, person = tab.fetched("/health"), person_of(tab, "Anastasia")
    assert page.request.delete(f"{own.address}{API}/people/{person['id']}").ok
    requests = []

    def answer(route):
        requests.append(route)
        if len(requests) <= 3:
            route.fulfill(json=late)
        else:
            route.continue_()

    tab.go("events")
    page.route("**/health", answer)
    page.locator("[data-list=events]").click()
    expect(page.locator("tbody tr").first).to_contain_text("cannot be undone")
    expect(page.locator("[data-undo]")).to_have_count(0)
    assert len(requests) > 3
