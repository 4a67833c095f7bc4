"""`onlooker watch`: name the faces in front of cameras, and learn from them.

What is learned is stored in a home, as `serve` does it: every face is on the disk before the next
frame, so that Ctrl-C, an error or a power failure at any moment loses nothing.
"""

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onlooker.alerts.channels import Alerts
from onlooker.cli.alerts import print_and_send_alarm
from onlooker.cli.homes import (
    NewHomeOption,
    StateOption,
    open_or_create,
    read_state,
    teach_once,
    to_teach,
    warn_of_chains,
)
from onlooker.cli.logs import LogFileOption, LogJsonOption, logging_to
from onlooker.cli.options import (
    BandwidthOption,
    CutoffOption,
    DetectorOption,
    FeaturesOption,
    ModelOption,
    OneEachOption,
    PeopleOption,
    ProviderOption,
    TrustRadiusOption,
    VerticesOption,
)
from onlooker.cli.output import INTERRUPTED, one_line, print_left_out, print_problem, print_problems
from onlooker.cli.recognizers import PeopleFaces, faces_in_folder, finder_from, new_learner
from onlooker.cli.settings import Settings, load_settings
from onlooker.core.errors import BadValue
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.home import Home, new_faces
from onlooker.home.reopen import is_home
from onlooker.recognition.pipeline import Display, RunSummary, run
from onlooker.recognition.recognizer import FaceRecognizer
from onlooker.recognition.sinks import AnnotatedVideo, CsvFile, JsonLines, Sink
from onlooker.strangers.book import StrangerBook
from onlooker.video.sources import FrameCounts, frames_from
from onlooker.vision.finder import FaceFinder
from onlooker.vision.types import Frame, Sighting

EXPIRE_EVERY = 3600.0
"""Seconds between two deletions of what has expired."""

SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="0 (a camera), video.mp4, a folder of frames, '*.jpg', rtsp://...; door=0 names it.",
        show_default=False,
    ),
]
CsvOption = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Also write the sightings as a table.")
]
SaveOption = Annotated[
    Path | None, typer.Option("--save", metavar="OUT.mp4", help="Write the video with names.")
]
NoLearnOption = Annotated[bool, typer.Option("--no-learn", help="Only name; store nothing.")]


def watch(
    sources: SourcesArgument,
    people: PeopleOption = None,
    home: NewHomeOption = None,
    state: StateOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    provider: ProviderOption = None,
    bandwidth: BandwidthOption = None,
    cutoff: CutoffOption = None,
    vertices: VerticesOption = None,
    trust_radius: TrustRadiusOption = None,
    detector: DetectorOption = None,
    csv: CsvOption = None,
    save: SaveOption = None,
    no_learn: NoLearnOption = False,
    one_each: OneEachOption = None,
    log_json: LogJsonOption = False,
    log_file: LogFileOption = None,
) -> None:
    """Name the faces that cameras or recordings show, and learn from them.

    Prints one line of JSON for each face. Every face that is learned is on the disk at once; the
    next run continues with it. The folder of people is taught once: a person who was forgotten
    since is not taught again.

    Example: onlooker watch 0 --people people/ --home home/

    Example: onlooker watch door=door.mp4 yard=frames/ --home home/ --csv seen.csv
    """
    chosen = load_settings(
        people=people,
        home=home,
        state=state,
        features=features,
        model=model,
        provider=provider,
        bandwidth=bandwidth,
        cutoff=cutoff,
        vertices=vertices,
        trust_radius=trust_radius,
        detector=detector,
        one_each=one_each,
    )
    if chosen["home"] is None and not no_learn:
        raise typer.BadParameter(_which_home(chosen["state"]))
    _refuse_to_overwrite([csv, save], [*sources, chosen["state"]])
    sinks: list[Sink] = [JsonLines(sys.stdout)]
    sinks += [CsvFile(csv)] if csv else []
    sinks += [AnnotatedVideo(save)] if save else []
    finder = finder_from(chosen)
    faces = faces_in_folder(chosen, finder)
    try:
        with logging_to(log_file, as_json=log_json):
            if no_learn:
                summary = _name_only(sources, chosen, finder, faces, sinks)
            else:
                summary = _learn(sources, chosen, finder, faces, sinks)
    except KeyboardInterrupt:  # before the first frame or after the last
        print_problem("interrupted while starting or ending; nothing that was learned is lost")
        raise typer.Exit(INTERRUPTED) from None
    if summary.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _which_home(state: str | None) -> str:
    """What to do when there is nowhere to store what is learned."""
    if state is None:
        return "where to store what is learned? Give --home DIR, or --no-learn"
    return (
        f"a state file is read, not written, any more: give --home DIR, which begins with {state} "
        "(`onlooker export` writes such a file), or --no-learn"
    )


def _refuse_to_overwrite(outputs: Sequence[Path | None], inputs: Sequence[str | None]) -> None:
    taken = {Path(name.partition("=")[2] or name).resolve() for name in inputs if name}
    for path in outputs:
        if path is not None and path.resolve() in taken:
            raise typer.BadParameter(f"{path} is read here, it cannot be written too")


def _learn(
    sources: Sequence[str],
    chosen: Settings,
    finder: FaceFinder,
    people: PeopleFaces,
    sinks: Sequence[Sink],
) -> RunSummary:
    """Name and learn; the sources are opened first, so that a wrong one leaves no new home."""
    with (
        frames_from(*sources) as frames,
        open_or_create(chosen, finder) as home,
        StrangerBook(home) as book,
    ):
        print_left_out(teach_once(home, people))
        _refuse_nobody(home.learner)
        warn_of_chains(finder.kind, home.learner.kernel)
        home.on_alarm = partial(print_and_send_alarm, Alerts())
        recognizer = FaceRecognizer(home, finder, one_each=chosen["one_each"], strangers=book)
        expiry = _Expiry(home, book)
        with _display() as show:

            def after_each_frame(summary: RunSummary) -> None:
                expiry.check()
                show(summary)

            summary = run(frames, recognizer, sinks, progress=after_each_frame)
        print_problems([*home.problems, *book.problems])
        _print_summary(summary, home.learner, f"stored in {chosen['home']}", frames.counts)
        _print_questions(book, chosen["home"])
    return summary


def _print_questions(book: StrangerBook, home: str) -> None:
    """Who may be somebody known: without an answer they stay strangers."""
    waiting = Counter(
        card.candidate for card in book.strangers.questions() if card.candidate is not None
    )
    if waiting:
        names = ", ".join(f"{one_line(name)} {count}" for name, count in waiting.most_common(5))
        print(
            f"strangers who may be somebody known: {names}; they are far from every labeled face, "
            f"so a person is asked: onlooker strangers ask --pictures faces/ --home {home}",
            file=sys.stderr,
        )


def _name_only(
    sources: Sequence[str],
    chosen: Settings,
    finder: FaceFinder,
    people: PeopleFaces,
    sinks: Sequence[Sink],
) -> RunSummary:
    """Name with a copy of what is known, in memory; nothing is learned or stored."""
    learner = _copy_of_known(chosen, finder)
    for face in new_faces(learner.vertices(), to_teach(people)):
        learner.teach(face.vector, face.name)
    _refuse_nobody(learner)
    with frames_from(*sources) as frames, _display() as show:
        recognizer = FaceRecognizer(learner, finder, one_each=chosen["one_each"])
        summary = run(frames, _OnlyNaming(recognizer), sinks, progress=show)
        _print_summary(summary, learner, "known, nothing stored", frames.counts)
    return summary


def _copy_of_known(chosen: Settings, finder: FaceFinder) -> OnlineHarmonicLearner:
    """The learner of the home, or else of the state file, or else one that knows nobody."""
    if chosen["home"] is not None and is_home(chosen["home"]):
        with open_or_create(chosen, finder) as home:
            return home.learner.restored(home.learner.state())
    if chosen["state"] is not None:
        return read_state(chosen, finder)
    return new_learner(chosen, finder)


def _refuse_nobody(learner: OnlineHarmonicLearner) -> None:
    if not learner.names:
        raise BadValue("nobody is known yet: give --people DIR, or `onlooker enroll` first")


class _OnlyNaming:
    """A recognizer that does not learn."""

    def __init__(self, recognizer: FaceRecognizer) -> None:
        self.learner, self._recognizer = recognizer.learner, recognizer

    def see(self, frame: Frame) -> list[Sighting]:
        return self._recognizer.see(frame, learn=False)


class _Expiry:
    """Deletes what has expired, at the start and every hour."""

    def __init__(self, home: Home, book: StrangerBook) -> None:
        self._home, self._book, self._next = home, book, 0.0
        self.check()

    def check(self) -> None:
        if time.monotonic() >= self._next:
            self._home.expire()
            self._book.expire()
            self._next = time.monotonic() + EXPIRE_EVERY


def _display() -> Display:
    """Progress on stderr; none where the sightings go to the same terminal."""
    return Display(Console(stderr=True, force_terminal=False if sys.stdout.isatty() else None))


def _print_summary(
    summary: RunSummary,
    learner: OnlineHarmonicLearner,
    where: str,
    counts: Mapping[str, FrameCounts],
) -> None:
    """Counts of the run, and of each camera that lost frames."""
    named = [f"{one_line(name)} {count}" for name, count in summary.named.items()]
    print(
        f"{summary.ended}: {summary.frames} frames ({summary.rate:.1f}/s), {summary.faces} faces, "
        f"{summary.refused} of them too poor; named: {', '.join(named) or 'nobody'}; "
        f"tracks without a name: {summary.strangers}; {len(learner.names)} "
        f"{'person' if len(learner.names) == 1 else 'people'} and {len(learner)} faces " + where,
        file=sys.stderr,
    )
    for camera, count in counts.items():
        losses = {
            "could not be read": count.corrupt,
            "were dropped to keep up": count.dropped,
            "changed size": count.resized,
        }
        parts = [f"{number} {loss}" for loss, number in losses.items() if number]
        parts += [f"{count.reconnects} reconnects"] if count.reconnects else []
        if parts:
            print(f"{one_line(camera)}: of its frames, {', '.join(parts)}", file=sys.stderr)
