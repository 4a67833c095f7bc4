"""A server that goes away and comes back, with the same store or with another."""

import re
import socket
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import httpx2
from playwright.sync_api import expect

from helpers.browsing import MANY, name_a_stranger, use_camera
from helpers.killing import environment
from helpers.services import API
from helpers.waiting import eventually

MAIN = (sys.executable, "-c", "from onlooker.cli import main; main()")
FORGIVEN = ("ERR_CONNECTION", "WebSocket", "net::", "EventSource", "ERR_INCOMPLETE", "401", "503")


@contextmanager
def process(folder, port):
    """`onlooker serve`, killed at the end as if by accident; its token if it is new."""
    folder.parent.mkdir(exist_ok=True)
    said = folder.parent / "said.txt"
    with said.open("w") as stream:
        child = subprocess.Popen(
            [*MAIN, "serve", "--home", str(folder), "--port", str(port)],
            stderr=stream,
            cwd=folder.parent,
            env={**environment(), "XDG_CONFIG_HOME": str(folder.parent)},
        )
    address = f"http://127.0.0.1:{port}"

    def answers():
        assert child.poll() is None, said.read_text()
        try:
            return httpx2.get(f"{address}{API}/session").status_code == 200
        except httpx2.TransportError:
            return False

    try:
        eventually(answers, 60)
        token = re.search(r"shown this once: (\S+)", said.read_text())
        yield SimpleNamespace(address=address, token=token and token[1])
    finally:
        child.kill()
        child.wait(20)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as any_port:
        return any_port.getsockname()[1]


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
        eventually(lambda: int(tile.get_attribute("data-frames") or 0) > before + 3, 40)
        tab.go("strangers")
        name_a_stranger(page, "Dorothea")  # and what changes something is still permitted
        expect(page.locator(".toast")).to_contain_text("Dorothea was taught")
        assert page.evaluate("window.still")  # it healed without being loaded again
        tab.page.goto("about:blank")


def test_another_store_behind_the_address_is_another_page(tmp_path, visit):
    port = free_port()
    with process(tmp_path / "one" / "home", port) as first:
        tab = visit(first, forgiven=FORGIVEN)
        page = tab.open("health")
        store = page.locator("html").get_attribute("data-store")
        page.evaluate("window.still = true")
    expect(page.locator(".banner")).to_be_visible()
    with process(tmp_path / "two" / "home", port):
        expect(page.locator("html")).not_to_have_attribute("data-store", store)
        tab.ready()
        assert not page.evaluate("window.still")
        expect(page.locator(".banner")).to_be_hidden()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()  # another token, too
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
