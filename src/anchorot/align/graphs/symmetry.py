"""What distinguishes the nodes of a network: an order that does not depend on labels; and twins, which nothing does.

Sums of 64-bit hashes wrap round, so they are the same in whatever order neighbours are added; two different
neighbourhoods have the same sum once in 10^19.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from anchorot._typing import Int64s

Hashes = NDArray[np.uint64]

REFINEMENTS = 12  # rounds, after which a node's colour has seen all of most networks
MAX_SPLITS = 300  # nodes that are given their own colour; a symmetry that needs more is rare


def canonical_order(matrix: csr_array, attributes: Hashes, rng: np.random.Generator) -> Int64s:
    """Nodes by their place in the network: copies of a network whose nodes all differ are brought to the same order.

    So are copies of one in which most nodes are alike by symmetry. Other nodes of one colour stand in random order.
    """
    colours = refined_colours(matrix, attributes)
    if 2 * len(np.unique(colours)) < len(colours):
        colours = _split_colours(matrix, attributes, rng)
    return np.lexsort((rng.permutation(len(colours)), colours))


def _split_colours(matrix: csr_array, attributes: Hashes, rng: np.random.Generator) -> Hashes:
    """Colours of nodes after symmetries are broken: a node of the largest class gets its own colour, and so on.

    Where a symmetry exchanges all nodes of a class, it makes no difference which of them that is. Refinement does not
    see how large a component is, and twins are exchanged by their own symmetry.
    """
    from scipy.sparse.csgraph import connected_components

    part = connected_components(matrix, directed=False)[1]
    known = mixed(
        mixed(attributes + np.bincount(part)[part].astype(np.uint64)) + _ranks(twin_classes(matrix, attributes))
    )
    colours = _stable_colours(matrix, refined_colours(matrix, known))
    for _ in range(MAX_SPLITS):
        _, number, count = np.unique(colours, return_inverse=True, return_counts=True)
        largest = int(count.argmax())
        if count[largest] == 1:
            break
        node = rng.choice(np.flatnonzero(number == largest))
        colours[node] = mixed(mixed(colours[node : node + 1]))[0]
        colours = _stable_colours(matrix, colours)
    return colours


def _ranks(classes: Int64s) -> Hashes:
    """(n,): 0 for the first node of each class, 1 for the second, and so on."""
    order = np.argsort(classes, kind="stable")
    _, starts, count = np.unique(classes[order], return_index=True, return_counts=True)
    ranks = np.empty(len(classes), np.uint64)
    ranks[order] = (np.arange(len(classes)) - np.repeat(starts, count)).astype(np.uint64)
    return ranks


def refined_colours(matrix: csr_array, attributes: Hashes) -> Hashes:
    """Colours of nodes: attributes, degrees and short cycles, refined by those of neighbours (Weisfeiler and Leman)."""
    pattern = csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    walks = pattern @ pattern  # whole numbers below 2^53: exact
    squares, triangles = (walks.multiply(other).sum(axis=1).astype(np.uint64) for other in (walks, pattern))
    colour = mixed(squares + mixed(triangles + mixed(attributes)))
    sides = matrix, matrix.T.tocsr()
    for _ in range(REFINEMENTS):
        colour = _refined(colour, sides)
    return colour


def _stable_colours(matrix: csr_array, colour: Hashes) -> Hashes:
    """Refine colours until no class is split any more."""
    sides = matrix, matrix.T.tocsr()
    before, count = 0, len(np.unique(colour))
    while before < count:
        colour = _refined(colour, sides)
        before, count = count, len(np.unique(colour))
    return colour


def _refined(colour: Hashes, sides: tuple[csr_array, csr_array]) -> Hashes:
    """Colours after every node has seen those of its neighbours, along edges and against them."""
    seen = np.zeros_like(colour)
    for side in sides:
        seen = mixed(seen + _summed(mixed(colour[side.indices] + bits(side.data)), side))
    return mixed(colour + seen)


def twin_classes(matrix: csr_array, attributes: Hashes) -> Int64s:
    """(n,): nodes of one number are interchangeable: equal attributes, same neighbours but for each other."""
    from scipy.sparse.csgraph import connected_components

    n = matrix.shape[0]
    entries = matrix.tocoo()
    is_edge = entries.coords[0] != entries.coords[1]
    tails, heads, weights = *(axis[is_edge] for axis in entries.coords), entries.data[is_edge]
    name = mixed(np.arange(n, dtype=np.uint64))
    said, turn = bits(weights), np.uint64(3)
    key = mixed(attributes + mixed(bits(matrix.diagonal())))
    np.add.at(key, tails, mixed(name[heads] + said))
    np.add.at(key, heads, turn * mixed(name[tails] + said))
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    ties = [(np.arange(n), first[number])]  # neighbours are the same
    # Twins that are joined, by edges of one weight both ways: the same neighbours without each other.
    mutual = matrix[heads, tails] == weights
    i, k, said = tails[mutual], heads[mutual], said[mutual]
    four = turn + np.uint64(1)
    same = key[i] - four * mixed(name[k] + said) == key[k] - four * mixed(name[i] + said)
    ties.append((i[same], k[same]))
    rows, columns = np.concatenate(ties, axis=1)
    joined = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return connected_components(joined, directed=False)[1].astype(np.int64)


def bits(numbers: Any) -> Hashes:
    """Numbers as the integers that their bits are."""
    return np.asarray(numbers, dtype=np.float64).view(np.uint64)


def _summed(said: Hashes, side: csr_array) -> Hashes:
    """Sum over the entries of each row."""
    total = np.append(np.uint64(0), np.cumsum(said, dtype=np.uint64))
    return total[side.indptr[1:]] - total[side.indptr[:-1]]


def mixed(x: Hashes) -> Hashes:
    """splitmix64 of all numbers."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
