"""Shared by the tests of the cluster: learner settings, and streams as functions of a number."""

import numpy as np

from helpers import ray_settings
from helpers.homes import LENGTH, small_learner
from onlooker.cluster.messages import LearnerConfig

assert ray_settings  # also when a test file is run as a script

LEARNER = small_learner(max_vertices=20)
LEARNER_CONFIG = LearnerConfig(LEARNER.kernel, LEARNER.features, LEARNER.max_vertices, LEARNER.sink)


def example(site, number):
    """The example that a site's camera sends under a number: a vector, and a name or none.

    Every 13th is a stranger, who is not learned; a few have labels.
    """
    rng = np.random.default_rng([site, number])
    person = number % 3
    home = np.random.default_rng([77, person]).normal(size=LENGTH) * 2
    if number % 13 == 12:
        return (rng.normal(size=LENGTH) * 50).astype(np.float32), None
    x = (home + rng.normal(size=LENGTH) * 0.2).astype(np.float32)
    return x, f"person{person}" if number <= 6 or number % 40 == 0 else None
