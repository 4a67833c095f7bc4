"""`onlooker demo`: real faces in front of simulated cameras."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    seed: Annotated[int, typer.Option(help="Chooses the people and the light.")] = 0,
    frames: Annotated[
        int | None, typer.Option(min=60, help="Frames of each of the three videos. [640]")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where report and videos are written.")] = Path(
        "demo"
    ),
) -> None:
    """Label four faces of each person, watch, and compare with nearest neighbour: no camera needed.

    Example: onlooker demo --seed 1
    """
    from onlooker.experiments.demo import main  # imports matplotlib

    arguments = ["--seed", str(seed), "--folder", str(folder)]
    if frames is not None:
        arguments += ["--frames", str(frames)]
    raise typer.Exit(main(arguments))
