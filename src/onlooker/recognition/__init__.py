"""Frames in, names out. Needs the extra `faces`.

with frames_from("door.mp4") as frames:
    for frame in frames:
        for sighting in recognizer.see(frame):
            print(sighting.name)
"""

from onlooker.recognition.recognizer import FaceRecognizer

__all__ = ["FaceRecognizer"]
