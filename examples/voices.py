# %% [markdown]
# # Voices: who is speaking?
#
# Nine people say the vowel /ae/ several times each (Kudo, Toyama and Shimbo, 1999): 640 utterances
# of 7 to 29 short frames, twelve numbers of the spectrum (LPC cepstrum) for each frame. Three
# utterances of each speaker are labeled; the other 613 are a stream without labels. The package
# `aeon` carries the recordings; its file is read, its code is not needed:
#
#     pip install "onlooker[sklearn]" && pip install --no-deps aeon && python examples/voices.py

# %%
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from onlooker import OnlineHarmonicLearner, suggest

LABELS = 3


def utterances() -> tuple[np.ndarray, list[str]]:
    """A vector for each utterance, and who spoke."""
    package = find_spec("aeon")
    if package is None:
        raise SystemExit("voices.py needs the recordings in aeon: pip install --no-deps aeon")
    folder = Path(package.submodule_search_locations[0], "datasets", "data", "JapaneseVowels")
    vectors, speakers = [], []
    for part in ("TRAIN", "TEST"):
        rows = (folder / f"JapaneseVowels_{part}.ts").read_text().partition("@data\n")[2]
        for row in rows.splitlines():
            *channels, speaker = row.split(":")
            sound = np.array([np.array(each.split(","), dtype=float) for each in channels])
            begin, end = np.array_split(sound, 2, axis=1)  # how it begins, and how it ends
            vectors.append(np.concatenate([begin.mean(axis=1), end.mean(axis=1)]))
            speakers.append(f"speaker {speaker}")
    return np.array(vectors), speakers


# %%
X, speakers = utterances()
X = StandardScaler().fit_transform(X)
order = np.random.default_rng(0).permutation(len(X))
X, speakers = X[order], np.array(speakers)[order]
labeled = np.zeros(len(X), dtype=bool)
for speaker in np.unique(speakers):
    labeled[np.flatnonzero(speakers == speaker)[:LABELS]] = True

# %% [markdown]
# The learner answers an utterance and then learns from it, without being told who spoke.

# %%
names = [speaker if known else None for speaker, known in zip(speakers, labeled, strict=True)]
found = suggest(X[:300], names[:300])
print(found)
learner = OnlineHarmonicLearner(found.kernel, sink=found.sink, max_vertices=300)
for x, speaker in zip(X[labeled], speakers[labeled], strict=True):
    learner.teach(x, str(speaker))
answers = [learner.observe(x).label for x in X[~labeled]]

# %% [markdown]
# Beside it the nearest of the same 27 labels. Nobody is an answer too: an utterance that no chain
# of similar ones connects with a label.

# %%
truth = speakers[~labeled]
gaps = np.linalg.norm(X[~labeled][:, None] - X[labeled][None], axis=2)
nearest = speakers[labeled][gaps.argmin(axis=1)]
known = np.array([answer is not None for answer in answers])
right = np.array([answer == who for answer, who in zip(answers, truth, strict=True)])
coverage, of_answered = float(known.mean()), float(right[known].mean())
of_nearest, of_nearest_there = (
    float((nearest == truth).mean()),
    float((nearest == truth)[known].mean()),
)
filled = float(np.where(known, right, nearest == truth).mean())
print(f"answered {coverage:.3f}, of these right {of_answered:.3f}")
print(f"nearest label: {of_nearest:.3f}; where the learner answered {of_nearest_there:.3f}")
print(f"the learner, and the nearest label where it says nobody: {filled:.3f}")
