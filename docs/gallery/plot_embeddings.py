"""
Two models' embeddings of the same digits, aligned
==================================================

Two models embed handwritten digits: one takes principal components, in 15 dimensions, the other follows neighbours
along the data (Isomap), in 6. Coordinates mean nothing across models, but distances within each do. Which image of one
is which of the other?
"""

# %%
# Images of six digits, 30 of each, embedded twice, and shuffled.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap

import anchorot as ao

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
chosen = np.concatenate([rng.choice(np.flatnonzero(digits == digit), 30, replace=False) for digit in range(6)])
images, digits = images[chosen], digits[chosen]
first = PCA(15, random_state=0).fit_transform(images)
order = rng.permutation(len(images))
second = Isomap(n_neighbors=12, n_components=6).fit_transform(images)[order]

# %%
# Both as spaces, in units of their mean distance; ranks would do as well (``robust=True``).
x, y = ao.from_points(first), ao.from_points(second)
x, y = ao.Space(x.cost / x.cost.mean()), ao.Space(y.cost / y.cost.mean())
found = ao.align(x, y)
matched = order[found.matches]
print(f"the same image: {(matched == np.arange(len(images))).mean():.0%}, by chance {1 / len(images):.1%}")
print(f"the same digit: {(digits[matched] == digits).mean():.0%}, by chance {1 / 6:.0%}")

# %%
# Left and middle: the embeddings, coloured by the true digit. Right: which digit is matched with which.
figure, axes = plt.subplots(1, 3, figsize=(13, 4.3), layout="constrained", width_ratios=(1, 1, 0.9))
for ax, points, labels, title in (
    (axes[0], first, digits, "principal components"),
    (axes[1], second, digits[order], "Isomap"),
):
    for digit in range(6):
        own = labels == digit
        ax.scatter(*points[own, :2].T, alpha=0)  # so that the axes know how far digits go
        for place in points[own, :2]:
            ax.text(
                *place, str(digit), color=ao.plot.PALETTE[digit], fontsize=9, ha="center", va="center", weight="bold"
            )
    ax.set(xticks=[], yticks=[], xlabel="first coordinate", ylabel="second coordinate")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(title, loc="left", weight="bold")
counts = np.zeros((6, 6), int)
np.add.at(counts, (digits, digits[matched]), 1)
axes[2].imshow(counts, cmap="Blues")
for i, j in np.ndindex(6, 6):
    axes[2].text(j, i, counts[i, j] or "", ha="center", va="center", color="white" if counts[i, j] > 15 else "#374151")
axes[2].set(xlabel="digit of the match", ylabel="digit", xticks=range(6), yticks=range(6))
axes[2].set_title("who is matched with whom", loc="left", weight="bold")
plt.show()
