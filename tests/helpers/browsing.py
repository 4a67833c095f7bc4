"""A real browser for the tests of the page: Debian's chromium, driven by playwright."""

import os
import re
import shutil
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from helpers.running import serving
from helpers.services import API, encoded, service_in, token_of
from helpers.waiting import DEADLINE, eventually
from onlooker.web.app import create_app
from onlooker.web.auth import Guard
from onlooker.web.credentials import Credentials

AXE = Axe()
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
"""DEADLINE in milliseconds, the unit of playwright."""
LOCAL = ("blob:", "data:")
"""Schemes of data that the browser holds itself."""
MANY = re.compile(r"[1-9]\d+")
"""A number of ten or more."""
REPLACED = re.compile(
    r"404 .*/(strangers/\d+/faces/\w+|faces/\d+/picture|seen/.*/picture|faces\?person=\w+)\)$"
)
"""Errors that are expected: a picture or a name may be removed before the page requests it."""
VIEWS = ("live", "strangers", "people", "map", "audit", "events", "health", "add")

expect.set_options(timeout=PATIENCE)


def chromium():
    """The path of the browser."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        message = "chromium is not installed; install it: apt install chromium"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return found


def write_film(path, scenes, *, often=2):
    """A video for the simulated webcam, which repeats it at 30 frames per second."""
    path.write_bytes(b"".join(encoded(pixels, ".jpg") * often for pixels in scenes))
    return path


@contextmanager
def browsing(*more):
    """The browser, with `more` command-line arguments."""
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
def running(folder, open_service=service_in, **options):
    """The service of a home in `folder`, on a free port; options are those of its app."""
    with open_service(folder) as service:
        token = token_of(folder)
        app = create_app(service, guard=Guard(Credentials(folder)), **options)
        with serving(app) as address:
            yield SimpleNamespace(address=address, token=token, running=service, folder=folder)


def webcam(video):
    """Command-line arguments that make this video the picture of the computer's camera."""
    return (
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        f"--use-file-for-fake-video-capture={video}",
    )


class Tab:
    """A page of the browser, the URLs it requested, and its errors and warnings."""

    def __init__(self, context, address, forgiven=()):
        self.context, self.address, self.forgiven = context, address, forgiven
        self.requested, self.complaints = [], []
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("websocket", lambda socket: self.requested.append(socket.url))
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
        """Click the view in the navigation."""
        self.page.locator(f"[data-to={view}]").click()
        expect(self.page.locator(f".view-{view} h1")).to_be_attached()

    def fetched(self, path):
        """The JSON of a GET request with the cookies of this browser."""
        return self.page.request.get(f"{self.address}{API}{path}", timeout=PATIENCE).json()

    def posted(self, path, **data):
        """The JSON of a successful POST request with the cookies of this browser."""
        answer = self.page.request.post(f"{self.address}{API}{path}", data=data, timeout=PATIENCE)
        assert answer.ok, answer.text()
        return answer.json()

    def check(self):
        """Check that every request went to this service and that no unexpected error came."""
        ours = urlsplit(self.address).netloc
        away = [url for url in self.requested if not url.startswith(LOCAL) and _host(url) != ours]
        assert not away, away
        bad = [one for one in self.complaints if not any(word in one for word in self.forgiven)]
        bad = [one for one in bad if not REPLACED.search(one)]
        assert not bad, bad


def _host(url):
    return urlsplit(url).netloc


def sign_in(context, address, token):
    """Get the session cookie without the form."""
    answer = context.request.post(
        f"{address}{API}/session", data={"token": token}, timeout=PATIENCE
    )
    assert answer.status == 204, answer.text()


@contextmanager
def tab_of(browser, address, *, token=None, forgiven=(), **options):
    """A tab in a new browser context, without cookies or storage; checked at the end."""
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
    """Start this computer's camera from the view that adds cameras."""
    page.get_by_role("button", name="Use the camera").click()


def ask_why(page, box=".box"):
    """Click a box until its dialog is open: boxes come and go, and may be gone before the click."""
    dialog = page.get_by_role("dialog")

    def opened():
        page.locator(box).first.dispatch_event("click")
        return dialog.count()

    eventually(opened)
    return dialog


def keep_message(page):
    """Messages disappear after a while, but not while the mouse is over them."""
    page.locator(".toast").hover()


def name_a_stranger(page, name):
    """Name four faces of the first card that has four; returns the number of the card."""
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
    """Open a person from the list of people."""
    tab.go("people")
    tab.page.get_by_role("link", name=f"Open {name}").click()
    expect(tab.page.get_by_role("heading", level=1, name=name)).to_be_visible()


def loaded(pictures):
    """Whether there are pictures and all of them are loaded."""
    seen = "all => all.length > 0 && all.every(one => one.complete && one.naturalWidth > 0)"
    return pictures.evaluate_all(seen)


def violations(page):
    """The violations that axe-core finds, each with its first elements."""
    found = AXE.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]


def settled(page):
    """Wait until no animation runs: half-faded text has too little contrast."""
    still = "document.getAnimations().every(one => one.playState !== 'running')"
    eventually(lambda: page.evaluate(still))


def checked(page, where):
    """Check that axe-core finds no violation."""
    settled(page)
    found = violations(page)
    assert not found, (where, found)
