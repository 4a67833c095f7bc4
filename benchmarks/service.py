"""The whole service under load: fifty clients who read, ten who upload, two cameras, on loopback.

    scripts/bench service --json service.json                 # about seven minutes
    scripts/bench service --minutes 1 --warm-up 30            # a look

`onlooker serve` runs as a process of its own, with a home that is new; the cameras are a second
process, the clients a third. Times are what a client waits for the whole answer, of a stream for
its first piece. What the learner and the strangers may hold is bounded, and filling it is not
growth: the clients come when the learner is full. Memory is the resident set of the server, read
every five seconds; its growth is from the median of the first half minute after the warm-up to
that of the last half minute. An error, or more growth than the limit, is a failure.
"""

import argparse
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import httpx2
import numpy as np
import psutil
from machine import machine, one_thread_each
from rich.console import Console
from rich.progress import track
from rich.table import Table
from service_cameras import RATE, play, scenes_of
from service_clients import API, READERS, UPLOADERS, Plan, visit

from onlooker.experiments.datasets.simulated import simulated_dataset
from onlooker.vision.finder import FaceFinder
from onlooker.web.credentials import Token

EVERY = 5.0
"""Seconds between two looks at the memory."""
HALF_MINUTE = 6
LIMIT = 0.05
"""How much the memory may grow."""
BUDGET = 500
"""Of the learner, unless the service is told otherwise."""
LABELS = 4
"""Pictures of each person that are taught."""
MAIN = (sys.executable, "-c", "from onlooker.cli import main; main()")
SPAWN = multiprocessing.get_context("spawn")
SETTLE, CAPACITY = 3.0, 20.0
"""Seconds after a change of the load that are not counted, and seconds in which is counted what a
service manages."""


@contextmanager
def cameras(dataset: Path, rate: Any = None) -> Iterator[int]:
    """The port where the films play, at a rate that may be a `Value` that changes."""
    ours, theirs = SPAWN.Pipe()
    paced = SPAWN.Value("d", float(RATE)) if rate is None else rate
    process = SPAWN.Process(target=play, args=(dataset, theirs, paced), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def frames_in(frames: Callable[[], int], seconds: float) -> tuple[int, float]:
    """How many frames are recognized, in how many seconds, from a moment from now on."""
    time.sleep(SETTLE)
    begun, before = time.monotonic(), frames()
    time.sleep(seconds)
    return frames() - before, time.monotonic() - begun


def pace(rate: Any, frames: Callable[[], int], cameras: int, part: float) -> None:
    """Have the cameras send a part of the frames that the service manages when left alone.

    Beyond what it manages it drops frames whatever else happens, and a share of dropped frames
    says nothing about anything else.
    """
    while frames() < 5 * cameras:
        time.sleep(0.5)
    seen, took = frames_in(frames, CAPACITY)
    rate.value = max(0.2, part * seen / took / cameras)
    time.sleep(3 * SETTLE)  # what was under way at the higher rate


class Served:
    """`onlooker serve` in a folder, ended by SIGTERM."""

    def __init__(self, folder: Path, sources: list[str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as any_port:
            port = any_port.getsockname()[1]
        self.address, self._said = f"http://127.0.0.1:{port}", folder / "said.txt"
        settings = {key: v for key, v in os.environ.items() if not key.startswith("ONLOOKER_")}
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                [*MAIN, "serve", *sources, "--home", str(folder / "home"), "--port", str(port)],
                stderr=said,
                env={**settings, "XDG_CONFIG_HOME": str(folder)},
                cwd=folder,
            )
        self.token = self._token(folder / "home")

    def _token(self, home: Path) -> str:
        for _ in range(1800):
            if "to use the page" in self._said.read_text():
                _, text = Token.in_folder(home, new=True)
                return str(text)
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"the service did not start: {self._said.read_text()}")

    def close(self) -> tuple[int, str]:
        """How it ended, and what it said besides its address and link."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        lines = self._said.read_text().splitlines(keepends=True)
        expected = ("listening on", "to use the page")
        return code, "".join(text for text in lines if not any(words in text for words in expected))


def labeled_scenes(scenes: list[tuple[bytes, str]]) -> list[tuple[bytes, str]]:
    """A few pictures of each person in which the service will find one good face."""
    finder, found = FaceFinder(), dict[str, list[bytes]]()
    for jpeg, person in scenes[::3]:
        if person and len(found.setdefault(person, [])) < LABELS:
            pixels = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
            boxes = finder.detect(pixels)
            if len(boxes) == 1 and finder.judge(pixels, boxes[0]) is None:
                found[person].append(jpeg)
    return [(jpeg, person) for person, some in found.items() for jpeg in some]


def watched(served: Served, seconds: float) -> list[dict[str, float]]:
    """How large the server is and how much it knows, again and again."""
    process, samples, begun = psutil.Process(served.process.pid), [], time.monotonic()
    token = {"authorization": f"Bearer {served.token}"}
    with httpx2.Client(base_url=served.address + API, headers=token, timeout=60) as client:
        for number in track(range(int(seconds / EVERY)), "load", console=Console(stderr=True)):
            time.sleep(max(0.0, begun + (number + 1) * EVERY - time.monotonic()))
            people, cards = client.get("/people").json(), client.get("/strangers").json()
            samples.append(
                {
                    "second": round(time.monotonic() - begun, 1),
                    "rss_mb": process.memory_info().rss / 2**20,
                    "threads": process.num_threads(),
                    "named_faces": known(people),
                    "strangers": len(cards),
                }
            )
    return samples


def measure(minutes: float, warm_up: float, pause: float, frames: int | None) -> dict[str, Any]:
    """Everything, once."""
    dataset = simulated_dataset(0, frames=frames)
    scenes = scenes_of(dataset)
    labeled = labeled_scenes(scenes["door"])
    pictures = [jpeg for film in scenes.values() for jpeg, _ in film[::7]]
    with TemporaryDirectory() as folder, cameras(dataset) as port:
        sources = [f"{name}=http://127.0.0.1:{port}/{name}" for name in scenes]
        served = Served(Path(folder), sources)
        try:
            plan = Plan(
                served.address, served.token, warm_up, 60 * minutes, pause, pictures, labeled,
                list(scenes),
            )  # fmt: skip
            teach(plan)
            fill(plan, [len(film) for film in scenes.values()])
            result = under_load(served, plan)
        finally:
            code, said = served.close()
    result |= {"exit_code": code, "warnings": len(said.splitlines()), "machine": machine()}
    sys.stderr.write(said)
    return result


def teach(plan: Plan) -> None:
    """Everybody's labels, before the first client."""
    token = {"authorization": f"Bearer {plan.token}"}
    transport = httpx2.HTTPTransport(retries=20)
    with httpx2.Client(base_url=plan.address, headers=token, transport=transport) as client:
        for jpeg, name in plan.labeled:
            client.post(f"{API}/faces", params={"name": name}, content=jpeg).raise_for_status()


def fill(plan: Plan, lengths: list[int]) -> None:
    """Until the learner is as large as it may be, or the films have been seen twice."""
    token = {"authorization": f"Bearer {plan.token}"}
    with httpx2.Client(base_url=plan.address + API, headers=token, timeout=60) as client:
        while True:
            states, people = client.get("/cameras").json(), client.get("/people").json()
            if known(people) >= BUDGET + len(plan.labeled):
                return
            seen = zip((one["frames"] for one in states), lengths, strict=True)
            if all(frames > 2 * length for frames, length in seen):
                return
            if any(one["state"] not in ("starting", "watching") for one in states):
                raise SystemExit(f"a camera is not watched: {states}")
            time.sleep(1.0)


def known(people: list[dict[str, Any]]) -> int:
    """How many faces have a name."""
    return sum(one["labeled"] + one["learned"] for one in people)


def under_load(served: Served, plan: Plan) -> dict[str, Any]:
    """The clients, and meanwhile the memory."""
    ours, theirs = SPAWN.Pipe()
    clients = SPAWN.Process(target=visit, args=(plan, theirs), daemon=True)
    clients.start()
    samples = watched(served, plan.warm_up + plan.seconds)
    token = {"authorization": f"Bearer {served.token}"}
    states = httpx2.get(f"{served.address}{API}/cameras", headers=token).json()
    took, errors, pieces, gone = ours.recv()
    clients.join()
    warm = [sample for sample in samples if sample["second"] > plan.warm_up]
    start, end = (
        median(sample["rss_mb"] for sample in some)
        for some in (warm[:HALF_MINUTE], warm[-HALF_MINUTE:])
    )
    everything = [seconds for times in took.values() for seconds in times]
    return {
        "minutes": plan.seconds / 60,
        "warm_up_s": plan.warm_up,
        "pause_s": plan.pause,
        "clients": READERS | UPLOADERS,
        "requests": len(everything),
        "requests_per_s": len(everything) / plan.seconds,
        "errors": dict(errors),
        "merged_meanwhile": gone,
        "pieces": dict(pieces),
        "cameras": [
            {key: one[key] for key in ("name", "state", "frames", "dropped", "reconnects")}
            for one in states
        ],
        "camera_fps": RATE,
        "ms": {route: figures(times) for route, times in sorted(took.items())},
        "all_ms": figures(everything),
        "rss_mb": {"start": start, "end": end, "largest": max(one["rss_mb"] for one in warm)},
        "growth": end / start - 1,
        "limit": LIMIT,
        "samples": samples,
    }


def figures(times: list[float]) -> dict[str, float]:
    """Of one route, in milliseconds."""
    p50, p95, p99 = (1e3 * np.percentile(times, [50, 95, 99])).tolist()
    return {"count": len(times), "p50": p50, "p95": p95, "p99": p99, "largest": 1e3 * max(times)}


def tables(result: dict[str, Any]) -> list[Table]:
    """The routes and the memory, for a person."""
    errors = sum(result["errors"].values())
    routes = Table(
        title=f"{sum(READERS.values())} clients reading, {sum(UPLOADERS.values())} uploading, "
        f"two cameras, {result['minutes']:g} minutes",
        caption=f"{result['requests']} requests, {result['requests_per_s']:.0f} a second; "
        f"{errors} errors; {result['merged_meanwhile']} pictures were gone when asked for",
    )
    for head in ("", "count", "p50", "p95", "p99", "largest"):
        routes.add_column(head, justify="right" if head else "left")
    for route, one in (result["ms"] | {"all": result["all_ms"]}).items():
        times = (f"{one[key]:.0f} ms" for key in ("p50", "p95", "p99", "largest"))
        routes.add_row(route, str(one["count"]), *times)
    memory = Table(
        title="memory of the server",
        caption=f"{result['growth']:+.1%} from the first half minute after the warm-up to the "
        f"last; the limit is {LIMIT:.0%}",
    )
    for head in ("second", "resident", "threads", "faces with a name", "strangers"):
        memory.add_column(head, justify="right")
    for one in result["samples"][5::6]:
        row = one["second"], one["threads"], one["named_faces"], one["strangers"]
        memory.add_row(f"{row[0]:.0f}", f"{one['rss_mb']:.0f} MB", *map(str, row[1:]))
    return [routes, memory]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print tables, and write JSON where wanted; an error or growth is a failure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="after the warm-up")
    parser.add_argument("--warm-up", type=float, default=60.0, help="seconds")
    parser.add_argument("--pause", type=float, default=0.2, help="of a client, on average, seconds")
    parser.add_argument("--frames", type=int, help="of each film; 960 unless given")
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args(arguments)
    if options.minutes * 60 < EVERY or options.warm_up < 0 or options.pause < 0:
        parser.error(f"--minutes is at least {EVERY:g} seconds; no time is negative")
    if options.frames is not None and options.frames < 48:
        parser.error("--frames is at least 48: everybody is in a few")
    result = measure(options.minutes, options.warm_up, options.pause, options.frames)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    console = Console(width=110)
    for table in tables(result):
        console.print(table)
    for words, many in result["errors"].items():
        console.print(f"{many} x {words}")
    return int(bool(result["errors"]) or result["growth"] > LIMIT)


if __name__ == "__main__":
    one_thread_each()
    raise SystemExit(main())
