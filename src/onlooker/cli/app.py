"""All commands of `onlooker`, and how their errors are reported."""

import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import onlooker
from onlooker.cli.audit import audit_home
from onlooker.cli.bench import bench
from onlooker.cli.calibrate import calibrate_command
from onlooker.cli.cluster import cluster
from onlooker.cli.dataset import dataset
from onlooker.cli.demo import demo
from onlooker.cli.doctor import doctor
from onlooker.cli.enroll import enroll, enroll_folder
from onlooker.cli.explain import explain
from onlooker.cli.history import events, history, undo
from onlooker.cli.models import models
from onlooker.cli.output import print_problem
from onlooker.cli.people import people
from onlooker.cli.reproduce import reproduce
from onlooker.cli.serve import login, serve
from onlooker.cli.strangers import strangers
from onlooker.cli.transfer import backup, export, import_command, restore_command
from onlooker.cli.watch import watch
from onlooker.core.errors import OnlookerError

__all__ = ["app"]

LONGEST = 200
"""Characters of a first sentence in a list of commands."""


class WholeHelp(TyperGroup):
    """A group that lists its commands with their whole first sentence, not with its beginning."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(LONGEST)) for name, one in found if one is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class CommandGroup(WholeHelp):
    """A group that reports an error of Onlooker in one line on stderr, with exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        # Pillow warns of each odd note in a picture: one file can hold thousands of them.
        warnings.filterwarnings("ignore", module=r"PIL\.")
        try:
            return super().invoke(ctx)
        except OnlookerError as error:
            print_problem(error)
            raise typer.Exit(1) from error


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(watch)
app.command()(serve)
app.command()(login)
app.command()(enroll)
app.command("enroll-folder")(enroll_folder)
app.add_typer(people, name="people", cls=WholeHelp)
app.add_typer(strangers, name="strangers", cls=WholeHelp)
app.command()(explain)
app.command("audit")(audit_home)
app.add_typer(history, name="history", cls=WholeHelp)
app.command()(events)
app.command()(undo)
app.command()(export)
app.command("import")(import_command)
app.command()(backup)
app.command("restore")(restore_command)
app.command("calibrate")(calibrate_command)
app.add_typer(dataset, name="dataset", cls=WholeHelp)
app.add_typer(models, name="models", cls=WholeHelp)
app.add_typer(cluster, name="cluster", cls=WholeHelp)
app.command()(reproduce)
app.add_typer(bench, name="bench", cls=WholeHelp)
app.command()(doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(onlooker.__version__)
        raise typer.Exit


@app.callback()
def learn_by_watching(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Learn who is in front of a camera: a few labeled faces once, then by watching.

    Results are JSON Lines on stdout; everything else is on stderr.

    Example: onlooker watch door.mp4 --people people/ --home home/
    """
