"""One page that shows what happened at the simulated cameras: plots, tables, and frames."""

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np
from matplotlib.figure import Figure

from onlooker.faces.records import Pixels

ONLINE, NEAREST = "#0072B2", "#D55E00"  # Okabe-Ito: told apart by the colour-blind, and in print
WINDOW = 60

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Onlooker: demo</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }}
table {{ border-collapse: collapse }} td, th {{ padding: .3rem .8rem; text-align: right }}
th {{ border-bottom: 2px solid #222 }} :is(td, th):nth-child(-n + 2) {{ text-align: left }}
img {{ width: 32%; margin: 0 1% 1% 0 }} p.note {{ color: #555 }}
</style>
<h1>Faces past simulated cameras</h1><p>{story}</p>
<table><tr><th>video</th><th>method</th><th>precision</th><th>recall</th><th>missed</th></tr>
{rows}</table>
{figure}
{stills}
<p class="note">Everything stayed on this machine. This is not authentication. The faces are the ORL
pictures of AT&amp;T Laboratories Cambridge, brought to life.</p></html>
"""


class Counted(Protocol):
    """How one method fared."""

    known: int
    right: int
    hits: list[bool]

    @property
    def precision(self) -> float | None:
        """None where nothing was named."""

    @property
    def recall(self) -> float:
        """Over the faces of people we know."""


class Watched(Protocol):
    """What came of one video."""

    @property
    def name(self) -> str:
        """V1, V2 or VO."""

    @property
    def online(self) -> Counted:
        """The learner."""

    @property
    def nearest(self) -> Counted:
        """Its rival."""

    @property
    def stills(self) -> list[Pixels]:
        """Some frames as they were seen."""


def write_report(path: Path, videos: Sequence[Watched], story: str) -> Path:
    """The page, with everything inside it; returns its path."""
    rows = "\n".join(
        _row(video.name, method, tally)
        for video in videos
        for method, tally in (
            ("online learner", video.online),
            ("nearest neighbour", video.nearest),
        )
    )
    stills = "\n".join(
        f"<h2>{html.escape(video.name)}</h2>" + "".join(map(_still, video.stills))
        for video in videos
    )
    story = "</p><p>".join(html.escape(part) for part in story.strip().split("\n\n"))
    page = PAGE.format(story=story, rows=rows, figure=_figure(videos), stills=stills)
    path.write_text(page, encoding="utf-8")
    return path


def _row(video: str, method: str, tally: Counted) -> str:
    precision = "-" if tally.precision is None else f"{tally.precision:.3f}"
    cells = (video, method, precision, f"{tally.recall:.3f}", str(tally.known - tally.right))
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def _still(pixels: Pixels) -> str:
    _, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 80])
    data = base64.b64encode(encoded.tobytes()).decode()
    return f'<img alt="a frame with a box around each face" src="data:image/jpeg;base64,{data}">'


def _figure(videos: Sequence[Watched]) -> str:
    """Recall along each video, as vector graphics."""
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    panels = figure.subplots(1, len(videos), sharey=True, squeeze=False)[0]
    for axes, video in zip(panels, videos, strict=True):
        for tally, colour, dash, name in (
            (video.online, ONLINE, "-", "online learner"),
            (video.nearest, NEAREST, "--", "nearest neighbour"),
        ):
            if tally.hits:
                axes.plot(_smoothed(tally.hits), dash, color=colour, label=name)
        axes.set(title=video.name, xlabel="faces of people we know", ylim=(-0.02, 1.02))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(f"recall over the last {WINDOW}")
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(lines, names, frameon=False, loc="outside upper center", ncols=2)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg")
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]


def _smoothed(hits: Sequence[bool]) -> list[float]:
    """The share of hits among the last so many, as far as there are that many.

    >>> _smoothed([True, False, True])
    [1.0, 0.5, 0.6666666666666666]
    """
    sums = np.concatenate([[0], np.cumsum(hits)])
    ends = np.arange(1, len(hits) + 1)
    begins = np.maximum(0, ends - WINDOW)
    return list(((sums[ends] - sums[begins]) / (ends - begins)).tolist())
