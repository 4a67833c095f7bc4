"""`onlooker bench`: the learner beside other methods, on data that comes with their packages."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.output import requires
from onlooker.core.errors import BadValue

REQUIRED = {"matplotlib": "experiments", "sklearn": "experiments", "river": "river"}
"""The packages that the comparison needs, and the extra that installs each."""

bench = typer.Typer(no_args_is_help=True)


@bench.callback()
def compare() -> None:
    """Compare the learner with other methods.

    Example: onlooker bench peers --plot peers.svg
    """


@bench.command("peers")
def peers(
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many shuffles.")] = 3,
    examples: Annotated[
        int, typer.Option("--examples", min=50, help="The first N of each shuffle.")
    ] = 1000,
    streams: Annotated[
        str | None, typer.Option("--streams", metavar="A,B", help="Only these streams. [all]")
    ] = None,
    plot: Annotated[
        list[Path] | None,
        typer.Option("--plot", metavar="FILE", help=".svg, .pdf or .png; again for more."),
    ] = None,
    rows_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Where the rows are written.")
    ] = None,
) -> None:
    """Accuracy, coverage, time and memory beside other libraries, in one table.

    Five labels a class, everything else unlabeled: digits, ImageSegments, Phishing and Bananas.
    Beside scikit-learn and river, GraphLearning and CapyMOA where they are installed. It says who
    wins where, and what is missing. Takes minutes.

    Example: onlooker bench peers --plot peers.svg --json peers.json
    """
    with requires("bench peers", REQUIRED):
        from onlooker.experiments import peers as comparison
        from onlooker.experiments.report.plots import FORMATS
    chosen = comparison.STREAMS if streams is None else tuple(streams.split(","))
    for stream in chosen:
        if stream not in comparison.STREAMS:
            known = ", ".join(comparison.STREAMS)
            raise BadValue(f"no stream is called {stream!r}; there are {known}")
    for path in [*(plot or ()), *([rows_file] if rows_file else ())]:
        if not path.parent.is_dir():
            raise BadValue(f"cannot write {path}: make {path.parent} first")
    for path in plot or ():
        if path.suffix not in FORMATS:
            raise BadValue(f"cannot draw {path}: the name must end in {' or '.join(FORMATS)}")
    rows = comparison.compare_peers(chosen, seeds=seeds, examples=examples)
    comparison.print_peers(rows)
    for path in plot or ():
        comparison.save_peers(rows, path)
    if rows_file:
        found = json.dumps([asdict(row) for row in rows], indent=1)
        rows_file.write_text(found + "\n", encoding="utf-8")
