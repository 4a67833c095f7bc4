"""Simulated cameras with real faces: the paper's three videos (Section 4.1) and VN, with the truth.

V1: eight people walk past the first camera, one after the other. V2: the same people, making the
same faces, on a second camera, rotated and darker. VO: one person in three places, each with its
own camera, seen from eight positions while the light turns; half of the faces belong to people who
are never labeled. VN, which the paper does not have: the eight people of V1 and strangers at a
door, under the conditions of `conditions`, one at a time.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np

from onlooker.core.errors import BadValue
from onlooker.simulation.conditions import CONDITIONS
from onlooker.simulation.filming import (
    FACE,
    RATE,
    Appearance,
    CameraView,
    Truth,
    animated_face,
    film,
)
from onlooker.simulation.orl import PEOPLE, TALL, WIDE, pictures_of
from onlooker.simulation.scenery import HEIGHT, MARGIN, WIDTH, room
from onlooker.vision.types import FaceBox, Frame, picture

Scenes = Iterable[tuple[Frame, Truth]]

FRAMES = {"V1": 960, "V2": 960, "VO": 960, "VN": 960}
"""How many frames a scenario has by default."""
PEOPLE_KNOWN = 8
LIVELY = 7
"""The labeled people have at least this many pictures in their animation."""
RUN, STRANGER_RUN = 30, 12
"""About how many frames a labeled person stays in view, and a stranger."""
POSITIONS = ("cubicle",) * 3 + ("couch",) * 3 + ("conference",) * 2
CLEAR_SHARE, DOOR_STRANGERS = 6, 3
"""In VN: one frame in so many comes before anything is disturbed, so that there is something to
label; and how many strangers come under each condition, beside the eight."""
ENLARGED = 3
"""Factor by which pictures of strangers are enlarged: detectors miss some at their own size."""


def scenario(
    name: str, *, seed: int = 0, frames: int | None = None
) -> Iterator[tuple[Frame, Truth]]:
    """The frames of V1, V2, VO or VN, each with the truth; the same seed gives the same frames.

    V1, V2 and VN of one seed show the same eight people; VO shows the first of them, on the cameras
    "cubicle", "couch" and "conference". Frames are counted through the film, not by camera.

    >>> frame, truth = next(scenario("V1"))
    >>> frame.pixels.shape, frame.camera, truth.place
    ((480, 640, 3), 'camera1', 'corridor')
    """
    if name not in FRAMES:
        raise BadValue(f"no scenario {name!r}; there are {', '.join(FRAMES)}")
    count = FRAMES[name] if frames is None else frames
    if count < 0:
        raise BadValue(f"frames must not be negative, got {frames}")
    rng = np.random.default_rng([seed, list(FRAMES).index(name)])
    cast, others, mood = _people(seed)
    if name == "VO":
        runs = _three_places(cast[0], cast[1:] + others, count, rng)
    elif name == "VN":
        runs = _at_the_door(cast, others, count, rng)
    else:
        runs = _walking_past(_two_cameras(rng)[name], cast, count, rng)
    return film(runs, rng, mood=mood)


def prepared(seed: int = 0) -> Iterator[int]:
    """Compute the animations of the eight people, one after the other: slow, but cached.

    >>> next(prepared()) in range(1, 41)
    True
    """
    found = 0
    for person in (1 + np.random.default_rng(seed).permutation(PEOPLE)).tolist():
        if found == PEOPLE_KNOWN:
            return
        found += animated_face(person).pictures >= LIVELY
        yield person


def strangers(seed: int = 0) -> Iterator[tuple[Frame, Truth]]:
    """Everybody who is not among the eight of this seed: one still picture each, of no camera.

    >>> crowd = list(strangers())
    >>> len(crowd), crowd[0][0].camera, crowd[0][0].pixels.shape
    (32, '', (336, 276, 3))
    """
    _, others, _ = _people(seed)
    size = ENLARGED * WIDE, ENLARGED * TALL
    for index, person in enumerate(sorted(others)):
        still = cv2.resize(pictures_of(person)[0], size, interpolation=cv2.INTER_CUBIC)
        across, down, width, height = (ENLARGED * length for length in FACE)
        truth = Truth(None, "", FaceBox(across - width / 2, down - height / 2, width, height))
        yield Frame("", index, index / RATE, picture(still)), truth


def write_dataset(folder: Path, sets: Mapping[str, Scenes], *, suffix: str = ".jpg") -> Path:
    """Every frame as a picture, and `manifest.csv` that lists them in order; returns its path.

    The columns are set, camera, person (empty for strangers), frame, path, condition. OpenCV
    writes JPEG at a quality of 95, with which the same faces are found.
    """
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "manifest.csv"
    with manifest.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["set", "camera", "person", "frame", "path", "condition"])
        for name, scenes in sets.items():
            for frame, truth in scenes:
                path = Path(name, frame.camera, f"{frame.index:04d}{suffix}")
                (folder / path.parent).mkdir(parents=True, exist_ok=True)
                if not cv2.imwrite(str(folder / path), frame.pixels):
                    raise OSError(f"cannot write {folder / path}")
                who, where = truth.person or "", path.as_posix()
                rows.writerow([name, frame.camera, who, frame.index, where, truth.condition])
    return manifest


def write_video(path: Path, scenes: Scenes) -> list[Truth]:
    """The frames as an MP4 file; returns the truth of each frame."""
    truths = []
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(RATE), options={"crf": "20"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for frame, truth in scenes:
            picture = av.VideoFrame.from_ndarray(frame.pixels, format="bgr24")
            container.mux(stream.encode(picture))
            truths.append(truth)
        container.mux(stream.encode(None))
    return truths


def _people(seed: int) -> tuple[list[int], list[int], float]:
    """The eight labeled people, everybody else, and the mood: shared by all cameras."""
    rng = np.random.default_rng(seed)
    order = (1 + rng.permutation(PEOPLE)).tolist()
    cast: list[int] = []
    for person in order:
        if len(cast) < PEOPLE_KNOWN and animated_face(person).pictures >= LIVELY:
            cast.append(person)
    return cast, [person for person in order if person not in cast], rng.uniform()


def _two_cameras(rng: np.random.Generator) -> dict[str, CameraView]:
    """The two cameras of the paper: two metres apart and slightly rotated against each other."""
    first = CameraView(
        camera="camera1", place="corridor", background=_crop(room("corridor", rng), 0.5, 0.5),
        span=130, light=-90, gain=1.0,
    )  # fmt: skip
    second = CameraView(
        camera="camera2", place="hall", background=_crop(room("hall", rng), 0.5, 0.5),
        span=110, light=-90, gain=0.68, roll=6.0, squeeze=0.98, size=1.6,
    )  # fmt: skip
    return {"V1": first, "V2": second}


def _walking_past(
    view: CameraView, cast: list[int], frames: int, rng: np.random.Generator
) -> list[Appearance]:
    """Everybody once in order, then repeatedly in random order."""
    rounds = max(1, round(frames / (RUN * len(cast))))
    order = cast + [who for _ in range(rounds - 1) for who in rng.permutation(cast).tolist()]
    return [
        Appearance(who, True, view, length)
        for who, length in zip(order, _shares(frames, len(order)), strict=True)
    ]


def _three_places(
    person: int, others: list[int], frames: int, rng: np.random.Generator
) -> list[Appearance]:
    """One person between strangers: cubicle, couch and conference room, from eight positions."""
    rooms = {place: room(place, rng) for place in dict.fromkeys(POSITIONS)}
    runs: list[Appearance] = []
    met = 0
    for position, length in enumerate(_shares(frames, len(POSITIONS))):
        place = POSITIONS[position]
        view = CameraView(
            camera=place, place=place, background=_crop(rooms[place], *rng.uniform(0, 1, 2)),
            roll=rng.uniform(-3, 3), size=rng.uniform(1.5, 1.85), gain=rng.uniform(0.75, 1.1),
            light=-90, turn=360, strength=0.18,
        )  # fmt: skip
        pairs = max(1, round(length / (2 * RUN)))
        ours, theirs = _shares((length + 1) // 2, pairs), _shares(length // 2, pairs)
        for own, foreign in zip(ours, theirs, strict=True):
            runs.append(Appearance(person, True, view, own))
            for stay in _shares(foreign, max(1, round(foreign / STRANGER_RUN))):
                runs.append(Appearance(others[met % len(others)], False, view, stay))
                met += 1
    return runs


def _at_the_door(
    cast: list[int], others: list[int], frames: int, rng: np.random.Generator
) -> list[Appearance]:
    """Everybody once in clear view, then everybody under every condition, in random order."""
    view = CameraView(
        camera="door", place="porch", background=_crop(room("porch", rng), 0.5, 0.5), span=60
    )
    clear = frames // CLEAR_SHARE
    unknown = iter(others * (1 + len(CONDITIONS) * DOOR_STRANGERS // len(others)))
    runs: list[Appearance] = []
    for conditions, length in ((CONDITIONS[:1], clear), (CONDITIONS, frames - clear)):
        visits = [
            (who, who in cast, condition)
            for condition in conditions
            for who in [*cast, *(next(unknown) for _ in range(DOOR_STRANGERS))]
        ]
        if runs:
            visits = [visits[int(at)] for at in rng.permutation(len(visits))]
        for (who, known, condition), stay in zip(visits, _shares(length, len(visits)), strict=True):
            if stay:
                runs.append(Appearance(who, known, view, stay, condition))
    return runs


def _crop(place: np.ndarray, across: float, down: float) -> np.ndarray:
    """The part of a room that a camera sees."""
    left, top = int(2 * MARGIN * across), int(2 * MARGIN * down)
    return np.ascontiguousarray(place[top : top + HEIGHT, left : left + WIDTH])


def _shares(total: int, parts: int) -> list[int]:
    """Whole numbers, as equal as possible, that add up to the total.

    >>> _shares(8, 3)
    [3, 3, 2]
    """
    return [total // parts + (part < total % parts) for part in range(parts)]
