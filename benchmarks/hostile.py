"""Hostile clients, or greedy ones, beside cameras: what the owner and the cameras notice of them.

    scripts/soak hostile --minutes 30                   # two cameras, all kinds of attackers
    scripts/bench hostile --pollers-only --minutes 5    # one camera, fifty readers of /people

`onlooker serve` runs as a process of its own. The cameras send half as many frames as the service
manages when it is left alone at the start. The attackers are a process of lowest priority: they
would have processors of their own. All come from one address. An attack lasts two minutes, then it
is quiet for half a minute, and so on: both see the same machine, and the frame rate is a ratio of
the two. Meanwhile the owner asks twice a second, over a new connection each time. Memory is the
resident set of the server. Fails if the owner's p99, the frames or the memory are beyond the
limits, if somebody without the token got anything but a refusal, or if the service said a word.
"""

import argparse
import asyncio
import json
import os
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
from machine import machine, one_thread_each
from service import SPAWN, Served, cameras, frames_in, labeled_scenes, pace, teach
from service_cameras import RATE, scenes_of
from service_clients import API, Plan

from helpers.attackers import Attack, Crowd, let_in
from onlooker.experiments.datasets.simulated import simulated_dataset

P99, FRAMES, MEMORY = 1.0, 0.9, 1.05
"""Seconds; of the undisturbed rate; of the memory after SETTLED."""
ATTACK, QUIET, SETTLED = 120.0, 30.0, 300.0
"""Seconds of an attack, of the quiet after it, and of the attacks after which the memory counts."""
EVERY = 0.5
"""Seconds between two questions of the owner."""
PATHS = ("/people", "/cameras", "/strangers", "/health")
POLLERS = Crowd(idle=0, slow=0, wrong=0, without=0, pollers=50, deaf=0)


class Owner:
    """Asks again and again, over a new connection each time, as somebody who looks in."""

    def __init__(self, served: Served) -> None:
        self._where = urlsplit(served.address).netloc
        self._token = {"authorization": f"Bearer {served.token}"}
        self.took: dict[str, list[float]] = {path: [] for path in PATHS}
        self.errors: Counter[str] = Counter()
        self._over = Event()
        self._thread = Thread(target=self._run)

    def ask(self, path: str) -> Any:
        """One answer."""
        connection = HTTPConnection(self._where, timeout=60)
        try:
            connection.request("GET", API + path, headers=self._token)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise OSError(f"{path}: {answer.status}")
        return json.loads(body)

    def frames(self) -> int:
        """Of all cameras."""
        return sum(one["frames"] for one in self.ask("/cameras"))

    def __enter__(self) -> "Owner":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._over.wait(EVERY):
            begun, number = time.perf_counter(), number + 1
            path = PATHS[number % len(PATHS)]
            try:
                self.ask(path)
                self.took[path].append(time.perf_counter() - begun)
            except OSError as error:
                self.errors[f"{type(error).__name__} {error}"[:100]] += 1


def attack(address: str, token: str, camera: str, crowd: Crowd, results: Any) -> None:
    """In a process of lowest priority, until killed: what became of it, every second."""
    os.nice(19)
    one = Attack(address, token, camera, crowd)

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(one.run())
            while True:
                await asyncio.sleep(1.0)
                results.send(dict(one.counts))

    asyncio.run(run())


def attacked(served: Served, camera: str, crowd: Crowd, seconds: float, owner: Owner) -> Any:
    """Frames and seconds of one attack, and what became of the attackers."""
    ours, theirs = SPAWN.Pipe()
    arguments = (served.address, served.token, camera, crowd, theirs)
    process = SPAWN.Process(target=attack, args=arguments, daemon=True)
    process.start()
    counts: dict[str, int] = ours.recv()  # they are there
    try:
        counted = frames_in(owner.frames, seconds)
        while ours.poll():
            counts = ours.recv()
    finally:
        process.kill()
        process.join()
    return *counted, counts


def measure(minutes: float, frames: int, crowd: Crowd, names: tuple[str, ...]) -> dict[str, Any]:
    """Everything, once."""
    dataset, rate = simulated_dataset(0, frames=frames), SPAWN.Value("d", float(RATE))
    labeled = labeled_scenes(scenes_of(dataset)["door"])
    load = os.getloadavg()
    with TemporaryDirectory() as folder, cameras(dataset, rate) as port:
        served = Served(Path(folder), [f"{name}=http://127.0.0.1:{port}/{name}" for name in names])
        process = psutil.Process(served.process.pid)
        try:
            teach(Plan(served.address, served.token, 0, 0, 0, [], labeled, list(names)))
            owner = Owner(served)
            pace(rate, owner.frames, len(names), 0.5)
            result = alternate(served, process, owner, names[0], crowd, 60 * minutes)
        finally:
            code, said = served.close()
    return result | {
        "camera_rate": rate.value,
        "exit_code": code,
        "said": said.splitlines(),
        "load_average": {"start": load, "end": os.getloadavg()},
        "machine": machine(),
    }


def alternate(
    served: Served, process: psutil.Process, owner: Owner, camera: str, crowd: Crowd, seconds: float
) -> dict[str, Any]:
    """Quiet and attacks in turn, for that long, beginning and ending with quiet."""
    alone = Owner(served)
    quiet, loud, counts = (
        [frames_in(owner.frames, QUIET)],
        list[tuple[int, float]](),
        Counter[str](),
    )
    memory, begun = [(0.0, process.memory_info().rss / 2**20)], time.monotonic()
    while time.monotonic() - begun < seconds:
        with owner:
            part = min(ATTACK, max(10.0, seconds - (time.monotonic() - begun)))
            frames, took, met = attacked(served, camera, crowd, part, owner)
        owner = owner_again(served, owner)
        loud.append((frames, took))
        counts.update(met)
        memory.append((time.monotonic() - begun, process.memory_info().rss / 2**20))
        with alone:
            quiet.append(frames_in(alone.frames, QUIET))
        alone = owner_again(served, alone)
    settled = [mb for second, mb in memory if second >= SETTLED] or [mb for _, mb in memory[1:]]
    rates = {name: sum(n for n, _ in some) / sum(s for _, s in some) for name, some in
             (("quiet", quiet), ("attacked", loud))}  # fmt: skip
    return {
        "seconds": time.monotonic() - begun,
        "rates": rates,
        "frames_ratio": rates["attacked"] / rates["quiet"],
        "ratios": [
            (n / s) / ((a + b) / (s1 + s2))
            for (n, s), (a, s1), (b, s2) in zip(loud, quiet, quiet[1:], strict=False)
        ],
        "owner_ms": waited(owner.took),
        "owner_undisturbed_ms": waited(alone.took),
        "owner_requests": sum(map(len, owner.took.values())),
        "owner_errors": dict(owner.errors),
        "memory_mb": memory,
        "memory_ratio": settled[-1] / settled[0],
        "attempts": dict(counts),
        "let_in": let_in(counts),
    }


def owner_again(served: Served, owner: Owner) -> Owner:
    """An owner with the times of an earlier one: a thread starts once."""
    other = Owner(served)
    other.took, other.errors = owner.took, owner.errors
    return other


def waited(took: dict[str, list[float]]) -> dict[str, Any]:
    """Milliseconds of all answers, and of those of each path."""
    p50, p99 = 1e3 * np.percentile([each for some in took.values() for each in some], [50, 99])
    by_path = {path: [round(1e3 * float(np.percentile(some, part))) for part in (50, 99)]
               for path, some in took.items() if some}  # fmt: skip
    return {"p50": float(p50), "p99": float(p99), "by_path": by_path}


def failures(result: dict[str, Any]) -> list[str]:
    """Which limits were passed."""
    found = []
    if not result["owner_ms"]["p99"] < 1e3 * P99 or result["owner_errors"]:
        found.append(f"the owner waits: p99 {result['owner_ms']['p99']:.0f} ms, "
                     f"errors {result['owner_errors']}")  # fmt: skip
    if not result["frames_ratio"] >= FRAMES:
        found.append(f"frames: {result['frames_ratio']:.2f} of undisturbed")
    if not result["memory_ratio"] <= MEMORY:
        found.append(f"memory: {result['memory_ratio']:.3f} times")
    if result["let_in"]:
        found.append(f"let in: {result['let_in']}")
    if result["said"]:
        found.append(f"the service said {len(result['said'])} lines: {result['said'][:3]}")
    return found


def main() -> int:
    """Measure, print, and write JSON where wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="of attacks and quiet")
    parser.add_argument("--frames", type=int, default=48, help="of each film")
    parser.add_argument("--pollers-only", action="store_true", help="one camera, fifty readers")
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args()
    if options.minutes <= 0 or options.frames < 48:
        parser.error("--minutes is above zero; --frames is at least 48: everybody is in a few")
    crowd, names = (POLLERS, ("door",)) if options.pollers_only else (Crowd(), ("door", "office"))
    result = measure(options.minutes, options.frames, crowd, names)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    rates, ms, alone = result["rates"], result["owner_ms"], result["owner_undisturbed_ms"]
    print(f"{result['seconds'] / 60:.1f} minutes, load average {result['load_average']['end']}")
    print(f"owner: p50 {ms['p50']:.0f} ms, p99 {ms['p99']:.0f} ms of {result['owner_requests']}; "
          f"undisturbed p50 {alone['p50']:.0f} ms, p99 {alone['p99']:.0f} ms; "
          f"p50 and p99 by path: {ms['by_path']}")  # fmt: skip
    print(f"frames: {rates['attacked']:.2f}/s attacked, {rates['quiet']:.2f}/s undisturbed, "
          f"{result['frames_ratio']:.2f}; by attack (median {median(result['ratios']):.2f}): "
          + " ".join(f"{ratio:.2f}" for ratio in result["ratios"]))  # fmt: skip
    print(f"memory: {result['memory_mb'][0][1]:.0f} MB before, {result['memory_mb'][-1][1]:.0f} MB "
          f"at the end, {result['memory_ratio']:.3f} times that after five minutes")  # fmt: skip
    for what, many in sorted(result["attempts"].items()):
        print(f"{many:8d} {what}")
    for words in failures(result):
        print(f"FAILED: {words}")
    return int(bool(failures(result)))


if __name__ == "__main__":
    one_thread_each()
    raise SystemExit(main())
