"""`onlooker models`: list, download and verify embedding models."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn
from rich.table import Table

from onlooker.cli.output import print_row
from onlooker.vision.models import REGISTRY, ModelError, cache_folder, fetch, installed, verify

models = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@models.callback()
def about() -> None:
    """Embedding models: list, download, verify.

    Example: onlooker models get sface
    """


@models.command("list")
def list_models() -> None:
    """List all models that can be downloaded: a table on a terminal, JSON Lines otherwise.

    Example: onlooker models list
    """
    paths = installed()
    rows = [
        {
            "name": model.name,
            "bytes": model.bytes,
            "licence": model.licence,
            "dimensions": model.recipe.dimensions,
            "file": str(paths[model.name]) if model.name in paths else None,
        }
        for model in REGISTRY
    ]
    if not sys.stdout.isatty():
        for row in rows:
            print_row(**row)
        return
    table = Table("name", "megabytes", "licence", "dimensions", "file")
    for row in rows:
        size = f"{int(str(row['bytes'])) / 1e6:.0f}"
        where = str(row["file"] or f"not downloaded; onlooker models get {row['name']}")
        table.add_row(str(row["name"]), size, str(row["licence"]), str(row["dimensions"]), where)
    Console().print(table)


@models.command("get")
def get(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A model that `list` shows.", show_default=False),
    ],
) -> None:
    """Download a model and verify it; an interrupted download is resumed.

    Prints the path of the file. A model that is on this machine is not downloaded again.

    Example: onlooker models get sface
    """
    console = Console(stderr=True)
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar:
        task = bar.add_task(name, total=None)
        path = fetch(
            name, progress=lambda done, total: bar.update(task, completed=done, total=total)
        )
    print_row(name=name, file=str(path))


@models.command("verify")
def verify_models(
    path: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="A file. [all that were downloaded]")
    ] = None,
) -> None:
    """Compare files with the checksums of the registry.

    Example: onlooker models verify

    Example: onlooker models verify ~/Downloads/face_recognition_sface_2021dec.onnx
    """
    folder = cache_folder()
    fetched = [folder / model.file for model in REGISTRY]
    files = [file for file in fetched if file.exists()] if path is None else [path]
    if not files:
        raise ModelError(f"there is no model in {folder}; `onlooker models get {REGISTRY[0].name}`")
    for file in files:
        print_row(name=verify(file).name, file=str(file), ok=True)
