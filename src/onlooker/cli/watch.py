"""`onlooker watch`: name the faces in front of cameras, and learn from them."""

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.homes import Keeper
from onlooker.cli.options import (
    BandwidthOption,
    CutoffOption,
    DetectorOption,
    FeaturesOption,
    ModelOption,
    OneEachOption,
    PeopleOption,
    StateOption,
    VerticesOption,
)
from onlooker.cli.output import INTERRUPTED, one_line
from onlooker.cli.recognizers import Workshop, everybody_in
from onlooker.cli.settings import Settings, load_settings
from onlooker.core.errors import BadValue
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.recognition.pipeline import Display, RunSummary, run
from onlooker.recognition.recognizer import FaceRecognizer
from onlooker.recognition.sinks import AnnotatedVideo, CsvFile, JsonLines, Sink
from onlooker.video.sources import FrameCounts, frames_from
from onlooker.vision.types import Frame, Sighting

SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="0 (a camera), video.mp4, a folder of frames, '*.jpg', rtsp://...; door=0 names it.",
        show_default=False,
    ),
]
CsvOption = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="The sightings as a table, too.")
]
SaveOption = Annotated[
    Path | None, typer.Option("--save", metavar="OUT.mp4", help="The video with boxes and names.")
]
NoLearnOption = Annotated[
    bool, typer.Option("--no-learn", help="Only name; the state file stays as it is.")
]


def watch(
    sources: SourcesArgument,
    people: PeopleOption = None,
    state: StateOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    bandwidth: BandwidthOption = None,
    cutoff: CutoffOption = None,
    vertices: VerticesOption = None,
    detector: DetectorOption = None,
    csv: CsvOption = None,
    save: SaveOption = None,
    no_learn: NoLearnOption = False,
    one_each: OneEachOption = None,
) -> None:
    """Name the faces that cameras or recordings show, and learn from them.

    One line of JSON for each face on stdout. Ctrl-C or SIGTERM at any moment saves what was
    learned; the next run goes on from there.

    Example: onlooker watch 0 --people people/ --state door.state

    Example: onlooker watch door=door.mp4 yard=frames/ --state door.state --csv seen.csv
    """
    chosen = load_settings(
        people=people,
        state=state,
        features=features,
        model=model,
        bandwidth=bandwidth,
        cutoff=cutoff,
        vertices=vertices,
        detector=detector,
        one_each=one_each,
    )
    if chosen["state"] is None and not no_learn:
        raise typer.BadParameter("where to keep what is learned? Give --state FILE or --no-learn")
    _refuse_to_overwrite([csv, save], [*sources, chosen["state"]])
    sinks: list[Sink] = [JsonLines(sys.stdout)]
    sinks += [CsvFile(csv)] if csv else []
    sinks += [AnnotatedVideo(save)] if save else []
    summary, learner, counts = _watch(sources, chosen, sinks, learn=not no_learn)
    _tell(summary, learner, None if no_learn else chosen["state"])
    _tell_losses(counts)
    if summary.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _watch(
    sources: Sequence[str], chosen: Settings, sinks: Sequence[Sink], *, learn: bool
) -> tuple[RunSummary, OnlineHarmonicLearner, Mapping[str, FrameCounts]]:
    workshop = Workshop(chosen)
    state = Path(chosen["state"]) if chosen["state"] else None
    learner = workshop.learner(state)
    keeper = Keeper(learner, state if learn else None, 60 * chosen["save_every"], time.monotonic)
    summary = RunSummary(vertices=len(learner))
    counts: Mapping[str, FrameCounts] = {}
    with keeper:
        try:
            if chosen["people"]:
                workshop.teach(learner, everybody_in(Path(chosen["people"])))
            if not learner.names:
                raise BadValue("nobody is known yet: give --people DIR, or `onlooker enroll` first")
            with ExitStack() as stack:
                frames = stack.enter_context(frames_from(*sources))
                show = None if sys.stdout.isatty() else stack.enter_context(Display())
                recognizer = _Watching(workshop.recognizer(learner), learn=learn)

                def after_each_frame(summary: RunSummary) -> None:
                    keeper.look_at_the_clock()
                    if show is not None:
                        show(summary)

                summary = run(frames, recognizer, sinks, progress=after_each_frame)
                counts = frames.counts
        except KeyboardInterrupt:  # before the first frame or after the last
            summary = replace(summary, ended="interrupted")
    return summary, learner, counts


def _refuse_to_overwrite(outputs: Sequence[Path | None], inputs: Sequence[str | None]) -> None:
    taken = {Path(name.partition("=")[2] or name).resolve() for name in inputs if name}
    for path in outputs:
        if path is not None and path.resolve() in taken:
            raise typer.BadParameter(f"{path} is read here, it cannot be written too")


class _Watching:
    """The recognizer as `run` wants it: whether to learn is settled."""

    def __init__(self, recognizer: FaceRecognizer, *, learn: bool) -> None:
        self.learner, self._recognizer, self._learn = recognizer.learner, recognizer, learn

    def see(self, frame: Frame) -> list[Sighting]:
        return self._recognizer.see(frame, learn=self._learn)


def _tell(summary: RunSummary, learner: OnlineHarmonicLearner, state: str | None) -> None:
    """The summary, for people."""
    named = (
        ", ".join(f"{one_line(name)} {count}" for name, count in summary.named.items()) or "nobody"
    )
    print(
        f"{summary.ended}: {summary.frames} frames ({summary.rate:.1f}/s), {summary.faces} faces, "
        f"{summary.refused} of them too poor; named: {named}; strangers: {summary.strangers}; "
        f"{len(learner.names)} people and {len(learner)} vertices "
        + (f"saved in {state}" if state else "known, nothing saved"),
        file=sys.stderr,
    )


def _tell_losses(counts: Mapping[str, FrameCounts]) -> None:
    """What became of frames that were not looked at, camera by camera, where there are any."""
    for camera, count in counts.items():
        lost = {
            "could not be read": count.corrupt,
            "were dropped to keep up": count.dropped,
            "changed size": count.resized,
        }
        words = [f"{number} {what}" for what, number in lost.items() if number]
        words += [f"{count.reconnects} reconnects"] if count.reconnects else []
        if words:
            print(f"{one_line(camera)}: of its frames, {', '.join(words)}", file=sys.stderr)
