"""Killed at any point, a home comes back as if it had not been: nothing acknowledged is lost.

    PYTHONPATH=tests .venv/bin/python tests/home/test_kill.py --kills 200

runs the long version. A child streams two cameras while labels arrive, and says after each call
which step is on the disk; it is killed at random moments, started again, and goes on from what it
finds there. Input is a function of the step, so an undisturbed learner can be asked beside.
"""

import random
import subprocess
import sys
import threading
from itertools import islice

import numpy as np

from helpers.homes import LENGTH, png, small_learner
from helpers.killing import assert_never_killed, environment, long_version
from onlooker.home.events import digest
from onlooker.home.home import Home
from onlooker.home.retention import RetentionPolicy

KEEPING = RetentionPolicy(snapshot_every=40)


def step(number):
    """What happens at a step: a verb, a vector, and a name; never an outlier."""
    rng = np.random.default_rng([5, number])
    person = number % 3
    home = np.random.default_rng([6, person]).normal(size=LENGTH) * 2
    x = (home + rng.normal(size=LENGTH) * 0.2).astype(np.float32)
    labels = number < 6 or number % 17 == 0
    return ("teach" if labels else "observe"), x, f"person{person}"


def perform(home, number):
    """One step; an outlier, which writes nothing, is made a label so that every step counts."""
    verb, x, name = step(number)
    if verb == "observe":
        camera = ("door", "yard")[number % 2]
        picture = png(number) if number % 2 else None
        if home.observe(x, camera=camera, frame=number, picture=picture).label is not None:
            return
    home.teach(x, name)


def perform_plainly(learner, number):
    """The same to a learner without a home."""
    verb, x, name = step(number)
    if verb == "teach" or learner.observe(x).label is None:
        learner.teach(x, name)


def child(folder):
    """Open the home, say what is there, go on until killed."""
    print("opening", flush=True)
    home = Home(folder, new_learner=small_learner, retention=KEEPING)
    assert not home.problems, home.problems
    print("found", home.sequence, digest(home.learner), flush=True)
    while True:
        number = home.sequence
        perform(home, number)
        print("done", number + 1, flush=True)


class Beside:
    """The learner that was never killed."""

    def __init__(self):
        self.learner, self.number = small_learner(), 0

    def word_after(self, number):
        while self.number < number:
            perform_plainly(self.learner, self.number)
            self.number += 1
        return digest(self.learner)


def one_life(folder, steps, seconds):
    """Start the child and kill it a moment after it made `steps` steps: what it printed.

    Counting steps instead of time, it gets as far on a busy machine. Without a step the moment
    begins when the home is about to be opened: then it may be killed while opening.
    """
    command = [sys.executable, __file__, "--child", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout.readline() == "opening\n"
        lines = list(islice(process.stdout, steps + 1 if steps else 0))
        killer = threading.Timer(seconds, process.kill)
        killer.start()
        lines += process.stdout
        killer.join()
    return [row.split() for row in lines if row.endswith("\n")]


def kill_often(folder, kills, seed):
    """How many steps were made, and how often the disk was ahead of the acknowledgement."""
    moments, beside, last, ahead = random.Random(seed), Beside(), 0, 0
    for kill in range(kills):
        steps = 0 if kill % 4 == 3 else moments.randrange(7, 40)
        lines = one_life(folder, steps, moments.random() / 20)
        assert lines or not steps, "the child could not open its home"
        for kind, number, *rest in lines:
            if kind == "found":
                assert last <= int(number) <= last + 1, f"step {last} had been acknowledged"
                assert rest[0] == beside.word_after(int(number))
                ahead += int(number) - last
            else:
                assert kind == "done"
            last = int(number)
    with Home(folder, new_learner=small_learner, retention=KEEPING) as home:
        assert last <= home.sequence <= last + 1
        beside.word_after(home.sequence)
        probes = [step(number)[1] for number in range(home.sequence, home.sequence + 30)]
        assert_never_killed(home, beside.learner, probes)
    return last, ahead


def test_nothing_acknowledged_is_lost_to_kill_9(tmp_path):
    steps, _ = kill_often(tmp_path, kills=20, seed=1)
    assert steps > 100


def report(folder, kills, seed):
    """The figures in words."""
    steps, ahead = kill_often(folder, kills, seed)
    return f"{steps} steps, {ahead} times one more was on the disk than had been acknowledged"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
    long_version(__doc__, report)
