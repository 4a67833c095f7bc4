"""Renders frames of animated faces, with the truth: who is before which camera for how long."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import cos, radians, sin, tau

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.simulation.conditions import Condition, Visit
from onlooker.simulation.morphing import AnimatedFace, Field, Grey
from onlooker.simulation.orl import name_of, pictures_of
from onlooker.simulation.scenery import ANCHOR, CENTER, FIGURE, HEIGHT, WIDTH, Body, Sensor
from onlooker.vision.types import FaceBox, Frame

RATE = 25
"""Frames per second."""
PACE = 1.0
"""How far a face moves along its animation in a frame."""
FACE = (46.0, 62.0, 68.0, 87.0)
"""Centre, width and height of the face in an ORL picture: where a detector typically sees it."""

Dress = Callable[[Body, Grey], tuple[Grey, Field]]
"""Puts a face on a body: the figure, and its opacity at each point."""


@dataclass(frozen=True, slots=True)
class Truth:
    """Who is in a frame and where; `person` is None for somebody who is never labeled."""

    person: str | None
    place: str
    box: FaceBox
    condition: str = ""
    """What disturbs the face, by name (see `conditions`); empty where the paper's videos are."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CameraView:
    """A camera in a place, and the light there. Angles are in degrees, lengths in pixels."""

    camera: str
    place: str
    background: Grey
    roll: float = 0.0
    """Rotation of the camera around its axis."""
    squeeze: float = 1.0
    """How much narrower a face looks from the side."""
    size: float = 1.7
    """Pixels in the frame for each pixel of the picture."""
    span: float = 30.0
    """How far to either side people walk while they are in view."""
    gain: float = 1.0
    light: float = -90.0
    """Direction that the light comes from at the start: 0 is the right, -90 above."""
    turn: float = 25.0
    """How far the light turns until the end."""
    strength: float = 0.15


@dataclass(frozen=True, slots=True)
class Appearance:
    """A person in front of a camera for some frames."""

    person: int
    known: bool
    view: CameraView
    frames: int
    condition: Condition | None = None
    """What disturbs it; None leaves it undisturbed and draws no random number."""


@cache
def animated_face(person: int) -> AnimatedFace:
    """The animated face of one of the forty people; made once for all cameras."""
    return AnimatedFace(pictures_of(person))


def film(
    runs: Sequence[Appearance], rng: np.random.Generator, *, mood: float = 0.0
) -> Iterator[tuple[Frame, Truth]]:
    """One frame after the other, with the truth.

    Every face starts at the same fraction of its animation, the mood: two films with the same mood
    show people making the same faces. The animation of a person who comes back continues where it
    stopped; the path through the picture starts again.
    """
    sensor = Sensor(rng, noise=2.0)
    actors: dict[int, _Actor] = {}
    exposure = _Drift(rng, 90, 400)
    total, index = sum(run.frames for run in runs), 0
    for turn, run in enumerate(runs):
        view = run.view
        if run.person not in actors:
            actors[run.person] = _Actor(run.person, mood, rng)
        actor = actors[run.person]
        side = (-1) ** turn
        visit = None if run.condition is None else Visit(run.condition, rng)
        for step in range(run.frames):
            share = (step + 0.5) / run.frames
            way = side * view.span * (2 * share - 1)
            angle = radians(view.light + view.turn * index / total)
            gain = view.gain * (1 + 0.08 * exposure(index))
            if visit is None:
                matrix, box = actor.placement(view, way)
                figure, opacity = actor.appearance(angle, view.strength)
                scene = _paste(view.background, figure, opacity, matrix)
                pixels, condition = sensor(scene, gain), ""
            else:
                effect = visit.effect(share)
                matrix, box = actor.placement(replace(view, size=effect.size), way)
                worn = actor.appearance(angle, view.strength, partial(visit.dress, effect=effect))
                figure, opacity = visit.light(*worn, effect)
                behind = visit.backdrop(view.background, effect)
                scene = visit.blur(_paste(behind, figure, opacity, matrix), effect)
                pixels, condition = visit.sensor(scene, gain), visit.condition.name
            name = name_of(run.person) if run.known else None
            truth = Truth(name, view.place, box, condition)
            yield Frame(view.camera, index, index / RATE, pixels), truth
            actor.clock += 1
            index += 1


class _Drift:
    """A slow, smooth random signal between -1 and 1."""

    def __init__(self, rng: np.random.Generator, shortest: float, longest: float) -> None:
        self._speeds = tau / rng.uniform(shortest, longest, 3)
        self._phases = rng.uniform(0, tau, 3)

    def __call__(self, time: float) -> float:
        return float(np.sin(self._speeds * time + self._phases).mean())


class _Actor:
    """A person in front of the camera; the clock counts the frames they were in."""

    def __init__(self, person: int, mood: float, rng: np.random.Generator) -> None:
        self._face = animated_face(person)
        self._body = Body.of(self._face.at(0.0), rng)
        self._start = mood * self._face.length
        self._across, self._down = _Drift(rng, 40, 120), _Drift(rng, 40, 120)
        self._size, self._tilt = _Drift(rng, 60, 200), _Drift(rng, 60, 200)
        self._lamp = _Drift(rng, 80, 300)
        self.clock = 0

    def placement(self, view: CameraView, way: float) -> tuple[NDArray[np.float64], FaceBox]:
        """The transform of the figure into the frame, and the box of its face there."""
        time = self.clock
        size = view.size * (1 + 0.07 * self._size(time))
        roll = radians(view.roll + 3.5 * self._tilt(time))
        turned = np.array([[cos(roll), -sin(roll)], [sin(roll), cos(roll)]])
        linear = size * turned * [view.squeeze, 1.0]
        head = np.array(
            [
                WIDTH / 2 + way + 25 * self._across(time),
                HEIGHT * 0.41 + 12 * self._down(time) + 2.5 * sin(time * tau / 14),  # walking
            ]
        )
        matrix = np.column_stack([linear, head - linear @ ANCHOR])
        across, down = head + linear @ (np.array(FACE[:2]) - CENTER)
        width, height = FACE[2] * size * view.squeeze, FACE[3] * size
        box = FaceBox(float(across - width / 2), float(down - height / 2), width, height)
        return matrix, box

    def appearance(
        self, angle: float, strength: float, dress: Dress = Body.wear
    ) -> tuple[Grey, Field]:
        """The figure under the current light, and its opacity at each point."""
        figure, opacity = dress(self._body, self._face.at(self._start + PACE * self.clock))
        strength *= 1 + 0.4 * self._lamp(self.clock)
        shade = 1 + strength * (cos(angle) * _RIGHT + sin(angle) * _DOWN)
        return cv2.multiply(figure, shade, dtype=cv2.CV_8U).astype(np.uint8, copy=False), opacity


def _paste(background: Grey, figure: Grey, opacity: Field, matrix: NDArray[np.float64]) -> Grey:
    """The figure in front of the background; only the part of the frame it covers is computed."""
    tall, wide = figure.shape
    corners = matrix @ [[0, wide, 0, wide], [0, 0, tall, tall], [1, 1, 1, 1]]
    left, top = np.maximum(np.floor(corners.min(axis=1)), 0).astype(int).tolist()
    right, bottom = np.minimum(np.ceil(corners.max(axis=1)), (WIDTH, HEIGHT)).astype(int).tolist()
    shifted, part = matrix - [[0, 0, left], [0, 0, top]], (right - left, bottom - top)
    before = cv2.warpAffine(figure, shifted, part, flags=cv2.INTER_LINEAR)
    solid = cv2.warpAffine(opacity, shifted, part, flags=cv2.INTER_LINEAR)
    scene = background.copy()
    behind = scene[top:bottom, left:right]
    behind[:] = cv2.blendLinear(before, behind, solid, 1 - solid)
    return scene


_ROWS, _COLUMNS = np.mgrid[: FIGURE[0], : FIGURE[1]].astype(np.float32)
_RIGHT = np.clip((_COLUMNS - ANCHOR[0]) / 45, -1.5, 1.5)
_DOWN = np.clip((_ROWS - ANCHOR[1]) / 55, -1.5, 1.5)
