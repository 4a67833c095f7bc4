"""One page that shows what happened at the simulated cameras: plots, tables, and frames."""

import base64
import html
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np
from matplotlib.figure import Figure

from onlooker.evaluation import Score
from onlooker.experiments.page import document, drawing, paragraphs, share, table
from onlooker.vision.types import Pixels

ONLINE, NEAREST = "#0072B2", "#D55E00"  # Okabe-Ito: told apart by the colour-blind, and in print
WINDOW = 60

CREDIT = """<p class="note">Everything stayed on this machine. This is not authentication. The
faces are the ORL pictures of AT&amp;T Laboratories Cambridge, brought to life.</p>"""
HEADER = ("video", "method", "precision", "recall", "missed")


class Watched(Protocol):
    """What came of one video."""

    @property
    def name(self) -> str:
        """V1, V2 or VO."""

    @property
    def online(self) -> Score:
        """The learner."""

    @property
    def nearest(self) -> Score:
        """Its rival."""

    @property
    def stills(self) -> list[Pixels]:
        """Some frames as they were seen."""


def write_report(path: Path, videos: Sequence[Watched], story: str) -> Path:
    """The page, with everything inside it; returns its path."""
    rows = [
        (video.name, method, share(score.precision), share(score.recall), str(score.missed))
        for video in videos
        for method, score in (
            ("online learner", video.online),
            ("nearest neighbour", video.nearest),
        )
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


def _figure(videos: Sequence[Watched]) -> Figure:
    """Recall along each video."""
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    panels = figure.subplots(1, len(videos), sharey=True, squeeze=False)[0]
    for axes, video in zip(panels, videos, strict=True):
        for score, colour, dash, name in (
            (video.online, ONLINE, "-", "online learner"),
            (video.nearest, NEAREST, "--", "nearest neighbour"),
        ):
            if score.hits:
                axes.plot(_smoothed(score.hits), dash, color=colour, label=name)
        axes.set(title=video.name, xlabel="faces of people we know", ylim=(-0.02, 1.02))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(f"recall over the last {WINDOW}")
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(lines, names, frameon=False, loc="outside upper center", ncols=2)
    return figure


def _smoothed(hits: Sequence[bool]) -> list[float]:
    """The share of hits among the last so many, as far as there are that many.

    >>> _smoothed([True, False, True])
    [1.0, 0.5, 0.6666666666666666]
    """
    sums = np.concatenate([[0], np.cumsum(hits)])
    ends = np.arange(1, len(hits) + 1)
    begins = np.maximum(0, ends - WINDOW)
    return list(((sums[ends] - sums[begins]) / (ends - begins)).tolist())
