"""Molecules as graphs of their non-hydrogen atoms: facts of chemistry, which need no licence."""

from __future__ import annotations

import csv
import re
from importlib.resources import files

import numpy as np

from anchorot._validate import check_integer
from anchorot.datasets.collection import Dataset
from anchorot.io.graphs import from_graph

# Carbon atoms of the straight chain, and bonds of an atom (hydrogens fill what is left).
CHAINS = {"propane": 3, "butane": 4, "pentane": 5, "hexane": 6, "heptane": 7, "octane": 8}
BONDS = {"C": 4, "O": 2}
FACTS = "none needed: facts"
Edges = list[tuple[int, int]]
Molecule = tuple[str, Edges]  # the kind of each atom, and bonds


def alkanes() -> Dataset:
    """Load all 37 alkanes of four to eight carbon atoms, with their boiling points.

    Their carbon skeletons follow from their names; boiling points at atmospheric pressure are from handbooks,
    to a tenth of a degree. (Wiener found in 1947 that they depend on the lengths of paths between the atoms.)

    Returns
    -------
    Dataset
        Costs are numbers of bonds; `values` are boiling points in degrees Celsius, `labels` formulas.

    Examples
    --------
    >>> import anchorot as ao
    >>> data = ao.datasets.alkanes()
    >>> data.names[33], data.labels[33], float(data.values[33])
    ('2,2,4-trimethylpentane', 'C8H18', 99.2)
    """
    table = files(__package__).joinpath("alkanes.csv").read_text(encoding="utf-8")
    boiling_points = {row["name"]: float(row["boiling_point"]) for row in csv.DictReader(table.splitlines())}
    spaces = tuple(from_graph(_skeleton(name)) for name in boiling_points)
    labels = tuple(f"C{len(space)}H{2 * len(space) + 2}" for space in spaces)
    values = np.array([*boiling_points.values()])
    return Dataset("alkanes", spaces, labels, tuple(boiling_points), "handbooks of chemistry", FACTS, values)


def _skeleton(name: str) -> Edges:
    """Parse the name of an alkane; return the bonds of its chain and side groups."""
    chain = next(length for ending, length in CHAINS.items() if name.endswith(ending))
    edges = [(i, i + 1) for i in range(1, chain)]
    for places, group in re.findall(r"([\d,]+)-(?:di|tri|tetra)?(methyl|ethyl)", name):
        for place in map(int, places.split(",")):
            new = len(edges) + 2
            edges.append((place, new))
            if group == "ethyl":
                edges.append((new, new + 1))
    return edges


def isomers(n_carbons: int = 6) -> Dataset:
    """Make all alcohols and ethers of the formula CnH2n+2O, each once.

    One oxygen atom at an end of the skeleton (an alcohol) or inside it (an ether); the skeleton alone hardly
    distinguishes the two. Mirror images count as one.

    Parameters
    ----------
    n_carbons : int
        6 gives 17 alcohols and 15 ethers.

    Returns
    -------
    Dataset
        Costs are numbers of bonds, the types of points "C" and "O".

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.isomers(4).labels
    ('alcohol', 'alcohol', 'alcohol', 'alcohol', 'ether', 'ether', 'ether')
    """
    n_carbons = check_integer(n_carbons, "n_carbons", 2)
    skeletons: list[Molecule] = [("C", [])]
    for _ in range(n_carbons - 1):
        skeletons = _distinct([grown for tree in skeletons for grown in _with_leaf(tree, "C")])
    alcohols = _distinct([grown for tree in skeletons for grown in _with_leaf(tree, "O")])
    ethers = _distinct([cut for tree in skeletons for cut in _with_bridge(tree)])
    labels = ("alcohol",) * len(alcohols) + ("ether",) * len(ethers)
    names = tuple(_code(tree) for tree in (*alcohols, *ethers))
    spaces = tuple(from_graph(edges, types=dict(enumerate(kinds))) for kinds, edges in (*alcohols, *ethers))
    return Dataset(f"C{n_carbons}H{2 * n_carbons + 2}O", spaces, labels, names, "enumeration", FACTS)


def _with_leaf(molecule: Molecule, kind: str) -> list[Molecule]:
    """Return the molecules with one more atom, at every atom with a free bond."""
    kinds, edges = molecule
    bonds = np.bincount(np.array(edges, int).ravel(), minlength=len(kinds))
    free = [i for i, own in enumerate(kinds) if bonds[i] < BONDS[own]]
    return [(kinds + kind, [*edges, (i, len(kinds))]) for i in free]


def _with_bridge(molecule: Molecule) -> list[Molecule]:
    """Return the molecules with an oxygen inserted into one bond, for every bond."""
    kinds, edges = molecule
    new = len(kinds)
    return [
        (kinds + "O", [*(other for other in edges if other != edge), (edge[0], new), (new, edge[1])]) for edge in edges
    ]


def _distinct(molecules: list[Molecule]) -> list[Molecule]:
    return [*{_code(molecule): molecule for molecule in molecules}.values()]


def _code(molecule: Molecule) -> str:
    """Return a canonical text: the smallest of the codes rooted at each atom."""
    kinds, edges = molecule
    adjacent: list[list[int]] = [[] for _ in kinds]
    for a, b in edges:
        adjacent[a].append(b)
        adjacent[b].append(a)

    def rooted(atom: int, parent: int) -> str:
        branches = sorted(
            (rooted(other, atom) for other in adjacent[atom] if other != parent), key=lambda s: (len(s), s)
        )
        return kinds[atom] + "".join(f"({branch})" for branch in branches[:-1]) + "".join(branches[-1:])

    return min((rooted(atom, -1) for atom in range(len(kinds))), key=lambda s: (s.count("("), s))
