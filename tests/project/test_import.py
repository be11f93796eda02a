"""Importing anchorot is cheap: nothing optional, nothing heavy."""

import subprocess
import sys

HEAVY = {
    "scipy",
    "matplotlib",
    "typer",
    "rich",
    "click",
    "torch",
    "sklearn",
    "ot",
    "networkx",
    "dask",
    "pandas",
    "trimesh",
    "rustworkx",
    "igraph",
    "anndata",
    "h5py",
    "plotly",
    "faiss",
    "distributed",
}


def modules_after(statement):
    program = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


def test_import_loads_nothing_heavy():
    loaded = modules_after("import anchorot")
    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_anchor_energy_needs_numpy_alone():
    assert not modules_after("import anchorot; anchorot.anchor_energy([[0.0]], [[1.0]])") & HEAVY
