"""One result of the reproduction: what the paper says, what we found, figures and tables."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from rich import box
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from onlooker.experiments.report.html import drawing, paragraphs, table


@dataclass(frozen=True, slots=True, eq=False)
class DataTable:
    """A table of a section; the first `words` columns are text, the others are numbers."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1

    def html(self) -> str:
        """As a part of the page."""
        caption = f"<h3>{paragraphs(self.caption)[3:-4]}</h3>" if self.caption else ""
        return caption + table(self.header, self.rows, words=self.words)

    def csv(self) -> str:
        """The same cells for a spreadsheet."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return text.getvalue()

    def show(self, console: Console) -> None:
        """Print it. A table that is wider than the terminal, or than a file's 80 columns, is
        printed as wide as it is: a cell that was cut off would be lost."""
        if self.caption:
            console.print(f"[bold]{escape(self.caption)}[/bold]", highlight=False)
        same = [at for at in range(len(self.header)) if len({row[at] for row in self.rows}) == 1]
        if same:  # terminals are narrow: a constant column becomes a sentence
            facts = [f"{self.header[at]} {self.rows[0][at]}" for at in same]
            console.print(f"[dim]In all rows:[/dim] {escape(', '.join(facts))}", highlight=False)
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        varied = [at for at in range(len(self.header)) if at not in same]
        if not varied or not self.rows:
            return
        for at in varied:
            justify: JustifyMethod = "left" if at < self.words else "right"
            longest = max(*(len(row[at]) for row in self.rows), _longest_word(self.header[at]))
            shown.add_column(self.header[at], justify=justify, min_width=longest)
        for row in self.rows:
            shown.add_row(*(escape(row[at]) for at in varied))
        least = Measurement.get(console, console.options.update(max_width=10_000), shown).minimum
        console.print(shown, width=max(console.width, least), crop=False, no_wrap=False)


def _longest_word(text: str) -> int:
    """The length of the longest word: a header is broken between words only.

    >>> _longest_word("worst to best order")
    5
    """
    return max((len(word) for word in text.split()), default=0)


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
    caption: str = ""
    """Of the table, where there are several."""
    further: Sequence[DataTable] = ()
    """Tables that follow the first one: what could be reached comes after what a user has."""

    @property
    def tables(self) -> tuple[DataTable, ...]:
        """All tables in order."""
        return DataTable(self.caption, self.header, self.rows, self.words), *self.further

    def html(self) -> str:
        """As a part of the page."""
        first, *others = self.tables
        parts = [
            f'<h2 id="{self.name}">{self.title}</h2>',
            f"<dl><dt>The paper</dt><dd>{paragraphs(self.paper)}</dd>"
            f"<dt>Here</dt><dd>{paragraphs(self.found)}</dd></dl>",
            first.html(),
            *map(drawing, self.figures),
            *(each.html() for each in others),
        ]
        return "\n".join(parts)

    def files(self) -> Iterator[tuple[str, str]]:
        """The name and the content of a CSV file for each table."""
        for number, each in enumerate(self.tables, start=1):
            yield f"{self.name}{'' if number == 1 else f'-{number}'}.csv", each.csv()

    def show(self, console: Console) -> None:
        """Print it on a terminal or into a file."""
        console.print(f"\n[bold]{self.title}[/bold]")
        console.print(f"[dim]The paper:[/dim] {escape(self.paper)}", highlight=False)
        console.print(f"[dim]Here:[/dim] {escape(self.found)}", highlight=False)
        for each in self.tables:
            each.show(console)
