"""Small videos and pictures of one shade each, for tests of sources."""

from fractions import Fraction

import av
import cv2
import numpy as np


def shade(level, size=(48, 64)):
    return np.full((*size, 3), level, np.uint8)


def jpeg(level, size=(48, 64)):
    return cv2.imencode(".jpg", shade(level, size))[1].tobytes()


def write_video(path, levels, *, codec="libx264", fps=10, size=(48, 64), options=None):
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream(codec, rate=fps)
        stream.height, stream.width = size
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.time_base = Fraction(1, fps)
        for level in levels:
            frame = av.VideoFrame.from_ndarray(shade(level, size), format="bgr24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def write_pictures(folder, levels, suffix="png"):
    folder.mkdir(exist_ok=True)
    for number, level in enumerate(levels):
        cv2.imwrite(str(folder / f"frame{number}.{suffix}"), shade(level))
    return folder


def level(frame):
    return int(frame.pixels.mean().round())
