"""
A scikit-learn pipeline on shapes
=================================

Estimators take lists of spaces where others take rows of numbers. So rotated digits or graphs can be used in pipelines,
grid searches and cross-validation.
"""

# %%
# Handwritten digits as pixels with weights; a six is a nine to distances, so we leave nine out.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import anchorot as ao
from anchorot.estimators import AnchorKernel, AnchorNeighborsClassifier

digits = ao.datasets.digits(range(9), n_per_class=15)
spaces, labels = list(digits), np.array(digits.labels)
digits

# %%
# Two classifiers: the nearest neighbours by AE, and a support vector machine on the kernel ``exp(-gamma AE)``.
folds = StratifiedKFold(4, shuffle=True, random_state=0)
models = {
    "5 nearest neighbours": AnchorNeighborsClassifier(n_neighbors=5),
    "support vectors": make_pipeline(AnchorKernel(), SVC(kernel="precomputed", C=100)),
}
predicted = {name: cross_val_predict(model, spaces, labels, cv=folds) for name, model in models.items()}
for name, guess in predicted.items():
    print(f"{name}: {(guess == labels).mean():.1%} right, by chance {1 / 9:.0%}")

# %%
# Which digits are confused. No pixel grid, no orientation: only distances between pixels with ink.
figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.9), layout="constrained")
for ax, (name, guess) in zip(axes, predicted.items(), strict=True):
    ConfusionMatrixDisplay.from_predictions(labels, guess, ax=ax, cmap="Blues", colorbar=False)
    ax.set_title(f"{name}: {(guess == labels).mean():.0%} right", loc="left", weight="bold")
plt.show()
