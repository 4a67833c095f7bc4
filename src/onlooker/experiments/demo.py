"""The demo: four labels for each person, then unlabeled video of simulated cameras.

    python -m onlooker.experiments.demo            # about a minute, no camera, no download

V1: eight people at a first camera, the first four faces of each labeled. V2: the same people at a
second camera, nothing labeled, with what was learned at the first. VO: one person in three places,
half of the faces are strangers. The learner is compared with the paper's nearest-neighbour
classifier, which knows the labeled faces only. Features are pixels, as in the paper; precision and
recall count frames with a face. The result is one HTML page with a figure, a table and frames.
"""

import argparse
import base64
import html
import sys
from collections import Counter
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

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.baselines.nearest import NearestNeighbour
from onlooker.evaluation import Score
from onlooker.experiments.options import at_least
from onlooker.experiments.report.html import document, drawing, paragraphs, share, table
from onlooker.recognition.drawing import annotated
from onlooker.recognition.recognizer import FaceRecognizer
from onlooker.recognition.sinks import AnnotatedVideo
from onlooker.simulation.filming import Truth
from onlooker.simulation.scenarios import scenario
from onlooker.vision.detector import Detector, YuNet
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.quality import Gate
from onlooker.vision.scales import DEFAULT_SCALES
from onlooker.vision.types import FaceBox, Frame, Pixels, Sighting

BANDWIDTH, CUTOFF = DEFAULT_SCALES["pixels"]
VERTICES = 500
"""The paper's heat parameter, and the cutoff at which it reports 95 % precision at 90 % recall."""
LABELS = 4
FRAMES = 640
STILLS = 6
"""Frames of each video that the report shows, at most."""
WINDOW = 60
"""Faces over which the recall in the figure is averaged."""
ONLINE, NEAREST = "#0072B2", "#D55E00"  # Okabe and Ito: differ for the colour-blind and in print

STORY = """\
Real faces move past simulated cameras. Four faces of each person are labeled once, at the first
camera; after that nothing is labeled. The learner names every face, and learns from it without
its true name. It is compared with nearest neighbour, which knows the labeled faces only.

precision: of the faces that got a name, how many got the right one; recall: of the faces of known
people, how many got their name. Naming a stranger costs precision.
"""
CREDIT = """<p class="note">Everything stayed on this machine. This is not authentication. The
faces are the ORL pictures of AT&amp;T Laboratories Cambridge, animated.</p>"""
HEADER = ("video", "method", "precision", "recall", "missed")


@dataclass
class DemoVideo:
    """The outcome of one scenario."""

    name: str
    frames: int = 0
    detected: int = 0
    """Frames with a detected face."""
    online: Score = field(default_factory=Score)
    nearest: Score = field(default_factory=Score)
    vertices: int = 0
    stills: list[Pixels] = field(default_factory=list)
    """Some annotated frames."""

    @property
    def scores(self) -> tuple[tuple[str, Score], ...]:
        """Each method with its score."""
        return ("online learner", self.online), ("nearest neighbour", self.nearest)


class CachingDetector:
    """A detector that caches its last result: labeling a picture and watching it detect once."""

    def __init__(self, detect: Detector) -> None:
        self._detect = detect
        self._last: tuple[Pixels | None, tuple[FaceBox, ...]] = (None, ())

    def __call__(self, pixels: Pixels) -> tuple[FaceBox, ...]:
        """The boxes in a picture."""
        if self._last[0] is not pixels:
            self._last = (pixels, self._detect(pixels))
        return self._last[1]


class Comparison:
    """The recognizer and nearest neighbour, taught by the same few labels."""

    def __init__(self) -> None:
        self.features = PixelFeatures()
        kernel = HeatKernel(BANDWIDTH, CUTOFF, self.features.distance)
        learner = OnlineHarmonicLearner(kernel, max_vertices=VERTICES, features=self.features.tag)
        self.detect, self.baseline = CachingDetector(YuNet(320)), NearestNeighbour(kernel)
        parts = FinderParts(self.detect, self.features, Gate())
        self.recognizer = FaceRecognizer(learner, FaceFinder(parts=parts))
        self.taught: Counter[str] = Counter()

    def watch(
        self, name: str, scenes: Iterator[tuple[Frame, Truth]], sink: AnnotatedVideo, *, label: bool
    ) -> DemoVideo:
        """Run one scenario; with `label`, the first faces of each person are only taught."""
        video = DemoVideo(name)
        for frame, truth in scenes:
            video.frames += 1
            boxes = self.detect(frame.pixels)
            video.detected += bool(boxes)
            if label and boxes and truth.person and self.taught[truth.person] < LABELS:
                self.taught[truth.person] += 1
                self.recognizer.teach(frame.pixels, boxes[0], truth.person)
                self.baseline.teach(self.features(frame.pixels, boxes[0]), truth.person)
                continue
            sightings = self.recognizer.see(frame)
            sink(frame, sightings)
            self._count(video, frame, sightings, truth)
            if len(video.stills) < STILLS and video.frames % (FRAMES // 7) == 0:
                video.stills.append(annotated(frame, sightings))
        video.vertices = len(self.recognizer.learner)
        return video

    def _count(
        self, video: DemoVideo, frame: Frame, sightings: Sequence[Sighting], truth: Truth
    ) -> None:
        """The largest face counts; one that the quality gate refused counts as missed."""
        if not sightings:
            return
        first = sightings[0]
        online = None if first.answer is None else first.answer.label
        vector = self.features(frame.pixels, first.box)
        nearest = None if first.answer is None else self.baseline.predict(vector).label
        video.online.count([online], truth.person)
        video.nearest.count([nearest], truth.person)


def run(folder: Path, *, seed: int, frames: int, console: Console) -> list[DemoVideo]:
    """All three scenarios; annotated.mp4 shows them with boxes and names."""
    videos = []
    with AnnotatedVideo(folder / "annotated.mp4") as sink:
        group, single = Comparison(), Comparison()
        for name, comparison, label in (
            ("V1", group, True),
            ("V2", group, False),
            ("VO", single, True),
        ):
            scenes = scenario(name, seed=seed, frames=frames)
            shown = track(scenes, f"watching {name}", total=frames, console=console, transient=True)
            videos.append(comparison.watch(name, iter(shown), sink, label=label))
    return videos


def terminal_table(videos: Sequence[DemoVideo]) -> Table:
    """The outcome, for a terminal."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("video", "detected", "method", "precision", "recall", "missed"):
        shown.add_column(head, justify="left" if head in ("video", "method") else "right")
    for video in videos:
        facts = (video.name, f"{video.detected / max(1, video.frames):.1%}")
        for method, score in video.scores:
            shown.add_row(
                *facts, method, share(score.precision), share(score.recall), str(score.missed)
            )
            facts = ("", "")
    return shown


def write_report(path: Path, videos: Sequence[DemoVideo], story: str) -> Path:
    """Write the page, which contains everything it shows; returns its path."""
    rows = [
        (video.name, method, share(score.precision), share(score.recall), str(score.missed))
        for video in videos
        for method, score in video.scores
    ]
    stills = [
        f"<h2>{html.escape(video.name)}</h2>" + "".join(map(_still, video.stills))
        for video in videos
    ]
    parts = [paragraphs(story), table(HEADER, rows, words=2), drawing(_figure(videos))]
    title = "Onlooker: faces past simulated cameras"
    path.write_text(document(title, [*parts, *stills, CREDIT]), encoding="utf-8")
    return path


def _still(pixels: Pixels) -> str:
    _, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 80])
    data = base64.b64encode(encoded.tobytes()).decode()
    return f'<img alt="a frame with a box around each face" src="data:image/jpeg;base64,{data}">'


def _figure(videos: Sequence[DemoVideo]) -> Figure:
    """Recall along each video."""
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    panels = figure.subplots(1, len(videos), sharey=True, squeeze=False)[0]
    for axes, video in zip(panels, videos, strict=True):
        styles = ((ONLINE, "-"), (NEAREST, "--"))
        for (name, score), (colour, dash) in zip(video.scores, styles, strict=True):
            if score.hits:
                axes.plot(_smoothed(score.hits), dash, color=colour, label=name)
        axes.set(title=video.name, xlabel="faces of people we know", ylim=(-0.02, 1.02))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(f"recall over the last {WINDOW}")
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(lines, names, frameon=False, loc="outside upper center", ncols=2)
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
    """Simulate, label, watch, compare and report: exit code 0, or 130 after Ctrl-C."""
    command = argparse.ArgumentParser(
        prog="python -m onlooker.experiments.demo",
        description="Real faces past simulated cameras, named by a learner with four labels each.",
        epilog="example: python -m onlooker.experiments.demo --seed 1 --frames 960",
    )
    command.add_argument(
        "--seed", type=at_least(0), default=0, help="chooses the people and the light"
    )
    command.add_argument(
        "--frames", type=at_least(1), default=FRAMES, help="of each of the three videos"
    )
    command.add_argument("--folder", type=Path, default=Path("demo"), help="where results go")
    arguments = command.parse_args(argv)
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    print(STORY, flush=True)
    try:
        videos = run(
            folder, seed=arguments.seed, frames=arguments.frames, console=Console(stderr=True)
        )
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    Console().print(terminal_table(videos))
    strangers = sum(video.online.strangers_named for video in videos)
    print(f"strangers that were given a name: {strangers}")
    report = write_report(folder / "report.html", videos, STORY)
    print(f"report: {report}\nvideo: {folder / 'annotated.mp4'} (one file per camera)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
