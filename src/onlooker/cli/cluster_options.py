"""What the commands of `onlooker cluster` take."""

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Lists the sites and their cameras.")
]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", metavar="HOST:PORT", help="Of a Ray. [one of its own, here]"),
]
WatchOption = Annotated[bool, typer.Option("--watch", help="A table that lives, until Ctrl-C.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Where the merged learner goes.")
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds that a site may take to answer.")
]
DEFAULT = Path("cluster.toml")
