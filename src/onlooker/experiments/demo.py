"""The demo: four labels for each person, then unlabeled video of simulated cameras.

    python -m onlooker.experiments.demo            # a few minutes, no camera, no download

Four videos (V1, V2, VO and VN, see docs/simulation.md), each with the default features and with the
paper's pixels. The learner is compared with nearest neighbour, which knows the labeled faces only,
and with self-training, which stores its guesses as if they were labels. At the end one label is
wrong, and is corrected. The result is one HTML page with a figure, tables and frames, and a video
for each camera.
"""

import argparse
import base64
import html
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from matplotlib.figure import Figure
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from onlooker import HeatKernel, OnlineHarmonicLearner, Prediction
from onlooker.baselines.nearest import NearestNeighbour
from onlooker.baselines.self_training import SelfTraining
from onlooker.evaluation import Score
from onlooker.experiments.corrigible import CORRIGIBLE
from onlooker.experiments.options import at_least
from onlooker.experiments.report.html import document, drawing, paragraphs, share, table
from onlooker.recognition.drawing import annotated
from onlooker.recognition.recognizer import FaceRecognizer
from onlooker.recognition.sinks import AnnotatedVideo
from onlooker.simulation.filming import Truth
from onlooker.simulation.scenarios import scenario
from onlooker.vision.detector import Detector, YuNet
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.vision.scales import (
    FACE_QUANTIZER,
    FEATURE_KINDS,
    FeatureKind,
    new_scale,
    trust_radius,
)
from onlooker.vision.types import FaceBox, Frame, Pixels, Refusal, Sighting, Vector

VERTICES = 500
LABELS = 4
FRAMES = 480
STILLS = 6
"""Frames of each video that the report shows, at most."""
WINDOW = 60
"""Faces over which the recall in the figure is averaged."""
LEGEND_HEIGHT = 72
BESIDE: FeatureKind = "pixels"
"""The features of the paper, which stand beside the default."""
METHODS = ("online learner", "nearest neighbour", "self-training")
STYLES = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", ":"))  # Okabe and Ito, and in print
ENDS = ("not found", "refused", "nobody", "wrong", "right")

STORY = """\
Real faces move past simulated cameras. Four faces of each person are labeled once; after that
nothing is labeled. The learner names every face, and learns from it without its true name. Beside
it: nearest neighbour, which knows the labeled faces only, and self-training, which stores what it
guesses as if it were a label.

In the videos a box has the name that its track was given most often lately. People take each
other's place from one frame to the next here, so for some frames a dashed box has the name of who
stood there before; the tables count what the learner says of each face alone.

precision: of the faces that got a name, how many got the right one; recall: of the faces of known
people, how many got their name. strangers: how many of them got a name, which costs precision.
"""
SHOWS = {
    "V1": "V1 shows whether four labels are enough for a face that moves and changes its "
    "expression at one camera, where eight people walk by.",
    "V2": "V2 shows whether that holds for the same people at a second camera, darker and rotated, "
    "where nothing is labeled.",
    "VO": "VO shows whether strangers stay without a name: one person is known, in three places "
    "and under turning light, and every second face is somebody else's.",
    "VN": "VN shows what is lost at home: the eight people and strangers at a door, far away, in "
    "the dark, blurred, with a hand, a mask or a hood, from the side, against the light.",
}
CREDIT = """<p class="note">Everything stayed on this machine. This is not authentication. The
faces are the ORL pictures of AT&amp;T Laboratories Cambridge, animated.</p>"""
HEADER = ("video", "features", "method", "precision", "recall", "missed", "strangers")


@dataclass
class DemoVideo:
    """The outcome of one scenario with one kind of features."""

    name: str
    kind: str
    frames: int = 0
    detected: int = 0
    """Frames with a detected face."""
    scores: dict[str, Score] = field(default_factory=lambda: {name: Score() for name in METHODS})
    ends: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By condition: how frames of people who are known ended, for the learner."""
    stills: list[Pixels] = field(default_factory=list)
    """Some annotated frames."""
    stream: list[tuple[Vector, str]] = field(default_factory=list)
    """The faces of people who are known, in order."""
    cameras: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DemoCorrection:
    """One wrong label, and what it does to a method before and after it is corrected."""

    method: str
    subject: str
    other: str
    before: Counter[str]
    """How the faces of the subject are named: right, wrong, nobody."""
    after: Counter[str]
    """The same faces, after one label was corrected."""


class CachingDetector:
    """A detector that caches its last result: a picture is searched once for all features."""

    def __init__(self, detect: Detector) -> None:
        self._detect = detect
        self._last: tuple[Pixels | None, tuple[FaceBox, ...]] = (None, ())

    def __call__(self, pixels: Pixels) -> tuple[FaceBox, ...]:
        """The boxes in a picture."""
        if self._last[0] is not pixels:
            self._last = (pixels, self._detect(pixels))
        return self._last[1]


class Comparison:
    """The recognizer and its rivals with one kind of features, taught by the same few labels."""

    def __init__(self, kind: FeatureKind, detect: Detector) -> None:
        whole = FaceFinder(kind=kind)
        parts = FinderParts(detect, whole.features, whole.judge)
        radius = trust_radius(None, kind)
        kernel = HeatKernel(*new_scale(kind, radius), whole.features.distance)
        learner = OnlineHarmonicLearner(
            kernel,
            max_vertices=VERTICES,
            quantizer=FACE_QUANTIZER,
            features=whole.features.tag,
            trust_radius=radius,
        )
        self.kind: FeatureKind = kind
        self.kernel = kernel
        finder = FaceFinder(kind=kind, parts=parts)
        self.recognizer = FaceRecognizer(learner, finder, every_face=True)  # rivals get every face
        self.nearest = NearestNeighbour(kernel)
        self.self_training = SelfTraining(kernel, max_examples=VERTICES)
        self.taught: Counter[str] = Counter()

    def watch(
        self, video: DemoVideo, frame: Frame, truth: Truth, *, label: bool
    ) -> list[Sighting] | None:
        """One frame: what was seen in it, or None where it was only taught.

        The largest face counts; one that the quality gate refused counts as missed.
        """
        video.frames += 1
        finder = self.recognizer.finder
        boxes = finder.detect(frame.pixels)
        video.detected += bool(boxes)
        if label and boxes and truth.person and self.taught[truth.person] < LABELS:
            vector = finder.measure(frame.pixels, boxes[0]).vector
            if vector is not None:
                self.taught[truth.person] += 1
                video.stream.append((vector, truth.person))
                for method in (self.recognizer.learner, self.nearest, self.self_training):
                    method.teach(vector, truth.person)
                return None
        seen = self.recognizer.recognize(frame).faces
        answer = None
        if seen:
            vector, answer = seen[0].face.vector, seen[0].sighting.answer
            if vector is not None and truth.person:
                video.stream.append((vector, truth.person))
            rivals = [
                None if vector is None else method.observe(vector)
                for method in (self.nearest, self.self_training)
            ]
            for name, given in zip(METHODS, (answer, *rivals), strict=True):
                video.scores[name].count([None if given is None else given.label], truth.person)
        if truth.person:
            video.ends[truth.condition][_end(bool(seen), answer, truth.person)] += 1
        return [each.sighting for each in seen]


def run(
    folder: Path, *, kind: FeatureKind, seed: int, frames: int, console: Console
) -> tuple[list[DemoVideo], dict[str, Path], list[DemoCorrection]]:
    """All scenarios with both kinds of features; a video of each camera; the correction."""
    videos: list[DemoVideo] = []
    detect = CachingDetector(YuNet(320))
    kinds = tuple(dict.fromkeys((kind, BESIDE)))
    groups = {name: [Comparison(each, detect) for each in kinds] for name in ("V1", "VO", "VN")}
    groups["V2"] = groups["V1"]  # goes on with what was learned at the first camera
    with AnnotatedVideo(folder / "annotated.mp4") as sink:
        for name in SHOWS:
            scenes = scenario(name, seed=seed, frames=frames)
            shown = track(scenes, f"watching {name}", total=frames, console=console, transient=True)
            videos += _watch(name, iter(shown), groups[name], sink, frames=frames)
        paths = sink.paths
    return videos, paths, corrected(groups["V1"][0].kernel, videos[0].stream)


def _watch(
    name: str,
    scenes: Iterator[tuple[Frame, Truth]],
    comparisons: Sequence[Comparison],
    sink: AnnotatedVideo,
    *,
    frames: int,
) -> list[DemoVideo]:
    """One scenario; the first comparison is the one that the video shows."""
    videos = [DemoVideo(name, each.kind) for each in comparisons]
    legend = legend_strip()
    for frame, truth in scenes:
        for video, comparison in zip(videos, comparisons, strict=True):
            seen = comparison.watch(video, frame, truth, label=name != "V2")
            if video is not videos[0] or seen is None:
                continue
            if frame.camera not in video.cameras:
                video.cameras.append(frame.camera)
            tall = np.vstack([frame.pixels, legend])
            explained = Frame(frame.camera, frame.index, frame.time, tall)
            sink(explained, seen)
            if len(video.stills) < STILLS and video.frames % max(1, frames // (STILLS + 1)) == 0:
                video.stills.append(annotated(explained, seen))
    return videos


def _end(found: bool, answer: Prediction | None, person: str) -> str:
    if not found:
        return "not found"
    if answer is None:
        return "refused"
    if answer.label is None:
        return "nobody"
    return "right" if answer.label == person else "wrong"


def legend_strip(width: int = 640) -> Pixels:
    """What the boxes in the video mean: one of each kind, drawn as there.

    >>> legend_strip().shape
    (72, 640, 3)
    """
    strip = np.full((LEGEND_HEIGHT, width, 3), 245, np.uint8)
    samples = (
        ("name and confidence", Prediction("name", {"name": 0.9}, 0.1, 0), None),
        ("not sure", Prediction("name", {"name": 0.3}, 0.7, 0), None),
        ("nobody we know", Prediction(None, {}, 1.0, None), None),
        ("too poor, and why", None, Refusal("too small", 0, 1)),
    )
    sightings = []
    for at, (text, answer, refusal) in enumerate(samples):
        left = 14 + at * width // len(samples)
        name = None if answer is None else answer.label
        sightings.append(Sighting("", 0, 0.0, at, FaceBox(left, 28, 40, 22), name, answer, refusal))
        cv2.putText(
            strip, text, (left, 67), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (40, 40, 40), 1, cv2.LINE_AA
        )
    return annotated(Frame("", 0, 0.0, strip), sightings)


# ---- a correction


def corrected(kernel: HeatKernel, stream: Sequence[tuple[Vector, str]]) -> list[DemoCorrection]:
    """One label each, the first person's under the second's name: watched, then corrected.

    The same faces are named before and after, without learning. Both methods are told the same:
    the wrong label is taken back, the right one is taught.
    """
    people = list(dict.fromkeys(person for _, person in stream))
    if len(people) < 2:
        return []
    subject, other = people[:2]
    first = {person: next(x for x, who in stream if who == person) for person in people}
    own = [x for x, who in stream if who == subject]
    found = []
    for name, make in (("online learner", "online"), ("self-training", "self-training")):
        method = CORRIGIBLE[make](kernel, VERTICES, None)
        for person, x in first.items():
            method.teach(x, other if person == subject else person)
        for x, who in stream:
            if x is not first[who]:
                method.observe(x)
        before = Counter(_end(True, method.predict(x), subject) for x in own)
        method.unteach(first[subject])
        method.teach(first[subject], subject)
        after = Counter(_end(True, method.predict(x), subject) for x in own)
        found.append(DemoCorrection(name, subject, other, before, after))
    return found


def correction_text(found: Sequence[DemoCorrection]) -> str:
    """What happened, as a sentence for each step."""
    ours, theirs = found
    total = ours.before.total()
    return (
        f"One label is wrong: the first face of {ours.subject} is taught as {ours.other} (one "
        f"label a person here). While V1 is watched, the mistake spreads: of the {total} faces of "
        f"{ours.subject}, the learner calls {ours.before['wrong']} by a wrong name, self-training "
        f"{theirs.before['wrong']}.\n\n"
        f"Then that one label is corrected, and nothing else. What hung on it hangs on the right "
        f"name now: the learner names {ours.after['right']} of the same {total} faces rightly and "
        f"{ours.after['wrong']} wrongly. Self-training stored its guesses as labels, and nobody "
        f"corrected those: it names {theirs.after['right']} rightly and {theirs.after['wrong']} "
        "wrongly."
    )


def correction_rows(found: Sequence[DemoCorrection]) -> list[tuple[str, ...]]:
    """A row for each method and time."""
    return [
        (each.method, when, *(str(counts[end]) for end in ("right", "wrong", "nobody")))
        for each in found
        for when, counts in (("before", each.before), ("after", each.after))
    ]


CORRECTION_HEADER = ("method", "correction", "right", "wrong", "nobody")


# ---- the report


def rows_of(videos: Sequence[DemoVideo]) -> list[tuple[str, ...]]:
    """A row for each video, kind of features and method."""
    return [
        (
            video.name, video.kind, method, share(score.precision), share(score.recall),
            str(score.missed), str(score.strangers_named),
        )
        for video in videos
        for method, score in video.scores.items()
    ]  # fmt: skip


def terminal_table(header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> Table:
    """A table for a terminal; a value that repeats the one above is left out."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, head in enumerate(header):
        shown.add_column(head, justify="left" if at < words else "right", no_wrap=True)
    above: Sequence[str] = ()
    for row in rows:
        same = 0
        while same < words - 1 and row[: same + 1] == above[: same + 1]:
            same += 1
        shown.add_row(*[""] * same, *row[same:])
        above = row
    return shown


def write_report(
    path: Path,
    videos: Sequence[DemoVideo],
    paths: dict[str, Path],
    corrections: Sequence[DemoCorrection],
) -> Path:
    """Write the page, which contains all but the videos, and links those; returns its path."""
    parts = [
        paragraphs(STORY),
        table(HEADER, rows_of(videos), words=3),
        drawing(_figure(videos)),
    ]
    for video in videos:
        if not video.stills and video is not _first(videos, video.name):
            continue
        found = video.detected / max(1, video.frames)
        sentence = f"{SHOWS[video.name]} A face was found in {found:.1%} of {video.frames} frames."
        parts.append(f"<h2>{html.escape(video.name)}</h2>{paragraphs(sentence)}")
        links = [
            f'<a href="{html.escape(paths[camera].name)}">{html.escape(camera)}</a>'
            for camera in video.cameras
        ]
        parts.append(
            f"<p>Videos with the boxes of {html.escape(video.kind)}: {', '.join(links)}.</p>"
        )
        if len(video.ends) > 1:
            parts.append(
                "<p>How the frames of people who are known ended, by condition:</p>"
                + table(("condition", *ENDS), _condition_rows(video))
            )
        parts += map(_still, video.stills)
    if corrections:
        parts.append("<h2>A correction</h2>" + paragraphs(correction_text(corrections)))
        parts.append(table(CORRECTION_HEADER, correction_rows(corrections), words=2))
    title = "Onlooker: faces past simulated cameras"
    path.write_text(document(title, [*parts, CREDIT]), encoding="utf-8")
    return path


def _first(videos: Sequence[DemoVideo], name: str) -> DemoVideo:
    return next(video for video in videos if video.name == name)


def _condition_rows(video: DemoVideo) -> list[tuple[str, ...]]:
    return [
        (condition, *(str(counts[end]) for end in ENDS)) for condition, counts in video.ends.items()
    ]


def _still(pixels: Pixels) -> str:
    _, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 80])
    data = base64.b64encode(encoded.tobytes()).decode()
    return f'<img alt="a frame with a box around each face" src="data:image/jpeg;base64,{data}">'


def _figure(videos: Sequence[DemoVideo]) -> Figure:
    """Recall along each video: a row for each kind of features."""
    kinds = list(dict.fromkeys(video.kind for video in videos))
    names = list(dict.fromkeys(video.name for video in videos))
    figure = Figure(figsize=(9, 0.6 + 2.1 * len(kinds)), layout="constrained")
    panels = figure.subplots(len(kinds), len(names), sharey=True, squeeze=False)
    for video in videos:
        axes = panels[kinds.index(video.kind)][names.index(video.name)]
        for (name, score), (colour, dash) in zip(video.scores.items(), STYLES, strict=True):
            if score.hits:
                axes.plot(_smoothed(score.hits), dash, color=colour, label=name)
        axes.set(title=f"{video.name}, {video.kind}", ylim=(-0.02, 1.02))
        axes.spines[["top", "right"]].set_visible(False)
    figure.supylabel(f"recall over the last {WINDOW}", fontsize="medium")
    figure.supxlabel("faces of people we know", fontsize="medium")
    lines, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(lines, labels, frameon=False, loc="outside upper center", ncols=len(METHODS))
    return figure


def _smoothed(hits: Sequence[bool]) -> list[float]:
    """The share of hits among the last WINDOW, or among all where there are fewer.

    >>> _smoothed([True, False, True])
    [1.0, 0.5, 0.6666666666666666]
    """
    sums = np.concatenate([[0], np.cumsum(hits)])
    ends = np.arange(1, len(hits) + 1)
    begins = np.maximum(0, ends - WINDOW)
    return list(((sums[ends] - sums[begins]) / (ends - begins)).tolist())


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate, label, watch, compare, correct and report: exit code 0, or 130 after Ctrl-C."""
    command = argparse.ArgumentParser(
        prog="python -m onlooker.experiments.demo",
        description="Real faces past simulated cameras, named by a learner with four labels each.",
        epilog="example: python -m onlooker.experiments.demo --seed 1 --frames 960",
    )
    command.add_argument(
        "--seed", type=at_least(0), default=0, help="chooses the people and the light"
    )
    command.add_argument(
        "--frames", type=at_least(1), default=FRAMES, help="of each of the four videos"
    )
    command.add_argument(
        "--features",
        choices=[kind for kind in FEATURE_KINDS if kind != "embedding"],
        default="sface",
        help="beside pixels",
    )
    command.add_argument("--folder", type=Path, default=Path("demo"), help="where results go")
    arguments = command.parse_args(argv)
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    print(STORY, flush=True)
    try:
        videos, paths, corrections = run(
            folder,
            kind=arguments.features,
            seed=arguments.seed,
            frames=arguments.frames,
            console=Console(stderr=True),
        )
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    for sentence in SHOWS.values():
        print(sentence)
    console = Console()
    console.print(terminal_table(HEADER, rows_of(videos), 3))
    if corrections:
        print(correction_text(corrections))
        console.print(terminal_table(CORRECTION_HEADER, correction_rows(corrections), 2))
    report = write_report(folder / "report.html", videos, paths, corrections)
    print(f"report: {report}")
    for camera, path in paths.items():
        print(f"video of {camera}: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
