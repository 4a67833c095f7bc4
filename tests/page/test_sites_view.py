"""The sites of a cluster: their numbers and problems, on every screen and in both languages."""

import pytest
from playwright.sync_api import expect

from helpers.browsing import checked, running
from helpers.waiting import eventually
from onlooker.web.routes.sites import SiteRow

SITES = [
    SiteRow("north", "well", 2, 340, 8, 91_000, 5021),
    SiteRow(
        *("south", "degraded", 1, 12, 3, 40, 77),
        problem="camera gate is failing: cannot open rtsp://10.0.0.5/...: Connection refused",
    ),
    SiteRow("west", "missing", 1, None, None, None, None, problem="no answer within 10 s"),
]
BEYOND = """() => [...document.querySelectorAll("nav li, .table-box *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5 && !one.closest("thead"))
  .map((one) => one.textContent)"""
"""Parts of the navigation and of the table that the right edge of the screen cuts."""


@pytest.fixture
def sites(tmp_path):
    with running(tmp_path / "home", list_sites=lambda: SITES) as service:
        yield service


@pytest.mark.parametrize(
    ("width", "theme", "locale", "words"),
    [
        (390, "dark", "de-DE", "Kamera gate ist gestört: rtsp://10.0.0.5/... lässt sich nicht"),
        (1280, "light", "en-GB", "camera gate is failing: cannot open rtsp://10.0.0.5/..."),
    ],
)
def test_sites_were_cut_off_and_not_marked_and_in_english(
    sites, visit, width, theme, locale, words
):
    size = {"width": width, "height": 844}
    tab = visit(sites, viewport=size, color_scheme=theme, locale=locale)
    page = tab.open("sites")
    link = page.locator("nav [data-to=sites]")
    expect(link).to_have_attribute("aria-current", "page")  # it is offered after the view
    expect(page.locator("tbody tr")).to_have_count(len(SITES))
    expect(page.locator("tbody")).to_contain_text(words)
    eventually(lambda: page.evaluate(BEYOND) == [])
    checked(page, "sites")
    tab.go("people")
    expect(link).not_to_have_attribute("aria-current", "page")
    eventually(lambda: page.evaluate(BEYOND) == [])
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".view-sites h1")).to_be_focused()


def test_a_site_that_never_answered_was_said_to_know_nobody(sites, visit):
    page = visit(sites).open("sites")
    west = page.locator("tbody tr", has_text="west")
    expect(west.locator("td.number")).to_have_text(["1", "–", "–", "–", "–"])
    expect(west).to_contain_text("no answer within 10 s")
