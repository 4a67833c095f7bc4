"""Which faces of a video are measured: those where something is new.

An embedding takes several times as long as the detection. A face that looks as it did when it was
measured gets the same answer again, and a learner learns nothing from it, so it need not be
measured. Features that are cheap are measured in every frame, as in the paper.
"""

from collections.abc import Sequence

import cv2
import numpy as np

from onlooker.vision.alignment import CannotAlign, aligned
from onlooker.vision.finder import FaceFinder
from onlooker.vision.tracking import LastLook, Track
from onlooker.vision.types import FaceBox, Frame, MeasuredFace, Pixels

RADIUS = 0.5
"""Change of the small grey face (see `change`) beyond which it is measured again. Chosen with SFace
on five webcams, 210 frames of each: of 0.35, 0.4, 0.45, 0.5, 0.55 and 0.6 the largest at which
tracks have the name they have with every face measured on 99 % of the frames, each person at a
camera of their own and all five at one in turns."""
SETTLED_RADIUS = 0.7
"""The same where the name of the track is settled, chosen in the same way of 0.6, 0.65 and 0.7. Of
45 people who stepped where another one stood in simulated films, 42 differ by at least this much;
the others are measured when EVERY frames have passed."""
EVERY = 15
"""Frames after which a face is measured again, whatever it looks like: as many as vote on a name,
so that no answer repeats itself for longer than a vote counts."""
SIDE, BORDER = 42, 5
"""Faces are compared at this size, shifted against each other by up to the border."""
SIDES = (38, 40, 42, 44, 46)
"""Where faces are not aligned they are compared at all of these: the size of a box varies."""


def measure_new(
    finder: FaceFinder, frame: Frame, track: Track, *, every_face: bool = False
) -> MeasuredFace:
    """The face of a track in this frame; neither measured nor refused where nothing is new.

    It is measured when the track begins, when its last face was refused, when its look has
    changed, and after so many frames. Whoever wants it measured again sets the look to None.
    """
    if every_face or not finder.costly:
        return finder.measure(frame.pixels, track.box)
    look, last = small_aligned_face(frame.pixels, track.box), track.look
    radius = SETTLED_RADIUS if track.settled else RADIUS
    recent = last is not None and frame.index - last.frame < EVERY
    if last is not None and recent and change(last.pixels, look) <= radius:
        return MeasuredFace(frame.pixels, track.box, None, None)
    face = finder.measure(frame.pixels, track.box)
    track.look = None if face.vector is None else LastLook(frame.index, look)
    return face


def small_aligned_face(pixels: Pixels, box: FaceBox) -> Pixels:
    """The aligned face, which is what the features see, small and grey.

    A box without usable landmarks gives the face and what is around it.
    """
    try:
        return _small_and_grey(aligned(pixels, box))
    except CannotAlign:
        return small_face(pixels, box)


def small_face(pixels: Pixels, box: FaceBox) -> Pixels:
    """The face and what is around it, small and grey.

    >>> small_face(np.zeros((480, 640, 3), np.uint8), FaceBox(10, 10, 200, 220)).shape
    (42, 42)
    """
    side = max(2, round(1.2 * max(box.width, box.height)))
    return _small_and_grey(
        np.asarray(cv2.getRectSubPix(pixels, (side, side), box.center), np.uint8)
    )


def _small_and_grey(face: Pixels) -> Pixels:
    grey = cv2.cvtColor(face, cv2.COLOR_BGR2GRAY)
    return np.asarray(cv2.resize(grey, (SIDE, SIDE), interpolation=cv2.INTER_AREA), np.uint8)


def change(before: Pixels, now: Pixels, sides: Sequence[int] = (SIDE,)) -> float:
    """Root mean square difference of two small faces, each with mean 0 and deviation 1.

    The middle of the first is compared with any part of the second, at these sizes, and the best
    one counts. So light and contrast do not matter, nor does a face that is a little off. 0 is the
    same picture, 1.4 are two that have nothing in common.

    >>> face = np.random.default_rng(0).integers(40, 80, (SIDE, SIDE)).astype(np.uint8)
    >>> change(face, 3 * face) < 0.01, change(face, np.roll(face, 3, axis=1)) < 0.01
    (True, True)
    >>> change(face, face.T.copy()) > 1
    True
    """
    middle = before[BORDER:-BORDER, BORDER:-BORDER]
    if middle.std() < 1:  # nothing to compare but rounding
        return float("inf")
    sizes = [cv2.resize(now, (side, side), interpolation=cv2.INTER_LINEAR) for side in sides]
    best = max(cv2.matchTemplate(size, middle, cv2.TM_CCOEFF_NORMED).max() for size in sizes)
    return float(max(2 - 2 * float(best), 0.0) ** 0.5)
