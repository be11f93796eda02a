"""A run on disk: it goes on where it was, and only with what it began with."""

import json
import os
import threading

import numpy as np
import pytest

import anchorot as ao
from anchorot.many import metrics, tiles
from anchorot.many.tiles import Checkpoint
from tests.many.long_runs import tiles_of
from tests.strategies import clouds


def test_a_finished_run_computes_nothing(tmp_path, monkeypatch):
    expected = ao.pairwise(clouds(), clouds(5, seed=1), checkpoint=tmp_path / "run", tile=4)
    monkeypatch.setattr(ao.AnchorFeatures, "energy_to", None)
    np.testing.assert_array_equal(ao.pairwise(clouds(), clouds(5, seed=1), checkpoint=tmp_path / "run"), expected)


def test_another_number_of_workers_and_another_memory_go_on(tmp_path):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4, n_jobs=1)
    for path in tiles_of(tmp_path / "run")[::2]:
        path.unlink()
    found = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=2, n_jobs=2, memory=10_000)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_small_work_makes_few_files_however_many_workers_there_are(tmp_path, n_jobs):
    rng = np.random.default_rng(0)
    many = [ao.from_points(rng.normal(size=(3, 2))) for _ in range(300)]
    ao.pairwise(many, checkpoint=tmp_path, n_jobs=n_jobs)
    assert len(tiles_of(tmp_path)) == 55  # of side 32
    ao.pairwise(many, checkpoint=tmp_path, n_jobs=n_jobs)
    assert len(tiles_of(tmp_path)) == 55


def test_convergence_of_finished_tiles_is_remembered(tmp_path, monkeypatch):
    real = metrics.anchor_transport
    monkeypatch.setattr(metrics, "anchor_transport", lambda *args, **options: real(*args, **options, max_iter=1))
    for _ in range(2):
        with pytest.warns(ao.ConvergenceWarning, match="did not converge for 3 pairs"):
            ao.pairwise(clouds(3), metric="aw", checkpoint=tmp_path / "run")
        monkeypatch.setattr(metrics, "anchor_transport", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": 2}, "p is 1 there and 2 here"),
        ({"robust": True}, "robust is False there and True here"),
        ({"metric": "slb", "p": 1}, "metric is 'ae' there and 'slb' here"),
        ({"spaces": clouds(8)}, "it has 9 spaces, and here are 8"),
        ({"spaces": [*clouds(8), clouds(1, seed=7)[0]]}, r"1 of the spaces have changed, the first spaces\[8\]"),
        ({"others": clouds(9)}, r"others is None there and \[.*\] here"),
    ],
)
def test_another_run_is_refused(tmp_path, change, message):
    ao.pairwise(clouds(), checkpoint=tmp_path / "run")
    arguments = {"spaces": clouds(), "checkpoint": tmp_path / "run", **change}
    with pytest.raises(ao.InputError, match=f"is of another run: {message}; take another folder, or delete it"):
        ao.pairwise(**arguments)


def test_weights_and_every_bit_of_a_cost_count(tmp_path):
    cost = np.random.default_rng(0).uniform(size=(4, 4))
    ao.pairwise([cost, cost + 1], checkpoint=tmp_path / "run")
    nudged = cost.copy()
    nudged[2, 3] = np.nextafter(cost[2, 3], 2)
    heavy = ao.Space(cost, [0.4, 0.2, 0.2, 0.2])
    for other in (nudged, heavy, cost.astype(np.float32)):
        with pytest.raises(ao.InputError, match=r"the first spaces\[0\]"):
            ao.pairwise([other, cost + 1], checkpoint=tmp_path / "run")


def test_a_file_rewritten_with_the_same_size_and_time_is_found_out(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.eye(3))
    stat = path.stat()
    ao.pairwise([path, np.ones((2, 2))], checkpoint=tmp_path / "run")
    np.save(path, 2 * np.eye(3))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(ao.InputError, match=r"the first spaces\[0\]"):
        ao.pairwise([path, np.ones((2, 2))], checkpoint=tmp_path / "run")


def test_a_space_that_changes_during_the_run_is_found_out(tmp_path):
    class Restless(list):
        loads = 0

        def __getitem__(self, index):
            self.loads += 1
            return super().__getitem__(index).cost + (self.loads > 9)

    with pytest.raises(ao.InputError, match=r"spaces\[\d\] has changed since the run began"):
        ao.pairwise(Restless(clouds()), checkpoint=tmp_path / "run", memory=1, n_jobs=1)


def test_features_are_distinguished(tmp_path):
    def features(**options):
        return [ao.AnchorFeatures.of(x, **options) for x in clouds(3)]

    ao.pairwise(features(), p=2, checkpoint=tmp_path / "run")
    with pytest.raises(ao.InputError, match=r"3 of the spaces have changed"):
        ao.pairwise(features(mean_only=True), p=2, checkpoint=tmp_path / "run")
    reshaped = [ao.AnchorFeatures(levels=np.arange(16.0).reshape(shape)) for shape in ((2, 8), (4, 4))]
    ao.pairwise(reshaped[:1], checkpoint=tmp_path / "shape")
    with pytest.raises(ao.InputError, match=r"1 of the spaces have changed"):
        ao.pairwise(reshaped[1:], checkpoint=tmp_path / "shape")
    weighted = [ao.AnchorFeatures.of(ao.Space(np.eye(3), w)) for w in ([0.5, 0.3, 0.2], [0.5, 0.2, 0.3])]
    ao.pairwise(weighted, checkpoint=tmp_path / "weighted")
    with pytest.raises(ao.InputError, match=r"2 of the spaces have changed"):
        ao.pairwise(weighted[::-1], checkpoint=tmp_path / "weighted")


def test_tiles_are_arrays_that_numpy_reads(tmp_path):
    found = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    np.testing.assert_array_equal(np.load(tmp_path / "run" / "000000-000004.npy"), found[:4, 4:8])


def test_folders_that_are_something_else_are_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(ao.InputError, match=r"the folder holds letter.txt but no manifest.json"):
        ao.pairwise(clouds(), checkpoint=tmp_path)
    with pytest.raises(ao.InputError, match="is a file, but a folder is needed"):
        ao.pairwise(clouds(), checkpoint=tmp_path / "letter.txt")
    ao.pairwise(clouds(2), checkpoint=tmp_path / "run")
    manifest = tmp_path / "run" / "manifest.json"
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**content, "format": 99}))
    with pytest.raises(ao.InputError, match="not of this version of anchorot"):
        ao.pairwise(clouds(2), checkpoint=tmp_path / "run")
    manifest.write_text(json.dumps(content)[:-5])
    with pytest.raises(ao.InputError, match=r"manifest.json is damaged"):
        ao.pairwise(clouds(2), checkpoint=tmp_path / "run")
    manifest.write_text(json.dumps({**content, "software": {**content["software"], "anchorot": "0.0.1"}}))
    with pytest.raises(ao.InputError, match=r"anchorot is '0.0.1' there"):
        ao.pairwise(clouds(2), checkpoint=tmp_path / "run")


def test_skipped_spaces_are_part_of_the_run(tmp_path):
    many = [*clouds(4), tmp_path / "late.npy"]
    with pytest.warns(ao.InputWarning, match="1 of 5 spaces"):
        found = ao.pairwise(many, errors="skip", checkpoint=tmp_path / "run")
    with pytest.warns(ao.InputWarning, match="1 of 5 spaces"):
        np.testing.assert_array_equal(ao.pairwise(many, errors="skip", checkpoint=tmp_path / "run"), found)
    np.save(tmp_path / "late.npy", np.eye(3))
    with pytest.raises(ao.InputError, match=r"the first spaces\[4\]"):
        ao.pairwise(many, errors="skip", checkpoint=tmp_path / "run")


def test_two_runs_at_once_share_a_folder(tmp_path):
    found = []

    def run():
        found.append(ao.pairwise(clouds(30), checkpoint=tmp_path / "run", tile=2, n_jobs=1))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = ao.pairwise(clouds(30))
    assert len(found) == 2
    for values in (*found, ao.pairwise(clouds(30), checkpoint=tmp_path / "run")):
        np.testing.assert_array_equal(values, expected)


def test_of_two_runs_that_begin_at_once_one_manifest_counts(tmp_path, monkeypatch):
    """Else each would go on with its own, and take the tiles of the other for damaged."""
    real = tiles.replacing

    def replacing(*args, **options):
        monkeypatch.setattr(tiles, "replacing", real)
        Checkpoint.open(tmp_path, {"spaces": ["a"]}, 4)  # after the other has found the folder empty
        return real(*args, **options)

    monkeypatch.setattr(tiles, "replacing", replacing)
    with pytest.raises(ao.InputError, match="is of another run: side is 4 there and 8 here"):
        Checkpoint.open(tmp_path, {"spaces": ["a"]}, 8)
