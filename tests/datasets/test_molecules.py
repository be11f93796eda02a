"""Molecules: counts and indices known to chemists."""

from collections import Counter

from anchorot import datasets


# OEIS A000602 (alkanes), A000598 (alcohols) and A000642 shifted (ethers).
def test_there_are_as_many_isomers_as_chemists_count():
    assert Counter(datasets.alkanes().labels) == {"C4H10": 2, "C5H12": 3, "C6H14": 5, "C7H16": 9, "C8H18": 18}
    for n_carbons, alcohols, ethers in ((2, 1, 1), (3, 2, 1), (4, 4, 3), (5, 8, 6), (6, 17, 15), (7, 39, 33)):
        assert Counter(datasets.isomers(n_carbons).labels) == {"alcohol": alcohols, "ether": ethers}


def test_alkanes_have_the_indices_that_wiener_gives():
    """H. Wiener, J. Am. Chem. Soc. 69 (1947) 17: sums of path lengths."""
    data = datasets.alkanes()
    paths = {name: space.cost.sum() / 2 for name, space in zip(data.names, data, strict=True)}
    assert (paths["butane"], paths["octane"], paths["2,2,3-trimethylbutane"]) == (10, 84, 42)
    assert (paths["3-ethyl-2-methylpentane"], paths["2,2,3,3-tetramethylbutane"]) == (67, 58)
