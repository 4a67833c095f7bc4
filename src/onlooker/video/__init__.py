"""Frames from video files, folders of pictures, cameras and streams. Needs the extra `faces`.

with frames_from("door.mp4") as frames:
    for frame in frames:
        print(frame.index)
"""

from onlooker.video.sources import frames_from

__all__ = ["frames_from"]
