"""
Gradients: let a cloud take a shape
===================================

`anchorot.torch` has Anchor Energy and Anchor Wasserstein on tensors, with exact gradients, so that they can be losses.
Here a cloud of random points in the plane moves into a shape that is given by the distances between its points alone.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import anchorot.torch as aot
from anchorot.plot import PALETTE

angle = np.linspace(0, 2 * np.pi, 80, endpoint=False)
heart = np.stack([16 * np.sin(angle) ** 3, 13 * np.cos(angle) - 5 * np.cos(2 * angle) - 2 * np.cos(3 * angle)], axis=1)
wanted = aot.from_points(torch.tensor(heart / 10))

# %%
# Adam on the points themselves, by Anchor Wasserstein, which distinguishes the parts of a shape better than AE. Points
# could also be the output of any differentiable function, such as a network that generates shapes.
torch.manual_seed(0)
points = (0.5 * torch.randn(80, 2, dtype=torch.float64)).requires_grad_()
optimizer = torch.optim.Adam([points], lr=0.04)
losses, moments = [], {}
for step in range(251):
    optimizer.zero_grad()
    loss = aot.anchor_wasserstein(aot.from_points(points), wanted, epsilon=0).value
    loss.backward()
    optimizer.step()
    losses.append(float(loss.detach()))
    if step in (0, 20, 60, 250):
        moments[step] = points.detach().numpy().copy()

# %%
# Only distances count, so the heart may be rotated or mirrored.
figure = plt.figure(figsize=(12, 3.4), layout="constrained")
axes = figure.subplots(1, 5, width_ratios=(1, 1, 1, 1, 1.3))
for ax, (step, cloud) in zip(axes, moments.items(), strict=False):
    centred = cloud - cloud.mean(axis=0)
    ax.scatter(*centred.T, c=np.hypot(*centred.T), cmap="magma", s=16, vmax=2.2)
    ax.set(xlim=(-2.3, 2.3), ylim=(-2.3, 2.3), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_color("#d1d5db")
    ax.set_title(f"step {step}", loc="left", weight="bold")
axes[4].plot(losses, color=PALETTE[3], linewidth=2)
axes[4].set(yscale="log", xlabel="step", ylabel="Anchor Wasserstein")
axes[4].spines[["top", "right"]].set_visible(False)
plt.show()
