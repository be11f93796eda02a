"""Tiles on disk that no run can have written, or not this one: they are computed again."""

import io
import json
import re
import struct
from hashlib import blake2b

import numpy as np
import pytest

import anchorot as ao
from tests.many.long_runs import tiles_of
from tests.strategies import clouds


@pytest.mark.parametrize("place", [0, 60, 140, -41, -33, -1])
def test_a_damaged_tile_is_computed_again(tmp_path, place):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    path = tiles_of(tmp_path / "run")[2]
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.warns(ao.InputWarning, match=f"{re.escape(str(path))}: the file is damaged") as caught:
        found = ao.pairwise(clouds(), checkpoint=tmp_path / "run")
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=tmp_path / "run"), expected)  # and is whole again


@pytest.mark.parametrize("length", [0, 10, 100, -1])
def test_a_tile_cut_short_is_computed_again(tmp_path, length):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    path = tiles_of(tmp_path / "run")[1]
    path.write_bytes(path.read_bytes()[:length])
    with pytest.warns(ao.InputWarning, match="damaged"):
        np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=tmp_path / "run"), expected)


def npy(values, count=0):
    """A tile's file but for its seal."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=True)
    return buffer.getvalue() + struct.pack("<qq", count, 0)


def declared(shape):
    """An .npy file that promises more than it holds."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(8 * 16 + 16)


CRAFTED = {
    "another shape": npy(np.ones((2, 8))),
    "one number, to be spread": npy(np.ones((1, 1))),
    "float32": npy(np.ones((4, 4), np.float32)),
    "columns first": npy(np.asfortranarray(np.arange(16.0).reshape(4, 4))),
    "an object": npy(np.array({"a": 1}, dtype=object)),
    "infinity": npy(np.full((4, 4), np.inf)),
    "a negative count": npy(np.ones((4, 4)), -1),
    "too high a count": npy(np.ones((4, 4)), 17),
    "a promise of terabytes": declared((10**6, 10**6)),
    "no array": b"no array at all",
    "no count": b"123",
    "nothing": b"",
    "an endless file": npy(np.ones((4, 4))) + bytes(10_000),
}


@pytest.mark.parametrize("what", CRAFTED)
def test_a_tile_that_no_run_can_have_written_is_computed_again_though_its_seal_fits(tmp_path, what):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=4)
    path = tiles_of(tmp_path / "run")[1]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    key = blake2b(json.dumps(manifest, indent=0, sort_keys=True).encode(), digest_size=32).digest()

    def sealed(body):
        return body + blake2b(f"{path.stem} 4 x 4 ".encode() + body, key=key, digest_size=32).digest()

    assert sealed(path.read_bytes()[:-32]) == path.read_bytes()
    path.write_bytes(sealed(CRAFTED[what]))
    with pytest.warns(ao.InputWarning, match="damaged"):
        np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=tmp_path / "run"), expected)


def test_tiles_of_other_runs_and_other_places_are_not_taken(tmp_path):
    expected = ao.pairwise(clouds(), checkpoint=tmp_path / "run", tile=3)
    ao.pairwise(clouds(seed=5), checkpoint=tmp_path / "other", tile=3)
    name = tiles_of(tmp_path / "run")[1].name
    for stranger in (tmp_path / "other" / name, tiles_of(tmp_path / "run")[2]):
        (tmp_path / "run" / name).write_bytes(stranger.read_bytes())
        with pytest.warns(ao.InputWarning, match="damaged"):
            np.testing.assert_array_equal(ao.pairwise(clouds(), checkpoint=tmp_path / "run"), expected)
