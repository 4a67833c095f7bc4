"""Open cameras, videos, folders and addresses, one or several, as one stream of frames.

A live source (a camera, an address) is read in its own thread into a short queue; a reader that is
too slow loses the oldest frames, and they are counted. A file or a folder is replayed: nothing is
ever dropped. A live source that fails is opened again; a recording has an end.
"""

import heapq
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from onlooker.core.errors import BadValue
from onlooker.video.addresses import Kind, Source, SourceError, addresses_of
from onlooker.video.decoding import (
    CameraCondition,
    FrameBuilder,
    FrameCounts,
    OpenedSource,
    open_source,
)
from onlooker.video.image_files import MAX_PIXELS
from onlooker.video.live import CameraReader, FrameQueue, FrameStream, LiveOptions
from onlooker.vision.types import Frame

LIVE = (Kind.CAMERA, Kind.STREAM, Kind.SIMULATED)
"""Kinds of source that have no end."""

__all__ = ["CameraCondition", "FrameCounts", "SourceError", "FrameStream", "frames_from"]


@contextmanager
def frames_from(
    *sources: Source,
    live: bool | None = None,
    fps: float = 25.0,
    stall_after: float = 20.0,
    reconnect_after: Sequence[float] = (1.0, 2.0, 3.0),
    retry_first: bool = False,
    queue_size: int = 8,
    max_pixels: int = MAX_PIXELS,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[FrameStream]:
    """Frames of cameras and recordings; everything is closed however the block ends.

    A source is `0` (a camera of this computer), `video.mp4`, a folder of pictures or a pattern
    such as `'*.jpg'` (in natural order), or an `rtsp://`, `rtsps://`, `http://` or `https://`
    address. `simulated:V1` (or V2, VO, VN) is the built-in camera, which never ends. `door=0` gives
    the camera a name; otherwise the name is made from the address, without what may be secret.
    A source that cannot be opened raises a SourceError at once.

    live: None reads cameras and addresses live and replays the rest. False replays everything:
        nothing is dropped, and a lost stream is an error. True plays recordings at their own
        speed as if they were cameras.
    fps: frames per second of pictures in a folder, and of videos without times.
    stall_after: seconds without a frame after which a camera counts as lost.
    reconnect_after: pauses in seconds before it is opened again; the last one repeats. After a
        password was refused it is a minute at least.
    retry_first: whether to keep trying a live source that cannot be opened at the start.
    queue_size: how many frames of each live camera may wait.
    max_pixels: size of the largest frame; larger ones are refused before they are decoded.
    clock: a monotonic clock in seconds, for the times of live frames.

    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> with TemporaryDirectory() as folder:
    ...     for number in (10, 9):
    ...         _ = Path(folder, f"frame{number}.pgm").write_bytes(b"P5 1 1 255 " + bytes([number]))
    ...     with frames_from(f"door={folder}") as frames:
    ...         for frame in frames:
    ...             print(frame.camera, frame.index, frame.time, frame.pixels[0, 0])
    door 0 0.0 [9 9 9]
    door 1 0.04 [10 10 10]
    """
    _check(fps=fps, stall_after=stall_after, queue_size=queue_size, max_pixels=max_pixels)
    if not reconnect_after:
        raise BadValue("reconnect_after needs one pause at least, for example (1.0,)")
    addresses = addresses_of(sources)
    options = LiveOptions(stall_after, reconnect_after, retry_first, max_pixels, clock, clock())
    queue = FrameQueue(int(queue_size))
    builders = [FrameBuilder(address.camera, FrameCounts(), 1 / fps) for address in addresses]
    replayed = []
    with ExitStack() as stack:
        stack.callback(queue.close)
        for address, builder in zip(addresses, builders, strict=True):
            if live if live is not None else address.kind in LIVE:
                queue.readers.append(CameraReader(address, options, queue, builder))
                queue.readers[-1].start()
            else:
                source = open_source(
                    address, timeout=stall_after, max_pixels=max_pixels, endless=False
                )
                replayed.append(_replay(stack.enter_context(source), builder))
        if not retry_first:
            for reader in list(queue.readers):
                reader.first_attempt()
        replay = heapq.merge(*replayed, key=lambda frame: frame.time)
        stream = FrameStream(builders, replay, queue)
        stack.callback(stream.close)
        yield stream


def _replay(source: OpenedSource, builder: FrameBuilder) -> Iterator[Frame]:
    for raw in source.raw_frames:
        frame = None if raw is None else builder.frame(raw)
        if frame is not None:
            builder.counts.frames += 1
            builder.condition.handed_out()
            yield frame
    builder.condition.ended()


def _check(**numbers: float) -> None:
    for name, value in numbers.items():
        if not (math.isfinite(value) and value > 0):
            raise BadValue(f"{name} must be a positive number, got {value!r}")
