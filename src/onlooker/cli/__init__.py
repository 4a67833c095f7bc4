"""The command `onlooker`. Needs the extra `faces`; the commands are listed in `app`.

Exit codes: 0 done, 1 an error that is reported in one line, 2 wrong usage or a package that is not
installed, 130 interrupted (what was learned is on the disk).
"""

import signal
import sys

from onlooker.cli.output import INTERRUPTED, requires

REQUIRED = dict.fromkeys(("av", "cv2", "matplotlib", "rich", "typer"), "faces")
"""The packages that every command needs, and the extra that installs them."""


def main() -> None:
    """Run the command line; never returns.

    SIGTERM is handled like Ctrl-C from here on, so that a command that is stopped can still save.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with requires("the command line", REQUIRED):
            from onlooker.cli.app import app
        app(prog_name="onlooker")
    except KeyboardInterrupt:  # while the commands are imported, or after the command has ended
        sys.exit(INTERRUPTED)
