"""From a video to names on one core: frames per second, beside decoding and detection alone.

    scripts/bench pipeline --json pipeline.json                     # about three minutes
    scripts/bench pipeline --frames 100 --rounds 3                  # a first look
    scripts/bench pipeline --video door.mp4 --people people/        # your own camera
    scripts/bench pipeline --features sface --video door.mp4 --truth door.txt

The first frames fill the learner to its budget and are not timed, the frames after them are, in
blocks: decoding, decoding and detection, everything, everything with JSON Lines into nothing take
turns on each block. Every round begins with copies of the same learner. Figures are medians over
blocks; a ratio is the median of the ratios on each block, since neighbours in time share the noise.
Stages are means. Times are the processor's, what a core of its own would take; the wall clock's
stand beside.

Features that are costly are measured only where something is new. Beside them stands a pass in
which every face is measured, and over the whole video the names that tracks get either way.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from machine import machine, one_core, one_thread_each
from passes import Bench, Decoding, Detection, Everything, seconds
from rich.console import Console
from rich.progress import track
from rich.table import Table

from onlooker import OnlineHarmonicLearner
from onlooker.recognition.sinks import JsonLines
from onlooker.simulation.scenarios import scenario, write_video
from onlooker.vision.finder import FaceFinder
from onlooker.vision.scales import FEATURE_KINDS
from onlooker.vision.types import Frame

PAPER = 7.0
"""Frames per second that the paper reports."""
LIMIT, COSTLY_LIMIT = 1.4, 2.0
"""What everything may cost, in units of decoding and detection; with costly features."""
BLOCK = 20
"""Frames timed at once."""
PASSES = {
    "decode": "decode",
    "detect": "decode, detect",
    "everything": "everything",
    "everything_jsonl": "everything, JSON Lines",
    "every_face": "everything, every face measured",
}
STAGES = ("decode", "detect", "gate", "features", "learner", "tracks", "rest")

Times = dict[str, list[tuple[float, float]]]
"""Of each pass and block: the processor's milliseconds a frame, and the wall clock's."""


def measure(bench: Bench, filled: OnlineHarmonicLearner, rounds: int) -> dict[str, Any]:
    """All passes in turns: milliseconds a frame, ratios, and what each stage takes."""
    learned = bench.learned(filled)  # and everybody is warm
    if len(learned) < bench.frames:
        raise SystemExit(
            f"{bench.video.name} has {bench.fill + len(learned)} frames, --fill and --frames "
            f"together need {bench.fill + bench.frames}"
        )
    took: Times = {name: [] for name in PASSES if name != "every_face" or bench.finder.costly}
    spent: Counter[str] = Counter()
    for _ in track(range(rounds), "timing", console=Console(stderr=True)):
        spent += one_round(bench, filled, took)
    names = filled.vertices().names
    return {
        "video": bench.video.name,
        "features": bench.finder.kind,
        "frames": bench.frames,
        "rounds": rounds,
        "block": BLOCK,
        "unlabeled_vertices": names.count(None),
        "labeled_vertices": len(names) - names.count(None),
        "people": len(filled.names),
        "learned_share": sum(learned) / len(learned),
        **figures(took),
        "limit": COSTLY_LIMIT if bench.finder.costly else LIMIT,
        "stage_share": {stage: spent[stage] / spent["all"] for stage in STAGES},
        "stage_ms": {stage: 1e3 * spent[stage] / (rounds * bench.frames) for stage in STAGES},
        "machine": machine(),
    }


def one_round(bench: Bench, filled: OnlineHarmonicLearner, took: Times) -> Counter[str]:
    """Add the milliseconds a frame of each block; the seconds of everything by stage."""
    with ExitStack() as stack:
        nowhere = stack.enter_context(open(os.devnull, "w"))
        watched = Everything(bench, filled)
        written = Everything(bench, filled, [JsonLines(nowhere)])
        works: dict[str, Callable[[Iterable[Frame]], None]] = {
            "decode": Decoding(),
            "detect": Detection(bench.finder.detect),
            "everything": watched,
            "everything_jsonl": written,
        }
        if "every_face" in took:
            works["every_face"] = Everything(bench, filled, every_face=True)
        streams = {name: stack.enter_context(bench.after_the_beginning()) for name in works}
        for block in range(bench.frames // BLOCK):
            for name in list(works)[:: 1 if block % 2 == 0 else -1]:  # nobody is always the first
                some = islice(streams[name], BLOCK)
                cpu, wall = seconds(partial(works[name], some))
                took[name].append((1e3 / BLOCK * cpu, 1e3 / BLOCK * wall))
    spent = watched.spent
    spent["rest"] = 2 * spent["all"] - spent.total()
    return spent


def figures(took: Times) -> dict[str, Any]:
    """Medians, rates and ratios of the passes."""
    cpu = {name: np.array(times)[:, 0] for name, times in took.items()}
    wall = {name: np.array(times)[:, 1] for name, times in took.items()}
    medians = {name: float(np.median(times)) for name, times in cpu.items()}
    ratios = {name: times / cpu["detect"] for name, times in cpu.items()}
    return {
        "ms": medians,
        "wall_ms": {name: float(np.median(times)) for name, times in wall.items()},
        "fps": {name: 1e3 / median for name, median in medians.items()},
        "paper_fps": PAPER,
        "over_detect": {name: float(np.median(ratio)) for name, ratio in ratios.items()},
        "over_detect_quartiles": {
            name: np.percentile(ratio, [25, 75]).tolist() for name, ratio in ratios.items()
        },
        "over_detect_by_wall": float(np.median(wall["everything"] / wall["detect"])),
    }


def tables(result: dict[str, Any]) -> tuple[Table, Table]:
    """The passes and the stages, for a person."""
    passes = Table(
        title=f"{result['video']}, {result['frames']} frames on one core",
        caption=f"{result['unlabeled_vertices']} unlabeled vertices and "
        f"{result['labeled_vertices']} labels of {result['people']} people; "
        f"learned from {result['learned_share']:.0%} of the frames; "
        f"the goal is at most {result['limit']} of decode, detect",
    )
    times = f"x the paper's {PAPER:g}/s"
    for head in ("", "a frame", "frames/s", times, "of decode, detect", "wall clock"):
        passes.add_column(head, justify="right" if head else "left")
    for name in result["ms"]:
        ms, fps, ratio, wall = (
            result[key][name] for key in ("ms", "fps", "over_detect", "wall_ms")
        )
        rates = f"{fps:.0f}", f"{fps / PAPER:.0f}", f"{ratio:.2f}"
        passes.add_row(PASSES[name], f"{ms:.2f} ms", *rates, f"{wall:.2f} ms")
    stages = Table(title="everything, by stage")
    for head in ("stage", "a frame", "share"):
        stages.add_column(head, justify="left" if head == "stage" else "right")
    for stage in STAGES:
        ms, share = result["stage_ms"][stage], result["stage_share"][stage]
        stages.add_row(stage, f"{ms:.3f} ms", f"{share:.1%}")
    return passes, stages


def sentence(names: dict[str, Any]) -> str:
    """What measuring only what is new does to the names, for a person."""
    said = (
        f"{names['measured_share']:.1%} of {names['faces']} faces measured; names of tracks as "
        f"with every face measured on {names['equal_share']:.2%} of {names['frames']} frames"
    )
    if "every_face" in names:
        either = [
            f"precision {score['precision'] or 0:.4f}, recall {score['recall'] or 0:.4f}"
            for score in (names["every_face"], names["new_faces"])
        ]
        said += f"; every face: {either[0]}; where something is new: {either[1]}"
    return said


def simulated(path: Path, frames: int) -> list[str | None]:
    """V1 as a file; who is in each frame."""
    scenes = scenario("V1", frames=frames)
    truths = write_video(path, track(scenes, "filming", frames, console=Console(stderr=True)))
    return [truth.person for truth in truths]


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for; print tables, and write JSON where wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--video", type=Path, help="replay this file instead of a simulated V1")
    parser.add_argument("--people", type=Path, help="who is in --video: NAME.jpg, NAME/*.jpg")
    parser.add_argument(
        "--truth",
        type=Path,
        help="who is in each frame of --video, a line each, empty for a stranger; the first "
        "faces of each person are labeled",
    )
    parser.add_argument("--features", choices=FEATURE_KINDS, default="pixels")
    parser.add_argument("--model", help="of the features 'embedding': a name or a file")
    parser.add_argument("--fill", type=int, default=1000, help="frames watched before timing")
    parser.add_argument("--frames", type=int, default=300, help="timed frames")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--vertices", type=int, default=500, help="the learner's budget")
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args(arguments)
    if (options.video is None) != (options.people is None and options.truth is None):
        parser.error("--video needs --people or --truth: nobody is learned without a label")
    if options.frames < BLOCK or options.rounds < 1 or options.fill < 0:
        parser.error(f"--frames is at least {BLOCK}, --rounds at least 1, --fill at least 0")
    options.frames -= options.frames % BLOCK
    one_core()
    with TemporaryDirectory() as folder:
        video, people, count = options.video, [], options.fill + options.frames
        if video is None:
            video = Path(folder, "V1.mp4")
            people = simulated(video, count)
        elif options.truth:
            people = [line.strip() or None for line in options.truth.read_text().split("\n")]
            if len(people) < count:
                parser.error(f"{options.truth} has {len(people)} lines for {count} frames")
        finder = FaceFinder(kind=options.features, model=options.model)
        bench = Bench(video, options.fill, options.frames, finder)
        learner = bench.learner(options.vertices)
        if options.people:
            bench.recognizer(learner).enrol_folder(options.people)
        names = bench.compare_names(learner, people) if finder.costly else None
        bench.watch_the_beginning(learner, people)
        result = measure(bench, learner, options.rounds) | ({"names": names} if names else {})
    if result["unlabeled_vertices"] < options.vertices:
        print("the budget is not full: raise --fill for the steady state", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    console = Console(width=110)
    for table in tables(result):
        console.print(table)
    if names:
        console.print(sentence(names))
    return 0


if __name__ == "__main__":
    one_thread_each()
    raise SystemExit(main())
