"""What commands print: JSON rows on stdout, one line for each problem on stderr.

Needs no more than the core, so that it can also report that a package is not installed.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from onlooker.core.errors import install_command

INTERRUPTED = 130
"""Exit code after Ctrl-C or SIGTERM, as shells use it."""
NOT_INSTALLED = 2
"""Exit code when a command needs a package that is not installed."""


def one_line(value: object) -> str:
    """The value as text without line breaks and control characters: it may quote a user's name.

    >>> one_line("no picture in\\na\\x1b[2J folder")
    'no picture in a\\\\x1b[2J folder'
    """
    text = " ".join(str(value).split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def print_row(**row: Any) -> None:
    """One line of JSON on stdout."""
    print(json.dumps(row))


def print_problem(problem: object) -> None:
    """One line on stderr."""
    print(f"onlooker: {one_line(problem)}", file=sys.stderr)


def print_problems(problems: Iterable[object]) -> None:
    """One line on stderr for each."""
    for problem in problems:
        print_problem(problem)


def print_left_out(names: Iterable[str]) -> None:
    """Names in a folder of people that are not taught, because somebody removed them since."""
    print_problems(
        f"{name} is not taught again: that name was known once, and it was forgotten, renamed or "
        "undone since; label a face to bring it back"
        for name in names
    )


def missing_package(command: str, package: str, extra: str) -> str:
    """The message for a package that is not installed.

    >>> missing_package("serve", "fastapi", "web")
    'serve needs fastapi, which is not installed: pip install ...[web]"'
    """
    return f"{command} needs {package}, which is not installed: {install_command(extra)}"


@contextmanager
def requires(command: str, extras: Mapping[str, str]) -> Iterator[None]:
    """Exit with one line if an import in the block fails for one of these packages.

    The mapping names the extra that installs each package. Any other missing module is a bug of
    ours, and its traceback is shown.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in extras:
            raise
        print_problem(missing_package(command, package, extras[package]))
        sys.exit(NOT_INSTALLED)
