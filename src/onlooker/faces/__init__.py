"""Faces from video: from a camera's frames to names. Needs the extra `faces`.

with frames_from("door.mp4") as frames:
    for frame in frames:
        for sighting in recognizer.see(frame):
            print(sighting.name)
"""

from onlooker.faces.recognizer import FaceRecognizer
from onlooker.faces.sources import frames_from

__all__ = ["FaceRecognizer", "frames_from"]
