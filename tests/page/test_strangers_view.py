"""Strangers: one card each, most seen first; ignored, shown again, expired while being named."""

import re
from datetime import timedelta

import numpy as np
import pytest
from playwright.sync_api import expect

from helpers.browsing import checked, loaded
from helpers.homes import png
from helpers.waiting import DEADLINE, eventually
from onlooker.core.similarity import squared_distances
from onlooker.home.retention import RetentionPolicy


def test_there_is_a_card_for_each_most_seen_first(full, visit):
    tab = visit(full)
    page = tab.open("strangers")
    strangers = tab.fetched("/strangers")
    expect(page.locator(".card")).to_have_count(len(strangers))
    assert len(strangers) >= 5  # as many as there are people without a name
    counts = page.locator(".card-count").evaluate_all(
        "all => all.map(one => +one.textContent.match(/\\d+/)[0])"
    )
    assert counts == sorted(counts, reverse=True)
    eventually(lambda: loaded(page.locator(".card").first.locator("img")))
    expect(page.locator(".badge")).to_have_text(str(len(strangers)))


def test_who_is_ignored_is_hidden_and_can_be_shown_again(own, visit):
    page = visit(own).open("strangers")
    cards = page.locator(".card")
    expect(cards.first).to_be_visible()
    count, number = cards.count(), cards.first.get_attribute("data-card")
    card = page.locator(f".card[data-card='{number}']")
    card.get_by_role("button", name="Ignore").click()
    expect(cards).to_have_count(count - 1)
    page.get_by_label("Show ignored strangers").check()
    expect(card).to_be_visible()
    card.get_by_role("button", name="Show again").click()
    expect(page.locator(".empty")).to_be_visible()
    page.get_by_label("Show ignored strangers").uncheck()
    expect(cards).to_have_count(count)


def test_a_card_that_expires_while_being_named_says_so(own, visit):
    page = visit(own, forgiven=["404"]).open("strangers")
    card = page.locator(".card").first
    field = card.get_by_role("combobox", name="Name")
    field.fill("Dorothea")
    expire(own.running)
    expect(card).to_contain_text("This card no longer exists")
    assert field.input_value() == "Dorothea"  # what was typed is still there to be read
    expect(card.get_by_role("button", name="Name", exact=True)).to_be_disabled()
    expect(page.locator(".card")).to_have_count(1)
    card.get_by_role("button", name="Remove this card").click()
    expect(page.locator(".card")).to_have_count(0)
    expect(page.locator(".empty")).to_contain_text("No strangers.")


def test_a_card_that_expires_in_the_moment_of_naming_says_so(own, visit):
    page = visit(own, forgiven=["404"]).open("strangers")
    card = page.locator(".card").first
    card.get_by_role("combobox", name="Name").fill("Dorothea")

    def late(route):
        expire(own.running)
        route.continue_()

    page.route("**/strangers/*/name", late)
    card.get_by_role("button", name="Name", exact=True).click()
    expect(card).to_contain_text("This card no longer exists")


def expire(service):
    """Expire all strangers, as if their retention time had passed."""
    hours = timedelta(hours=RetentionPolicy().stranger_hours + 1).total_seconds()

    def act(home):
        return service.people.expire(home.trusted_clock() + hours)

    assert service.home_thread.submit(act).result(DEADLINE) > 0


@pytest.mark.parametrize("view", ["live", "strangers", "people", "map", "events"])
def test_where_there_is_nothing_the_page_says_why(empty, visit, view):
    page = visit(empty).open(view)
    # "Comparing the faces…" may come first: shorter than any reason.
    expect(page.locator(".empty:visible").first).to_have_text(re.compile(".{31,}"))


def test_several_cards_get_one_name_by_keyboard_alone(own, visit):
    tab = visit(
        own,
        color_scheme="dark",
        reduced_motion="reduce",
        viewport={"width": 390, "height": 844},
    )
    page = tab.open("strangers")
    boxes = page.locator("[data-choose]")
    expect(boxes.nth(2)).to_be_visible()
    before = sorted(row["card"] for row in tab.fetched("/strangers"))
    numbers = [int(boxes.nth(at).get_attribute("data-choose")) for at in (0, 1)]
    for number in numbers:
        page.locator(f"[data-choose='{number}']").focus()
        page.keyboard.press("Space")
    several = page.get_by_role("region", name="The chosen strangers")
    expect(several).to_contain_text("2 strangers chosen")
    checked(page, "chosen strangers")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    several.locator("input").focus()
    page.keyboard.type("Dora")
    page.keyboard.press("Enter")
    expect(several).to_be_hidden()
    eventually(lambda: not {row["card"] for row in tab.fetched("/strangers")} & {*numbers})
    page.get_by_role("button", name="Undo").click()
    eventually(lambda: sorted(row["card"] for row in tab.fetched("/strangers")) == before)
    tab.check()


def a_little_too_far(service, first, second):
    """The first two cards, of which nearly one would have been made: their numbers."""
    kernel = service.home_thread.submit(lambda home: home.learner.kernel).result(DEADLINE)
    between = first + np.linspace(0.0, 1.0, 401)[:, None] * (second - first)
    gaps = np.sqrt(squared_distances(kernel.distance, first, between)) / kernel.reach
    faces = first, between[np.abs(gaps - 1.1).argmin()]

    def act(_):
        return [
            service.people.book.observe(vector, camera="door", frame=at, picture=png(at))
            for at, vector in enumerate(faces)
        ]

    return service.home_thread.submit(act).result(DEADLINE)


def test_two_cards_that_may_be_one_person_are_joined_with_one_click_and_split_by_undo(empty, visit):
    service, rng = empty.running, np.random.default_rng(3)
    one, two = a_little_too_far(service, *rng.uniform(0.2, 0.8, (2, 9216)))
    tab = visit(empty)
    page = tab.open("strangers")
    same = page.locator(".card-same:visible")
    expect(same).to_have_count(1)  # a pair is asked about once
    expect(same).to_contain_text("Same person as")
    expect(same).to_contain_text("1.10 times as far apart")
    expect(same.locator("img")).to_have_count(2)
    eventually(lambda: loaded(same.locator("img")))
    checked(page, "cards that may be one person")
    same.get_by_role("button", name="The same").click()
    expect(page.locator(".card")).to_have_count(1)
    assert [card["card"] for card in tab.fetched("/strangers")] == [one]
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".card")).to_have_count(2)
    assert sorted(card["card"] for card in tab.fetched("/strangers")) == [one, two]
    expect(same).to_have_count(1)
