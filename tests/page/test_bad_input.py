"""Unusual input: no camera, two tabs, names with markup, many people and events, wrong clocks."""

import os
import re
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from playwright.sync_api import expect

from helpers.browsing import MANY, browsing, checked, running, tab_of, use_camera
from helpers.homes import LENGTH, small_learner
from helpers.services import FINDER
from helpers.waiting import DEADLINE, eventually
from onlooker.home.home import Home
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.web.frames import LiveRecognizer
from onlooker.web.service import Service

MARKUP = '<img src=x onerror=alert(1)> & <b>"Zoë"</b>'
DAY = 86400
PEOPLE, EVENTS = 200, 10_000
RECENTLY = re.compile(r"last (just now|\d+ (sec|min))")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--use-fake-device-for-media-stream"], "Access to the camera was denied"),
        (
            [
                "--use-fake-ui-for-media-stream",
                "--use-fake-device-for-media-stream=device-count=0",
            ],
            "No camera was found",
        ),
    ],
    ids=["refused", "none"],
)
def test_without_a_camera_the_page_says_what_to_do(empty, video, flags, words):
    with (
        browsing(*flags) as another,
        tab_of(another, empty.address, token=empty.token) as tab,
    ):
        page = tab.open()
        use_camera(page)
        expect(page.locator("[data-choice=camera] .error")).to_contain_text(words)
        expect(page.get_by_role("button", name="Use the camera")).to_be_enabled()


CUT = """() => [...document.querySelectorAll("#health-cameras + .table-box *")].filter((one) =>
    one.textContent && !one.closest("thead") && one.getBoundingClientRect().right > innerWidth)
    .map((one) => one.textContent)"""
"""The texts of the camera table that the right edge of the screen cuts."""


def test_a_camera_that_never_connected_is_failing_on_every_view(empty, visit, tmp_path):
    """Health said "No problems", and the message that the camera was being watched."""
    tab = visit(empty, viewport={"width": 390, "height": 844})
    page = tab.open("add")
    page.get_by_label("Address").fill("rtsp://127.0.0.1:9/none")
    page.get_by_label("Name (optional)").fill("door")
    page.get_by_role("button", name="Add this camera").click()
    expect(page.locator(".toast")).to_contain_text("failing: cannot open")
    tile = page.locator(".tile[data-camera=door]")
    expect(tile).to_have_attribute("data-state", "failing")
    expect(tile).to_contain_text("failing since")
    expect(tile.locator(".tile-note")).to_contain_text("Connection refused")
    tab.go("health")
    expect(page.locator(".health-state")).to_have_attribute("data-status", "degraded")
    expect(page.locator(".health-state")).to_contain_text("Camera door is failing: cannot open")
    row = page.locator("tr[data-camera=door]")
    expect(row).to_contain_text("failing since")
    expect(row).to_contain_text("never connected")
    assert page.evaluate(CUT) == []
    place = Path(os.environ.get("ONLOOKER_SCREENSHOTS", tmp_path))
    page.screenshot(path=place / "failing-health-phone.png", full_page=True)
    checked(page, "health")
    tab.go("events")
    page.get_by_role("button", name="What changed").click()
    expect(page.locator("tbody")).to_contain_text("the camera is failing: cannot open")


def test_a_bad_camera_was_refused_in_the_words_of_a_schema(empty, visit):
    """ "body.source: String should have at least 1 character", and a regular expression."""
    page = visit(empty, forgiven=["422"]).open("add")
    add = page.get_by_role("button", name="Add this camera")
    problem = page.locator("[data-choice=address] .error")
    add.click()
    expect(problem).to_have_text("Enter the address of the camera first.")
    expect(page.get_by_label("Address")).to_be_focused()
    page.get_by_label("Address").fill("rtsp://127.0.0.1:9/none")
    page.get_by_label("Name (optional)").fill("door (left)")
    add.click()
    expect(problem).to_contain_text("a camera's name has letters, digits, spaces")


def test_a_camera_that_shows_pictures_was_said_to_be_connecting(full, visit):
    """The list of cameras is read every few seconds; a picture that comes is newer."""

    def not_yet(route):
        answer = route.fetch()
        cameras = [{**one, "state": "connecting"} for one in answer.json()]
        route.fulfill(response=answer, json=cameras)

    tab = visit(full)
    tab.page.route("**/api/v1/cameras", not_yet)
    page = tab.open("live")
    tile = page.locator(".tile[data-camera=door]")
    expect(tile).to_have_attribute("data-frames", MANY)
    expect(tile).to_have_attribute("data-state", "live")
    expect(tile.locator(".tile-state")).to_have_text("")


def test_a_browser_camera_that_runs_was_said_to_have_sent_no_picture(empty, visit):
    """It is in the list of cameras with its first picture, and not before."""
    page = visit(empty).open("add")
    early = iter(range(2))

    def not_yet(route):
        if next(early, None) is None:
            route.continue_()
        else:
            route.fulfill(json=[])

    page.route("**/api/v1/cameras", not_yet)
    use_camera(page)
    expect(page.locator(".toast")).to_have_text("Camera this computer was added and is live.")


def test_two_tabs_have_a_camera_each_and_tell_the_same(own, visit):
    tabs = visit(own), visit(own)
    for tab in tabs:
        use_camera(tab.open("add"))
        expect(tab.page.locator(".tile").first).to_have_attribute("data-frames", MANY)
    first, second = (tab.page for tab in tabs)
    for name in ("this computer", "this computer 2"):
        for page in (first, second):
            expect(page.locator(f".tile[data-camera='{name}'] .picture")).to_be_visible()
    tabs[0].go("people")
    tabs[1].go("strangers")
    expect(second.locator(".card").first).to_be_visible()
    card = second.locator(".card").first
    card.get_by_role("combobox", name="Name").fill("Dorothea")
    card.get_by_role("button", name="Name", exact=True).click()
    expect(first.get_by_role("link", name="Open Dorothea")).to_be_visible()


def test_a_name_that_is_markup_is_text_everywhere(own, visit):
    tab = visit(own)
    page = tab.open("strangers")
    alerts = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    card = page.locator(".card").first
    card.get_by_role("combobox", name="Name").fill(MARKUP)
    card.get_by_role("button", name="Name", exact=True).click()
    expect(page.locator(".toast")).to_contain_text(MARKUP)
    tab.go("people")
    expect(page.locator(".people")).to_contain_text(MARKUP)
    page.get_by_role("link", name=f"Open {MARKUP}").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
    page.locator(".face-button").first.click()
    expect(page.get_by_role("dialog").get_by_role("heading", level=2)).to_have_text(
        f"Why {MARKUP}?"
    )
    page.keyboard.press("Escape")
    for view in ("live", "strangers", "map", "events", "health"):
        tab.go(view)
        expect(page.locator("h1")).to_be_visible()
    tab.go("map")
    page.locator(".map-table summary").click()
    expect(page.locator(".map-table tbody")).to_contain_text(MARKUP)
    assert page.locator("img[src=x], b").count() == 0
    assert alerts == []


def test_two_hundred_people(empty, visit):
    rng = np.random.default_rng(0)

    def act(home):
        for number in range(PEOPLE):
            vector = rng.uniform(0.2, 0.8, 96 * 96).astype(np.float32)
            home.teach(vector, f"person {number:03d}")

    empty.running.home_thread.submit(act).result(DEADLINE)
    tab = visit(empty)
    page = tab.open("people")
    expect(page.locator(".person")).to_have_count(PEOPLE)
    page.get_by_label("Filter by name").fill("person 19")
    expect(page.locator(".person")).to_have_count(10)
    page.get_by_role("link", name="Open person 199").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("person 199")
    tab.go("map")
    expect(page.locator(".map-canvas")).to_have_attribute("data-vertices", str(PEOPLE))
    tab.go("strangers")
    expect(page.locator("#known-names option")).to_have_count(PEOPLE)


def simple_service(folder, **options):
    """A service with a home of short vectors, which stores 10,000 events in seconds."""
    short = SimpleNamespace(tag=small_learner().features)
    parts = FinderParts(FINDER.detect, short, FINDER.judge)
    recognizer = LiveRecognizer(FaceFinder(parts=parts))
    return Service(
        lambda: Home(folder, new_learner=small_learner),
        lambda home: StrangerBook(home),
        recognizer,
        **options,
    )


@pytest.mark.slow
def test_ten_thousand_events_come_a_page_at_a_time(tmp_path, visit):
    def act(home):
        home.teach(np.ones(LENGTH), "Dorothea")
        for number in range(EVENTS - 1):
            home.observe(np.ones(LENGTH), camera="door", frame=number)
        return home.sequence

    with running(tmp_path / "home", simple_service) as service:
        assert service.running.home_thread.submit(act).result(4 * DEADLINE) == EVENTS
        page = visit(service).open("events")
        page.get_by_role("button", name="What changed").click()
        rows = page.locator("tbody tr")
        expect(rows.first.locator("td").first).to_have_text(str(EVENTS))
        expect(rows).to_have_count(50)
        page.get_by_role("button", name="Older").click()
        expect(rows.first.locator("td").first).to_have_text(str(EVENTS - 50))
        expect(rows).to_have_count(50)
        page.get_by_role("button", name="Newest").click()
        expect(rows.first.locator("td").first).to_have_text(str(EVENTS))
        page.goto("about:blank")


@pytest.mark.parametrize("days", [-1, 1])
def test_a_clock_that_is_off_by_a_day_changes_nothing(full, visit, days):
    tab = visit(full)
    tab.context.clock.install(time=time.time() + days * DAY)
    tab.context.clock.resume()
    page = tab.open("strangers")
    expect(page.locator(".card").first).to_contain_text(RECENTLY)
    expect(page.locator(".cards")).not_to_contain_text("day")
    tab.go("health")
    as_of = page.locator(".view-tools")
    expect(as_of).to_contain_text("As of")

    def right():
        now = time.time()
        possible = {time.strftime("%H:%M", time.gmtime(now + by)) for by in (-60, 0, 60)}
        local = page.evaluate("new Date().getTimezoneOffset()")
        return local != 0 or any(one in as_of.inner_text() for one in possible)

    eventually(right)
