"""Tiles of a matrix of all pairs: they cover every pair once, and are neither too small nor too many."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import anchorot as ao
from anchorot.many.tiles import checkpoint_side, larger_side, pieces, read_manifest, tile_side, walk_tiles
from tests.strategies import clouds


def test_tiles_of_small_spaces_are_larger_unless_workers_would_wait():
    assert larger_side(16, 20_000, 600, 600, 16) == 32
    assert larger_side(16, 20_000, 600, 600, 64) == 16  # too few tiles
    assert larger_side(16, 80_000, 6000, 6000, 16) == 16  # long ones


def test_tiles_of_a_checkpoint_are_larger_while_they_stay_quick_and_enough_of_them_remain():
    assert checkpoint_side(16, 16, 80_000, 600, 600) == 64
    assert checkpoint_side(16, 16, 400_000, 600, 600) == 32
    assert checkpoint_side(16, 16, 2_000_000, 600, 600) == 16  # a tile takes a second already
    assert checkpoint_side(79, 16, 80_000, 10_000, 10_000) == 79
    for n in (1, 30, 100, 600, 3000):
        side = checkpoint_side(16, 16, 100, n, n)
        assert side == 16 or len(list(walk_tiles(n, None, side, [1] * n, n))) >= 32


def test_only_tiles_of_quick_metrics_are_larger(tmp_path, monkeypatch):
    monkeypatch.setattr("anchorot.many.tiles.FEW_TILES", 0)
    for metric, side in (("aw", 8), ("ae", 16)):
        ao.pairwise(clouds(2), metric=metric, checkpoint=tmp_path / metric)
        assert (read_manifest(tmp_path / metric)["side"] > side) == (metric == "ae")


# -- tiles ---------------------------------------------------------------------------------------------------------


@given(st.integers(1, 30), st.none() | st.integers(1, 30), st.integers(1, 9), st.integers(0, 40))
def test_tiles_cover_every_pair_once(n, m, side, limit):
    seen = np.zeros((n, m or n), int)
    tiles = list(walk_tiles(n, m, side, [1] * n, limit))
    for tile in tiles:
        block = seen[tile.rows.start : tile.rows.stop, tile.columns.start : tile.columns.stop]
        block += np.triu(np.ones_like(block)) if tile.is_diagonal else 1
    np.testing.assert_array_equal(seen, np.triu(np.ones_like(seen)) if m is None else np.ones_like(seen))
    assert sum(tile.n_pairs for tile in tiles) == (n * (n - 1) // 2 if m is None else n * m)
    assert len({tile.name for tile in tiles}) == len(tiles)


def test_there_are_never_too_many_tiles():
    assert tile_side(148, 148, 16) == 16
    assert len(pieces(range(100_000), tile_side(100_000, 10, 16))) <= 128
