"""
Boiling points from the skeletons of molecules
==============================================

In 1947 Harry Wiener found that the boiling points of alkanes follow from the lengths of paths between their carbon
atoms. Anchor Energy compares these paths. As the kernel of a Gaussian process it predicts boiling points.
"""

# %%
# All 37 alkanes of four to eight carbon atoms, with measured boiling points.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

import anchorot as ao
from anchorot.estimators import AnchorKernel, AnchorProcessKernel

alkanes = ao.datasets.alkanes()
alkanes

# %%
# `exp(-gamma AE)` is a positive definite kernel on spaces of any sizes; scikit-learn learns gamma and the noise.
gamma = AnchorKernel().fit(alkanes.spaces).gamma_
kernel = ConstantKernel(4.0, (1e-2, 1e3)) * AnchorProcessKernel(gamma / 10) + WhiteKernel(0.01, (1e-5, 1))
model = GaussianProcessRegressor(kernel, normalize_y=True).fit(list(alkanes), alkanes.values)
print(model.kernel_)

# %%
# Each alkane is predicted from the 36 others (leave-one-out has a closed form for Gaussian processes; gamma and noise
# are those learnt from all).
inverse = np.linalg.inv(model.kernel_(list(alkanes)))
mean, spread = alkanes.values.mean(), alkanes.values.std()
scaled = (alkanes.values - mean) / spread
predicted = mean + spread * (scaled - inverse @ scaled / np.diag(inverse))
deviation = spread / np.sqrt(np.diag(inverse))
error = np.abs(predicted - alkanes.values)
print(f"mean error {error.mean():.1f} degrees, of a range of {np.ptp(alkanes.values):.0f}")
print(f"within two deviations: {(error < 2 * deviation).mean():.0%}")

# %%
figure = plt.figure(figsize=(11, 5.2), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1.7, 1))
ax = left.subplots()
for formula, color, marker in zip(dict.fromkeys(alkanes.labels), ao.plot.PALETTE, "osD^v", strict=False):
    own = np.array(alkanes.labels) == formula
    ax.errorbar(
        alkanes.values[own], predicted[own], 2 * deviation[own], fmt=marker, color=color, elinewidth=0.7, label=formula
    )
ax.plot([-15, 130], [-15, 130], color="#9ca3af", linestyle=":", zorder=0)
ax.set(xlabel="measured boiling point, °C", ylabel="predicted from the others, °C")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
for ax, name in zip(
    right.subplots(3, 1), ("octane", "2,2,4-trimethylpentane", "2,2,3,3-tetramethylbutane"), strict=True
):
    place = alkanes.names.index(name)
    ao.plot.shape(alkanes[place], color="#374151", ax=ax)
    ax.set_title(f"{name}: {alkanes.values[place]} °C, predicted {predicted[place]:.0f} °C", fontsize=10)
plt.show()
