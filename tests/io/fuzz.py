"""Feed mutated files to the readers: only anchorot's own errors may be raised, without a crash or a hang.

    python -m tests.io.fuzz --cases 100000        as many of every format
    python -m tests.io.fuzz obj --only 1234       one case again, in the open

Every case follows from its format, number and seed alone. Cases run in their own process with little memory, so
that what would kill a user's program only ends that process, and is reported.
"""

import argparse
import gzip
import io
import os
import resource
import signal
import subprocess
import sys
import tarfile
import tempfile
import warnings
from pathlib import Path

import numpy as np

import anchorot as ao
from tests.io.mutations import mutate
from tests.requirements import DATA, ROOT

MEMORY = 3 << 30  # address space that a case may take on top of the libraries
SECONDS = 60  # that a case may take on a busy machine; reading .h5ad gives up after 30
OPTIONS = {
    "points": {"kind": "points"},
    "neighbors": {"kind": "points", "n_neighbors": 3, "point_metric": "correlation"},
    "graph": {"kind": "graph", "disconnected": 9.0},
    "edges": {"weight": True, "disconnected": "largest"},
    "heat": {"geodesic": "heat"},
    "edge": {"geodesic": "edge", "sampling": "farthest"},
    "exact": {"geodesic": "exact"},
    "plain": {},
    "values": {"geodesic": "edge", "types": "red", "features": "color"},
    "columns": {"kind": "points", "types": "kind", "features": "depth", "columns": ["x", "y"]},
    "nodes": {"types": "kind", "features": ["depth"], "disconnected": 9.0},
    "cells": {"types": "kind", "features": ["depth", "X_pca"]},
    "arrays": {"geodesic": "edge", "types": "V", "features": "weights"},
    "cohort": {"sample": "kind", "points": "depth"},
    "crystal": {"types": "element", "atoms": 20},
    "tree": {"types": "structure", "features": "radius", "disconnected": 9.0},
}
MESH = ("heat", "edge", "exact")
FORMATS = {
    "off": MESH,
    "ply": (*MESH, "values"),
    "obj": MESH,
    "stl": MESH,
    "mat": MESH,
    "npz": ("heat", "edge", "plain", "arrays"),
    "npy": ("plain", "points", "neighbors"),
    "csv": ("plain", "points", "neighbors", "columns"),
    "tsv": ("columns", "plain", "graph", "cohort"),
    "txt": ("plain", "points", "graph"),
    "gin": ("plain",),
    "edgelist": ("plain", "edges"),
    "graphml": ("plain", "edges", "nodes"),
    "gexf": ("plain", "edges", "nodes"),
    "gml": ("plain", "edges", "nodes"),
    "swc": ("plain", "tree"),
    "h5ad": ("plain", "neighbors", "cells", "cohort"),
    "csv.gz": ("plain", "points", "columns"),
    "graphml.gz": ("plain", "edges", "nodes"),
    "obj.gz": MESH[:2],
    "cif": ("plain", "crystal"),
    "vasp": ("plain", "crystal"),
}
SALT_CIF = """data_salt
_cell_length_a 5.64
_cell_length_b 5.64
_cell_length_c 5.64
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'F m -3 m'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Na1 Na 0 0 0
Cl1 Cl 0.5 0.5 0.5
"""
SALT_POSCAR = """rock salt, its primitive cell
1.0
0.0 2.82 2.82
2.82 0.0 2.82
2.82 2.82 0.0
Na Cl
1 1
Direct
0.0 0.0 0.0
0.5 0.5 0.5
"""
MOST_PROBLEMS = 5  # of one format; enough to begin with


def real_mesh():
    """A mesh of the SHREC'11 set, or a ball where that is not at hand."""
    import trimesh

    archive = DATA / "shrec11_meshcnn" / "shrec_16.tar.gz"
    if not archive.is_file():
        return trimesh.creation.icosphere(2)
    with tarfile.open(archive) as tar:
        member = next(m for m in tar if m.name.endswith(".obj") and not Path(m.name).name.startswith("."))
        content = io.BytesIO(tar.extractfile(member).read())  # the member's own name would be taken for a path
        return trimesh.load_mesh(content, file_type="obj", process=False)


def seeds(ending, folder):
    """Sound files to mutate, several variants of a format where it has them."""
    if ending.endswith(".gz"):
        return [gzip.compress(content, mtime=0) for content in seeds(ending.removesuffix(".gz"), folder)]
    import scipy.io

    mesh = real_mesh()
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    cost = ao.from_points(vertices[:12]).cost
    made = []

    def path(name):
        made.append(folder / f"{name}.{ending}")
        return made[-1]

    if ending in ("off", "obj"):
        mesh.export(path("mesh"))
    elif ending in ("ply", "stl"):
        for encoding in ("binary", "ascii"):
            kind = "stl_ascii" if (ending, encoding) == ("stl", "ascii") else ending
            options = {"encoding": encoding} if ending == "ply" else {}
            mesh.export(path(encoding), file_type=kind, **options)
    elif ending == "mat":
        surface = {"X": vertices[:, :1], "Y": vertices[:, 1:2], "Z": vertices[:, 2:], "TRIV": faces + 1}
        for compress in (False, True):
            scipy.io.savemat(path(f"surface{compress}"), {"surface": surface}, do_compression=compress)
    elif ending == "npz":
        np.savez(path("mesh"), V=vertices[:60], F=faces[(faces < 60).all(axis=1)])
        ao.write(ao.Space(cost, types=range(12), features=vertices[:12], labels=range(12)), path("space"))
    elif ending == "npy":
        np.save(path("cost"), cost)
    elif ending == "csv":
        np.savetxt(path("cost"), cost, delimiter=",")
    elif ending == "tsv":
        rows = [f"p{i}\t{x}\t{y}\t{'ab'[i % 2]}\t{z}" for i, (x, y, z) in enumerate(vertices[:20].tolist())]
        path("table").write_text("\n".join(["name\tx\ty\tkind\tdepth", *rows]))
    elif ending == "gin":
        path("graphs").write_text("2\n3 1\n0 1 1 0.5\n4 2 0 2 1\n0 1 1 -2\n2 -1\n5 1 1 3\n6 1 0 4\n")
    elif ending == "txt":
        np.savetxt(path("cost"), cost)
        path("authors").write_text("12\n" + made[0].read_text())
    elif ending == "cif":
        path("salt").write_text(SALT_CIF)
    elif ending == "vasp":
        path("salt").write_text(SALT_POSCAR)
        path("unnamed").write_text(SALT_POSCAR.replace("Na Cl\n", "").replace("Direct", "Selective\nCartesian"))
    elif ending in ("edgelist", "graphml", "gexf", "gml"):
        write_graph(path("graph"), faces)
    elif ending == "swc":
        real = sorted((DATA / "neurons" / "swc").glob("*.swc"))
        lines = real[0].read_text().splitlines()[:200] if real else ["1 1 0 0 0 1 -1", "2 3 1 1 1 1 1"]
        path("neuron").write_text("\n".join(lines))
    else:
        import anndata
        import pandas as pd
        import scipy.sparse as sp

        for name, values in (("dense", vertices[:30]), ("sparse", sp.csr_matrix(vertices[:30]))):
            obs = pd.DataFrame({"kind": pd.Categorical(["a", "b", "c"] * 10), "depth": np.arange(30.0)})
            obs.index = [f"cell{i}" for i in range(30)]
            anndata.AnnData(values, obs=obs, obsm={"X_pca": vertices[:30]}).write_h5ad(path(name))
    return [file.read_bytes() for file in made]


def write_graph(path, faces):
    import networkx as nx

    graph = nx.Graph([(int(a), int(b)) for face in faces[:60] for a, b in (face[:2], face[1:])])
    graph = graph.subgraph(max(nx.connected_components(graph), key=len)).copy()
    nx.set_edge_attributes(graph, 1.5, "weight")
    nx.set_node_attributes(graph, {node: "ab"[node % 2] for node in graph}, "kind")
    nx.set_node_attributes(graph, {node: node / 4 for node in graph}, "depth")
    if path.suffix == ".edgelist":
        nx.write_edgelist(graph, path, data=["weight"])
    else:
        {".graphml": nx.write_graphml_xml, ".gexf": nx.write_gexf, ".gml": nx.write_gml}[path.suffix](graph, path)


def read(path, **options):
    """Read a space, or all of a collection."""
    if path.suffix == ".gin":
        return ao.io.read_gin(path)
    if path.suffix in (".cif", ".vasp"):
        options.pop("n_points")  # which they refuse
    return ao.from_cohort(path, **options) if "sample" in options else ao.read(path, **options)


def run_case(ending, number, seed, sound, folder):
    """Read one mutated file; whatever is not an InputError comes out."""
    rng = np.random.default_rng([seed, number])
    path = folder / f"case.{ending}"
    path.write_bytes(mutate(ending, sound[number % len(sound)], rng, folder))
    options = OPTIONS[FORMATS[ending][int(rng.integers(len(FORMATS[ending])))]]
    try:
        read(path, n_points=int(rng.integers(1, 9)), rng=0, **options)
    except ao.InputError as error:
        if not str(error).startswith(path.name) or "\n" in str(error):
            raise AssertionError(f"not one line that begins with the file's name: {error!r}") from error


def work(ending, cases, seed, progress):
    """Run cases in this process, which has little memory; tell at every moment which one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound = seeds(ending, folder)
        for number, content in enumerate(sound):
            path = folder / f"sound{number}.{ending}"
            path.write_bytes(content)
            for option in FORMATS[ending][:1]:
                read(path, n_points=3, rng=0, **OPTIONS[option])  # the seeds themselves are sound
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, in_use + MEMORY))
        for number in cases:
            progress.write_text(str(number))
            signal.alarm(SECONDS)
            run_case(ending, number, seed, sound, folder)
        signal.alarm(0)


def run_anew(*words):
    """Run this program in a separate process; return its status and its errors."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.io.fuzz", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def fuzz(ending, count, seed=0, run=run_anew):
    """Run `count` cases of a format in child processes; return what went wrong, a few lines at most."""
    problems, first = [], 0
    while first < count and len(problems) < MOST_PROBLEMS:
        with tempfile.TemporaryDirectory() as name:
            progress = Path(name) / "case"
            options = ["--first", str(first), "--cases", str(count), "--seed", str(seed), "--work", str(progress)]
            status, complaints = run(ending, *options)
            if status == 0:
                break
            reported = (complaints.strip().splitlines() or [""])[-1]
            if not progress.is_file():
                return [f"{ending}: no case could be run: {reported}"]
            number = int(progress.read_text())
            problems.append(f"{ending}: case {number} of seed {seed} ended with status {status}: {reported}")
            first = number + 1
    return problems


def cpu_seconds():
    """Time that children have taken of a core: what a busy machine does not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", nargs="?", choices=list(FORMATS))
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.work is not None:
        work(arguments.format, range(arguments.first, arguments.cases), arguments.seed, arguments.work)
    elif arguments.only is not None:
        work(arguments.format, [arguments.only], arguments.seed, Path(os.devnull))
    else:
        endings = list(FORMATS) if arguments.format is None else [arguments.format]
        wrong = []
        for ending in endings:
            start = cpu_seconds()
            found = fuzz(ending, arguments.cases, arguments.seed)
            spent = cpu_seconds() - start
            print(f"{ending}: {arguments.cases} cases, {len(found)} problems, {spent:.0f} s of one core", flush=True)
            print("\n".join(found), end="\n" if found else "", flush=True)
            wrong += found
        print("problems" if wrong else "nothing but clear errors", f"(seed {arguments.seed})")
        sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
