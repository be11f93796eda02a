"""
Molecules: structure and atoms together
=======================================

All 32 alcohols and ethers of the formula C₆H₁₄O have the same atoms and nearly the same skeletons. Paths alone do not
show whether the oxygen is at an end (an alcohol) or inside (an ether). With ``attributes="types"`` Anchor Energy
compares not only how far the other atoms are, but also which of them are carbon and which oxygen.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao

molecules = ao.datasets.isomers(6)
labels = np.array(molecules.labels)
energies = {
    "structure alone": ao.pairwise(molecules),
    "structure and atoms": ao.pairwise(molecules, attributes="types"),
}
molecules

# %%
# How often is the nearest other molecule of the same class?
for name, values in energies.items():
    nearest = np.argmin(values + np.diag([np.inf] * len(values)), axis=1)
    print(f"{name}: {(labels[nearest] == labels).mean():.0%}")

# %%
# Six of the molecules, oxygen in yellow, and the maps of all. Alcohols are drawn larger, for by structure alone many of
# them lie exactly where an ether lies, which has the same skeleton.
figure = plt.figure(figsize=(12, 6.6), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(1, 3))
chosen = [0, 5, 12, 17, 22, 30]
for ax, i in zip(top.subplots(1, 6), chosen, strict=True):
    molecule = molecules[i]
    oxygen = np.array([kind == "O" for kind in molecule.types], float)
    ao.plot.shape(molecule, oxygen, colorbar=False, ax=ax)
    ax.set_title(f"{molecules.names[i]}\n{labels[i]}", fontsize=10)
for ax, (name, values) in zip(bottom.subplots(1, 2), energies.items(), strict=True):
    ao.plot.distance_map(values, molecules.labels, sizes=np.where(labels == "alcohol", 2.5, 0.7).tolist(), ax=ax)
    ax.set_title(name, loc="left", weight="bold")
plt.show()

# %%
# Do the two classes differ, by a permutation test?
for name, values in energies.items():
    print(f"{name}: p = {ao.group_test(values, molecules.labels, rng=0).pvalue:.3f}")
