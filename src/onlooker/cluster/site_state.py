"""How a site is, as somebody sees it who visits it every few seconds."""

from dataclasses import dataclass, replace

from onlooker.cluster.wire import Report

SKEW = 1.0
"""Seconds by which a clock may be wrong before it is called a problem."""


@dataclass(frozen=True, slots=True)
class SiteState:
    """How a site is, as the last round saw it.

    >>> SiteState("north", "away", why="no answer within 10 s").report is None
    True
    """

    site: str
    state: str
    """serving; read-only; away."""
    why: str = ""
    report: Report | None = None
    """The last one, even of a site that is away."""
    seen: float | None = None
    """When it last answered, by the clock of the rounds."""
    skew: float = 0.0
    """How far its clock is ahead of that one, in seconds; the error is at most `give`."""
    give: float = 0.0
    moves: int = 0
    """How often it came back as another process."""
    away: float = 0.0
    """Seconds in which it did not answer, all times together."""
    refused: tuple[str, ...] = ()
    """Labels of other sites that contradict its own."""

    @property
    def skewed(self) -> bool:
        """Whether its clock is certainly wrong: times of its events cannot be compared."""
        return abs(self.skew) - self.give > SKEW

    def problems(self) -> list[str]:
        """All that a person should know, in words."""
        found = [] if self.state == "serving" else [self.why or self.state]
        if self.skewed:
            found.append(f"its clock is {self.skew:+.1f} s off")
        if self.report is not None:
            gap = self.report.gap
            if gap is not None:
                found.append(f"nobody served for {gap:.1f} s before it last opened")
            found += self.report.problems
        return found + list(self.refused)


def away(before: SiteState, why: str, every: float) -> SiteState:
    """After a round in which it did not answer, `every` seconds after the one before."""
    return replace(before, state="away", why=why, away=before.away + every)


def seen(before: SiteState, report: Report, asked: float, now: float) -> SiteState:
    """After it reported, by now; asked is when."""
    was = before.report
    moved = was is not None and was.process != report.process
    return replace(
        before,
        state="serving" if report.read_only is None else "read-only",
        why=report.read_only or "",
        report=report,
        seen=now,
        skew=report.clock - (asked + now) / 2,
        give=(now - asked) / 2,
        moves=before.moves + moved,
    )
