"""Many independent jobs as Ray tasks: what `experiments/parallel.py` does with processes."""

from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from onlooker.cluster.messages import ClusterError
from onlooker.cluster.ray_site import short_message


def run_on_ray(
    work: Callable[[Any], Any], jobs: Sequence[Any], advance: Callable[[], object]
) -> list[Any]:
    """The result of each job, in the order of the jobs; the first failure cancels the rest.

    Every machine must see the folders that the jobs read, and the same cache of Onlooker.
    """
    task = ray.remote(work).options(num_cpus=1)
    references = [task.remote(job) for job in jobs]
    waiting = list(references)
    try:
        while waiting:
            done, waiting = ray.wait(waiting)
            for reference in done:
                ray.get(reference)
                advance()
        return list(ray.get(references))
    except RayTaskError as error:
        if isinstance(error.cause, Exception):
            raise error.cause from None
        raise
    except RayError as error:
        raise ClusterError(f"the cluster lost a job: {short_message(error)}") from error
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)
