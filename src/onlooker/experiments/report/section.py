"""One result of the reproduction: what the paper says, what we found, figures and a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from rich import box
from rich.console import Console
from rich.table import Table

from onlooker.experiments.report.html import drawing, paragraphs, table


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A section of the report."""

    name: str
    title: str
    paper: str
    """The statement of the paper, and its section there."""
    found: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: Sequence[Figure] = ()
    words: int = 1
    """The number of leading columns that are text."""
    command: str = ""

    def html(self) -> str:
        """As a part of the page."""
        parts = [
            f'<h2 id="{self.name}">{self.title}</h2>',
            f"<dl><dt>The paper</dt><dd>{paragraphs(self.paper)}</dd>"
            f"<dt>Here</dt><dd>{paragraphs(self.found)}</dd></dl>",
            *map(drawing, self.figures),
            table(self.header, self.rows, words=self.words),
        ]
        return "\n".join(parts)

    def show(self, console: Console) -> None:
        """Print it on a terminal."""
        console.print(f"\n[bold]{self.title}[/bold]")
        console.print(f"[dim]The paper:[/dim] {self.paper}", highlight=False)
        console.print(f"[dim]Here:[/dim] {self.found}", highlight=False)
        same = [at for at in range(len(self.header)) if len({row[at] for row in self.rows}) == 1]
        if same:  # terminals are narrow: a constant column becomes a sentence
            facts = [f"{self.header[at]} {self.rows[0][at]}" for at in same]
            console.print(f"[dim]In all rows:[/dim] {', '.join(facts)}", highlight=False)
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        varied = [at for at in range(len(self.header)) if at not in same]
        if not varied:
            return
        for at in varied:
            words = at < self.words
            shown.add_column(self.header[at], justify="left" if words else "right", no_wrap=words)
        for row in self.rows:
            shown.add_row(*(row[at] for at in varied))
        console.print(shown)
