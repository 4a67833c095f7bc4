"""What a camera at home does to a face: the conditions of the scenario VN, each with its reason.

A condition is two effects, mild and strong, and what happens in between. The numbers are written
down from how cameras and people behave, not from what a recognizer makes of them; the table is in
docs/simulation.md. What is worn or held before the face is drawn where the face's landmarks are.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from math import cos, radians, sin
from typing import NamedTuple

import cv2
import numpy as np

from onlooker.simulation.morphing import Field, Grey
from onlooker.simulation.orl import TALL, WIDE
from onlooker.simulation.scenery import (
    ANCHOR,
    CENTER,
    FIGURE,
    HEIGHT,
    WIDTH,
    Body,
    Sensor,
    soft_step,
)
from onlooker.vision.detector import YuNet
from onlooker.vision.types import picture

ENLARGED = 3
"""Factor by which a face is enlarged to find its landmarks: it fills the picture."""
HALF_FACE = 36.0
"""Half the width of a head in an ORL picture."""
TYPICAL = ((32.0, 48.0), (60.0, 48.0), (46.0, 64.0), (35.0, 80.0), (57.0, 80.0))
"""Landmarks of a face in an ORL picture where the detector finds none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How strong each disturbance is; the defaults disturb nothing. Lengths are in pixels."""

    size: float = 1.7
    """Pixels in the frame for each pixel of the picture: a face is 68 of them wide."""
    yaw: float = 0.0
    """Degrees by which the head is turned away."""
    light: float = 1.0
    """Factor on the light that falls on the person."""
    background: float = 1.0
    """Factor on the light behind the person."""
    contrast: float = 1.0
    """Factor on the differences of tone within the person."""
    glare: float = 0.0
    """Share of the light that the lens scatters over its surroundings."""
    blur: float = 0.0
    """Standard deviation of the blur of focus and noise reduction."""
    smear: float = 0.0
    """Length of the way that the face moves during the exposure."""
    noise: float = 2.0
    """Standard deviation of the sensor's noise, in grey levels."""
    covered: float = 0.0
    """How much of what is worn or held there is: 0 to 1."""

    def toward(self, other: "Effect", share: float) -> "Effect":
        """The effect at this share of the way to another.

        >>> Effect(noise=4.0).toward(Effect(noise=8.0), 0.25).noise
        5.0
        """
        mixed = {
            field.name: (1 - share) * getattr(self, field.name) + share * getattr(other, field.name)
            for field in fields(self)
        }
        return Effect(**mixed)


UNDISTURBED = Effect()


class Cover(NamedTuple):
    """Something before a face: its opacity and its tone at each point of the figure."""

    opacity: Field
    tone: Field


@dataclass(frozen=True, slots=True, eq=False)
class FacePlan:
    """Coordinates on a figure that follow the face.

    `across` counts distances between the eyes (which lie at -0.5 and 0.5), `down` distances from
    the eyes to the mouth (0 and 1; the nose is near 0.55, the chin near 1.7).
    """

    across: Field
    down: Field
    skin: float
    """Typical tone of the face."""
    side: int
    """-1 or 1: the side that a hand comes from, and light is reflected at."""
    variant: int
    """0, 1 or 2: which of the ways of holding a hand."""


Draw = Callable[[FacePlan, float], Cover]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One of the things that happen at home, and why."""

    name: str
    reason: str
    mild: Effect = UNDISTURBED
    strong: Effect = UNDISTURBED
    moves: bool = False
    """Whether a visit passes from mild to strong; otherwise one strength is drawn for each."""
    draw: Draw | None = None

    def effect(self, share: float) -> Effect:
        """Between mild (0) and strong (1)."""
        return self.mild.toward(self.strong, share)


class Visit:
    """One stay of one person under a condition; what does not change during it is drawn here."""

    def __init__(self, condition: Condition, rng: np.random.Generator) -> None:
        self.condition = condition
        self._amount = float(rng.uniform())
        self._side = int(rng.choice((-1, 1)))
        self._variant = int(rng.integers(3))
        self._direction = radians(rng.uniform(-20, 20))
        self.sensor = Sensor(rng, self.effect(self._amount).noise)

    def effect(self, share: float) -> Effect:
        """The effect at this share of the visit."""
        return self.condition.effect(share if self.condition.moves else self._amount)

    def dress(self, body: Body, face: Grey, *, effect: Effect) -> tuple[Grey, Field]:
        """The figure with what it wears or holds, and its opacity at each point."""
        if effect.yaw:
            return body.wear(*turned_face(face, self._side * effect.yaw))
        figure, opacity = body.wear(face)
        if self.condition.draw is None:
            return figure, opacity
        plan = face_plan(face, self._side, self._variant)
        cover = self.condition.draw(plan, effect.covered)
        tone = np.clip(cover.tone, 0, 255).astype(np.uint8)
        covered = cv2.blendLinear(tone, figure, cover.opacity, 1 - cover.opacity)
        return covered.astype(np.uint8), np.maximum(opacity, cover.opacity)

    def light(self, figure: Grey, opacity: Field, effect: Effect) -> tuple[Grey, Field]:
        """The light on the person; far away the clothes go on to the ground."""
        middle = float(figure[opacity > 0.5].mean())
        gain = effect.light * effect.contrast
        lift = effect.light * (1 - effect.contrast) * middle
        lit = cv2.convertScaleAbs(figure, alpha=gain, beta=lift)
        below = max(0, round(HEIGHT / effect.size) - FIGURE[0])
        longer, solid = (
            cv2.copyMakeBorder(each, 0, below, 0, 0, cv2.BORDER_REPLICATE)
            for each in (lit, opacity)
        )
        return np.asarray(longer, np.uint8), np.asarray(solid, np.float32)

    def backdrop(self, background: Grey, effect: Effect) -> Grey:
        """The light behind the person."""
        return np.asarray(cv2.convertScaleAbs(background, alpha=effect.background), np.uint8)

    def blur(self, scene: Grey, effect: Effect) -> Grey:
        """What the lens, the exposure and the smoothing of noise do to a scene."""
        if effect.glare:
            around = cv2.GaussianBlur(cv2.resize(scene, None, fx=0.125, fy=0.125), (0, 0), 9)
            scattered = cv2.resize(around, (WIDTH, HEIGHT))
            scene = np.asarray(
                cv2.addWeighted(scene, 1 - effect.glare, scattered, effect.glare, 0), np.uint8
            )
        if effect.smear:
            scene = np.asarray(cv2.filter2D(scene, -1, self._smear(effect.smear)), np.uint8)
        if effect.blur:
            scene = np.asarray(cv2.GaussianBlur(scene, (0, 0), effect.blur), np.uint8)
        return scene

    def _smear(self, length: float) -> Field:
        """A short straight way as a filter, whose weights add up to 1."""
        half = round(length / 2) + 1
        rows, columns = np.mgrid[-half : half + 1, -half : half + 1].astype(np.float32)
        along = columns * cos(self._direction) + rows * sin(self._direction)
        beside = rows * cos(self._direction) - columns * sin(self._direction)
        inside = np.clip(length / 2 + 0.5 - np.abs(along), 0, 1)
        weights = inside * np.clip(1 - np.abs(beside), 0, 1)
        return np.asarray(weights / weights.sum(), np.float32)


def turned_face(face: Grey, degrees: float) -> tuple[Grey, Field]:
    """The face as if the head were turned, and where there is a head: a round one with a nose.

    The half that turns away disappears behind the nose. The back of the head, which no frontal
    picture shows, has the tone of the hair.

    >>> face, head = turned_face(np.full((112, 92), 90, np.uint8), 50.0)
    >>> face.shape, float(head[60, 46])
    ((112, 92), 1.0)
    """
    straight = face if degrees >= 0 else np.asarray(cv2.flip(face, 1), np.uint8)
    angle = radians(abs(degrees))
    across = np.linspace(-1, 1, 4 * WIDE)
    round_head = np.sqrt(np.maximum(1 - across**2, 0))
    goal = (np.arange(WIDE) - CENTER[0]) / HALF_FACE
    columns = np.empty((TALL, WIDE), np.float32)
    head, front = np.empty((TALL, WIDE), np.float32), np.empty((TALL, WIDE), np.float32)
    for row in range(TALL):
        nose = 0.3 * np.exp(-((across / 0.16) ** 2) - ((row - 63) / 10) ** 2)
        moved = across * cos(angle) + (round_head + nose) * sin(angle)
        shown = moved >= np.maximum.accumulate(moved)  # the rest is behind what sticks out further
        columns[row] = CENTER[0] + HALF_FACE * np.interp(goal, moved[shown], across[shown])
        head[row] = np.clip((moved.max() - goal) * HALF_FACE / 2, 0, 1)
        front[row] = soft_step(goal - moved[0] - 0.12, 0.05)
    rows = np.repeat(np.arange(TALL, dtype=np.float32)[:, None], WIDE, axis=1)
    seen = cv2.remap(straight, columns, rows, cv2.INTER_LINEAR)
    hair = np.full_like(straight, np.median(straight[8:22, 30:62]))
    whole = cv2.blendLinear(seen, hair, front, 1 - front)
    if degrees < 0:
        whole, head = cv2.flip(whole, 1), np.asarray(cv2.flip(head, 1), np.float32)
    return np.asarray(whole, np.uint8), head


def face_plan(face: Grey, side: int, variant: int) -> FacePlan:
    """The coordinates of a face in an ORL picture, on the figure that wears it."""
    large = cv2.resize(face, None, fx=ENLARGED, fy=ENLARGED, interpolation=cv2.INTER_CUBIC)
    boxes = _detector()(picture(large))
    found = boxes[0].landmarks if boxes else tuple((ENLARGED * x, ENLARGED * y) for x, y in TYPICAL)
    points = np.array(found) / ENLARGED + np.subtract(ANCHOR, CENTER)
    between = (points[0] + points[1]) / 2
    axes = np.column_stack([points[1] - points[0], (points[3] + points[4]) / 2 - between])
    inverse = np.linalg.inv(axes)
    right, below = _COLUMNS - between[0], _ROWS - between[1]
    return FacePlan(
        (inverse[0, 0] * right + inverse[0, 1] * below).astype(np.float32),
        (inverse[1, 0] * right + inverse[1, 1] * below).astype(np.float32),
        float(np.median(face[50:90, 28:64])),
        side,
        variant,
    )


def _hand(plan: FacePlan, share: float) -> Cover:
    """A palm and four fingers with the forearm: over the mouth, over an eye, or at the brow."""
    x, y, angle = ((0.1, 1.15, 12.0), (0.45, 0.15, 55.0), (0.25, -0.5, 8.0))[plan.variant]
    reach = 0.55 - 0.45 * share  # how far the hand has come in from the side
    turn = radians(angle)
    right, below = plan.side * plan.across - x - reach, 1.1 * (plan.down - y)
    along = -right * cos(turn) - below * sin(turn)  # towards the tips of the fingers
    beside = right * sin(turn) - below * cos(turn)
    opacity = np.zeros(FIGURE, np.float32)
    tone = np.full(FIGURE, plan.skin, np.float32)
    parts = [(-2.6, -0.35, 0.0, 0.30), (-0.45, -0.05, 0.0, 0.42)]  # forearm, palm
    parts += [
        (0.0, 0.75 - 0.1 * abs(number - 1), 0.24 * (number - 1.5), 0.125) for number in range(4)
    ]
    for begin, end, offset, radius in parts:
        off = np.hypot(along - np.clip(along, begin, end), beside - offset)
        part = soft_step(radius - off, 0.02)
        shaded = plan.skin * (1.04 - 0.45 * (off / radius) ** 2)
        tone = np.where(off < radius, shaded, tone).astype(np.float32)
        opacity = np.maximum(opacity, part)
    return Cover(opacity, tone)


def _mask(plan: FacePlan, share: float) -> Cover:
    """A pleated mask from the bridge of the nose to below the chin, with its loops."""
    x, y = plan.across, plan.down
    top = 0.42 - 0.17 * share + 0.16 * x**2
    inside = np.minimum(y - top, 1.02 - np.abs(x) - 0.28 * np.maximum(y - 1.0, 0) ** 2)
    body = soft_step(np.minimum(inside, 1.9 - y - 0.35 * x**2), 0.03)
    loops = [
        soft_step(0.03 - np.abs(y - start - slope * (np.abs(x) - 0.95)), 0.012)
        * soft_step(np.abs(x) - 0.9, 0.03)
        * soft_step(1.15 - np.abs(x), 0.03)
        for start, slope in ((0.62, -0.7), (1.35, -1.6))
    ]
    pleats = 1 - 0.10 * np.exp(-((((y * 4.2) % 1 - 0.5) / 0.12) ** 2))
    tone = 205 * pleats * (1 - 0.22 * x**2)
    return Cover(np.maximum(body, 0.9 * np.maximum(*loops)), tone.astype(np.float32))


def _hood(plan: FacePlan, share: float) -> Cover:
    """Cloth around the face, drawn down towards the brows, and its shadow on what it leaves."""
    x, y = plan.across, plan.down
    wide, brow = 1.12 - 0.17 * share, -0.85 + 0.4 * share
    low = 2.6
    middle, tall = (brow + low) / 2, (low - brow) / 2
    opening = (x / wide) ** 2 + ((y - middle) / tall) ** 2
    outside = (x / 1.75) ** 2 + ((y - 1.0) / 2.5) ** 2
    cloth = soft_step(opening - 1, 0.03) * soft_step(1 - outside, 0.03) * soft_step(2.7 - y, 0.1)
    shadow = (0.25 + 0.4 * share) * soft_step(1.0 - opening, 0.2) * soft_step(brow + 0.75 - y, 0.22)
    folds = 62 * (1.1 - 0.5 * np.exp(-(((opening - 1) / 0.25) ** 2)) + 0.1 * np.sin(9 * x + 3 * y))
    opacity = np.maximum(cloth, shadow * (1 - cloth))
    return Cover(opacity.astype(np.float32), np.where(cloth > 0.3, folds, 18).astype(np.float32))


def _beard(plan: FacePlan, share: float) -> Cover:
    """Hair on chin, cheeks and upper lip, but not on the lips."""
    x, y = plan.across, plan.down
    jaw = 1 - (x / 0.92) ** 2 - ((y - 0.95) / 0.88) ** 2
    cheek = y - 0.72 - 0.1 * np.cos(3 * x) + 0.30 * x**2 * (1 - share)
    lips = (x / 0.34) ** 2 + ((y - 1.02) / 0.11) ** 2 - 1
    area = soft_step(jaw, 0.09) * soft_step(cheek, 0.06) * soft_step(lips, 0.25)
    strands = np.sin(37 * x + 5 * np.sin(7 * y)) * np.sin(29 * y + 4 * np.cos(9 * x))
    return Cover(((0.6 + 0.3 * share) * area).astype(np.float32), 48 + 16 * strands)


def _glasses(plan: FacePlan, share: float) -> Cover:
    """Dark rims, bridge and temples; a reflection on the glass of one side."""
    x, y = plan.across, plan.down
    beside = np.abs(x)
    lens = np.hypot((beside - 0.53) / 0.40, (y - 0.06) / 0.31)
    thick = 0.07 + 0.06 * share
    rim = soft_step(thick - np.abs(lens - 1), 0.03)
    bridge = soft_step(0.045 - np.abs(y + 0.04), 0.012) * soft_step(0.16 - beside, 0.02)
    temple = soft_step(0.045 - np.abs(y + 0.05), 0.012) * soft_step(beside - 0.9, 0.02)
    frame = np.maximum(np.maximum(rim, bridge), temple * soft_step(1.12 - beside, 0.03))
    streak = np.exp(-(((plan.side * x - 0.53 + 0.5 * y) / 0.13) ** 2)) * soft_step(
        plan.side * x, 0.05
    )
    shine = (0.25 + 0.4 * share) * streak * soft_step(0.95 - lens, 0.05)
    opacity = np.maximum(frame, shine)
    return Cover(opacity.astype(np.float32), np.where(frame >= shine, 32, 235).astype(np.float32))


CONDITIONS = (
    Condition(
        name="clear",
        reason="near, even light, nothing in the way: where labels come from",
    ),
    Condition(
        name="far",
        reason="a face is 16 cm wide; 640 pixels over 60 degrees show it with 24 pixels at 3.7 m "
        "and with 60 at 1.5 m: somebody comes up the path",
        mild=Effect(size=0.38), strong=Effect(size=0.82), moves=True,
    ),
    Condition(
        name="dusk",
        reason="before a camera switches to infrared, exposure and gain are at their limits: a "
        "dark picture, noise, and the smoothing that hides some of it",
        mild=Effect(light=0.42, background=0.42, noise=7.0, blur=0.6),
        strong=Effect(light=0.22, background=0.22, noise=12.0, blur=1.0),
    ),
    Condition(
        name="infrared",
        reason="lamps beside the lens light the nearest most: skin is pale and even, what is "
        "behind is dark; noise, and a focus that was set for daylight",
        mild=Effect(light=1.2, background=0.35, contrast=0.8, noise=7.0, blur=0.8),
        strong=Effect(light=1.5, background=0.15, contrast=0.55, noise=12.0, blur=1.4),
    ),
    Condition(
        name="motion",
        reason="1/30 s of exposure indoors; walking at 0.5 to 1.4 m/s a face moves by 1.7 to "
        "4.7 cm, which are 12 to 33 pixels where it is 115 wide",
        mild=Effect(smear=12.0), strong=Effect(smear=33.0), moves=True,
    ),
    Condition(
        name="hand",
        reason="people yawn, telephone, rub an eye and shade their brow: a hand comes in",
        mild=Effect(covered=0.0), strong=Effect(covered=1.0), moves=True, draw=_hand,
    ),
    Condition(
        name="mask",
        reason="a medical mask hides nose, mouth and chin: half of the face",
        mild=Effect(covered=0.0), strong=Effect(covered=1.0), draw=_mask,
    ),
    Condition(
        name="hood",
        reason="rain and cold: cloth hides hair, ears and jaw, and shades forehead and eyes",
        mild=Effect(covered=0.0), strong=Effect(covered=1.0), draw=_hood,
    ),
    Condition(
        name="profile",
        reason="a camera at a door sees people who walk by, who do not look at it",
        mild=Effect(yaw=35.0), strong=Effect(yaw=65.0), moves=True,
    ),
    Condition(
        name="backlight",
        reason="an open door or the sky behind: exposure follows the bright part, the face stays "
        "dark, and the lens scatters light over it",
        mild=Effect(light=0.45, background=1.7, glare=0.10),
        strong=Effect(light=0.25, background=2.4, glare=0.25),
    ),
    Condition(
        name="beard",
        reason="somebody who was labeled without a beard comes back with one",
        mild=Effect(covered=0.0), strong=Effect(covered=1.0), draw=_beard,
    ),
    Condition(
        name="glasses",
        reason="somebody who was labeled without glasses, or with others, wears a pair",
        mild=Effect(covered=0.0), strong=Effect(covered=1.0), draw=_glasses,
    ),
)  # fmt: skip
"""The first is where labels come from. Fixed before the first result on VN; not changed since."""


@cache
def _detector() -> YuNet:
    return YuNet(None)


_ROWS, _COLUMNS = np.mgrid[: FIGURE[0], : FIGURE[1]].astype(np.float32)
