"""An index on a Dask cluster: the bits of one machine, even if workers are lost."""

import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

import anchorot as ao
from anchorot.search.cluster import make_part
from tests.many.test_cluster import cluster  # noqa: F401  (a fixture)
from tests.search.expected import brute_force, pairs
from tests.strategies import clouds

pytestmark = [
    pytest.mark.xdist_group("cluster"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # of Dask's own event loop
]

HOW = {"kind": "points", "n_points": 9, "rng": 3}


def outcome(result):
    return pairs(result), result.names, result.exact


def processes(client):
    return client.run(os.getpid)


@pytest.mark.system
def test_an_index_on_a_cluster_gives_the_results_of_one_machine_despite_losses(cluster, tmp_path, monkeypatch):  # noqa: F811
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
    assert not list(tmp_path.glob(".*"))  # no part is left
    for x in spaces[::6]:
        assert outcome(index.query(x, 6)) == outcome(here.query(x, 6))
        assert pairs(index.query(x, 6)) == brute_force(x, spaces, 6)
    os.kill(next(iter(processes(client).values())), signal.SIGKILL)
    for x in spaces[1::6]:
        assert outcome(index.query(x, 6)) == outcome(here.query(x, 6))
    for again in (ao.SearchIndex.load("x"), ao.SearchIndex.load("x", client=client)):
        assert outcome(again.query(spaces[3], 6)) == outcome(here.query(spaces[3], 6))
    for metric in ("saw", "aw"):
        index_of = partial(ao.SearchIndex.build, files, files, metric=metric, **HOW)
        for x in spaces[::9]:
            assert outcome(index_of(path="y", client=client).query(x, 6)) == outcome(index_of().query(x, 6))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    assert index.query("../3.csv", 1).names == ("3.csv",)


@pytest.mark.system
def test_workers_follow_an_index_that_others_change(cluster, tmp_path):  # noqa: F811
    many = clouds(20)
    for _ in range(2):
        cluster.add_worker()
    writer = ao.SearchIndex.build(many[:14], path=tmp_path / "x")
    index = ao.SearchIndex.load(tmp_path / "x", client=cluster.client())
    assert pairs(index.query(many[3], 14)) == brute_force(many[3], many[:14], 14)
    writer.add(many[14:])
    writer.remove([0, 3, 15])
    writer.compact()
    held = [k for k in range(20) if k not in (0, 3, 15)]
    assert (len(index), index.ids.tolist()) == (17, held)
    assert pairs(index.query(many[3], 17)) == brute_force(many[3], [many[k] for k in held], 17, held)
    ao.SearchIndex.build(many[:5], path=tmp_path / "x", robust=True)
    assert pairs(index.query(many[3], 5)) == brute_force(many[3], many[:5], 5, robust=True)
    with pytest.raises(ao.InputError, match="k=6, but the index has only 5 spaces"):
        index.query(many[3], 6)
    changes = {
        "add": lambda: index.add(many[:1]),
        "remove": lambda: index.remove([0]),
        "compact": index.compact,
        "save": lambda: index.save(tmp_path / "x"),
    }
    for change in changes.values():
        with pytest.raises(ao.InputError, match="this index is on a cluster; load it without client to change it"):
            change()
    index.save(tmp_path / "copy")
    assert len(ao.SearchIndex.load(tmp_path / "copy")) == 5


@pytest.mark.system
def test_losing_a_worker_during_a_build_costs_only_time(cluster, tmp_path):  # noqa: F811
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
    with pytest.raises(ao.InputError, match="building on a cluster needs path=, in a folder"):
        ao.SearchIndex.build(paths, client=client)
    with pytest.raises(ao.InputError, match="spaces must be a sequence"):
        ao.SearchIndex.build(iter(paths), path=tmp_path / "x", client=client)
    assert [file.name for file in tmp_path.iterdir()] == ["good.csv"]


def test_a_folder_that_a_worker_does_not_see_gets_one_line(tmp_path):
    with pytest.raises(ao.AnchorotError, match=r"^a worker cannot use .*no folder.*: No such file or directory$"):
        make_part(str(tmp_path / "no folder" / "x"), None, None, (range(1), None, None))
