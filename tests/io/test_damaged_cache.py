"""Invalid cache entries: damaged, forged, or of another user."""

import os

import pytest

import anchorot as ao
from anchorot.io import cache
from anchorot.io.options import ReadOptions
from tests.io.test_cache import entry, grid_mesh
from tests.strategies import assert_same


def flip(place):
    def damage(path):
        content = bytearray(path.read_bytes())
        content[place if place < 1 else len(content) // place] ^= 1
        path.write_bytes(content)

    return damage


def as_folder(path):
    path.unlink()
    path.mkdir()


def sealed(content):
    """An entry with a valid seal and invalid contents."""

    def damage(path):
        path.write_bytes(bytes(cache.SEAL_BYTES) + content)
        with path.open("r+b") as handle:
            handle.seek(cache.SEAL_BYTES)
            seal = cache._seal(path.stem, handle)
            handle.seek(0)
            handle.write(seal)

    return damage


def sealed_notes(text):
    """An entry that is whole but for its notes."""

    def damage(path):
        content = path.read_bytes()[cache.SEAL_BYTES :]
        (length,) = cache.LENGTH.unpack(content[: cache.LENGTH.size])
        sealed(cache.LENGTH.pack(len(text)) + text + content[cache.LENGTH.size + length :])(path)

    return damage


DAMAGES = {
    "sealed nothing": sealed(b""),
    "sealed garbage": sealed(cache.LENGTH.pack(3) + b"abc"),
    "sealed bytes that are no text": sealed(cache.LENGTH.pack(3) + b"\xff\xfe\xfd"),
    "sealed notes that are none": sealed(cache.LENGTH.pack(8) + b'{"a": 1}'),
    "sealed notes that are a number": sealed_notes(b"5"),
    "sealed notes of numbers": sealed_notes(b"[5]"),
    "sealed notes that are a text": sealed_notes(b'"ab"'),
    "sealed notes that are null": sealed_notes(b"null"),
    "sealed notes without a space": sealed(cache.LENGTH.pack(2) + b"[]"),
    "sealed length of much": sealed(cache.LENGTH.pack(2**32 - 1) + b"[]"),
    "link to itself": lambda path: (path.unlink(), path.symlink_to(path.name)),
    "first byte": flip(0),
    "early byte": flip(50),
    "middle byte": flip(2),
    "last byte": flip(-1),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "folder": as_folder,
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_read_again(folder, tmp_path, damage):
    path = grid_mesh(tmp_path / "x.off")
    wanted = ao.read(path, geodesic="edge", cache=True)
    whole = entry(folder).read_bytes()
    DAMAGES[damage](entry(folder))
    assert_same(ao.read(path, geodesic="edge", cache=True), wanted)
    if damage not in ("folder", "pipe"):
        assert entry(folder).read_bytes() == whole


@pytest.mark.parametrize("target", ["file", "nothing", "entry", "/dev/null"])
def test_a_link_in_the_cache_is_neither_followed_nor_written_through(folder, tmp_path, target):
    path = grid_mesh(tmp_path / "x.off")
    wanted = ao.read(path, geodesic="edge", cache=True)
    mine, kept = tmp_path / "mine.txt", entry(folder)
    content = kept.read_bytes() if target == "entry" else b"mine"
    if target in ("file", "entry"):
        mine.write_bytes(content)
    kept.unlink()
    kept.symlink_to(target if target == "/dev/null" else mine)
    assert cache.cache_info().n_spaces == 1
    assert_same(ao.read(path, geodesic="edge", cache=True), wanted)
    assert mine.read_bytes() == content if target in ("file", "entry") else not mine.exists()
    assert not kept.is_symlink()
    kept.unlink()
    kept.symlink_to(mine)
    cache.clear_cache()
    assert not kept.is_symlink()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_an_entry_of_another_user_is_not_used(folder, tmp_path, monkeypatch):
    path = grid_mesh(tmp_path / "x.off")
    wanted = ao.read(path, geodesic="edge", cache=True)
    me = os.geteuid()
    key, usual = entry(folder).stem, os.fstat

    def owned_by(user):
        def status(descriptor):
            found = usual(descriptor)
            fields = list(found)
            fields[4] = user
            return os.stat_result(fields)

        return status

    assert cache._cached(key, path) is not None
    monkeypatch.setattr(cache.os, "geteuid", lambda: me + 1)  # entries of the owner of the folder are accepted
    assert cache._cached(key, path) is not None
    monkeypatch.setattr(cache.os, "fstat", owned_by(me + 2))
    assert cache._cached(key, path) is None
    assert_same(ao.read(path, geodesic="edge", cache=True), wanted)


@pytest.mark.parametrize("name", ["{}.space", ".half-written.space"])
def test_a_folder_in_place_of_an_entry_is_ignored(folder, tmp_path, name):
    path = grid_mesh(tmp_path / "x.off")
    obstacle = folder / name.format("0" * 64)
    obstacle.mkdir(parents=True)
    os.utime(obstacle, (0, 0))
    ao.read(path, geodesic="edge", cache=True)
    assert cache.cache_info().n_spaces == 1
    assert cache.clear_cache().n_spaces == 1
    assert obstacle.is_dir()


def test_an_entry_renamed_to_another_key_is_not_used(folder, tmp_path):
    first, second = grid_mesh(tmp_path / "x.off"), grid_mesh(tmp_path / "y.off", bump=1.0)
    ao.read(first, geodesic="edge", cache=True)
    wanted = ao.read(second, geodesic="edge")
    key = cache.key_of(second, ReadOptions(geodesic="edge"))
    entry(folder).rename(folder / f"{key}.space")
    assert_same(ao.read(second, geodesic="edge", cache=True), wanted)
