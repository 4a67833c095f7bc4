"""`onlooker demo`: real faces in front of simulated cameras."""

from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.options import NoHomeFeaturesOption
from onlooker.cli.recognizers import finder_from
from onlooker.cli.settings import load_settings


def demo(
    seed: Annotated[int, typer.Option(help="Chooses the people and the light.")] = 0,
    frames: Annotated[
        int | None, typer.Option(min=60, help="Frames of each of the four videos. [480]")
    ] = None,
    features: NoHomeFeaturesOption = None,
    folder: Annotated[Path, typer.Option(help="Where report and videos are written.")] = Path(
        "demo"
    ),
) -> None:
    """Label four faces of each person, watch, compare, and correct a label: no camera needed.

    Four videos, with the default features and with pixels; the learner, nearest neighbour and
    self-training.

    Example: onlooker demo --seed 1
    """
    from onlooker.experiments.demo import main  # imports matplotlib

    kind = finder_from(load_settings(features=features), for_home=False).kind
    if kind == "embedding":
        raise typer.BadParameter("the demo needs no model: choose sface, hog or pixels")
    arguments = ["--seed", str(seed), "--folder", str(folder), "--features", kind]
    if frames is not None:
        arguments += ["--frames", str(frames)]
    raise typer.Exit(main(arguments))
