"""A camera at its own machine: frames become vectors there, and only vectors travel to the site."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from onlooker.cluster.config import CameraConfig
from onlooker.cluster.messages import SenderReplaced
from onlooker.cluster.sender import Sender, SenderCounts
from onlooker.cluster.transport import Transport
from onlooker.core.errors import OnlookerError
from onlooker.video.addresses import Kind, addresses_of
from onlooker.video.decoding import ConditionTracker
from onlooker.video.sources import CameraCondition, FrameCounts, FrameStream, frames_from
from onlooker.vision.finder import FaceFinder
from onlooker.vision.measuring import measure_new
from onlooker.vision.tracking import Tracker

END_WITHIN = 120.0
"""Seconds for the last faces to be acknowledged."""
RETRY_AFTER = 5.0


@dataclass(frozen=True, slots=True)
class RemoteCameraStatus:
    """Whether a camera delivers frames, and what became of them and of the faces.

    >>> RemoteCameraStatus.unknown("door", "its process does not run").condition.state
    'failing'
    """

    camera: str
    condition: CameraCondition
    counts: FrameCounts
    sent: SenderCounts
    faces: int
    """Measured and good enough: these are sent."""
    ended: bool
    """Whether nothing more comes: a recording is over, or could not be read."""

    @classmethod
    def unknown(cls, camera: str, why: str) -> "RemoteCameraStatus":
        """A camera that does not say how it is."""
        condition = CameraCondition("failing", time.time(), why)
        return cls(camera, condition, FrameCounts(), SenderCounts(), 0, ended=False)


class CameraLoop:
    """Reads a camera in a thread and sends the vector of every good face that is measured.

    Where measuring is costly, a face that looks as before is not measured (`measure_new`). A
    recording that was interrupted goes on where the site's knowledge of it ends: the same file
    gives the same faces under the same numbers, and those before are left out.
    """

    def __init__(
        self, camera: CameraConfig, finder: FaceFinder, connect: Callable[[], Transport]
    ) -> None:
        self._camera, self._finder = camera, finder
        self._counts, self._faces, self._own = FrameCounts(), 0, ConditionTracker()
        self._live, self._connect = self._is_live(), connect
        self._sender = Sender(camera.name, connect, live=self._live)
        self._ending = threading.Event()
        self._stream: FrameStream | None = None
        self._thread = threading.Thread(target=self._run, name=camera.name, daemon=True)
        self._thread.start()

    def state(self) -> RemoteCameraStatus:
        """What has been read and sent so far."""
        name, stream, condition = self._camera.name, self._stream, self._own.now()
        if stream is not None:
            self._counts, read = stream.counts[name], stream.conditions[name]
            its_own = condition.state != "connecting"
            condition = replace(condition, last_frame=read.last_frame) if its_own else read
        ended = not self._thread.is_alive()
        return RemoteCameraStatus(
            name, condition, self._counts, self._sender.counts, self._faces, ended
        )

    def end(self, timeout: float = 20.0) -> RemoteCameraStatus:
        """Stop reading, and send what was read."""
        self._ending.set()
        self._thread.join(timeout)
        return self.state()

    def _is_live(self) -> bool:
        try:
            (address,) = addresses_of([f"{self._camera.name}={self._camera.source}"])
        except OnlookerError as error:  # shown by `state`: an actor that raises cannot be created
            self._own.failed(str(error))
            return False
        return address.kind in (Kind.CAMERA, Kind.STREAM)

    def _run(self) -> None:
        """A recording ends at the first error; a live camera goes on trying until it is ended."""
        while not self._own.failing or self._live:
            try:
                self._watch()
                self._sender.close(END_WITHIN)
                self._own.ended()
                return
            except SenderReplaced as error:
                self._own.failed(str(error))
                break
            except OnlookerError as error:
                self._own.failed(str(error))
            if not self._live or self._ending.wait(RETRY_AFTER):
                break
            self._sender.abandon()
            self._sender = Sender(self._camera.name, self._connect, live=True)
        self._sender.abandon()

    def _watch(self) -> None:
        known, tracker = self._sender.wait_until_connected() - 1, Tracker()
        source = f"{self._camera.name}={self._camera.source}"
        with frames_from(source, retry_first=self._live) as stream:
            self._stream, self._own = stream, ConditionTracker()
            for frame in stream:
                boxes = self._finder.detect(frame.pixels)
                for track in tracker.follow(frame.camera, frame.index, boxes):
                    face = measure_new(self._finder, frame, track)
                    if face.vector is None:
                        continue
                    self._faces += 1
                    if self._live or self._faces > known:
                        self._sender.put(face.vector, frame=frame.index, taken=frame.time)
                if self._ending.is_set():
                    break
