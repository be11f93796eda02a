"""What is known of which point is which: numbers, names, a dict or pairs, and the share that was found."""

import pickle

import networkx as nx
import numpy as np
import pytest

import anchorot as ao
from anchorot.align.truth import Hits


@pytest.fixture(scope="module")
def found():
    """A tree with two twin leaves, aligned with its renamed copy in which one more node is alone."""
    tree = nx.Graph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("c", "f"), ("b", "twin"), ("b", "twin too")])
    tree.remove_node("a")
    copy = nx.relabel_nodes(tree, str.upper)
    copy.add_node("alone")
    return ao.align_graphs(tree, copy, rng=0)


def test_truth_is_given_by_numbers_names_a_dict_or_pairs(found):
    truth = {name: name.upper() for name in found.names[0]}
    numbers = [found.names[1].index(truth[name]) for name in found.names[0]]
    forms = [truth, list(truth.items()), [truth[name] for name in found.names[0]], numbers, np.array(numbers)]
    forms += [iter(truth.items()), np.array([truth[name] for name in found.names[0]])]
    scores = [found.hits(form) for form in forms]
    assert {(float(score), score.counted, score.up_to_twins) for score in scores} == {(scores[0], 7, 1.0)}
    assert scores[0] == np.mean(found.matches == numbers)


def test_twins_count_in_one_of_the_two_scores(found):
    twins = {"twin": "TWIN", "twin too": "TWIN TOO"}
    swapped = {"twin": "TWIN TOO", "twin too": "TWIN"}
    both = found.hits(twins), found.hits(swapped)
    assert sorted(map(float, both)) == [0, 1]
    assert [score.up_to_twins for score in both] == [1, 1]
    assert found.hits({"e": "TWIN"}).up_to_twins == 0


def test_what_a_side_does_not_have_is_not_counted(found):
    truth = {"b": "B", "gone": "C", "c": "gone", "d": None}
    assert repr(found.hits(truth)) == "100% of 1, 100% up to twins"
    names = [None if name == "e" else name.upper() for name in found.names[0]]
    assert found.hits(names).counted == 6
    assert np.isnan(found.hits(np.full(7, -1)))


def test_points_without_names_are_called_by_their_numbers():
    points = np.random.default_rng(0).normal(size=(10, 2))
    found = ao.align(ao.from_points(points), ao.from_points(points[::-1]))
    truth = np.arange(10)[::-1]
    assert found.hits(truth) == found.hits(dict(enumerate(truth))) == found.hits([(0, 9), (3, 6)]) == 1
    assert found.hits([(0, 9), (3, 5)]) == 0.5
    assert found.hits(np.array([[0, 9], [3, 5]])) == 0.5
    assert found.hits(truth).up_to_twins is None


def test_nodes_whose_names_are_pairs_are_told_from_pairs_of_names():
    grid = nx.grid_2d_graph(3, 2)
    grid.add_edge((0, 0), (9, 9))
    found = ao.align_graphs(grid, grid, rng=0)
    truth = dict(zip(*found.names, strict=True))
    assert found.hits(list(found.names[0])) == found.hits(list(truth.items())) == found.hits(truth)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ({"x": "Y"}, r"no pair of names that both sides have, the first is \('x', 'Y'\); they have names such as"),
        ([("b", "B"), ("b", "C")], "two matches of 'b'"),
        (["B", "C"], "2 names, but one for each of 7 points"),
        ([0, 1], r"shape \(2,\), but one match for each of 7"),
        (np.full(7, 8), "integers from -1 to 7"),
        ([], "truth is empty"),
        ("B", "must be a list of matches"),
        (3, "must be a list of matches"),
    ],
)
def test_bad_truth_is_refused_in_one_line(found, truth, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        found.hits(truth)
    assert "\n" not in str(caught.value)


def test_a_score_is_a_number_that_says_what_it_counts():
    score = Hits(0.25, 8, 0.5)
    assert (score > 0.2, f"{score:.0%}", repr(score)) == (True, "25%", "25% of 8, 50% up to twins")
    again = pickle.loads(pickle.dumps(score))
    assert (again, again.counted, again.up_to_twins) == (0.25, 8, 0.5)
