"""What all sites know together: a tree of unions, computed as Ray tasks.

A union has room for all of its parts, so nothing is lost on the way and the order does not matter;
examples that one site refused are matched against the people that others know. Unions at one level
of the tree run at the same time. Sites that do not answer in time are left out, and the view says
which ones, why, and since when.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ray

from onlooker.cluster.messages import ClusterError, SiteKnowledge
from onlooker.cluster.ray_site import result_of
from onlooker.cluster.transport import SiteUnavailable
from onlooker.core.errors import Incompatible, LabelConflict, OnlookerError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.union import UnionSummary, union

ANSWER_WITHIN = 10.0
"""Seconds in which every site must answer to be part of the view."""
MERGE_WITHIN = 60.0
"""Seconds for the unions themselves, on top of that."""


@dataclass(frozen=True, slots=True)
class MissingSite:
    """A site that is not in a merged view.

    >>> MissingSite("north", "no answer within 10 s", age=None).age is None
    True
    """

    site: str
    why: str
    age: float | None
    """Seconds since it last answered; None: no answer is on record."""


@dataclass(frozen=True, slots=True, eq=False)
class MergedView:
    """One learner that knows what all sites know."""

    learner: OnlineHarmonicLearner | None
    """None: no site answered."""
    sites: tuple[str, ...]
    missing: tuple[MissingSite, ...]


def merge_sites(
    sites: Mapping[str, Any],
    *,
    timeout: float = ANSWER_WITHIN,
    last_seen: Mapping[str, float | None] | None = None,
) -> MergedView:
    """Merge what these actors know.

    last_seen is when each site last answered, in seconds since the epoch. A site in it that has no
    actor is missing from the view.
    """
    last_seen = dict.fromkeys(sites) | dict(last_seen or {})
    answered, silent = _snapshots(sites, timeout)
    silent |= {site: "it is not up" for site in last_seen if site not in sites}
    now = time.time()
    missing = tuple(
        MissingSite(site, why, None if (last := last_seen[site]) is None else now - last)
        for site, why in silent.items()
    )
    if not answered:
        return MergedView(None, (), missing)
    join = ray.remote(combine).options(num_cpus=0)
    merged = merge_tree(list(answered.values()), join.remote)
    try:
        knowledge: SiteKnowledge = result_of(merged, MERGE_WITHIN + timeout)
    except SiteUnavailable as error:
        raise ClusterError(f"the merge did not finish: {error}; try again") from error
    return MergedView(knowledge.learner(), tuple(answered), missing)


def combine(first: SiteKnowledge, second: SiteKnowledge) -> SiteKnowledge:
    """The union of two; if they contradict each other, the error names the sites."""
    parts = [UnionSummary(part.learner(), part.refused) for part in (first, second)]
    try:
        both = union(parts)
    except (LabelConflict, Incompatible) as error:
        raise type(error)(
            f"{', '.join(first.sites)} and {', '.join(second.sites)} cannot be merged: {error}"
        ) from error
    learner_config = replace(first.learner_config, max_vertices=both.learner.max_vertices)
    return SiteKnowledge(
        first.sites + second.sites, learner_config, both.learner.state(), both.refused
    )


def merge_tree(parts: Sequence[Any], join: Any) -> Any:
    """Join neighbours, level by level, until one is left.

    >>> merge_tree(["a", "b", "c", "d", "e"], lambda one, two: f"({one}{two})")
    '(((ab)(cd))e)'
    """
    level = list(parts)
    while len(level) > 1:
        pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
        level = [join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]


def _snapshots(sites: Mapping[str, Any], timeout: float) -> tuple[dict[str, Any], dict[str, str]]:
    """References to what each site knows, and why the others did not answer; within the timeout."""
    references = {site: handle.call.remote("snapshot") for site, handle in sites.items()}
    deadline = time.monotonic() + timeout
    answered, silent = {}, {}
    for site, reference in references.items():
        try:
            result_of(reference, max(0.05, deadline - time.monotonic()))
            answered[site] = reference
        except (SiteUnavailable, OnlookerError) as error:
            late = "no answer within" in str(error)
            silent[site] = f"no answer within {timeout:g} s" if late else str(error)
    return answered, silent
