"""The log of commands that run for months: time, level and camera of each line, and bounded.

It goes to stderr, where whoever runs the service collects it, or to a file that is rotated. A line
never has the name of a person in it: forgetting somebody does not reach logs.
"""

import json
import logging
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.output import one_line
from onlooker.core.errors import OnlookerError

LOG_BYTES, OLD_LOGS = 5_000_000, 3
"""A log file is renamed when it would become larger; so many earlier ones are kept."""
REPEAT_SECONDS = 60.0
"""How long the same message about the same camera is left out."""
REMEMBERED = 256
"""Messages that are compared with."""

LogJsonOption = Annotated[
    bool, typer.Option("--log-json", help="Log as JSON Lines: time, level, camera, message.")
]
LogFileOption = Annotated[
    Path | None,
    typer.Option(
        "--log-file", metavar="FILE", help="Log into FILE, at most 20 MB in four files. [stderr]"
    ),
]


class LogError(OnlookerError):
    """The log file cannot be written."""


class LogFormat(logging.Formatter):
    """One line for each record, as text or as JSON.

    >>> record = logging.makeLogRecord(
    ...     {"created": 0.25, "levelname": "WARNING", "msg": "lost", "camera": "door"})
    >>> LogFormat(as_json=False).format(record)
    '1970-01-01T00:00:00.250Z WARNING door: lost'
    >>> LogFormat(as_json=True).format(record)
    '{"time": "1970-01-01T00:00:00.250Z", "level": "WARNING", "camera": "door", "message": "lost"}'
    """

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """The line; a traceback follows the message in it."""
        seconds, milliseconds = divmod(round(record.created * 1000), 1000)
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{milliseconds:03d}Z"
        camera = getattr(record, "camera", None)
        message = record.getMessage()
        if record.exc_info:
            message += f" | {self.formatException(record.exc_info)}"
        if self._as_json:
            fields = {"level": record.levelname, "camera": camera, "message": message}
            return json.dumps({"time": when, **fields})
        start = f"{when} {record.levelname}"
        return one_line(f"{start} {camera}: {message}" if camera else f"{start} {message}")


class LeaveOutRepeats(logging.Filter):
    """What is said again within a minute is counted, not written.

    >>> now = [0.0]
    >>> repeats = LeaveOutRepeats(lambda: now[0])
    >>> def said():
    ...     record = logging.makeLogRecord({"msg": "lost %s", "args": ("it",), "camera": "door"})
    ...     return record.getMessage() if repeats.filter(record) else None
    >>> said(), said(), said()
    ('lost it', None, None)
    >>> now[0] = 61.0
    >>> said()
    'lost it (and 2 more like it)'
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last: OrderedDict[tuple[str, str, object], tuple[float, int]] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it."""
        key = record.name, str(record.msg), getattr(record, "camera", None)
        now = self._clock()
        since, count = self._last.get(key, (-REPEAT_SECONDS, 0))
        if now - since < REPEAT_SECONDS:
            self._last[key] = since, count + 1
            return False
        self._last[key] = now, 0
        self._last.move_to_end(key)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        if count:
            record.msg, record.args = f"{record.getMessage()} (and {count} more like it)", None
        return True


@contextmanager
def logging_to(file: Path | None, *, as_json: bool) -> Iterator[Callable[[str], None]]:
    """Log during the block; the function says something to whoever started the command."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        try:
            handler = RotatingFileHandler(
                file, maxBytes=LOG_BYTES, backupCount=OLD_LOGS, encoding="utf-8"
            )
        except OSError as error:
            raise LogError(f"cannot log into {file}: {error.strerror}; choose another") from error
    handler.setFormatter(LogFormat(as_json=as_json))
    handler.addFilter(LeaveOutRepeats())
    everything, ours = logging.getLogger(), logging.getLogger("onlooker")
    level = ours.level
    everything.addHandler(handler)
    ours.setLevel(logging.INFO)

    def say(text: str) -> None:
        if as_json and file is None:
            ours.info("%s", text)
        else:
            print(f"onlooker: {one_line(text)}", file=sys.stderr, flush=True)

    try:
        yield say
    finally:
        ours.setLevel(level)
        everything.removeHandler(handler)
        handler.close()
