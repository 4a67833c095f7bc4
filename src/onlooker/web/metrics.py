"""Numbers for Prometheus, in its text form."""

from collections.abc import Iterable, Iterator

from onlooker.web.station import Station

TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[dict[str, str], float]


def metrics(station: Station) -> str:
    """All of them, as they are now."""
    return "".join(line + "\n" for line in _lines(station))


def _lines(station: Station) -> Iterator[str]:
    health, states = station.health, station.camera_states
    counts, seconds = station.accounts.totals()
    faces = [
        ({"camera": camera, "as": kind}, number)
        for (camera, kind), number in counts.items()
        if kind != "frames"
    ]
    frames: list[Sample] = [
        ({"camera": camera}, n) for (camera, kind), n in counts.items() if kind == "frames"
    ]
    up = [({"camera": one.name}, float(one.state == "watching")) for one in states]
    dropped = [({"camera": one.name}, one.dropped) for one in states]
    spent = [({"camera": camera}, number) for camera, number in seconds.items()]
    yield from _metric("frames_total", "counter", "Frames looked at.", frames)
    yield from _metric("frames_dropped_total", "counter", "Frames given up to keep up.", dropped)
    yield from _metric("faces_total", "counter", "Faces by what became of them.", faces)
    yield from _metric("frame_seconds_total", "counter", "From a frame to its answer.", spent)
    yield from _metric("camera_up", "gauge", "Whether a camera gives frames.", up)
    plain = {
        "events_total": ("counter", "Number of the newest event.", health.sequence),
        "read_only": ("gauge", "Whether nothing can be learned.", health.read_only is not None),
        "problems": ("gauge", "What was found damaged or failed.", len(health.problems)),
        "jobs_waiting": ("gauge", "Work that waits for the home.", station.worker.waiting),
        "listeners": ("gauge", "Live views and streams.", station.hub.listeners),
        "news_lost_total": ("counter", "News that slow listeners missed.", station.hub.lost),
    }
    for name, (kind, words, value) in plain.items():
        yield from _metric(name, kind, words, [({}, value)])


def _metric(name: str, kind: str, words: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP onlooker_{name} {words}"
    yield f"# TYPE onlooker_{name} {kind}"
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"onlooker_{name}{{{inside}}} {float(value):.17g}"


def _escaped(text: str) -> str:
    r"""A label as Prometheus wants it.

    >>> _escaped('a"b\n')
    'a\\"b\\n'
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
