"""The page recovers by itself after the server stopped and started again."""

import shutil
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import httpx2
import pytest
from playwright.sync_api import expect

from helpers.browsing import MANY, loaded, name_a_stranger, open_person, use_camera
from helpers.killing import environment
from helpers.ports import free_port
from helpers.services import API, token_of
from helpers.waiting import DEADLINE, eventually

MAIN = (sys.executable, "-c", "from onlooker.cli import main; main()")
CAMERA = "door=simulated:V1"
FILES = "**/static/**"
PICTURES = "**/faces/*/picture"
FORGIVEN = ("ERR_CONNECTION", "WebSocket", "net::", "EventSource", "ERR_INCOMPLETE", "401", "503")

FILLED = {
    "strangers": ".card img",
    "people": ".person img",
    "map": ".map-canvas[data-vertices][data-painted]",
    "audit": "[data-person] [data-far] img",
    "events": "tbody tr",
    "health": ".health-state[data-status] h2",
    "sites": ".empty",  # there are none, which the page knows only from the service
    "add": "h1:has-text('Add a camera')",  # another heading than without any camera
    "live": ".tile[data-camera=door][data-frames]",
}
"""What a view shows only once the service has answered."""


@contextmanager
def process(folder, port, *sources):
    """`onlooker serve`, ended by SIGKILL, and its token."""
    folder.parent.mkdir(exist_ok=True)
    errors = folder.parent / "stderr.txt"
    with errors.open("w") as stream:
        child = subprocess.Popen(
            [*MAIN, "serve", *sources, "--home", str(folder), "--port", str(port)],
            stderr=stream,
            cwd=folder.parent,
            env={**environment(), "XDG_CONFIG_HOME": str(folder.parent)},
        )
    address = f"http://127.0.0.1:{port}"

    def answers():
        assert child.poll() is None, errors.read_text()
        try:
            return httpx2.get(f"{address}{API}/session").status_code == 200
        except httpx2.TransportError:
            return False

    try:
        eventually(answers)
        yield SimpleNamespace(address=address, token=token_of(folder))
    finally:
        child.kill()
        child.wait(DEADLINE)


def test_a_killed_server_heals(tmp_path, visit):
    folder, port = tmp_path / "here" / "home", free_port()
    with process(folder, port) as first:
        tab = visit(first, forgiven=FORGIVEN)
        page = tab.open()
        use_camera(page)
        tile = page.locator(".tile[data-camera='this computer']")
        expect(tile).to_have_attribute("data-frames", MANY)
        page.evaluate("window.still = true")
    banner = page.locator(".banner")
    expect(banner).to_contain_text("Not connected since")
    expect(banner.get_by_role("button", name="Try now")).to_be_visible()
    with process(folder, port):
        expect(banner).to_be_hidden()
        before = int(tile.get_attribute("data-frames") or 0)
        eventually(lambda: int(tile.get_attribute("data-frames") or 0) > before + 3)
        tab.go("strangers")
        name_a_stranger(page, "Dorothea")  # the tab is still signed in
        expect(page.locator(".toast")).to_contain_text("as Dorothea")
        assert page.evaluate("window.still")  # it healed without being loaded again
        tab.page.goto("about:blank")


def test_a_view_first_opened_while_the_service_is_away_fills_in_by_itself(taught, tmp_path, visit):
    folder, port, pages = tmp_path / "here" / "home", free_port(), {}
    shutil.copytree(taught, folder)
    with process(folder, port, CAMERA) as service:
        for view in FILLED:
            tab = visit(service, forgiven=FORGIVEN)
            page = pages[view] = tab.open("people" if view == "health" else "health")
            page.route(FILES, abort)  # nothing more of the page itself can be fetched from here on
            page.evaluate("window.still = true")
    for view, page in pages.items():
        page.evaluate("view => { location.hash = `#/${view}` }", view)
        expect(page.locator(f".view-{view} h1")).to_be_attached()
        expect(page.locator(".banner")).to_contain_text("Not connected since")
        expect(page.locator(f".view-{view} {FILLED[view]}").first).to_be_hidden()
    with process(folder, port, CAMERA):
        for view, page in pages.items():
            page.unroute(FILES)
            expect(page.locator(f".view-{view} {FILLED[view]}").first).to_be_visible()
            assert page.evaluate("window.still"), view  # it was not loaded again
            page.goto("about:blank")


def test_a_request_that_is_never_answered_is_made_again(full, visit):
    """A cut without a word: the list of people waited for ever, and the page looked well."""
    tab = visit(full)
    page = tab.open("health")
    page.clock.install()
    held = []
    page.route("**/api/v1/people", lambda route: held.append(route), times=1)
    tab.go("people")
    eventually(lambda: page.evaluate("1") and held)
    expect(page.locator(".person")).to_have_count(0)
    page.clock.run_for(90_000)
    expect(page.locator(".person").first).to_be_visible()
    tab.complaints.clear()


def test_a_person_opened_while_the_service_is_away_fills_in_by_itself(taught, tmp_path, visit):
    folder, port = tmp_path / "here" / "home", free_port()
    shutil.copytree(taught, folder)
    with process(folder, port) as service:
        page = visit(service, forgiven=FORGIVEN).open("people")
        name = "Anastasia"
        person = page.locator(".person", has_text=name)  # the list may be sorted anew meanwhile
        expect(person).to_be_visible()
    person.locator("a").click()
    expect(page.locator("h1")).to_have_text("Loading…")
    with process(folder, port):
        expect(page.locator("h1")).to_have_text(name)
        expect(page.locator(".face-button").first).to_be_visible()
        page.goto("about:blank")


def test_why_asked_while_the_service_is_away_is_answered_later(taught, tmp_path, visit):
    folder, port = tmp_path / "here" / "home", free_port()
    shutil.copytree(taught, folder)
    with process(folder, port) as service:
        tab = visit(service, forgiven=FORGIVEN)
        page = tab.open()
        open_person(tab, "Benedict")
        expect(page.locator("[data-faces=labeled] .face-button").first).to_be_visible()
    page.locator("[data-faces=labeled] .face-button").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The service does not answer")
    with process(folder, port):
        expect(dialog.get_by_role("heading", level=2)).to_have_text("Why Benedict?")
        page.goto("about:blank")


def test_pictures_that_failed_are_requested_again(taught, tmp_path, visit):
    folder, port = tmp_path / "here" / "home", free_port()
    shutil.copytree(taught, folder)
    with process(folder, port) as service:
        tabs = [visit(service, forgiven=FORGIVEN) for _ in range(2)]
        people, chart = (tab.page for tab in tabs)
        for tab, view in zip(tabs, ("people", "map"), strict=True):
            tab.page.route(PICTURES, abort)
            with tab.page.expect_event("requestfailed"):
                tab.open(view)
        expect(people.locator(".person img.broken").first).to_be_attached()
    for page in (people, chart):
        expect(page.locator(".banner")).to_be_visible()
        page.unroute(PICTURES)
    with (
        chart.expect_response(lambda answer: answer.url.endswith("/picture") and answer.ok),
        process(folder, port),
    ):
        eventually(lambda: loaded(people.locator(".person img")))
        expect(chart.locator(".banner")).to_be_hidden()
    for page in (people, chart):
        page.goto("about:blank")


@pytest.mark.parametrize("file", ["js/map.js", "js/strings.js", "texts/en.js", "css/map.css"])
def test_a_page_that_was_not_loaded_completely_reloads_by_itself(full, visit, file):
    """The first request for a file fails: it comes again only if the page is loaded again."""
    page = visit(full, forgiven=(*FORGIVEN, "dynamically imported module")).page
    requested = []

    def fail_once(route):
        requested.append(route.request.url)
        if len(requested) == 1:
            route.abort()
        else:
            route.continue_()

    page.route(f"**/static/{file}", fail_once)
    with page.expect_response(lambda answer: answer.url.endswith(file) and answer.ok):
        page.goto(full.address)
    expect(page.locator("html[data-ready=yes]")).to_be_attached()


def abort(route):
    """Fail a request as if the service did not answer."""
    route.abort()


def test_another_store_behind_the_address_is_another_page(tmp_path, visit):
    port = free_port()
    with process(tmp_path / "one" / "home", port) as first:
        tab = visit(first, forgiven=FORGIVEN)
        page = tab.open("health")
        store = page.locator("html").get_attribute("data-store")
        page.evaluate("window.still = true")
    expect(page.locator(".banner")).to_be_visible()
    with process(tmp_path / "two" / "home", port) as second:
        dialog = page.get_by_role("dialog", name="Sign in")  # another token, too
        expect(dialog).to_be_visible()
        dialog.locator("#token").fill(second.token)
        dialog.locator("#token").press("Enter")
        page.wait_for_function("() => !window.still")  # loaded again, before or after the dialog
        expect(dialog).to_be_hidden()
        expect(page.locator("html")).not_to_have_attribute("data-store", store)
        expect(page.locator(".banner")).to_be_hidden()
        tab.page.goto("about:blank")


def test_leaving_the_live_view_before_it_connected_is_no_warning(full, visit):
    page = visit(full).open()
    page.evaluate(
        """async () => {
            const tile = () => document.querySelector(".view-live .tile");
            for (let time = 0; time < 5; time += 1) {
                location.hash = "#/live";
                while (!tile()) await new Promise((done) => setTimeout(done));
                location.hash = "#/people"; // at once: its socket cannot be open yet
                while (tile()) await new Promise((done) => setTimeout(done));
            }
        }"""
    )
    expect(page.locator(".view-people h1")).to_be_attached()
