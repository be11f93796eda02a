"""The native kernels against NumPy, on every instruction set."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np, anchorot as ao
from anchorot.anchors.rows import row_costs
rng = np.random.default_rng(0)
x, y = (ao.from_points(rng.normal(size=(n, 3))) for n in (130, 77))
w = ao.Space(x.cost, rng.dirichlet(np.ones(130)))
wide = [ao.anchor_energy(a, y, p=p) for a, p in ((x, 1), (w, 1), (x, 3), (w, 3), (w, 4))]
narrow = [ao.sliced_anchor_wasserstein(c.astype("f4"), d.astype("f4"), p) for p in (1, 2)
          for c, d in ((x.cost, y.cost), (x.cost[:77, :77], y.cost))]
sliced = [ao.sliced_anchor_wasserstein(a, b, p) for a, b in ((x, y), (w, y), (y, ao.Space(2 * y.cost))) for p in (1, 2)]
narrow.append(ao.anchor_energy(x.cost.astype("f4"), y.cost.astype("f4")))
costs = row_costs(x, y, 1, 1).sum().item()
samples = [rng.normal(size=n).round(d) for d in (1, 9) for n in rng.integers(1, 9, 60)]
equal = rng.normal(size=(60, 5))
tests = [ao.energy_test(rows[:25], rows[25:], n_resamples=20, rng=0, method="sweep")
         for rows in (samples[:60], samples[60:], list(equal))]
nulls = [value.item() for test in tests for value in test.null]
edges = [rng.integers(0, 40, (90, 2)) for _ in range(2)]
networks = [start.objective for start in ao.align_graphs(*edges, weight=False, rng=0).candidates]
plan = rng.random((40, 37)).astype("f4")
ao._kernels.kernels.tilt_plan(plan, rng.normal(size=plan.shape).astype("f4"), 3.0, np.ones(40, "f4"), 5, 1)
found = *wide, *narrow, *sliced, costs, *nulls, *networks, *plan.ravel().tolist()
print([value.hex() for value in found], ao.config.config()["kernels"])
"""


def run_with(**environment):
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return result.stdout.strip().rsplit("] ", 1)


@pytest.mark.system
def test_every_instruction_set_gives_the_same_bits(native_only):
    results = {level: run_with(ANCHOROT_SIMD=level) for level in ("", "avx2", "baseline")}
    assert len({values for values, _ in results.values()}) == 1
    assert results["baseline"][1] == "native (baseline)"


@pytest.mark.parametrize("level", ["avx1024", "AVX2", "none"])
def test_an_unknown_instruction_set_is_refused_with_the_choices(level, native_only):
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run_with(ANCHOROT_SIMD=level)
    message = f"InputError: ANCHOROT_SIMD must be 'avx512', 'avx2' or 'baseline', but got '{level}'"
    assert caught.value.stderr.strip().endswith(message)


@pytest.mark.system
def test_kernels_can_be_chosen():
    assert run_with(ANCHOROT_KERNELS="numpy")[1] == "numpy"


def test_an_unknown_choice_of_kernels_is_refused():
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run_with(ANCHOROT_KERNELS="fortran")
    assert "ANCHOROT_KERNELS must be 'native' or 'numpy', but got 'fortran'" in caught.value.stderr
