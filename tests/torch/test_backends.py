"""What each backend serves, tried one by one: the table of docs/gpu.md, filled in by this module run as a program."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot._kernels import kernels
from anchorot._kernels import numpy as numpy_kernels

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import anchorot.torch as aot  # noqa: E402
from tests.torch.emulated_device import emulated  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")

CHECKOUT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
PAGE = CHECKOUT / "docs" / "gpu.md"
REGION = re.compile(r"(?<=<!-- backends -->\n).*?(?=<!-- /backends -->)", re.DOTALL)

FUNCTIONS = ("anchor_energy", "anchor_wasserstein", "anchor_energy_plan", "align", "pairwise", "energy_test", "embed")
ON_TENSORS = ("anchor_energy", "anchor_wasserstein", "anchor_energy_plan", "align")  # those of anchorot.torch
ASPECTS = ("uniform", "weights", "p", "ranks", "types", "features", "max_cost", "w2", "gradients")
HEADINGS = ("uniform", "weights", "p ≥ 3", "ranks", "types", "features", "max_cost", "W2", "gradients")
SERVED, NOT_SERVED = "✓", "—"
BOTH = "costs, weights"  # what gradients reach

# What a CUDA device serves; where there is one, it is tried.
ON_CUDA = {
    "anchor_energy": dict.fromkeys(ASPECTS, SERVED) | {"gradients": BOTH},
    "anchor_wasserstein": dict.fromkeys(("uniform", "weights", "p", "ranks"), SERVED) | {"gradients": BOTH},
    "anchor_energy_plan": dict.fromkeys(("uniform", "weights", "ranks"), SERVED),
    "align": dict.fromkeys(("uniform", "weights", "ranks", "features"), SERVED),
    "pairwise": dict.fromkeys(("uniform", "weights", "ranks", "max_cost"), SERVED),
    "energy_test": dict.fromkeys(("uniform", "weights", "w2"), SERVED),
    "embed": dict.fromkeys(("uniform", "weights", "ranks"), SERVED),
}

N = 7
NOISE = np.random.default_rng(0)
CLOUDS = [NOISE.normal(size=(N, 2)) for _ in range(2)]
COSTS = [np.asarray(ao.from_points(cloud).cost) for cloud in CLOUDS]
WEIGHTS = [NOISE.dirichlet(np.ones(N)) for _ in range(2)]
TYPES = [NOISE.integers(2, size=N) for _ in range(2)]
FEATURES = [NOISE.normal(size=(N, 3)) for _ in range(2)]
PLAIN = ao.anchors.feature_map([ao.Space(COSTS[0], features=FEATURES[0])], "linear")
OPTIONS = {
    "p": {"p": 3},
    "ranks": {"robust": True},
    "types": {"attributes": "types"},
    "features": {"attributes": PLAIN},
    "max_cost": {"max_cost": 1.0},
    "w2": {"ground": "w2"},
}


def on_arrays(function, aspect, **place):
    """Ask a function of `anchorot` for a number or an array."""
    if aspect == "gradients":
        raise TypeError("arrays have none")
    given = OPTIONS.get(aspect, {}) | place
    weights = WEIGHTS if aspect == "weights" else (None, None)
    x, y = (
        ao.Space(cost, mass, types=types.tolist(), features=features)
        for cost, mass, types, features in zip(COSTS, weights, TYPES, FEATURES, strict=True)
    )
    if function == "anchor_wasserstein":
        return ao.anchor_wasserstein(x, y, epsilon=0, **given).value
    if function == "align":
        given = {"features": FEATURES} if aspect == "features" else given
        return ao.align(x, y, rng=0, **given).value
    if function == "pairwise":
        return ao.pairwise([x, y], progress=False, n_jobs=1, **given)
    if function == "embed":
        return ao.embed([x, y], grid=(4, 4), progress=False, n_jobs=1, **given)
    if function == "energy_test":
        rows = None if aspect != "weights" else [[mass] * N for mass in WEIGHTS]
        return ao.energy_test(*COSTS, *(rows or (None, None)), n_resamples=9, rng=0, progress=False, **given).null
    return getattr(ao, function)(x, y, **given)


def on_tensors(function, aspect, device):
    """Ask a function of `anchorot.torch`, or one that takes a device, for an array, or for what gradients reach."""
    if function not in ON_TENSORS:
        return on_arrays(function, aspect, device=device)
    x, y = (torch.tensor(cost, device=device) for cost in COSTS)
    a, b = (torch.tensor(mass, device=device) for mass in WEIGHTS)
    given = dict(OPTIONS.get(aspect, {}))
    if aspect == "ranks":
        x, y, given = aot.ranks(x), aot.ranks(y), {}
    if aspect in ("types", "features"):
        given = {aspect: tuple(torch.tensor(side, device=device) for side in globals()[aspect.upper()])}
    if function == "anchor_wasserstein":
        given["epsilon"] = 0
    wanted = [side.requires_grad_() for side in (x, a)] if aspect == "gradients" else []
    found = getattr(aot, function)(x, y, *((a, b) if aspect in ("weights", "gradients") else ()), **given)
    value = getattr(found, "value", found)
    if not wanted:
        return value.cpu().numpy()
    gradients = torch.autograd.grad(value.sum(), wanted)
    reached = [bool(part.isfinite().all() & part.any()) for part in gradients]
    return ", ".join(name for name, is_reached in zip(("costs", "weights"), reached, strict=True) if is_reached)


def tried(ask, function, aspect, *place):
    """Return what comes back, or None where it is refused."""
    try:
        return ask(function, aspect, *place)
    except (ao.InputError, ao.AnchorotError, TypeError, RuntimeError):
        return None


def results_of(backend):
    """Results of one backend, by function and aspect."""
    with pytest.MonkeyPatch.context() as patch:
        if backend == "NumPy":
            users = [module for name, module in sys.modules.items() if name.startswith("anchorot.")]
            for module in users:
                if module.__name__ != "anchorot._kernels" and getattr(module, "kernels", None) is kernels:
                    patch.setattr(module, "kernels", numpy_kernels)
        if backend in ("C++", "NumPy"):
            return {(f, aspect): tried(on_arrays, f, aspect) for f in FUNCTIONS for aspect in ASPECTS}
        device = "cpu" if backend == "tensors" else "cuda"
        functions = (
            FUNCTIONS if backend == "CUDA" else (*ON_TENSORS, "energy_test")
        )  # the rest takes CUDA devices alone
        return {(f, aspect): tried(on_tensors, f, aspect, device) for f in functions for aspect in ASPECTS}


def lines_of(backend, found):
    """Rows of the table for one backend, by function."""
    cells = {
        key: NOT_SERVED if result is None else result if isinstance(result, str) else SERVED
        for key, result in found.items()
    }
    functions = dict.fromkeys(function for function, _ in cells)
    rows = {f: " | ".join(cells[f, aspect] for aspect in ASPECTS) for f in functions}
    return {(f, backend): f"| `{f}` | {backend} | {row} |" for f, row in rows.items()}


def declared():
    """Rows of what a CUDA device serves."""
    return lines_of("CUDA", {(f, aspect): ON_CUDA[f].get(aspect) for f in FUNCTIONS for aspect in ASPECTS})


@pytest.fixture(scope="module")
def found():
    native = [] if kernels is numpy_kernels else ["C++"]
    return {backend: results_of(backend) for backend in (*native, "NumPy", "tensors")}


def test_the_page_says_what_each_backend_serves(found):
    """`python -m tests.torch.test_backends` makes it so."""
    expected = declared()
    for backend, its in found.items():
        expected |= lines_of(backend, its)
    page = REGION.search(PAGE.read_text(encoding="utf-8"))[0].splitlines()
    assert [line for line in expected.values() if line not in page] == []
    assert len(page) == 2 + len(expected) + len(FUNCTIONS) * ("C++" not in found)


def test_backends_agree_where_several_serve_a_function(found):
    for key, by_numpy in found["NumPy"].items():
        for backend, its in found.items():
            other = its.get(key)
            if by_numpy is not None and other is not None:
                np.testing.assert_allclose(other, by_numpy, rtol=1e-6, atol=1e-12, err_msg=f"{backend}: {key}")


def check_device(its, found):
    """Compare the results of a device with what the page says, and with those of the CPU."""
    said = declared()
    assert {key: line for key, line in lines_of("CUDA", its).items() if line != said[key]} == {}
    for key, result in its.items():
        if result is not None and found["NumPy"][key] is not None:
            np.testing.assert_allclose(result, found["NumPy"][key], rtol=1e-5, atol=1e-12, err_msg=str(key))


@pytest.mark.system
@pytest.mark.xdist_group("devices")
def test_an_emulated_device_serves_what_is_said_of_it(found, tmp_path):
    with emulated(tmp_path):
        its = {(f, aspect): tried(on_tensors, f, aspect, "cuda") for f in ("pairwise", "embed") for aspect in ASPECTS}
    check_device(its, found)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_cuda_device_serves_what_is_said_of_it(found):
    check_device(results_of("CUDA"), found)


def main():
    rows = declared()
    for backend in ("C++", "NumPy", "tensors"):
        rows |= lines_of(backend, results_of(backend))
    ordered = [rows[f, b] for f in FUNCTIONS for b in ("C++", "NumPy", "tensors", "CUDA") if (f, b) in rows]
    head = f"| | backend | {' | '.join(HEADINGS)} |", "|---" * (2 + len(HEADINGS)) + "|"
    table = "\n".join((*head, *ordered)) + "\n"
    PAGE.write_text(REGION.sub(lambda _: table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
