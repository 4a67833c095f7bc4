# %% [markdown]
# # Textures that change while the camera watches
#
# Three materials under a camera: stripes, checks and dots. Each is labeled in its first frame, and
# never again. While they are watched the stripes turn, the checks grow and the light goes down, so
# that in the end no frame looks like the one that was labeled:
#
#     pip install onlooker matplotlib && python examples/textures.py

# %%
import matplotlib.pyplot as plt
import numpy as np

from onlooker import OnlineHarmonicLearner, suggest

SIDE, FRAMES = 48, 240
rng = np.random.default_rng(0)
down, across = np.mgrid[0:SIDE, 0:SIDE]


def frame(material: str, moment: float) -> np.ndarray:
    """A drawn picture of a material; the moment runs from 0 to 1."""
    turn, move = moment * np.pi / 2, rng.uniform(0, 6, 2)
    x = (across + move[0]) * np.cos(turn) + (down + move[1]) * np.sin(turn)
    match material:
        case "stripes":
            picture = np.sin(x * 2 * np.pi / 8)
        case "checks":
            size = 5 + 5 * moment
            picture = np.sign(
                np.sin((across + move[0]) * np.pi / size) * np.sin((down + move[1]) * np.pi / size)
            )
        case _:
            gap = 7.0
            picture = np.cos((across + move[0]) * 2 * np.pi / gap)
            picture = picture + np.cos((down + move[1]) * 2 * np.pi / gap) > 1.2
    light = 200 - 120 * moment
    return np.clip(light * (0.5 + 0.4 * picture) + rng.normal(0, 6, (SIDE, SIDE)), 0, 255)


# %% [markdown]
# A picture becomes a vector: the strength of each direction and scale in its spectrum, which
# depends neither on where the pattern begins nor, once normalised, on the light.


# %%
def features(picture: np.ndarray) -> np.ndarray:
    """Sixteen directions times six scales of the spectrum, as a vector of length 1."""
    spectrum = np.abs(np.fft.fftshift(np.fft.fft2(picture - picture.mean())))
    y, x = down - SIDE // 2, across - SIDE // 2
    direction = (np.arctan2(y, x) % np.pi / np.pi * 16).astype(int) % 16
    scale = np.clip(np.hypot(x, y) / 4, 0, 5).astype(int)
    cells = np.bincount((direction * 6 + scale).ravel(), spectrum.ravel(), minlength=96)
    return cells / np.linalg.norm(cells)


# %%
figure, axes = plt.subplots(2, 3, figsize=(6, 4), layout="constrained")
for column, material in enumerate(["stripes", "checks", "dots"]):
    for row, moment in enumerate((0.0, 1.0)):
        axes[row, column].imshow(frame(material, moment), cmap="gray", vmin=0, vmax=255)
        axes[row, column].set(title=f"{material}, {'first' if row == 0 else 'last'}")
        axes[row, column].set_axis_off()

# %% [markdown]
# The stream: a frame of each material in turns. `suggest` chooses the bandwidth from the first
# frames, of which three have a label.

# %%
MATERIALS = ["stripes", "checks", "dots"]
stream = [
    (material, features(frame(material, moment)))
    for moment in np.linspace(0, 1, FRAMES)
    for material in MATERIALS
]
first = np.array([x for _, x in stream[:90]])
found = suggest(first, MATERIALS + [None] * 87)
print(found)
learner = OnlineHarmonicLearner(found.kernel, sink=found.sink, max_vertices=200)
for material, x in stream[:3]:
    learner.teach(x, material)

# %%
answers = [learner.observe(x).label for _, x in stream[3:]]
truth = [material for material, _ in stream[3:]]
labels = np.array([x for _, x in stream[:3]])
nearest = [MATERIALS[int(np.linalg.norm(labels - x, axis=1).argmin())] for _, x in stream[3:]]


def right(given: list[str | None]) -> float:
    """The share of right answers; nobody is none."""
    return float(np.mean([one == other for one, other in zip(given, truth, strict=True)]))


accuracy, of_nearest = right(answers), right(nearest)
print(f"learner {accuracy:.3f}, nobody {answers.count(None)}; nearest label {of_nearest:.3f}")

# %% [markdown]
# An answer is explained by a chain of frames from now back to the label:

# %%
why = learner.explain(stream[-3][1])
print(f"{why.hops} steps from the last stripes to their label")
