"""
Two networks' embeddings of the same images, aligned
====================================================

Two networks of different widths and seeds learn to read digits. Their hidden layers have no coordinate in common, and
no matches are given. `align_embeddings` finds the rotation between them, and the matches with it. The rotation also
holds for new images.
"""

# %%
# Both networks learn from 1200 images. Their hidden layers for the other 597 are the embeddings, the second one's
# shuffled.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import anchorot as ao

images, digits = load_digits(return_X_y=True)
images = images / 16
rng = np.random.default_rng(0)
seen, new = np.split(rng.permutation(len(images)), [1200])


def embedded(width, seed):
    """Train a network, and return its hidden layer for the images that it was not trained on."""
    network = MLPClassifier((width,), alpha=1e-3, tol=1e-3, random_state=seed).fit(images[seen], digits[seen])
    return np.maximum(images[new] @ network.coefs_[0] + network.intercepts_[0], 0)


order = rng.permutation(len(new))
first, second = embedded(32, seed=0), embedded(48, seed=1)[order]
kinds, truth = (digits[new], digits[new][order]), np.argsort(order)
found = ao.align_embeddings(first, second, rng=0)
found

# %%
# Right matches are known here, so they can be counted: the same image, the same digit, and what the confidence of the
# matches promised.
scores = ao.alignment_scores(found, truth, labels=kinds)
print(
    f"the same image {scores.hits:.1%}, promised {found.confidence.mean():.1%}; the same digit {scores.label_hits:.1%}"
)

# %%
# Left: both in one plane, the first network after the rotation (dots), the second as it is (rings). Right: which digit
# is matched with which.
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained", width_ratios=(1.15, 1))
ao.plot.embedding_pair(found, first, second, kinds, ax=left)
ao.plot.matching(found, kinds, ax=right)
left.set_title("both embeddings after the rotation", loc="left", weight="bold")
right.set_title("digits of images and of their matches", loc="left", weight="bold")
plt.show()

# %%
# The rotation found from one half of the images also holds for the other half: after the rotation, the nearest row of
# the second network is nearly always that of the same image.
half = np.arange(len(new)) < len(new) // 2
fitted = ao.align_embeddings(first[half], second[half[order]], rng=0)
carried = fitted.transform(first[~half])
nearest = np.array([np.square(point - second).sum(axis=1).argmin() for point in carried])
print(f"images that were not aligned, the same image: {np.mean(nearest == truth[~half]):.1%}")
