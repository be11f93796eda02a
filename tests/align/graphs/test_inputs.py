"""What is a network, and which constraints: one meaning for every kind of input, one line for a bad one."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

import anchorot as ao
from tests.align.graphs.networks import aligned, lopsided, noisy

# Small networks share as many edges by chance as they have.
pytestmark = pytest.mark.filterwarnings("ignore:no alignment was found that can be trusted")


def test_all_kinds_of_graphs_of_one_network_give_one_answer(tmp_path):
    torch = pytest.importorskip("torch")
    graph, other = lopsided(25, 7), noisy(lopsided(25, 7), 0.1, 1)
    edges = np.array(graph.edges)
    path = tmp_path / "a.edgelist"
    path.write_text("\n".join(f"{i} {k}" for i, k in edges))
    nx.write_graphml(graph, tmp_path / "a.graphml")
    given_as = [
        nx.Graph(sorted(graph.edges)),
        edges,
        edges.tolist(),
        torch.as_tensor(edges),
        np.concatenate([edges, edges[:5], edges[:, ::-1]]),  # edges may be said twice
        csr_array(nx.to_numpy_array(graph, nodelist=range(25))),
        path,
        str(tmp_path / "a.graphml"),
    ]
    results = [sorted((int(i), int(j)) for i, j in ao.align_graphs(g, other, rng=0).pairs()) for g in given_as]
    assert all(result == results[0] for result in results)


def test_loops_count_as_edges():
    path = [("a", "b"), ("b", "c")]
    found = ao.align_graphs([*path, ("a", "a")], [*path, ("c", "c")], rng=0)
    assert found.common_edges == 3
    assert dict(found.pairs()) == {"a": "c", "b": "b", "c": "a"}


def test_of_parallel_edges_the_heaviest_counts_and_weights_of_zero_are_no_edges():
    first = [("a", "b", 1.0), ("b", "a", 5.0), ("b", "c", 2.0), ("a", "c", 0.0)]
    found = ao.align_graphs(first, [("a", "b", 2.0), ("b", "c", 5.0)], weight=True, rng=0)
    assert found.graphs[0].toarray().tolist() == [[0, 5, 0], [5, 0, 2], [0, 2, 0]]
    assert dict(found.pairs()) == {"a": "c", "b": "b", "c": "a"}
    assert found.objective == pytest.approx(5**2 + 2**2 + 2**2 + 5**2 - 2 * (5 * 5 + 2 * 2))


def test_weights_of_any_size_change_nothing():
    x, y = nx.to_numpy_array(lopsided(20, 3)), nx.to_numpy_array(noisy(lopsided(20, 3), 0.1, 1))
    plain = aligned(x, y).matches
    for scale in (1e-200, 1e150):
        np.testing.assert_array_equal(aligned(x * scale, y).matches, plain)


BAD = {
    "no nodes": (([], [(0, 1)]), {}, "has no nodes"),
    "a file that is none": (("nothing.edgelist", [(0, 1)]), {}, "nothing.edgelist"),
    "mass above 1": (([(0, 1)], [(0, 1)]), {"mass": 2}, "mass must be a share"),
    "an unknown seed": (([(0, 1)], [(0, 1)]), {"seeds": [(0, 7)]}, "seeds has the node 7"),
    "a seed twice": (([(0, 1)], [(0, 1)]), {"seeds": [(0, 1), (0, 0)]}, "in several pairs"),
    "a seed that is no pair": (([(0, 1)], [(0, 1)]), {"seeds": [5]}, "seeds must be pairs"),
    "types of one side": (([(0, 1)], [(0, 1)]), {"types": [1, 2]}, "or a pair"),
    "types of other sizes": (([(0, 1)], [(0, 1)]), {"types": (["a", "b"], ["a", "b", "c"])}, "types has 3 entries"),
    "features that differ": (([(0, 1)], [(0, 1)]), {"features": ([[0], [1]], [[0, 1], [1, 2]])}, "columns"),
    "negative weights": (([(0, 1, -1.0)], [(0, 1, 1.0)]), {"weight": True}, "must not be negative"),
    "NaN weights": (([(0, 1, float("nan"))], [(0, 1, 1.0)]), {"weight": True}, "edge lengths"),
    "no graph": ((5, [(0, 1)]), {}, "got an int"),
    "a device that is none": (([(0, 1)], [(0, 1)]), {"device": "tpu"}, "device must be"),
    "no threads": (([(0, 1)], [(0, 1)]), {"threads": 0}, "threads"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_line(name):
    graphs, options, said = BAD[name]
    with pytest.raises((ao.InputError, OSError)) as error:
        ao.align_graphs(*graphs, **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_weights_that_are_not_used_are_noted():
    with pytest.warns(ao.InputWarning, match="the first graph has edges with weights"):
        ao.align_graphs([(0, 1, 2.0)], [(0, 1)])


@pytest.mark.parametrize("seeds", [3, "ab", [3], [(0, 99)], {0: 99}])
def test_seeds_that_are_no_pairs_of_nodes_are_one_line(seeds):
    graph = nx.karate_club_graph()
    with pytest.raises(ao.InputError, match=r"^seeds[^\n]*$"):
        ao.align_graphs(graph, graph, seeds=seeds, weight=False)
