"""
Ten images of a patient are not ten patients
============================================

Patients differ from each other, whatever group they are in. A test that permutes images mistakes these differences for
one between the groups. Permute patients instead; the result says how many ways there are.
"""

# %%
# Twelve patients with six images each. Every patient has clumps of immune cells to a different degree; the two groups
# were drawn from one population, so that there is nothing to find.
import matplotlib.pyplot as plt
import numpy as np

import anchorot as ao


def image(rng, degree):
    """Sixty cells of two types; some immune ones sit in clumps."""
    cells = rng.random((60, 2))
    clumped = rng.random(20) < degree
    cells[:20][clumped] = (rng.random((2, 2))[rng.integers(2, size=20)] + 0.06 * rng.normal(size=(20, 2)))[clumped]
    return cells


def images(rng, more=0.0, patients=12, count=6):
    """A table of cells, with the image, the patient and the group of each."""
    rows = {name: [] for name in ("image", "patient", "group", "cell_type", "x", "y")}
    for patient in range(patients):
        group = "treated" if patient >= patients // 2 else "control"
        degree = np.clip(rng.beta(1, 3) + more * (group == "treated"), 0, 1)
        for k in range(count):
            cells = image(rng, degree)
            for name, value in (("image", f"{patient}-{k}"), ("patient", patient), ("group", group)):
                rows[name] += [value] * len(cells)
            rows["cell_type"] += ["immune"] * 20 + ["other"] * 40
            rows["x"] += cells[:, 0].tolist()
            rows["y"] += cells[:, 1].tolist()
    return rows


options = {"sample": "image", "points": ["x", "y"], "types": "cell_type", "subject": "patient"}
cohort = ao.from_cohort(images(np.random.default_rng(2)), **options)
cohort

# %%
# The cohort stores the patient of each image, and so do its distances, so the test permutes patients. All 462 ways to
# divide twelve patients into six and six are enumerated. A plain array has no patients, so the test permutes images.
distances = ao.pairwise(cohort, attributes="types", max_cost=0.3, progress=False)
by_patient = ao.group_test(distances, "group", rng=0)
by_image = ao.group_test(np.asarray(distances), cohort.metadata["group"], rng=0)
print(f"{by_patient.unit} permuted: p = {by_patient.pvalue:.3f} of {by_patient.n_assignments} assignments")
print(f"{by_image.unit} permuted: p = {by_image.pvalue:.3f}")

# %%
# Was that chance? Divide the same patients into two groups in a hundred other, arbitrary ways: a test at 5 % should
# reject five.
rng = np.random.default_rng(0)
patient = np.array(cohort.subjects)
found = {"patients permuted": [], "images permuted": []}
for _ in range(100):
    group = (rng.permutation(12) < 6)[patient]
    for name, own in zip(found, (patient, None), strict=True):
        test = ao.group_test(np.asarray(distances), group, subjects=own, n_resamples=499, rng=0, post_hoc=False)
        found[name].append(test.pvalue)
for name, pvalues in found.items():
    print(f"{name}: {sum(p <= 0.05 for p in pvalues)} of 100 rejected")

# %%
# And if there is something to find? Treated patients now have more clumps. The light blue band says how far the curve
# would move with other patients; `which` names the types and the distances.
treated = ao.from_cohort(images(np.random.default_rng(3), more=0.6), **options)
scale = ao.scale_test(treated, "group", np.arange(0.02, 0.52, 0.04), attributes="types", type_pairs=True, rng=0)
for band in scale.which()[:3]:
    print(f"{band.first} and {band.second}, {band.low:.2f} to {band.high:.2f}: p = {band.adjusted_pvalue:.3f}")
effect = ao.group_test(treated, "group", attributes="types", max_cost=0.3, rng=0).pairs[0]
low, high = effect.interval()
print(f"energy between the groups {effect.energy:.4f} ({low:.4f} to {high:.4f}), p = {effect.pvalue:.3f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
bins = np.linspace(0, 1, 21)
for (name, pvalues), color in zip(found.items(), ("#2f62ad", "#c9a227"), strict=True):
    left.hist(pvalues, bins=bins, color=color, alpha=0.6, label=name)
left.axhline(5, color="#6b7280", lw=0.8, ls=":")
left.set(xlabel="p-value of arbitrary groups", ylabel="of 100")
left.legend(frameon=False)
left.spines[["top", "right"]].set_visible(False)
ao.plot.scale_curve(scale, ax=right)
right.set_title("more clumps in treated patients", loc="left", weight="bold")
plt.show()
