"""An index in shards on a Dask cluster, or opened one by one: the bits of one machine, whatever is lost."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import anchorot as ao
from test_cluster import cluster  # noqa: F401  (a fixture)

from test_search import brute_force, clouds, pairs

pytestmark = [
    pytest.mark.kernel_free,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # of Dask's own event loop
]


@pytest.fixture
def small_shards(monkeypatch):
    """So that few spaces fill several."""
    monkeypatch.setattr("anchorot.search.writing.SHARD", 7)


def outcome(result):
    return pairs(result), result.names, result.exact


# -- one by one ----------------------------------------------------------------------------------------------------


def test_shards_that_are_opened_one_by_one_answer_as_all_together(tmp_path, small_shards, few_at_first):
    many, names = clouds(30), [f"cloud {k}" for k in range(30)]
    held = ao.SearchIndex.build(many, names, path=tmp_path / "x")
    held.remove([0, *range(7, 14), 20])
    index = ao.SearchIndex.load(tmp_path / "x", one_by_one=True)
    assert (len(index), index.ids.tolist(), index.grid) == (len(held), held.ids.tolist(), held.grid)
    for x in clouds(4, seed=1):
        assert outcome(index.query(x, 9)) == outcome(held.query(x, 9))
    with pytest.raises(ao.InputError, match="k=22 nearest spaces are asked for, but the index has only 21"):
        index.query(many[0], 22)


def test_what_was_found_in_one_shard_saves_work_in_the_next(tmp_path, small_shards, few_at_first):
    many = clouds(28)
    held = ao.SearchIndex.build(many, path=tmp_path / "x", grid=(8, 8))
    index = ao.SearchIndex.load(tmp_path / "x", one_by_one=True)
    alone = [ao.SearchIndex.load(file) for file in sorted((tmp_path / "x").glob("*.part"))]
    for x in many[::5]:
        counts = [each.query(x, 1).n_exact for each in alone]
        assert held.query(x, 1).n_exact <= index.query(x, 1).n_exact <= sum(counts)


@pytest.mark.parametrize("change", ["add", "remove", "compact", "save"])
def test_an_index_whose_shards_are_elsewhere_is_not_changed(change, tmp_path):
    ao.SearchIndex.build(clouds(3), path=tmp_path / "x")
    index = ao.SearchIndex.load(tmp_path / "x", one_by_one=True)
    arguments = {"add": [clouds(1)], "remove": [[0]], "compact": [], "save": [tmp_path / "y"]}[change]
    with pytest.raises(ao.InputError, match="load it without client and one_by_one to change it"):
        getattr(index, change)(*arguments)


def test_one_file_has_no_shards_to_be_opened_one_by_one(tmp_path):
    ao.SearchIndex.build(clouds(3)).save(tmp_path / "x")
    with pytest.raises(ao.InputError, match=r"^x: client and one_by_one are for an index in a folder"):
        ao.SearchIndex.load(tmp_path / "x", one_by_one=True)
    with pytest.raises(FileNotFoundError):
        ao.SearchIndex.load(tmp_path / "nothing")
    with pytest.raises(ao.InputError, match=r"^nothing: a folder without"):
        ao.SearchIndex.load(tmp_path / "nothing", one_by_one=True)


# -- on a cluster --------------------------------------------------------------------------------------------------

HOW = {"kind": "points", "n_points": 9, "rng": 3}


def processes(client):
    return client.run(os.getpid)


@pytest.mark.system
def test_an_index_on_a_cluster_answers_as_one_machine_whatever_is_lost(cluster, tmp_path, monkeypatch):  # noqa: F811
    rng = np.random.default_rng(0)
    files = [f"{number}.csv" for number in range(20)]
    for file in files:
        np.savetxt(tmp_path / file, rng.normal(size=(30, 2)) * rng.uniform(0.5, 2, 2), delimiter=",")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        cluster.add_worker()
    client = cluster.client()
    index = ao.SearchIndex.build(files, files, path="x", client=client, **HOW)
    here = ao.SearchIndex.build(files, files, **HOW)
    spaces = [ao.read(file, **HOW) for file in files]
    assert index.reading == here.reading == HOW
    assert len(list((tmp_path / "x").glob("*.part"))) == 2
    for x in spaces[::6]:
        assert outcome(index.query(x, 6)) == outcome(here.query(x, 6))
        assert pairs(index.query(x, 6)) == brute_force(x, spaces, 6)
    os.kill(next(iter(processes(client).values())), signal.SIGKILL)
    for x in spaces[1::6]:
        assert outcome(index.query(x, 6)) == outcome(here.query(x, 6))
    for again in (ao.SearchIndex.load("x"), ao.SearchIndex.load("x", client=client)):
        assert outcome(again.query(spaces[3], 6)) == outcome(here.query(spaces[3], 6))


@pytest.mark.system
def test_a_worker_that_is_lost_while_the_index_is_made_costs_time_only(cluster, tmp_path):  # noqa: F811
    many = clouds(8)
    for _ in range(2):
        cluster.add_worker()
    client = cluster.client()
    victim = next(iter(processes(client).values()))
    threading.Timer(1, os.kill, (victim, signal.SIGKILL)).start()
    slow = [lambda x=x: (time.sleep(0.4), x)[1] for x in many]
    index = ao.SearchIndex.build(slow, path=tmp_path / "x", client=client)
    assert victim not in processes(client).values()
    for x in clouds(3, seed=1):
        assert pairs(index.query(x, 8)) == brute_force(x, many, 8)


@pytest.mark.system
def test_bad_files_are_named_and_the_folder_is_asked_for(cluster, tmp_path):  # noqa: F811
    cluster.add_worker()
    client = cluster.client()
    np.savetxt(tmp_path / "good.csv", np.eye(3), delimiter=",")
    paths = [tmp_path / "good.csv", tmp_path / "bad.csv"]
    with pytest.raises(ao.InputError, match=r"^spaces\[1\] \(.*bad\.csv\): "):
        ao.SearchIndex.build(paths, path=tmp_path / "x", client=client)
    with pytest.raises(ao.InputError, match="lies in a folder that all workers see; give its path"):
        ao.SearchIndex.build(paths, client=client)
    with pytest.raises(ao.InputError, match="spaces must be a sequence"):
        ao.SearchIndex.build(iter(paths), path=tmp_path / "x", client=client)
    with pytest.raises(ao.AnchorotError, match=r"^a worker cannot use .*no folder.*: No such file or directory$"):
        ao.SearchIndex.build(paths[:1], path=tmp_path / "x", folder=tmp_path / "no folder", client=client)
