"""Backups of a service with two cameras: how many frames they cost.

    scripts/bench backup --json backup.json          # about three minutes
    scripts/bench backup --seconds 5 --rounds 2      # a look

`onlooker serve` watches two films over HTTP in a process of its own. Stretches without a backup
take turns with stretches in which one is made: downloaded over REST, or by `onlooker backup` as
another process. What counts is the share of the frames that are dropped, beside that of the
undisturbed stretches of the same run; every backup is restored at the end. The cameras send half
as many frames as the service manages when it is left alone: then it drops none but for a reason.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import numpy as np
from machine import machine, one_thread_each
from service import MAIN, SPAWN, Served, cameras, labeled_scenes, pace
from service_cameras import FILMS, RATE, Scene, scenes_of
from service_clients import API

from onlooker.experiments.datasets.simulated import simulated_dataset
from onlooker.home.album import JPEG, Album
from onlooker.home.backup import restore
from onlooker.home.database import Database
from onlooker.home.folder import DATABASE_FILE
from onlooker.vision.finder import face_distances

PICTURE = 4000
"""Bytes of the picture of a sighting."""
DOWNLOAD = """
import os, shutil, sys, urllib.request
os.nice(19)
address, token, path = sys.argv[1:]
asked = urllib.request.Request(address, headers={"authorization": f"Bearer {token}"})
with urllib.request.urlopen(asked) as answer, open(path, "wb") as file:
    shutil.copyfileobj(answer, file, 1 << 20)
"""
"""Somebody on another computer, which has processors of its own: at the lowest priority here."""
LIMIT = 0.01
"""The share of frames that a backup may cost."""


def counts(client: httpx2.Client) -> tuple[int, int]:
    """Frames that were recognized and dropped so far, of both cameras."""
    found = client.get("/health").json()["cameras"]
    return sum(each["frames"] for each in found), sum(each["dropped"] for each in found)


def stretch(
    client: httpx2.Client, seconds: float, act: Callable[[], None]
) -> tuple[tuple[int, int], float]:
    """Do something once within so many seconds: frames recognized and dropped, and what it took."""
    before, begun = counts(client), time.monotonic()
    act()
    took = time.monotonic() - begun
    time.sleep(max(0.0, seconds - took))
    after = counts(client)
    return (after[0] - before[0], after[1] - before[1]), took


def share(stretches: list[tuple[int, int]]) -> float:
    """Of all frames, those that were dropped."""
    seen, dropped = (sum(column) for column in zip(*stretches, strict=True))
    return dropped / max(seen + dropped, 1)


def remember(home: Path, many: int) -> None:
    """Sightings of earlier days, with a face and a picture each: what makes a home large."""
    database, rng = Database(home / DATABASE_FILE), np.random.default_rng(0)
    try:
        album = Album(database)
        for start in range(0, many, 500):
            with database.transaction():
                for frame in range(start, min(start + 500, many)):
                    vector, picture = rng.normal(size=128), JPEG + rng.bytes(PICTURE)
                    now = time.time()
                    album.record_sighting(
                        now, "door", frame, None, None, vector=vector, picture=picture
                    )
    finally:
        database.close_as_it_is()


def measure(
    place: Path,
    served: Served,
    scenes: dict[str, list[Scene]],
    rate: Any,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """The whole run against a service that is running."""
    home = place / "home"
    copies: list[Path] = []

    def downloaded() -> None:
        copies.append(place / f"{len(copies)}.tar")
        address = f"{served.address}{API}/backup"
        command = [sys.executable, "-c", DOWNLOAD, address, served.token, str(copies[-1])]
        subprocess.run(command, check=True)

    def copied() -> None:
        copies.append(place / f"{len(copies)}")
        command = [*MAIN, "backup", str(copies[-1]), "--home", str(home)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    headers = {"authorization": f"Bearer {served.token}"}
    with httpx2.Client(base_url=served.address + API, headers=headers, timeout=120) as client:
        for jpeg, person in labeled_scenes(scenes["door"]):
            client.post("/faces", params={"name": person}, content=jpeg)
        remember(home, options.sightings)
        time.sleep(options.warm_up)
        pace(rate, lambda: counts(client)[0], len(FILMS), options.part)
        kinds = {"undisturbed": lambda: None, "download": downloaded, "command": copied}
        found: dict[str, list[tuple[int, int]]] = {kind: [] for kind in kinds}
        took: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(options.rounds):
            for kind, act in kinds.items():
                frames, seconds = stretch(client, options.seconds, act)
                found[kind].append(frames)
                took[kind].append(seconds)
    for number, copy in enumerate(copies):
        restore(copy, place / f"restored {number}", face_distances())
    paths = [path for path in home.rglob("*") if path.is_file() and path.name != "ballast"]
    size = sum(path.stat().st_size for path in paths)
    return {
        "dropped": {kind: round(share(each), 4) for kind, each in found.items()},
        "frames": {kind: sum(map(sum, each)) for kind, each in found.items()},
        "backups": len(copies),
        "restored": len(copies),
        "home_bytes": size,
        "camera_rate": round(rate.value, 2),
        "seconds": {kind: round(median(each), 2) for kind, each in took.items() if each},
    }


def main() -> int:
    """Print the figures; 1 if a backup costs more than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15, help="of a stretch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm-up", type=float, default=20)
    parser.add_argument("--frames", type=int, help="of each film; all of them unless given")
    parser.add_argument("--sightings", type=int, default=30_000, help="of earlier days")
    parser.add_argument("--part", type=float, default=0.5, help="of the frames it manages")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    one_thread_each()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        dataset = simulated_dataset(0, frames=options.frames)
        rate = SPAWN.Value("d", float(RATE))
        with cameras(dataset, rate) as films:
            sources = [f"{name}=http://127.0.0.1:{films}/{name}" for name in FILMS]
            served = Served(place, sources)
            try:
                result = measure(place, served, scenes_of(dataset), rate, options)
            finally:
                served.close()
    dropped = result["dropped"]
    print(json.dumps(result))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), **result}, indent=1))
    return int(max(dropped.values()) > dropped["undisturbed"] + LIMIT)


if __name__ == "__main__":
    sys.exit(main())
