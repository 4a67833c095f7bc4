# %% [markdown]
# # Machines: what is running?
#
# A sensor on a workbench hears a fan, a pump and a drill. Each is labeled in one short recording,
# when it is cold. Then they run for an hour, warm up and get slower, so that in the end none sounds
# as it did. The sounds are drawn:
#
#     pip install onlooker matplotlib && python examples/machines.py

# %%
import matplotlib.pyplot as plt
import numpy as np

from onlooker import OnlineHarmonicLearner, suggest

RATE, LENGTH, MOMENTS = 4000, 2048, 200
MACHINES = {"fan": (90, 5), "pump": (140, 3), "drill": (230, 8)}  # turns a second, harmonics
rng = np.random.default_rng(0)
time = np.arange(LENGTH) / RATE


def recording(machine: str, moment: float) -> np.ndarray:
    """Half a second of a machine; the moment runs from 0, cold, to 1, warm."""
    turns, harmonics = MACHINES[machine]
    turns = turns * (1 - 0.35 * moment) * rng.normal(1, 0.004)
    phases = rng.uniform(0, 2 * np.pi, harmonics)
    orders = np.arange(1, harmonics + 1)
    tones = np.sin(2 * np.pi * turns * np.outer(time, orders) + phases) / orders
    return tones.sum(axis=1) + rng.normal(0, 0.3, LENGTH)


# %% [markdown]
# A recording becomes a vector: the share of its sound in 48 bands, ever wider as the ear has them.


# %%
def features(sound: np.ndarray) -> np.ndarray:
    """The spectrum in 48 bands between 40 and 2000 Hz, as a vector of length 1."""
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(LENGTH)))
    frequency = np.fft.rfftfreq(LENGTH, 1 / RATE)
    bands = np.digitize(frequency, np.geomspace(40, 2000, 49))
    power = np.sqrt(np.bincount(bands, spectrum**2, minlength=50)[1:49])
    smooth = np.convolve(power, [0.25, 0.5, 1, 0.5, 0.25], mode="same")
    return smooth / np.linalg.norm(smooth)


# %% [markdown]
# The stream: each machine in turns. Three recordings have a label, the first of each machine.

# %%
stream = [
    (machine, features(recording(machine, moment)))
    for moment in np.linspace(0, 1, MOMENTS)
    for machine in MACHINES
]
first = np.array([x for _, x in stream[:93]])
found = suggest(first, [*MACHINES, *[None] * 90])
print(found)
learner = OnlineHarmonicLearner(found.kernel, sink=found.sink, max_vertices=200)
for machine, x in stream[:3]:
    learner.teach(x, machine)

# %%
truth = [machine for machine, _ in stream[3:]]
answers = [learner.observe(x).label for _, x in stream[3:]]
labels = np.array([x for _, x in stream[:3]])
nearest = [list(MACHINES)[int(np.linalg.norm(labels - x, axis=1).argmin())] for _, x in stream[3:]]


def right(given: list[str | None]) -> np.ndarray:
    """Which answers are right."""
    return np.array([one == other for one, other in zip(given, truth, strict=True)])


accuracy, of_nearest = float(right(answers).mean()), float(right(nearest).mean())
print(f"learner {accuracy:.3f}, nearest label {of_nearest:.3f}")

# %% [markdown]
# The share of right answers over the hour:

# %%
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
for name, given in (("learner", answers), ("nearest label", nearest)):
    runs = np.array_split(right(given), 20)
    axes.plot(np.linspace(0, 60, 20), [run.mean() for run in runs], label=name)
axes.set(xlabel="minutes since the labels", ylabel="right", ylim=(0, 1.03))
axes.legend(frameon=False)
