"""How a run is going, in one line on the terminal."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
from rich.text import Text

from onlooker.faces.summary import Summary


class Display:
    """Hand it to `run` as progress; on stderr, and silent unless that is a terminal.

    Sightings written to the same terminal would run through it: leave it out then.

    >>> with Display() as display:
    ...     display(Summary(frames=3, faces=2))
    """

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            _Counts(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,  # it may be a pipe with sightings
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, summary=Summary())

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def __call__(self, summary: Summary) -> None:
        """Show the newest counts."""
        self._progress.update(self._task, completed=summary.frames, summary=summary)


class _Counts(ProgressColumn):
    """The counts, and the rate of the last half minute."""

    def render(self, task: Task) -> Text:
        summary: Summary = task.fields["summary"]
        rate = task.finished_speed or task.speed or summary.rate
        return Text(
            f"{_many(summary.frames, 'frame')} ({rate:.1f}/s)  {_many(summary.faces, 'face')}  "
            f"{_many(len(summary.named), 'person', 'people')}  "
            f"{_many(summary.strangers, 'stranger')}  "
            f"{_many(summary.vertices, 'vertex', 'vertices')}"
        )


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count:,} {one if count == 1 else more or one + 's'}"
