"""`onlooker demo`: real faces past simulated cameras."""

from pathlib import Path
from typing import Annotated

import typer

from onlooker.experiments.demo import FRAMES, main


def demo(
    seed: Annotated[int, typer.Option(help="Another cast, other light.")] = 0,
    frames: Annotated[
        int, typer.Option(min=60, help="Frames of each of the three videos.")
    ] = FRAMES,
    folder: Annotated[Path, typer.Option(help="Where report and video go.")] = Path("demo"),
) -> None:
    """Label four faces each, watch, and compare with nearest neighbour: no camera needed.

    Example: onlooker demo --seed 1
    """
    arguments = ["--seed", str(seed), "--frames", str(frames), "--folder", str(folder)]
    raise typer.Exit(main(arguments))
