"""What a site over Ray costs: beside a direct call, and beside a bare Ray call, in the same run.

    .venv/bin/python benchmarks/cluster.py                            # about five minutes
    .venv/bin/python benchmarks/cluster.py --steps 100 --lengths 128  # a look
    .venv/bin/python benchmarks/cluster.py --json cluster.json

Per observation, in blocks that take turns (medians over blocks, of means and of ratios), so that a
busy disk or machine is busy for all of them:

    plain       learner.observe                    no journal
    durable     Home.observe                       the same with the journal's fsync
    bare        an actor that takes the vector and answers a number
    both        a bare call, and then Home.observe: what a site over Ray cannot be cheaper than
    site        one example to a site over Ray, and its answer: journal, then acknowledgement
    delivered   the same through a sender, in batches with one transaction each; per example

The bound is 1.3 times the bare call plus the direct observe. Whoever calls and then observes finds
caches and disk cold, so that the two are timed one after the other (`both`), as they happen in a
site. The sums of calls timed apart are given too, with the journal (bare + durable) and without it,
which promises less (bare + plain). Throughput is of one
and of two sites whose examples are made inside the actors, in batches as a sender would bring them.
"""

import argparse
import json
import os
import resource
import secrets
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_worker_niceness": "0",  # 15 unless told, which is not what is to be compared
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}

import numpy as np
import ray
from machine import machine
from references import seconds
from rich.console import Console
from rich.table import Table
from step import steady_learner
from streams import Crowd

from onlooker import OnlineHarmonicLearner
from onlooker.cluster.messages import LearnerConfig, NumberedExample
from onlooker.cluster.ray_site import RayTransport, SiteActor, SiteSpec, result_of
from onlooker.cluster.sender import Sender
from onlooker.home.home import Home
from onlooker.home.retention import RetentionPolicy

Row = dict[str, Any]
KEEPING = RetentionPolicy(snapshot_every=10**9)
BATCH = 16
TURNS = 11
BLOCK = 32
"""Observations that are timed together: what a busy machine adds, it adds to all kinds."""


class Bare:
    """The least that an actor can be."""

    def take(self, x: Any) -> int:
        """Look at the vector, and answer."""
        return len(x)


class Working(SiteActor):
    """A site that makes its own examples."""

    def work(self, length: int, count: int, start: int) -> tuple[float, float, int]:
        """Examples per second, processor seconds for each, and the most memory it had."""
        site = self._opened()
        crowd = Crowd(length, together=False)
        opened = site.open_session("inside")
        faces = [face for face, _ in crowd.faces(count, start=start)]
        began, busy = perf_counter(), process_time()
        for first in range(0, count, BATCH):
            done = opened.last + first
            some = faces[first : first + BATCH]
            batch = [NumberedExample(done + at, face) for at, face in enumerate(some, start=1)]
            site.receive("inside", opened.session, batch, done)
        rate = count / (perf_counter() - began)
        cpu = (process_time() - busy) / count
        return rate, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def learner_config_of(learner: OnlineHarmonicLearner) -> LearnerConfig:
    """What the site must share with it."""
    return LearnerConfig(learner.kernel, learner.features, learner.max_vertices, learner.sink)


def adopted(folder: Path, learner: OnlineHarmonicLearner) -> Path:
    """A home that begins with what a learner knows."""
    learner.save(folder.with_suffix(".state"))
    Home(folder, new_learner=lambda: learner, adopt=folder.with_suffix(".state")).close()
    return folder


def site_actor(kind: type, name: str, folder: Path, learner: OnlineHarmonicLearner) -> Any:
    """A site that knows what a learner does, over Ray."""
    spec = SiteSpec(name, adopted(folder, learner), learner_config_of(learner), KEEPING)
    options = {"max_restarts": -1, "max_task_retries": 0, "max_pending_calls": 64}
    actor = ray.remote(kind).options(num_cpus=1, **options).remote(spec)
    result_of(actor.call.remote("report"), 120)
    return actor


def overhead(folder: Path, learner: OnlineHarmonicLearner, crowd: Crowd, steps: int) -> Row:
    """The five kinds of observation, in turns."""
    learner.save(folder / "plain.state")
    plain = OnlineHarmonicLearner.load(folder / "plain.state")
    durable = Home(
        adopted(folder / "durable", learner), new_learner=lambda: learner, retention=KEEPING
    )
    bare = ray.remote(Bare).options(num_cpus=0).remote()
    site = site_actor(SiteActor, "overhead", folder / "site", learner)
    transport = RayTransport("overhead", site)
    opened = transport.open_session("single")
    sender = Sender("many", lambda: transport, batch_size=BATCH, queue_size=BATCH)
    sender.wait_until_connected()
    ray.get(bare.take.remote(np.zeros(4)))

    def bare_call(number: int, face: Any) -> None:
        ray.get(bare.take.remote(face))

    def durable_call(number: int, face: Any) -> None:
        durable.observe(face, camera="door", frame=number)

    def both(number: int, face: Any) -> None:
        bare_call(number, face)
        durable_call(number, face)

    def site_call(number: int, face: Any) -> None:
        example = [NumberedExample(number, face)]
        transport.answer(transport.send("single", opened.session, example, number - 1))

    calls = {
        "plain": lambda number, face: plain.observe(face),
        "durable": durable_call,
        "bare": bare_call,
        "both": both,
        "site": site_call,
    }
    times: dict[str, list[float]] = {key: [] for key in (*calls, "delivered")}
    faces = [face for face, _ in crowd.faces(steps, start=10**6)]
    others = [face for face, _ in crowd.faces(steps, start=9 * 10**6)]

    def one_by_one(call: Any, first: int) -> None:
        for number in range(first + 1, min(first + BLOCK, steps) + 1):
            call(number, faces[number - 1])

    def together(first: int) -> None:
        for face in others[first : first + BLOCK]:
            sender.put(face)
        sender.flush(300)

    for first in range(0, steps, BLOCK):
        for kind, call in calls.items():
            took = seconds(lambda call=call, first=first: one_by_one(call, first))
            times[kind].append(took / BLOCK)
        times["delivered"].append(seconds(lambda first=first: together(first)) / BLOCK)
    sender.close()
    durable.close()
    ray.kill(site)
    ray.kill(bare)
    row = {key: 1e3 * float(np.median(values)) for key, values in times.items()}
    taken = {key: np.array(values) for key, values in times.items()}
    for what, least in readings(taken).items():
        for kind in ("site", "delivered"):
            row[f"{kind}_over_{what}"] = float(np.median(taken[kind] / least))
    return row


def readings(taken: dict[str, Any]) -> dict[str, Any]:
    """The three readings of "a bare call plus a direct observe", block by block."""
    return {
        "both": taken["both"],
        "bare_and_durable": taken["bare"] + taken["durable"],
        "bare_and_plain": taken["bare"] + taken["plain"],
    }


def throughput(folder: Path, learner: OnlineHarmonicLearner, length: int, count: int) -> Row:
    """One site and two at the same time, in turns: the median of their ratios, turn by turn."""
    actors = [site_actor(Working, f"work{at}", folder / f"work{at}", learner) for at in range(2)]

    def rates(chosen: list[Any], start: int) -> list[tuple[float, float, int]]:
        found = [each.work.remote(length, count, start) for each in chosen]
        return list(ray.get(found))

    ones, twos, cpu, memory = [], [], [], 0
    for turn in range(TURNS):
        start = (2 + turn) * 10**6
        ones.append(rates([actors[turn % 2]], start)[0][0])
        both = rates(actors, start + 10**5)
        twos.append(sum(rate for rate, _, _ in both))
        cpu += [spent for _, spent, _ in both]
        memory = max(kilobytes for _, _, kilobytes in both)
    for actor in actors:
        ray.kill(actor)
    one, two = float(np.median(ones)), float(np.median(twos))
    return {
        "one_site_per_s": one,
        "two_sites_per_s": two,
        "two_over_one": float(np.median(np.array(twos) / np.array(ones))),
        "processor_ms": 1e3 * float(np.median(cpu)),
        "site_megabytes": memory / 1024,
    }


def measure(vertices: int, length: int, steps: int) -> Row:
    """One row of both tables."""
    crowd = Crowd(length, together=False)
    learner = steady_learner(crowd, vertices)
    row: Row = {"vertices": vertices, "length": length, "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        row["overhead"] = overhead(Path(folder), learner, crowd, steps)
        row["throughput"] = throughput(Path(folder), learner, length, steps)
    return row


def tables(rows: list[Row]) -> list[Table]:
    """The rows for a person."""
    cost = Table(title="milliseconds per observation, medians")
    kinds = ("plain", "durable", "bare", "both", "site", "delivered")
    ratios = ("over_both", "over_bare_and_durable", "over_bare_and_plain")
    for head in ("length", *kinds, *(f"{kind} {each}" for kind in kinds[4:] for each in ratios)):
        cost.add_column(head.replace("_", " "), justify="right")
    rate = Table(title="examples per second, made inside the actors")
    for head in ("length", "one site", "two sites", "ratio", "processor time", "memory of a site"):
        rate.add_column(head, justify="right")
    for row in rows:
        over, work = row["overhead"], row["throughput"]
        figures = [f"{over[kind]:.2f}" for kind in kinds]
        figures += [f"{over[f'{kind}_{each}']:.2f}" for kind in kinds[4:] for each in ratios]
        cost.add_row(str(row["length"]), *figures)
        rate.add_row(
            str(row["length"]),
            f"{work['one_site_per_s']:.0f}",
            f"{work['two_sites_per_s']:.0f}",
            f"{work['two_over_one']:.2f}",
            f"{work['processor_ms']:.2f} ms each",
            f"{work['site_megabytes']:.0f} MB",
        )
    return [cost, rate]


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for; print tables, and write JSON where wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vertices", type=int, default=500)
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 9216])
    parser.add_argument("--steps", type=int, default=640)
    parser.add_argument("--json", type=Path, help="where to write the rows")
    options = parser.parse_args(arguments)
    paths = os.pathsep.join(dict.fromkeys([str(Path(__file__).parent), *sys.path]))
    ray.init(
        num_cpus=8,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )
    rows = []
    try:
        for length in options.lengths:
            print(f"{options.vertices} x {length}", file=sys.stderr)
            rows.append(measure(options.vertices, length, options.steps))
    finally:
        ray.shutdown()
    if options.json:
        found = {"machine": machine(), "ray": ray.__version__, "rows": rows}
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    for shown in tables(rows):
        Console(width=170).print(shown)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
