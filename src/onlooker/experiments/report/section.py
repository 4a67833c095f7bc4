"""One result of the reproduction: what the paper says, what we found, and what shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from rich import box
from rich.console import Console
from rich.table import Table

from onlooker.experiments.report.html import drawing, paragraphs, table


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A chapter of the report."""

    name: str
    title: str
    paper: str
    """The statement of the paper, and where it stands."""
    found: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: Sequence[Figure] = ()
    words: int = 1
    """How many of the first columns are words."""
    command: str = ""

    def html(self) -> str:
        """For the page."""
        parts = [
            f'<h2 id="{self.name}">{self.title}</h2>',
            f"<dl><dt>The paper</dt><dd>{paragraphs(self.paper)}</dd>"
            f"<dt>Here</dt><dd>{paragraphs(self.found)}</dd></dl>",
            *map(drawing, self.figures),
            table(self.header, self.rows, words=self.words),
        ]
        return "\n".join(parts)

    def show(self, console: Console) -> None:
        """For the terminal."""
        console.print(f"\n[bold]{self.title}[/bold]")
        console.print(f"[dim]The paper:[/dim] {self.paper}", highlight=False)
        console.print(f"[dim]Here:[/dim] {self.found}", highlight=False)
        same = [at for at in range(len(self.header)) if len({row[at] for row in self.rows}) == 1]
        if same:  # a column that says one thing is a sentence, and terminals are narrow
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
