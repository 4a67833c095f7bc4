"""Photos as phones take them: large, rotated, of one person or several; the faces are ORL's."""

from io import BytesIO

import cv2
import numpy as np
from PIL import Image

from onlooker.simulation.orl import pictures_of

LARGE = (4000, 3000)
"""Twelve megapixels."""
SMALL = (1000, 750)


def photograph(*people, size=SMALL, number=0):
    """A picture with the faces of these people, beside each other in a room."""
    width, height = size
    rows = np.linspace(200, 90, height)[:, None] + np.linspace(-20, 20, width)
    pixels = np.repeat(rows.astype(np.uint8)[:, :, None], 3, axis=2)
    tall = min(height // 2, int(width / max(2.2, len(people)) * 0.9))
    wide = int(tall * 92 / 112)
    for place, person in enumerate(people):
        face = cv2.resize(pictures_of(person)[number], (wide, tall), interpolation=cv2.INTER_CUBIC)
        left = int((place + 0.5) * width / len(people) - wide / 2)
        top = (height - tall) // 2
        pixels[top : top + tall, left : left + wide] = face[:, :, None]
    return pixels


def photo_file(pixels, kind="JPEG", turned=1):
    """The picture as a file; turned is the EXIF orientation by which it comes out upright."""
    image = Image.fromarray(pixels[:, :, ::-1])
    stored = {1: None, 3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90}[turned]
    if stored is not None:
        image = image.transpose(stored)
    exif = Image.Exif()
    exif[0x0112] = turned
    file = BytesIO()
    image.save(file, kind, quality=90, exif=exif.tobytes() if turned != 1 else b"")
    return file.getvalue()


def heic_file(pixels, **options):
    """The picture as an iPhone stores it."""
    import pillow_heif

    file = BytesIO()
    pillow_heif.from_pillow(Image.fromarray(pixels[:, :, ::-1])).save(file, quality=90, **options)
    return file.getvalue()
