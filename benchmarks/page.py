"""The page in a real browser: live latency, time until it can be used, the map, a long-open page.

    scripts/bench page --json page.json                 # about twelve minutes
    scripts/bench page --minutes 1                      # a look

`onlooker serve` runs as a process of its own, with a home that is new. The browser is Debian's
chromium without a graphics card, on the same cores; its webcam shows a film of simulated people,
640 x 480. Latency is from taking a frame in the browser to its boxes, as the page itself measures
it over its last 300 frames; beside it stands the detector alone on the same pictures, in this
process, before the service is busy. The map is handed 500 vertices that are made up, and is
dragged about while its pictures are counted. Of the long-open page the JavaScript heap is read
after a forced collection: when the warm-up ends and every minute from then on. What a browser
compiles is part of that heap and grows for most of an hour, until it has compiled all that is worth
it; so the first and the last are also told apart into code and everything else. How much stream
time that was is reported, at twelve frames a second; an hour is 43,200 frames.
"""

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
from machine import machine, one_thread_each
from playwright.sync_api import Browser, Page, Route, sync_playwright
from rich.console import Console
from rich.progress import track
from rich.table import Table
from service import Served

from onlooker.simulation.scenarios import scenario
from onlooker.vision.finder import FaceFinder

FRAMES = 240
"""Of the film: eight people, thirty pictures each."""
RATE = 12
"""Frames per second that count as a second of stream time."""
LOADS = 7
VERTICES, LINKS, GROUPS = 500, 6, 10
MAP_SECONDS = 6.0
API = "/api/v1"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
)
READY = """
new MutationObserver(() => {
  const { dataset } = document.documentElement;
  if (dataset.ready && !dataset.usable) dataset.usable = performance.now().toFixed(1);
}).observe(document, { attributes: true, subtree: true, childList: true });
"""


def film() -> list[bytes]:
    """What the webcam sees, as JPEG."""
    scenes = (frame.pixels for frame, _ in scenario("V1", frames=FRAMES))
    return [cv2.imencode(".jpg", pixels)[1].tobytes() for pixels in scenes]


def percentiles(values: list[float]) -> dict[str, float]:
    """The middle and the slowest twentieth."""
    return {"p50": float(np.percentile(values, 50)), "p95": float(np.percentile(values, 95))}


def detection(jpegs: list[bytes]) -> dict[str, float]:
    """Milliseconds of the detector alone."""
    finder, took = FaceFinder(), []
    for jpeg in jpegs:
        pixels = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
        begun = time.perf_counter()
        finder.detect(pixels)
        took.append(1000 * (time.perf_counter() - begun))
    return percentiles(took)


def opened(browser: Browser, served: Served) -> Page:
    """A tab that may change things."""
    context = browser.new_context()
    answer = context.request.post(f"{served.address}{API}/session", data={"token": served.token})
    if answer.status != 204:
        raise SystemExit(f"the service did not let us in: {answer.status}")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.add_init_script(READY)
    page.goto(served.address)
    page.locator("html[data-usable]").wait_for(state="attached")
    return page


def usable(browser: Browser, served: Served) -> dict[str, float]:
    """Milliseconds from the first byte asked for until the page can be used, with nothing kept."""
    took = []
    for _ in range(LOADS):
        page = opened(browser, served)
        took.append(float(page.locator("html").get_attribute("data-usable") or "nan"))
        page.context.close()
    return {"median": median(took), "worst": max(took)}


def map_rate(browser: Browser, served: Served) -> dict[str, float]:
    """Pictures per second of a map of 500 vertices that settles and is dragged about."""
    rng = np.random.default_rng(0)
    group = rng.integers(GROUPS, size=VERTICES)
    vertices = [
        {
            "vertex": number,
            "name": f"person {group[number]}",
            "labeled": number < 4 * GROUPS,
            "examples": int(rng.integers(1, 40)),
            "picture": False,
        }
        for number in range(VERTICES)
    ]
    links = []
    for number in range(VERTICES):
        others = rng.permutation(np.flatnonzero(group == group[number]))[:LINKS].tolist()
        links += [[number, one, float(rng.uniform(0.2, 0.9))] for one in others if one > number]
    graph = {
        "sequence": 1,
        "kernel": {"bandwidth": 0.025, "cutoff": 1e-8},
        "vertices": vertices,
        "links": links,
    }

    def answer(route: Route) -> None:
        route.fulfill(json=graph, headers={"etag": '"1"'})

    page = opened(browser, served)
    page.route(f"**{API}/map", answer)
    page.goto(f"{served.address}/#/map")
    canvas = page.locator(f".map-canvas[data-vertices='{VERTICES}']")
    canvas.wait_for()
    box = canvas.bounding_box()
    if box is None:
        raise SystemExit("the map is not shown")
    x, y = box["x"] + box["width"] / 2, box["y"] + 10
    page.mouse.move(x, y)
    page.mouse.down()
    begun, first, turn = time.perf_counter(), painted(page), 0
    while time.perf_counter() - begun < MAP_SECONDS:
        turn += 1
        page.mouse.move(x + 30 * (turn % 5), y + 20 * (turn % 7))
    seconds, count = time.perf_counter() - begun, painted(page) - first
    page.mouse.up()
    page.context.close()
    return {"vertices": VERTICES, "links": len(links), "frames_per_second": count / seconds}


def painted(page: Page) -> int:
    """How often the map was drawn."""
    return int(page.locator(".map-canvas").get_attribute("data-painted") or 0)


def live(browser: Browser, served: Served, minutes: float, warm_up: float) -> dict[str, Any]:
    """A page that stays open on its camera: how late the boxes are, how large it becomes."""
    page = opened(browser, served)
    page.get_by_role("button", name="Use the camera").click()
    page.locator(".tile[data-frames]").wait_for()
    console = Console(stderr=True)
    for _ in track(range(max(1, round(60 * warm_up))), "warm-up", console=console):
        page.wait_for_timeout(1000)
    heaps, begun, first = [heap(page)], time.perf_counter(), frames(page)
    kinds = [by_kind(page)]
    for _ in track(range(max(1, round(minutes))), "live", console=console):
        page.wait_for_timeout(60_000)
        heaps.append(heap(page))
    kinds.append(by_kind(page))
    count, dataset = frames(page) - first, page.locator("html")
    seconds = time.perf_counter() - begun
    latency = {
        "p50": float(dataset.get_attribute("data-latency-p50") or "nan"),
        "p95": float(dataset.get_attribute("data-latency-p95") or "nan"),
    }
    page.context.close()
    return {
        "latency_ms": latency,
        "frames_per_second": count / seconds,
        "heap": {
            "kilobytes": [round(one / 1024) for one in heaps],
            "growth": heaps[-1] / heaps[0] - 1,
            "code_kilobytes": [round(one["code"] / 1024) for one in kinds],
            "other_kilobytes": [round(one["other"] / 1024) for one in kinds],
            "other_growth": kinds[-1]["other"] / kinds[0]["other"] - 1,
            "frames": count,
            "stream_minutes": count / RATE / 60,
            "minutes": seconds / 60,
        },
    }


def frames(page: Page) -> int:
    """How many the page has shown."""
    return int(page.locator(".tile").first.get_attribute("data-frames") or 0)


def heap(page: Page) -> float:
    """Bytes of JavaScript that are in use once the garbage is gone."""
    session = page.context.new_cdp_session(page)
    try:
        session.send("HeapProfiler.enable")
        session.send("HeapProfiler.collectGarbage")
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "JSHeapUsedSize"))
    finally:
        session.detach()


def by_kind(page: Page) -> dict[str, float]:
    """Bytes of that heap which are compiled code, and the others; without the browser's own."""
    chunks: list[str] = []
    session = page.context.new_cdp_session(page)
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda event: chunks.append(event["chunk"]))
    try:
        session.send("HeapProfiler.enable")
        session.send("HeapProfiler.collectGarbage")
        session.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    finally:
        session.detach()
    snapshot = json.loads("".join(chunks))
    meta = snapshot["snapshot"]["meta"]
    fields, kinds = meta["node_fields"], meta["node_types"][0]
    nodes = np.array(snapshot["nodes"]).reshape(-1, len(fields))
    kind, size = nodes[:, fields.index("type")], nodes[:, fields.index("self_size")]
    code, native = kind == kinds.index("code"), kind == kinds.index("native")
    return {"code": float(size[code].sum()), "other": float(size[~code & ~native].sum())}


def measure(minutes: float, warm_up: float) -> dict[str, Any]:
    """Everything, once."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise SystemExit("chromium is not here; install it: apt install chromium")
    jpegs = film()
    result: dict[str, Any] = {"detection_ms": detection(jpegs)}
    with TemporaryDirectory() as folder:
        video = Path(folder) / "webcam.mjpeg"
        video.write_bytes(b"".join(jpeg * 2 for jpeg in jpegs))
        served = Served(Path(folder), [])
        try:
            with sync_playwright() as playwright:
                flags = [*FLAGS, f"--use-file-for-fake-video-capture={video}"]
                browser = playwright.chromium.launch(executable_path=program, args=flags)
                result["usable_ms"] = usable(browser, served)
                result["map"] = map_rate(browser, served)
                result |= live(browser, served, minutes, warm_up)
                result["chromium"] = browser.version
                browser.close()
        finally:
            served.close()
    return result | {"machine": machine()}


def report(result: dict[str, Any]) -> None:
    """A table for people."""
    table = Table("what", "figure")
    latency, alone, memory = result["latency_ms"], result["detection_ms"], result["heap"]
    table.add_row("camera to box, p50 / p95", f"{latency['p50']:.0f} / {latency['p95']:.0f} ms")
    table.add_row("detection alone, p50 / p95", f"{alone['p50']:.0f} / {alone['p95']:.0f} ms")
    table.add_row("frames per second", f"{result['frames_per_second']:.1f}")
    ready = result["usable_ms"]
    table.add_row("usable, median / worst", f"{ready['median']:.0f} / {ready['worst']:.0f} ms")
    rate = result["map"]
    table.add_row(f"map of {rate['vertices']}", f"{rate['frames_per_second']:.0f} frames/s")
    table.add_row(
        f"heap after {memory['frames']} frames ({memory['stream_minutes']:.0f} min of stream)",
        f"{memory['kilobytes'][0]} -> {memory['kilobytes'][-1]} KB ({memory['growth']:+.1%})",
    )
    for kind in ("code", "other"):
        first, last = memory[f"{kind}_kilobytes"]
        table.add_row(f"  of it {kind}", f"{first} -> {last} KB ({last / first - 1:+.1%})")
    Console().print(table)


def main() -> None:
    """Read the command line, measure, report."""
    one_thread_each()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--minutes", type=float, default=10, help="of the long-open page")
    parser.add_argument("--warm-up", type=float, default=1, help="minutes before the first heap")
    options = parser.parse_args()
    result = measure(options.minutes, options.warm_up)
    report(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
