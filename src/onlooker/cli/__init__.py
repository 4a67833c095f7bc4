"""The command `onlooker`. Needs the extra `faces`; the commands themselves are in `app`.

Exit codes: 0 done, 1 an error that was told in one line, 2 not understood or not installed,
130 interrupted (what was learned is saved first).
"""

import signal
import sys

NEEDED = ("av", "cv2", "matplotlib", "rich", "typer")
"""What the extra brings. That another module is missing is our mistake, and may be seen."""


def main() -> None:
    """Run the command line; never returns.

    SIGTERM is treated as Ctrl-C from here on, so that whoever is stopped can still save.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from onlooker.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        print(missing(error.name), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    try:
        app(prog_name="onlooker")
    except KeyboardInterrupt:  # so late that there was nothing left to interrupt
        sys.exit(130)


def missing(module: str | None) -> str:
    """What to say where a module is not installed.

    >>> missing("cv2")
    'onlooker: the command line needs cv2, not installed here: pip install "onlooker[faces]"'
    """
    return (
        f"onlooker: the command line needs {module}, not installed here: "
        'pip install "onlooker[faces]"'
    )
