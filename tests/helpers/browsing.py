"""A real browser for the tests of the page: Debian's chromium, led by playwright."""

import os
import re
import shutil
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from helpers.running import serving
from helpers.services import API, encoded, service_in
from helpers.waiting import DEADLINE, eventually
from onlooker.web.app import create_app
from onlooker.web.auth import Guard, Token, TokenChecker

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",  # as root, in a container, there is none
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 1000 * DEADLINE
"""Milliseconds after which what should be there counts as missing."""
LOCAL = ("blob:", "data:")
"""Addresses of what the browser holds itself."""
MANY = re.compile(r"[1-9]\d+")
"""Ten or more."""
REPLACED = re.compile(
    r"404 .*/(strangers/\d+/faces/\w+|faces/\d+/picture|seen/.*/picture|faces\?person=\w+)\)$"
)
"""A picture, or a name, may be gone between being told and being asked for."""
VIEWS = ("live", "strangers", "people", "map", "events", "health", "add")

expect.set_options(timeout=PATIENCE)


def chromium():
    """Where the browser is."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        words = "chromium is not here; install it: apt install chromium"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(words)
    return found


def write_film(path, scenes, *, often=2):
    """A video for the webcam, which shows it again and again at thirty pictures a second."""
    path.write_bytes(b"".join(encoded(pixels, ".jpg") * often for pixels in scenes))
    return path


@contextmanager
def browsing(*more):
    """The browser; `more` goes to its command line."""
    program = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=[*QUIET, *more], timeout=PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def running(folder, open_service=service_in):
    """The service in a folder, on a free port."""
    with open_service(folder) as service:
        known, token = Token.in_folder(folder, new=True)
        app = create_app(service, guard=Guard(TokenChecker(known)))
        with serving(service, app) as address:
            yield SimpleNamespace(address=address, token=token, running=service, folder=folder)


def webcam(video):
    """For the command line: this video is what the computer's camera sees."""
    return (
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        f"--use-file-for-fake-video-capture={video}",
    )


class Tab:
    """A page of the browser, and everything it asked for and complained of."""

    def __init__(self, context, address, forgiven=()):
        self.context, self.address, self.forgiven = context, address, forgiven
        self.asked, self.complaints = [], []
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _said(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def open(self, view=""):
        """Go to a view, and wait until the page says that it is ready."""
        self.page.goto(f"{self.address}/{f'#/{view}' if view else ''}")
        self.ready()
        return self.page

    def ready(self):
        expect(self.page.locator("html[data-ready=yes]")).to_be_attached()

    def go(self, view):
        """As somebody who chooses it in the bar."""
        self.page.locator(f"[data-to={view}]").click()
        expect(self.page.locator(f".view-{view} h1")).to_be_attached()

    def fetched(self, path):
        """What the service says, asked with the rights of this browser."""
        return self.page.request.get(f"{self.address}{API}{path}", timeout=PATIENCE).json()

    def posted(self, path, **data):
        """What it says to a change."""
        answer = self.page.request.post(f"{self.address}{API}{path}", data=data, timeout=PATIENCE)
        assert answer.ok, answer.text()
        return answer.json()

    def check(self):
        """Nothing left this machine, and the browser had nothing to complain of."""
        ours = urlsplit(self.address).netloc
        away = [url for url in self.asked if not url.startswith(LOCAL) and _host(url) != ours]
        assert not away, away
        bad = [one for one in self.complaints if not any(word in one for word in self.forgiven)]
        bad = [one for one in bad if not REPLACED.search(one)]
        assert not bad, bad


def _host(url):
    return urlsplit(url).netloc


def sign_in(context, address, token):
    """The cookie, without the form."""
    answer = context.request.post(
        f"{address}{API}/session", data={"token": token}, timeout=PATIENCE
    )
    assert answer.status == 204, answer.text()


@contextmanager
def tab_of(browser, address, *, token=None, forgiven=(), **options):
    """A tab in a browser that remembers nothing; what it did is checked at the end."""
    context = browser.new_context(**options)
    try:
        if token is not None:
            sign_in(context, address, token)
        tab = Tab(context, address, forgiven)
        yield tab
        tab.check()
    finally:
        context.close()


def use_camera(page):
    """This computer's, from the first page."""
    page.get_by_role("button", name="Use the camera").click()


def ask_why(page, box=".box"):
    """Click a box until its dialog is open: boxes come and go, and may be gone before the click."""
    dialog = page.get_by_role("dialog")

    def asked():
        page.locator(box).first.dispatch_event("click")
        return dialog.count()

    eventually(asked)
    return dialog


def keep_message(page):
    """Messages disappear after a while, but not while the mouse is over them."""
    page.locator(".toast").hover()


def name_a_stranger(page, name):
    """Four faces of the first card that has so many."""
    card = page.locator(".card:has([data-face='3'])").first
    expect(card).to_be_visible()
    number = card.get_attribute("data-card")
    card = page.locator(f".card[data-card='{number}']")  # cards change places
    for face in range(4):
        card.locator(f"[data-face='{face}']").click()
    expect(card.locator(".chosen")).to_have_text("4 faces chosen")
    card.get_by_role("combobox", name="Name").fill(name)
    card.get_by_role("button", name="Name", exact=True).click()
    return number


def open_person(tab, name):
    """From the list of people to one of them."""
    tab.go("people")
    tab.page.get_by_role("link", name=f"Open {name}").click()
    expect(tab.page.get_by_role("heading", level=1, name=name)).to_be_visible()


def loaded(pictures):
    """Whether all of these pictures are there and can be seen."""
    seen = "all => all.length > 0 && all.every(one => one.complete && one.naturalWidth > 0)"
    return pictures.evaluate_all(seen)
