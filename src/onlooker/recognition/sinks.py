"""Where sightings go: a sink is opened and closed, and in between called frame by frame."""

import csv
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, Self, TextIO

from onlooker.core.errors import BadValue, OnlookerError
from onlooker.recognition.annotated_video import AnnotatedVideo
from onlooker.vision.types import Frame, Sighting

__all__ = ["AnnotatedVideo", "Callback", "CsvFile", "JsonLines", "Sink", "SinkClosed", "as_record"]


class SinkClosed(OnlookerError):
    """The reader of a sink has gone away: no error, but no reason to go on either."""


class Sink(Protocol):
    """A context manager that is called with each frame and the faces in it."""

    def __enter__(self) -> object: ...

    def __exit__(self, *error: Any) -> bool | None: ...

    def __call__(self, frame: Frame, sightings: Sequence[Sighting], /) -> None:
        """Write the sightings of one frame."""


def as_record(sighting: Sighting) -> dict[str, Any]:
    """A sighting as JSON has it; what is unknown or not a finite number is null.

    `name` is that of the track, `label` what the learner says of this face alone, with its
    `confidence`, `scores` and `sink`. `candidate` is no name: whom the face may be, too far from
    every labeled face to be called so. Where `measured` is false the face looked as before and was
    not measured in this frame: these five are the answer to the face of the track that was
    measured last.

    >>> from onlooker.vision.types import FaceBox, Refusal
    >>> dark = Refusal("too dark", 17.0, 40.0)
    >>> record = as_record(Sighting("door", 7, 0.28, 3, FaceBox(1, 2, 30, 40), None, None, dark))
    >>> record["box"], record["name"], record["quality"]
    ([1.0, 2.0, 30.0, 40.0], None, {'reason': 'too dark', 'value': 17.0, 'threshold': 40.0})
    """
    box, answer, refusal = sighting.box, sighting.answer, sighting.refusal
    return {
        "time": _finite(sighting.time),
        "camera": sighting.camera,
        "frame": int(sighting.frame),
        "track": int(sighting.track),
        "box": [_finite(side) for side in (box.left, box.top, box.width, box.height)],
        "name": sighting.name,
        "label": answer and answer.label,
        "candidate": answer and answer.candidate,
        "confidence": answer and _finite(answer.confidence),
        "scores": answer and {name: _finite(score) for name, score in answer.scores.items()},
        "sink": answer and _finite(answer.sink),
        "quality": refusal
        and {
            "reason": refusal.reason,
            "value": _finite(refusal.value),
            "threshold": _finite(refusal.threshold),
        },
        "measured": sighting.measured,
    }


class JsonLines:
    """One line of JSON for each sighting, at once: a reader in a pipe need not wait.

    All ASCII: names in any script survive whatever encoding the stream has, and none of them can
    control a terminal. The stream stays open: it belongs to the caller.

    >>> import sys
    >>> from onlooker.vision.types import FaceBox
    >>> with JsonLines(sys.stdout) as write:
    ...     write(None, [Sighting("door", 7, 0.28, 3, FaceBox(1, 2, 30, 40), "zoë", None)])
    {"time": 0.28, "camera": "door", ... "name": "zo\\u00eb", "label": null, ... "measured": true}
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to do: each frame was flushed."""

    def __call__(self, frame: Frame | None, sightings: Sequence[Sighting]) -> None:
        """Write the lines of one frame."""
        rows = [json.dumps(as_record(sighting), allow_nan=False) for sighting in sightings]
        with _closed_pipe_as_error(self._stream):
            self._stream.write("".join(f"{row}\n" for row in rows))
            self._stream.flush()


class CsvFile:
    """The same as a table with a header, UTF-8, scores as JSON in one cell; replaces the file.

    A spreadsheet takes a cell that begins with = + - @ for a formula, so a text that does gets an
    apostrophe in front, and so does one that begins with an apostrophe: to read a text back, take
    one leading apostrophe off.
    """

    COLUMNS = (
        *("time", "camera", "frame", "track", "left", "top", "width", "height", "name", "label"),
        *("candidate", "confidence", "scores", "sink", "reason", "value", "threshold", "measured"),
    )

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        try:
            self._file = self.path.open(
                "w", encoding="utf-8", errors="backslashreplace", newline=""
            )
        except OSError as error:
            raise BadValue(f"cannot write {self.path}: {error.strerror}") from error
        self._write([self.COLUMNS])
        return self

    def __exit__(self, *error: object) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(BrokenPipeError):
                file.close()

    def __call__(self, frame: Frame | None, sightings: Sequence[Sighting]) -> None:
        """Write the rows of one frame."""
        self._write([self._row(as_record(sighting)) for sighting in sightings])

    def _write(self, rows: Sequence[Sequence[object]]) -> None:
        if self._file is None:
            raise BadValue(f"{self.path} is not open; write to it inside a with block")
        with _closed_pipe_as_error(self._file):
            csv.writer(self._file).writerows(rows)
            self._file.flush()

    def _row(self, record: dict[str, Any]) -> list[object]:
        cells = record | dict(zip(("left", "top", "width", "height"), record["box"], strict=True))
        cells |= record["quality"] or {}
        if record["scores"] is not None:
            cells["scores"] = json.dumps(record["scores"], ensure_ascii=False)
        return [_no_formula(cells.get(column)) for column in self.COLUMNS]


class Callback:
    """A function of your own as a sink.

    >>> with Callback(lambda frame, sightings: print(len(sightings))) as sink:
    ...     sink(None, [])
    0
    """

    def __init__(self, function: Callable[[Frame, Sequence[Sighting]], object]) -> None:
        self._function = function

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to do."""

    def __call__(self, frame: Frame, sightings: Sequence[Sighting]) -> None:
        """Call the function."""
        self._function(frame, sightings)


def _finite(number: float) -> float | None:
    number = float(number)
    return number if math.isfinite(number) else None


def _no_formula(cell: object) -> object:
    # The second four are the full-width forms of the first.
    if isinstance(cell, str) and cell.lstrip()[:1] in tuple("'=+-@\uff1d\uff0b\uff0d\uff20"):
        return f"'{cell}"
    return cell


@contextmanager
def _closed_pipe_as_error(stream: TextIO) -> Iterator[None]:
    """Raise SinkClosed for a closed pipe; what is left in the buffer is discarded silently."""
    try:
        yield
    except BrokenPipeError as error:
        with suppress(OSError, ValueError):  # a stream without a descriptor has no such buffer
            null = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(null, stream.fileno())
            finally:
                os.close(null)
        raise SinkClosed("nobody reads the sightings any more") from error
