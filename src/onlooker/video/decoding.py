"""Decode one source, a video or a stream through PyAV or picture files, into numbered frames.

A source yields raw frames, some of them corrupt; a FrameBuilder numbers them and counts those that
cannot be used. FFmpeg opens whatever an address or a file names, so the protocols and formats that
it may use are listed here.
"""

import ctypes
import os
import ssl
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import av
import numpy as np
from av.container import InputContainer

from onlooker.core.errors import NotFound
from onlooker.simulation.scenarios import prepared, scenario
from onlooker.video.addresses import Address, Kind, SourceError
from onlooker.video.film_tables import claimed_frames
from onlooker.video.image_files import MAX_PIXELS, MAX_SCANS, SCAN, PictureError, read_picture
from onlooker.video.relay import BUFFER, Relay
from onlooker.video.rtsp_relay import RtspRelay
from onlooker.vision.types import Frame, Pixels

_PROTOCOLS = "rtsp,rtp,srtp,udp,http,https,tls,tcp"
"""The protocols that a network camera may use: no files, no pipes."""

_VIDEO_FORMATS = (
    "3g2,3gp,asf,avi,flv,h264,hevc,ivf,jpeg_pipe,matroska,mj2,mjpeg,mov,mp4,mpeg,mpegts,"
    "mpegvideo,mpjpeg,mxf,nut,obu,ogg,rtsp,webm,y4m,yuv4mpegpipe"
)
"""Formats that contain pictures themselves; playlists, which name other files, are left out."""

_BLOCK_PER_PIXEL = 4
"""Bytes that FFmpeg may allocate at once, for each pixel of the largest frame: a frame in colour,
and some room. By itself it allocates up to 2 GB at once: a film of 948 bytes says that it has 60
million frames, and their index takes 4 GB."""
_BROKEN = "the connection broke"
RATE_WINDOW = 5.0
"""Seconds over which frames per second are counted."""
_RATE_FRAMES = 600
"""Frames that are counted for that at most."""
SIMULATED_FPS = 12.0
"""Frames per second of the simulated camera: what a computer without a GPU keeps up with."""


class AccessRefused(SourceError):
    """A camera that refuses the user or the password."""


@dataclass(slots=True)
class FrameCounts:
    """How many frames of one camera were handed out, dropped or unusable.

    >>> FrameCounts(frames=3, corrupt=1)
    FrameCounts(frames=3, dropped=0, corrupt=1, resized=0, reconnects=0)
    """

    frames: int = 0
    """Frames that were handed out."""
    dropped: int = 0
    """Frames thrown away, oldest first, because the reader was slower than a live camera."""
    corrupt: int = 0
    """Frames that could not be decoded."""
    resized: int = 0
    """Frames that had another size than the one before."""
    reconnects: int = 0
    """How often a lost stream came back."""


CameraState = Literal["connecting", "live", "ended", "failing"]
"""connecting: no frame yet, and nothing went wrong; live: frames arrive; ended: a recording that is
over; failing: it cannot be opened, or no frames arrive."""


@dataclass(frozen=True, slots=True)
class CameraCondition:
    """The state of a camera, since when it is in it, and why.

    >>> CameraCondition("failing", since=60.0, problem="Connection refused").last_frame is None
    True
    """

    state: CameraState = "connecting"
    since: float = 0.0
    """Seconds since 1970 by the wall clock."""
    problem: str = ""
    """Of one that is failing, the last error in words."""
    last_frame: float | None = None
    """When the newest frame arrived, by the wall clock; None: none ever did."""
    fps: float = 0.0
    """Frames handed out per second, over the last seconds."""


class ConditionTracker:
    """Follows one camera; written by the thread that reads it, and read by any.

    >>> tracker = ConditionTracker(clock=lambda: 60.0)
    >>> tracker.failed("Connection refused")
    >>> tracker.now().state, tracker.now().since
    ('failing', 60.0)
    >>> tracker.arrived()
    >>> tracker.now().state, tracker.now().problem
    ('live', '')
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._condition = CameraCondition(since=clock())
        self._times: deque[float] = deque(maxlen=_RATE_FRAMES)

    @property
    def failing(self) -> bool:
        """Whether no frame has arrived since the last error."""
        return self._condition.state == "failing"

    def now(self) -> CameraCondition:
        """The condition at this moment."""
        now, times = time.monotonic(), list(self._times)
        recent = [at for at in times if at > now - RATE_WINDOW]
        span = max(now - recent[0], 1.0) if recent else 1.0
        return replace(self._condition, fps=len(recent) / span)

    def arrived(self) -> None:
        """A frame has arrived."""
        now = self._clock()
        since = self._condition.since if self._condition.state == "live" else now
        self._condition = CameraCondition("live", since, "", now)

    def handed_out(self) -> None:
        """A frame was given to whoever reads the stream."""
        self._times.append(time.monotonic())

    def failed(self, why: str) -> None:
        """It cannot be opened, or was lost."""
        since = self._condition.since if self.failing else self._clock()
        self._condition = replace(self._condition, state="failing", since=since, problem=why)

    def ended(self) -> None:
        """A recording is over, and every frame of it was handed out."""
        if self._condition.state != "ended":
            self._condition = replace(
                self._condition, state="ended", since=self._clock(), problem=""
            )


@dataclass(frozen=True, slots=True, eq=False)
class RawFrame:
    """A decoded picture: its time in seconds if the source has one, no pixels if it is corrupt."""

    time: float | None
    pixels: Pixels | None


@dataclass(slots=True)
class FrameBuilder:
    """Turns the raw frames of a camera into numbered frames, and counts the corrupt ones."""

    camera: str
    counts: FrameCounts
    seconds: float
    """Seconds between two frames, for a source without times."""
    index: int = -1
    size: tuple[int, ...] = ()
    condition: ConditionTracker = field(default_factory=ConditionTracker)

    def frame(self, raw: RawFrame, time: float | None = None) -> Frame | None:
        """The next frame, at this time or the raw frame's own; None for a corrupt one."""
        self.index += 1
        if raw.pixels is None:
            self.counts.corrupt += 1
            return None
        if self.size and raw.pixels.shape != self.size:
            self.counts.resized += 1
        self.size = raw.pixels.shape
        self.condition.arrived()
        if time is None:
            time = self.due(raw)
        return Frame(self.camera, self.index, time, raw.pixels)

    def due(self, raw: RawFrame) -> float:
        """The time in seconds, from the source or else from the number of the frame."""
        return max(0, self.index) * self.seconds if raw.time is None else raw.time


@dataclass(frozen=True, slots=True, eq=False)
class OpenedSource:
    """A source that is open."""

    raw_frames: Iterator[RawFrame | None]
    """None means that data arrived, but no picture."""
    recorded: bool
    """Whether it has an end; a camera has none, so when its stream ends it was lost."""


@contextmanager
def open_source(
    address: Address, *, timeout: float, max_pixels: int, endless: bool = True
) -> Iterator[OpenedSource]:
    """Open the source; it is closed however the block ends.

    endless: whether the simulated camera runs at the speed of a camera and never ends.
    """
    if address.kind is Kind.SIMULATED:
        yield OpenedSource(
            _simulated(address.target.partition(":")[2], endless), recorded=not endless
        )
        return
    if address.kind is Kind.PICTURES:
        yield OpenedSource(_read_all(address.files, max_pixels), recorded=True)
        return
    with (
        _relayed(address, timeout) as relay,
        closing(_container(address, relay, timeout, max_pixels)) as container,
    ):
        if not container.streams.video:
            raise SourceError(f"there are no pictures in {address.shown}, only other streams")
        if container.streams.video[0].codec_context is None:
            raise SourceError(
                f"cannot open {address.shown}: nothing here can decode its pictures; convert it to "
                "H.264 first"
            )
        _refuse_frames_without_bytes(address, container.streams.video[0].frames, container.size)
        recorded = address.kind is Kind.VIDEO or bool(container.duration)
        yield OpenedSource(_decode(address, container, relay, max_pixels), recorded)


def _refuse_frames_without_bytes(address: Address, frames: int, size: int) -> None:
    if 0 < size < frames:
        raise SourceError(
            f"cannot open {address.shown}: it says that it has {frames:,} frames, in "
            f"{size:,} bytes; it is damaged, make it again"
        )


@contextmanager
def _relayed(address: Address, timeout: float) -> Iterator[Relay | None]:
    """The relay to a camera in the network; none for other sources."""
    if address.kind is not Kind.STREAM:
        yield None
        return
    try:
        if address.target.lower().startswith("rtsp"):
            relay: Relay = RtspRelay(address.target)
        else:
            relay = Relay(address.target, timeout)
    except (OSError, ValueError) as error:  # ValueError: a host name that cannot be looked up
        reason = getattr(error, "strerror", None) or "it does not answer"
        if isinstance(error, ssl.SSLError):
            scheme = address.target.partition(":")[0].lower()
            why, plain = error.reason or "TLS", scheme.removesuffix("s")
            reason = f"no encrypted connection to it ({why}); is its address {plain}://?"
        raise SourceError(f"cannot open {address.shown}: {reason}") from None
    with closing(relay):
        yield relay


def _read_all(files: tuple[Path, ...], max_pixels: int) -> Iterator[RawFrame]:
    for file in files:
        try:
            yield RawFrame(None, read_picture(file, max_pixels=max_pixels))
        except PictureError:
            yield RawFrame(None, None)


def _simulated(name: str, endless: bool) -> Iterator[RawFrame | None]:
    """The scenario once, at full speed; or repeated for ever, at the speed of a camera."""
    try:
        if not endless:
            yield from (RawFrame(frame.time, frame.pixels) for frame, _ in scenario(name))
            return
        yield from (None for _ in prepared())  # no picture yet, but no stall either
        due = time.monotonic()
        while True:
            for frame, _ in scenario(name):
                due = max(due + 1 / SIMULATED_FPS, time.monotonic())
                time.sleep(max(0.0, due - time.monotonic()))
                yield RawFrame(None, frame.pixels)
    except NotFound as error:  # the ORL pictures are not installed
        raise SourceError(str(error)) from error


def _container(
    address: Address, relay: Relay | None, timeout: float, max_pixels: int
) -> InputContainer:
    form: str | None = None
    options = {"format_whitelist": _VIDEO_FORMATS, "max_pixels": str(max_pixels)}
    match address.kind:
        case Kind.CAMERA:
            target, form, options = _device(address)
        case Kind.VIDEO:
            path = Path(address.target).absolute()
            with suppress(OSError):  # FFmpeg says what is wrong with it
                _refuse_frames_without_bytes(address, claimed_frames(path), path.stat().st_size)
            target = f"file:{path}"
            options |= {"protocol_whitelist": "file"}
        case _:
            target = address.target if relay is None else relay.target
            # Without a guess of the frame rate, which takes twenty frames, it is there at once.
            options |= {"protocol_whitelist": _PROTOCOLS, "fpsprobesize": "0"}
            if isinstance(relay, RtspRelay):
                options |= {"rtsp_flags": "prefer_tcp"}
            elif relay is not None:
                host = f"Host: {relay.host}\r\n"  # there may be several behind one address
                options |= {"max_redirects": "0", "http_proxy": "", "headers": host}
                options |= {"recv_buffer_size": str(BUFFER)}
    _limit_blocks(_BLOCK_PER_PIXEL * max(max_pixels, MAX_PIXELS))
    start = time.monotonic()
    try:
        return av.open(target, "r", format=form, options=options, timeout=timeout)
    except (av.FFmpegError, ValueError, UnicodeError) as error:
        reason = _reason(error, address, timeout)
        if relay is not None:
            late = time.monotonic() - start >= timeout  # FFmpeg takes that for bad data
            reason = relay.problem or (_nothing_arrived(timeout) if late else reason)
        if reason == _BROKEN and relay is not None and not isinstance(relay, RtspRelay):
            reason += ", or the address redirects (redirects are not followed)"
        refused = isinstance(error, (av.error.HTTPUnauthorizedError, av.error.HTTPForbiddenError))
        # "from None": the library's own message repeats the address with its password.
        raise (AccessRefused if refused else SourceError)(
            f"cannot open {address.shown}: {reason}"
        ) from None


def _limit_blocks(size: int) -> None:
    """Let FFmpeg allocate no larger blocks, in this process, unless a larger limit was set before.

    PyAV has no call for it, so FFmpeg's own is called, in the library that comes with PyAV. Where
    PyAV was built with another FFmpeg, that library is not found and there is no limit.
    """
    package = Path(av.__file__).parent
    folders = package.parent / "av.libs", package / ".dylibs"  # Linux and Windows; macOS
    for library in (file for folder in folders for file in folder.glob("*avutil*")):
        _limits[library] = max(_limits.get(library, 0), size)
        ctypes.CDLL(str(library)).av_max_alloc(ctypes.c_size_t(_limits[library]))


_limits: dict[Path, int] = {}
"""Of each library: what its largest block may be."""


def _reason(error: Exception, address: Address, timeout: float) -> str:
    if isinstance(error, av.error.ExitError):
        return _nothing_arrived(timeout)
    if address.kind is Kind.VIDEO and isinstance(
        error, (av.error.InvalidDataError, av.error.ArgumentError, av.error.EOFError)
    ):
        if os.path.getsize(address.target) == 0:
            return "the file is empty"
        return "not a video, or one that was cut short"
    if address.kind is Kind.STREAM and isinstance(error, av.error.ArgumentError):
        return "not a video stream (playlists are not followed)"
    text = str(getattr(error, "strerror", None) or type(error).__name__)
    return _BROKEN if text == "Input/output error" else text


def _nothing_arrived(timeout: float) -> str:
    return f"nothing arrived within {timeout:g} s"


def _device(address: Address) -> tuple[str, str, dict[str, str]]:
    """Name, format and options of a camera of this computer, as the operating system wants them."""
    number = int(address.target) if address.target.isdecimal() else 0
    if sys.platform == "darwin":
        return str(number), "avfoundation", {"framerate": "30"}
    if sys.platform == "win32":
        cameras = [
            device.description
            for device in av.enumerate_input_devices("dshow")
            if "video" in device.media_types
        ]
        if number >= len(cameras):
            raise SourceError(f"there is no {address.shown}; cameras here: {cameras or 'none'}")
        return f"video={cameras[number]}", "dshow", {}
    path = f"/dev/video{number}" if address.target.isdecimal() else address.target
    if not os.path.exists(path):
        present = sorted(str(device) for device in Path("/dev").glob("video[0-9]*"))
        raise SourceError(
            f"there is no {address.shown} ({path}); cameras here: {', '.join(present) or 'none'}"
        )
    return path, "v4l2", {}


def _decode(
    address: Address, container: InputContainer, relay: Relay | None, max_pixels: int
) -> Iterator[RawFrame | None]:
    video = container.streams.video[0]
    video.codec_context.options = {"max_pixels": str(max_pixels)}
    try:
        for packet in container.demux():  # all streams: sound shows that the camera is alive, too
            if relay is not None and relay.problem:
                break  # this packet may be a part of what the relay has refused
            if packet.stream.index != video.index:
                yield None
                continue
            if relay is not None:
                relay.frame_complete()
            yield from _decode_packet(packet, max_pixels)
            yield None
        if relay is not None and relay.problem:
            raise SourceError(f"lost {address.shown}: {relay.problem}")
    except av.FFmpegError as error:
        if address.kind is not Kind.VIDEO:
            reason = _reason(error, address, float(container.read_timeout or 0))
            reason = relay.problem or reason if relay is not None else reason
            raise SourceError(f"lost {address.shown}: {reason}") from None
        yield RawFrame(None, None)  # a file that was cut off: everything before was read


def _decode_packet(packet: "av.Packet[Any]", max_pixels: int) -> list[RawFrame]:
    if packet.stream.codec_context.name == "mjpeg" and bytes(packet).count(SCAN) > MAX_SCANS:
        return [RawFrame(None, None)]
    try:
        frames = packet.decode()
        return [RawFrame(frame.time, _pixels(frame, max_pixels)) for frame in frames]
    except (av.FFmpegError, MemoryError):
        return [RawFrame(None, None)]


def _pixels(frame: av.VideoFrame, max_pixels: int) -> Pixels | None:
    """The pixels, rotated as the file says: phones record how they were held.

    The decoder has the same limit, but not every decoder that FFmpeg has heeds it.
    """
    if frame.is_corrupt or frame.width * frame.height > max_pixels:
        return None
    pixels = frame.to_ndarray(format="bgr24")
    rotated = np.rot90(pixels, round(frame.rotation / 90) % 4)
    return np.ascontiguousarray(rotated, dtype=np.uint8)
