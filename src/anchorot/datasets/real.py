"""Small real data sets with free licences, shipped with anchorot or with its optional packages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import as_file, files

import numpy as np

from anchorot._typing import RngLike
from anchorot._validate import check_integer, check_list, check_rng
from anchorot.datasets.collection import Dataset
from anchorot.exceptions import InputError, MissingExtraError
from anchorot.io.files import read
from anchorot.io.graphs import from_graph
from anchorot.io.points import from_points

FLY = "Janelia hemibrain (Scheffer et al. 2020, doi:10.7554/eLife.57443), thinned"
UCI = "Optical Recognition of Handwritten Digits (Alpaydin and Kaynak 1998, UCI), with scikit-learn"
NETWORKS = "Zachary 1977; Knuth 1993; Padgett and Ansell 1993; Davis et al. 1941; with networkx"


def social_networks() -> Dataset:
    """Load four well-known social networks: a karate club, a novel, families of Florence, and women at events.

    Their edges come with networkx (extra ``graph``), whose licence is BSD-3-Clause. Zachary's karate club (1977), the
    figures of Les Misérables that appear together (Knuth 1993), marriages of Florentine families (Padgett and Ansell
    1993), and the women of Davis et al. (1941) with the events they attended.

    Returns
    -------
    Dataset
        Costs are shortest paths; the labels of points are the names of nodes.

    Examples
    --------
    >>> import anchorot as ao
    >>> [len(network) for network in ao.datasets.social_networks()]
    [34, 77, 15, 32]
    """
    try:
        import networkx as nx
    except ImportError:
        raise MissingExtraError("networkx", "graph") from None
    graphs = {
        "karate club": nx.karate_club_graph(),
        "Les Misérables": nx.les_miserables_graph(),
        "Florentine families": nx.florentine_families_graph(),
        "southern women": nx.davis_southern_women_graph(),
    }
    names = tuple(graphs)
    spaces = tuple(from_graph(graph, weight=False) for graph in graphs.values())
    return Dataset("social networks", spaces, names, names, NETWORKS, "BSD-3-Clause (networkx)")


def digits(classes: Iterable[int] = range(10), n_per_class: int = 20, rng: RngLike = 0) -> Dataset:
    """Load handwritten digits, as pixels in the plane weighted by their ink.

    Images of 8 by 8 pixels, the test part of *Optical Recognition of Handwritten Digits* (Alpaydin and Kaynak 1998;
    UCI Machine Learning Repository, CC BY 4.0), which come with scikit-learn (extra ``learn``).

    Parameters
    ----------
    classes : iterable of int
        Which digits.
    n_per_class : int
        How many of each, drawn at random.
    rng : None, int or numpy.random.Generator

    Returns
    -------
    Dataset
        `labels` are "0" to "9". Pixels without ink are left out.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.digits([3, 8], n_per_class=2).labels
    ('3', '3', '8', '8')
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise MissingExtraError("scikit-learn", "learn") from None
    n_per_class, generator = check_integer(n_per_class, "n_per_class", 1), check_rng(rng)
    images, targets = load_digits(return_X_y=True)
    made = []
    for digit in check_list(classes, "classes", "digit"):
        own = np.flatnonzero(targets == digit)
        if len(own) < n_per_class:
            raise InputError(f"there are {len(own)} images of the digit {digit!r}, but {n_per_class} are requested")
        chosen = np.sort(generator.choice(own, n_per_class, replace=False))
        for i in chosen:
            rows, columns = np.nonzero(images[i].reshape(8, 8))
            weights = images[i][8 * rows + columns]
            positions = np.stack([columns, 7 - rows], axis=1).astype(float)
            made.append((str(digit), f"{digit}, image {i}", from_points(positions, weights=weights / weights.sum())))
    labels, names, spaces = zip(*made, strict=True)
    return Dataset("digits", spaces, labels, names, UCI, "CC BY 4.0")


def neurons(n_points: int | None = 150, rng: RngLike = 0) -> Dataset:
    """Load five neurons of a fruit fly: paths along their trees, in micrometres.

    Olfactory projection neurons of one type (DA1_lPN) of the Janelia hemibrain (Scheffer et al. 2020, *A connectome and
    analysis of the adult Drosophila central brain*, eLife 9:e57443; CC BY 4.0), from the copies in navis. Changes:
    in micrometres, without twigs under 4 µm and samples closer than 3 µm. They ship with anchorot as SWC files.

    Parameters
    ----------
    n_points : int, optional
        Keep at most this many samples of each tree; None keeps all, about 500.
    rng : None, int or numpy.random.Generator

    Returns
    -------
    Dataset
        `names` are the body IDs.

    Examples
    --------
    >>> import anchorot as ao
    >>> ao.datasets.neurons()
    Dataset(neurons, 5 spaces of 150 points, 1 label; CC BY 4.0)
    """
    with as_file(files("anchorot.datasets") / "fly_neurons") as folder:
        paths = sorted(folder.glob("*.swc"))
        spaces = tuple(read(path, n_points=n_points, rng=rng) for path in paths)
    names = tuple(path.stem for path in paths)
    return Dataset("neurons", spaces, ("DA1_lPN",) * len(paths), names, FLY, "CC BY 4.0")
