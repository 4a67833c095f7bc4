"""The size of the whole page in bytes: all modules are loaded at once."""

import pytest
from playwright.sync_api import expect

from helpers.browsing import VIEWS

LIMIT = 300_000
"""Bytes of page, scripts, styles and icons; pictures of faces are not counted."""


@pytest.mark.parametrize("language", ["en-GB", "de-DE"])
def test_the_page_is_light(full, visit, language):
    tab = visit(full, locale=language)
    weights = {}

    def weigh(response):
        if not response.url.startswith(f"{full.address}/api/"):
            weights[response.url] = len(response.body())

    tab.page.on("requestfinished", lambda request: weigh(request.response()))
    page = tab.open()
    for view in VIEWS:
        tab.go(view)
    expect(page.locator("h1")).to_be_visible()
    assert len(weights) > 10
    assert sum(weights.values()) < LIMIT, weights
