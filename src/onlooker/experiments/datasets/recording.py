"""Recording a dataset from cameras: frames that show one person, and the name of that person.

The `Recorder` asks once for the name of a face that appears. The answer holds while the face is
tracked from frame to frame, and ends when the track is lost or the face suddenly looks different:
another person may have stepped into its place. The `Appender` writes one picture after the other
into a dataset folder, which is a valid dataset after each.
"""

import csv
import hashlib
import io
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import cv2
import numpy as np

from onlooker.core.checks import as_number
from onlooker.core.errors import BadValue
from onlooker.experiments.datasets.manifest import COLUMNS, MANIFEST, read_dataset
from onlooker.recognition.pipeline import deferred_signals
from onlooker.vision.detector import Detector
from onlooker.vision.finder import Judge
from onlooker.vision.measuring import SIDES, change, small_face
from onlooker.vision.tracking import Tracker
from onlooker.vision.types import FaceBox, Frame, Pixels

ASIDE = "faces"
"""A subfolder that is not part of the dataset: the faces whose names were asked for."""
QUALITY = 95
"""Of the JPEG files."""


class Appender:
    """Adds to a dataset, or starts one in a folder that is new or empty; overwrites nothing.

    A picture is written before its row in the manifest, and Ctrl-C waits for both.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._manifest = folder, folder / MANIFEST
        self._columns, self._next = list(COLUMNS), dict[tuple[str, str], int]()
        if self._manifest.exists():
            for picture in read_dataset(folder).pictures:
                place = (picture.set, picture.camera)
                self._next[place] = max(self._next.get(place, 0), picture.frame + 1)
            with self._manifest.open(encoding="utf-8-sig", newline="") as file:
                self._columns = next(csv.reader(file))
        elif folder.exists() and (not folder.is_dir() or _has_other_files(folder)):
            raise BadValue(
                f"{folder} is neither empty nor a dataset (it has no {MANIFEST}); name a new folder"
            )

    def first_free(self, recording: str, camera: str) -> int:
        """The number after the last frame of a camera, in the manifest or only as a file."""
        folder = self.folder / folder_name(recording) / folder_name(camera)
        unlisted = [int(path.stem) for path in folder.glob("*.jpg") if path.stem.isdecimal()]
        return max([self._next.get((recording, camera), 0), *(number + 1 for number in unlisted)])

    def add(
        self, recording: str, camera: str, person: str | None, frame: int, pixels: Pixels
    ) -> Path:
        """Write one frame, and its row in the manifest."""
        path = PurePosixPath(folder_name(recording), folder_name(camera), f"{frame:04d}.jpg")
        values = (recording, camera, person or "", str(frame), str(path))
        row = dict(zip(COLUMNS, values, strict=True))
        _, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        file = self.folder / path
        try:
            with deferred_signals():
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("xb") as out:
                    out.write(encoded.tobytes())
                self._append(row)
        except FileExistsError:
            raise BadValue(f"{file} is there already and is not overwritten") from None
        except OSError as error:
            raise BadValue(f"cannot write {file}: {error.strerror or error}") from error
        return file

    def _append(self, row: dict[str, str]) -> None:
        """One write for the whole row; a part of a row, on a full disk, is removed again."""
        text = io.StringIO()
        lines = csv.DictWriter(text, self._columns, lineterminator="\n")
        with self._manifest.open("a+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if not size:
                lines.writeheader()
            elif (
                file.seek(-1, os.SEEK_END) and file.read(1) != b"\n"
            ):  # an editor left out the last newline
                text.write("\n")
            lines.writerow(row)
            content = text.getvalue().encode()
            try:
                if file.write(content) != len(content):
                    raise OSError("the disk is full")
            except OSError:
                file.truncate(size)
                raise


def clean(name: str | None) -> str | None:
    """A name that fits into the manifest: one line of text, no control characters.

    >>> clean("  Ana \\n\\x1b[2J/../🦊 ")
    'Ana [2J/../🦊'
    >>> clean(" ") is None
    True
    """
    text = unicodedata.normalize("NFC", " ".join((name or "").split()))
    return "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cs")).strip() or None


def _has_other_files(folder: Path) -> bool:
    return any(path.name != ASIDE for path in folder.iterdir())


def folder_name(name: str) -> str:
    """A folder name that is valid everywhere, and differs for different names.

    >>> folder_name("door"), folder_name("../door")
    ('door', 'door-f35fd4')
    """
    safe = re.sub(r"[^A-Za-z0-9_+-]+", "-", name).strip("-")[:40]
    if safe == name:
        return name
    return f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:6]}".strip("-")


Ask = Callable[[Pixels], str | None]
"""From a face to the name of the person; None or "" for a stranger; may raise RecordingStopped."""

CHANGED = 0.447
"""Largest change of one person's face from one frame to the next. Chosen on three simulated
films of 360 frames: all 45 people who stepped where another one stood were noticed, for two
needless questions. Movement blurs real faces more, which costs questions, not correctness."""


class RecordingStopped(Exception):
    """The person who was asked wants to stop."""


@dataclass(slots=True)
class RecordingCounts:
    """How many frames were saved, and why the others were not."""

    frames: int = 0
    saved: int = 0
    empty: int = 0
    """No face."""
    several: int = 0
    """More than one person."""
    poor: int = 0
    """The largest face is too poor to ask about, and its track has no name."""
    people: Counter[str | None] = field(default_factory=Counter)
    """Saved frames of each person; of strangers under None."""


class Recorder:
    """Saves every Nth frame that shows one person, with the name of that person.

    The folder is a valid dataset after each frame. An existing dataset is continued: frames of the
    same set and camera are numbered after the last one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        detect: Detector,
        judge: Judge,
        ask: Ask,
        recording: str = "recorded",
        every: int = 1,
    ) -> None:
        name = clean(recording)
        if name is None:
            raise BadValue("a set of pictures needs a name, for example 'recorded'")
        self.counts = RecordingCounts()
        self._out, self._recording = Appender(folder), name
        self._every = int(as_number("every", every, least=1, whole=True))
        self._detect, self._judge, self._ask = detect, judge, ask
        self._tracks = Tracker()
        self._seen: Counter[str] = Counter()
        self._first: dict[str, int] = {}
        self._known: dict[int, _NamedTrack] = {}

    def see(self, frame: Frame) -> Path | None:
        """Process the next frame; its file if it was saved."""
        boxes = list(self._detect(frame.pixels))
        # Frames that were dropped do not count: a live camera goes on while a name is typed.
        now = self._seen[frame.camera]
        self._seen[frame.camera] += 1
        tracks = [track.number for track in self._tracks.follow(frame.camera, now, boxes)]
        self._drop_changed(frame.pixels, tracks, boxes)
        if now % self._every:
            return None
        self.counts.frames += 1
        people = [
            at
            for at, (track, box) in enumerate(zip(tracks, boxes, strict=True))
            if track in self._known or self._judge(frame.pixels, box) is None
        ]
        if not boxes:
            self.counts.empty += 1
        elif len(people) > 1:
            self.counts.several += 1
        elif people != [0]:
            self.counts.poor += 1
        else:
            return self._save(frame, tracks[0], boxes[0])
        return None

    def _save(self, frame: Frame, track: int, box: FaceBox) -> Path:
        if track not in self._known:
            name = clean(self._ask(face_in(frame.pixels, box)))
            self._known[track] = _NamedTrack(name, small_face(frame.pixels, box))
        person, camera = self._known[track].name, clean(frame.camera) or "camera"
        if camera not in self._first:
            self._first[camera] = self._out.first_free(self._recording, camera)
        number = self._first[camera] + frame.index
        path = self._out.add(self._recording, camera, person, number, frame.pixels)
        self.counts.saved += 1
        self.counts.people[person] += 1
        return path

    def _drop_changed(self, pixels: Pixels, tracks: list[int], boxes: list[FaceBox]) -> None:
        """Drop the name of each track whose face has changed."""
        for track, box in zip(tracks, boxes, strict=True):
            if (known := self._known.get(track)) is not None:
                face = small_face(pixels, box)
                if change(known.face, face, SIDES) > CHANGED:
                    del self._known[track]
                known.face = face


@dataclass(slots=True, eq=False)
class _NamedTrack:
    """The name of a track, and its face in the last frame."""

    name: str | None
    face: Pixels


def face_in(pixels: Pixels, box: FaceBox, *, margin: float = 0.3) -> Pixels:
    """The face and a little around it, as far as the picture goes."""
    height, width = pixels.shape[:2]
    left = int(np.clip(box.left - margin * box.width, 0, width - 1))
    top = int(np.clip(box.top - margin * box.height, 0, height - 1))
    right = int(np.clip(box.left + (1 + margin) * box.width, left + 1, width))
    bottom = int(np.clip(box.top + (1 + margin) * box.height, top + 1, height))
    return pixels[top:bottom, left:right].copy()
