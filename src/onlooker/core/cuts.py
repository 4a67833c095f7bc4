"""What hangs on the labels by the narrowest link: the group of a vertex that was named wrongly.

A walk from the vertex wanders among the faces around it, to and fro, before it crosses the link by
which they came to their name. So the vertices are taken in the order in which the walk visits them,
per example: with A z = e_x (solver.py), the largest z first. Of all beginnings of that order the
group is the one with the smallest *conductance*: the weight of the links that lead out of it, over
the weight of all links of its vertices (or of the others, whichever is less). That is the sweep cut
of Andersen, Chung and Lang (2006), with the walk of the harmonic solution in place of PageRank's.
Examples that were merged are linked to each other with similarity 1. Somebody who came to a name by
several steps hangs on several links that are about as narrow; of those up to NEARLY times the
narrowest it is the last, beyond which all the others lie.
"""

import numpy as np

from onlooker.core.checks import Slots
from onlooker.core.graph import Graph
from onlooker.core.harmonic import LEAST_SINK, green_function

NEARLY = 2.0
"""A link with this many times the smallest conductance is as narrow."""


def beyond_narrowest_link(graph: Graph, slot: int, sink: float) -> Slots:
    """The slots of a group of unlabeled vertices, that one first, then by how often it visits."""
    members = graph.components.reached(np.array([slot]), graph.weights, exact=True)
    members = members[graph.ids[members].argsort()]  # sums in the same order after a restart
    v = graph.multiplicity[members].astype(np.float64)
    links = graph.weights[np.ix_(members, members)] * v * v[:, None]
    labels = graph.multiplicity[graph.rows + graph.columns].astype(np.float64)
    exits = graph.to_labels[np.ix_(members, graph.columns)] * labels * v[:, None]
    to_labels = exits.sum(axis=1)
    green = green_function(links, to_labels + max(sink, LEAST_SINK) * v)
    z = np.where(members == slot, np.inf, green[:, members == slot][:, 0])
    order = np.lexsort([graph.ids[members], -z])
    # Of the first k: all links of theirs, and those that stay among them.
    volumes = np.cumsum((links.sum(axis=1) + to_labels + v * (v - 1))[order])
    sorted_links = links[np.ix_(order, order)]
    among = 2 * np.cumsum(np.tril(sorted_links, -1).sum(axis=1)) + np.cumsum((v * (v - 1))[order])
    everything = volumes[-1] + to_labels.sum() + float((labels * (labels - 1)).sum())
    smaller = np.minimum(volumes, everything - volumes)
    conductance = np.divide(
        volumes - among, smaller, out=np.full(len(v), np.inf), where=smaller > 0
    )
    nearly = np.flatnonzero(conductance <= NEARLY * conductance.min())
    return members[order[: int(nearly[-1]) + 1]]
