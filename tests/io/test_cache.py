"""The cache: cached spaces equal read ones to the last bit, and are never those of another file."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot.io import cache
from anchorot.io.options import ReadOptions
from tests.command_line import anchorot_each
from tests.strategies import assert_same

SEEDED = ReadOptions(rng=3, n_points=20)


def grid_mesh(path, side=8, bump=0.0):
    """A file of a square with side**2 vertices."""
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    z = bump * np.sin(x) * np.cos(y)
    vertices = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    corner = np.arange(side * side).reshape(side, side)
    a, b, c, d = (part.ravel() for part in (corner[:-1, :-1], corner[1:, :-1], corner[:-1, 1:], corner[1:, 1:]))
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([b, d, c], axis=1)])
    lines = ["OFF", f"{len(vertices)} {len(faces)} 0"]
    lines += [f"{x} {y} {z}" for x, y, z in vertices] + [f"3 {a} {b} {c}" for a, b, c in faces]
    path.write_text("\n".join(lines) + "\n")
    return path


def two_components(path):
    path.write_text("OFF\n7 3 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n9 9 9\n8 9 9\n8 8 9\n3 0 1 2\n3 0 2 3\n3 4 5 6\n")
    return path


def graph(path):
    path.write_text("a b 1\nb c 2\nc d 1\nd a 5\n")
    return path


def neuron(path):
    path.write_text("1 1 0 0 0 1 -1\n2 3 1 0 0 1 1\n3 3 1 1 0 1 2\n4 3 2 0 1 1 2\n")
    return path


def cloud(path):
    np.savetxt(path, np.random.default_rng(0).normal(size=(12, 2)), delimiter=",")
    return path


def packed_mesh(path):
    np.savez(path, V=[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]], F=[[0, 1, 2], [0, 2, 3]])
    return path


def colored_mesh(path):
    mesh = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    mesh += "property float depth\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n"
    path.write_text(mesh + "0 0 0 5\n1 0 0 6\n1 1 0 7\n0 1 0 8\n3 0 1 2\n3 0 2 3\n")
    return path


def named_cloud(path):
    rows = np.random.default_rng(0).normal(size=(12, 3))
    np.savetxt(path, rows, delimiter=",", header="x,y,depth", comments="")
    return path


KINDS = {
    "mesh": (grid_mesh, "x.off", {"n_points": 20, "rng": 3}),
    "whole mesh": (grid_mesh, "x.off", {"geodesic": "edge"}),
    "far points": (grid_mesh, "x.off", {"n_points": 20, "rng": 3, "sampling": "farthest"}),
    "components": (two_components, "x.off", {"geodesic": "edge"}),
    "graph": (graph, "x.edgelist", {"weight": "length"}),
    "neuron": (neuron, "x.swc", {}),
    "cloud": (cloud, "x.csv", {"kind": "points", "n_neighbors": 4, "disconnected": 9.0}),
    "packed mesh": (packed_mesh, "x.npz", {"geodesic": "edge"}),
    "features": (colored_mesh, "x.ply", {"geodesic": "edge", "features": "depth"}),
    "columns": (
        named_cloud,
        "x.csv",
        {"kind": "points", "n_neighbors": 4, "disconnected": 9.0, "columns": ["x", "y"], "features": "depth"},
    ),
}


def reading_nothing(monkeypatch):
    """Let reading a file, instead of taking it from the cache, fail."""
    monkeypatch.setattr("anchorot.io.files._read", lambda *_: pytest.fail("the file was read again"))


@pytest.mark.filterwarnings("ignore::anchorot.InputWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_cached_spaces_equal_spaces_read_to_the_bit(folder, tmp_path, monkeypatch, kind):
    make, name, options = KINDS[kind]
    path = make(tmp_path / name)
    plain = ao.read(path, **options)
    assert_same(ao.read(path, **options, cache=True), plain)
    reading_nothing(monkeypatch)
    assert_same(ao.read(path, **options, cache=True), plain)
    moved = shutil.copy(path, tmp_path / f"another{path.suffix.upper()}")
    assert_same(ao.read(moved, **options, cache=True), plain)


def test_the_cache_is_off_by_default(folder, tmp_path):
    ao.read(grid_mesh(tmp_path / "x.off"), geodesic="edge")
    assert not folder.exists()


def test_the_key_depends_on_the_content(folder, tmp_path):
    path = grid_mesh(tmp_path / "x.off")
    before = cache.key_of(path, SEEDED)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"7.0 7.0 ", b"7.0 8.0 ", 1))
    assert cache.key_of(path, SEEDED) != before
    path.write_bytes(content)
    assert cache.key_of(path, SEEDED) == before
    path.rename(tmp_path / "x.ply")
    assert cache.key_of(tmp_path / "x.ply", SEEDED) != before


def another(option):
    """Some value of an option that is not the one of `SEEDED`."""
    value, about = getattr(SEEDED, option.name), option.metadata
    if "choices" in about:
        return next(choice for choice in reversed(about["choices"]) if choice != value)
    if option.name in ("types", "features", "columns"):
        return "other"
    return not value if isinstance(value, bool) else "other" if isinstance(value, str) else 7


@pytest.mark.parametrize("option", [each for each in fields(ReadOptions) if each.name != "cache"], ids=lambda o: o.name)
def test_the_key_depends_on_every_option(folder, tmp_path, option):
    path = grid_mesh(tmp_path / "x.off")
    changed = replace(SEEDED, **{option.name: another(option) if option.name != "max_bytes" else "1GB"})
    keys = cache.key_of(path, changed), cache.key_of(path, SEEDED)
    assert None not in keys
    assert keys[0] != keys[1]


def test_options_that_name_several_columns_are_distinguished(folder, tmp_path):
    path = grid_mesh(tmp_path / "x.off")
    names = [{}, {"features": "a"}, {"features": ["a", "b"]}, {"features": ["b", "a"]}, {"features": "a,b"}]
    names += [{"columns": "a"}, {"columns": ["a", "b"]}, {"types": "a"}]
    keys = [cache.key_of(path, ReadOptions(**each)) for each in names]
    assert len({*keys, None}) == len(names) + 1


def test_numpy_numbers_do_not_change_the_key(folder, tmp_path):
    path = grid_mesh(tmp_path / "x.off")
    mine = ReadOptions(rng=np.int64(3), n_points=np.int32(20), disconnected=np.float64(9))
    assert cache.key_of(path, mine) == cache.key_of(path, replace(SEEDED, disconnected=9.0)) is not None


def test_the_key_depends_on_versions(folder, tmp_path, monkeypatch):
    path = grid_mesh(tmp_path / "x.off")
    before = cache.key_of(path, SEEDED)
    monkeypatch.setattr(cache, "_versions", lambda: {"anchorot": "another"})
    assert cache.key_of(path, SEEDED) != before


def test_an_unused_seed_does_not_change_the_key(folder, tmp_path):
    path = grid_mesh(tmp_path / "x.off")
    assert cache.key_of(path, ReadOptions(rng=3)) == cache.key_of(path, ReadOptions()) is not None


@pytest.mark.parametrize("rng", [None, np.random.default_rng(0)], ids=["none", "generator"])
def test_unseeded_samples_are_not_cached(folder, tmp_path, rng):
    path = grid_mesh(tmp_path / "x.off")
    draws = [ao.read(path, n_points=20, rng=rng, geodesic="edge", cache=True).labels for _ in range(6)]
    assert len(set(draws)) > 1  # two of them begin at one of so few vertices now and then
    assert not folder.exists()


@pytest.mark.parametrize("name", ["x.npy", "x.csv", "x.txt", "x.npz"])
def test_cost_files_are_not_cached_since_they_are_read_as_fast(folder, tmp_path, name):
    cost = np.ones((3, 3))
    if name == "x.npz":
        np.savez(tmp_path / name, cost=cost)
    elif name == "x.npy":
        np.save(tmp_path / name, cost)
    else:
        np.savetxt(tmp_path / name, cost, delimiter="," if name == "x.csv" else " ")
    ao.read(tmp_path / name, cache=True)
    assert not folder.exists()


def test_small_files_are_not_cached(folder, tmp_path, monkeypatch):
    path = graph(tmp_path / "x.edgelist")
    monkeypatch.setattr(cache, "MIN_FILE_BYTES", path.stat().st_size + 1)
    ao.read(path, weight=True, cache=True)
    assert not folder.exists()


def entry(folder):
    (found,) = folder.glob("*.space")
    return found


def test_a_file_that_changes_while_it_is_read_is_not_cached(folder, tmp_path, monkeypatch):
    import anchorot.io.files as files

    path, usual = grid_mesh(tmp_path / "x.off"), files._read

    def slow(*arguments):
        found = usual(*arguments)
        path.write_text(path.read_text() + "\n")
        return found

    monkeypatch.setattr(files, "_read", slow)
    ao.read(path, geodesic="edge", cache=True)
    assert not folder.exists()


def test_warnings_are_repeated_under_the_new_name(folder, tmp_path):
    path = two_components(tmp_path / "x.off")
    for name in ("x.off", "y.off"):
        if name != path.name:
            shutil.copy(path, tmp_path / name)
        with pytest.warns(ao.InputWarning, match=f"^{name} has 2 components; the largest is kept, 4 of 7 vertices$"):
            ao.read(tmp_path / name, geodesic="edge", cache=True)
    assert len(list(folder.glob("*.space"))) == 1


def test_the_least_recently_used_entries_are_evicted_first(folder, tmp_path, monkeypatch):
    paths = [grid_mesh(tmp_path / f"{k}.off", bump=k) for k in range(3)]
    for age, path in zip((300, 200), paths, strict=False):
        ao.read(path, geodesic="edge", cache=True)
        newest = max(folder.glob("*.space"), key=lambda each: each.stat().st_mtime)
        os.utime(newest, ns=(0, newest.stat().st_mtime_ns - age * 10**9))
    size = cache.cache_info().n_bytes // 2
    monkeypatch.setattr(cache, "MAX_SHARE", 1.0)
    monkeypatch.setenv("ANCHOROT_CACHE_SIZE", str(2 * size + size // 2))
    ao.read(paths[0], geodesic="edge", cache=True)  # used just now, though it is the older
    ao.read(paths[2], geodesic="edge", cache=True)
    keys = [cache.key_of(path, ReadOptions(geodesic="edge")) for path in paths]
    assert [(folder / f"{key}.space").exists() for key in keys] == [True, False, True]
    assert cache.cache_info().n_bytes <= cache.cache_info().limit


def test_one_large_space_does_not_evict_the_others(folder, tmp_path, monkeypatch):
    ao.read(grid_mesh(tmp_path / "x.off", side=3), geodesic="edge", cache=True)
    before = entry(folder)
    monkeypatch.setenv("ANCHOROT_CACHE_SIZE", str(4 * before.stat().st_size))
    ao.read(grid_mesh(tmp_path / "y.off", side=12), geodesic="edge", cache=True)
    assert entry(folder) == before


def test_an_invalid_cache_size_is_one_clear_line(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("ANCHOROT_CACHE_SIZE", "much")
    with pytest.raises(ao.InputError, match="ANCHOROT_CACHE_SIZE must be a number of bytes"):
        ao.read(grid_mesh(tmp_path / "x.off"), cache=True)


def test_files_are_read_if_the_cache_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ANCHOROT_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(cache, "MIN_FILE_BYTES", 0)
    assert ao.read(grid_mesh(tmp_path / "x.off"), geodesic="edge", cache=True).n == 64


@pytest.mark.parametrize(
    ("platform", "environment", "wanted"),
    [
        ("linux", {"ANCHOROT_CACHE": "/there", "XDG_CACHE_HOME": "/xdg"}, "/there"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/anchorot"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/anchorot"),
        ("linux", {}, "/home/me/.cache/anchorot"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "/home/me/Library/Caches/anchorot"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/anchorot/Cache"),
        ("win32", {}, "/home/me/AppData/Local/anchorot/Cache"),
    ],
)
def test_the_cache_is_in_the_folder_of_the_platform(monkeypatch, platform, environment, wanted):
    for name in ("ANCHOROT_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    monkeypatch.setattr(sys, "platform", platform)
    assert cache.cache_folder() == Path(wanted)


RACE = """
import sys
import anchorot as ao
from anchorot.io import cache
cache.MIN_FILE_BYTES = 0
wanted = {name: ao.read(name, geodesic="edge").cost.tobytes() for name in ("0.off", "1.off", "2.off")}
print("ready", flush=True)
sys.stdin.readline()
for turn in range(10):
    for name in wanted:
        assert ao.read(name, geodesic="edge", cache=True).cost.tobytes() == wanted[name]
    if turn % 5 == int(sys.argv[1]):
        cache.clear_cache()
"""


@pytest.mark.system
def test_processes_can_share_the_cache(folder, tmp_path, monkeypatch):
    for k in range(3):
        grid_mesh(tmp_path / f"{k}.off", bump=k)
    monkeypatch.setenv("ANCHOROT_CACHE_SIZE", "150kB")  # not all of them fit
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    racers = [subprocess.Popen([sys.executable, "-c", RACE, str(k)], cwd=tmp_path, **pipes) for k in range(2)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n", racer.stderr.read()
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        assert racer.communicate(timeout=60)[1] == ""
        assert racer.returncode == 0


KILLED = """
import os, signal
import numpy as np
import anchorot as ao
from anchorot.io import cache
cache.MIN_FILE_BYTES = 0
whole = np.savez
def half(handle, **arrays):
    whole(handle, **arrays)
    handle.flush()
    os.kill(os.getpid(), signal.SIGKILL)
np.savez = half
ao.read("x.off", geodesic="edge", cache=True)
"""


@pytest.mark.system
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_a_killed_process_leaves_no_entry(folder, tmp_path):
    path = grid_mesh(tmp_path / "x.off")
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = folder.glob(".*.space")
    assert cache.cache_info().n_spaces == 0
    wanted = ao.read(path, geodesic="edge")
    assert_same(ao.read(path, geodesic="edge", cache=True), wanted)
    assert left.exists()  # somebody may still be writing it
    os.utime(left, (0, 0))
    ao.read(path, cache=True, geodesic="edge", n_points=9, rng=0)
    assert not left.exists()


def test_clear_removes_only_entries(folder, tmp_path):
    folder.mkdir()
    kept = [folder / name for name in ("notes.txt", "mine.space", "a" * 64)]
    for path in kept:
        path.write_text("mine")
    ao.read(grid_mesh(tmp_path / "x.off"), geodesic="edge", cache=True)
    (folder / ".0123456789-abc.space").touch()
    assert cache.clear_cache().n_spaces == 1
    assert sorted(folder.iterdir()) == sorted(kept)
    assert cache.cache_info().n_bytes == 0


def test_the_command_line_reads_a_file_once_and_reports_it_correctly(folder, tmp_path):
    path = grid_mesh(tmp_path / "x.off", side=20)
    compare = ["compare", path, path, "--geodesic", "edge", "--n-points", 9, "--json"]
    info, clear = ["cache", "info", "--json"], ["cache", "clear", "--json"]
    runs = anchorot_each([*compare, "--no-cache"], info, compare, info, compare, clear, info)
    reported = [json.loads(run.stdout) for run in runs]
    for found in reported:
        found.pop("seconds", None)
    plain, empty, first, full, again, cleared, left = reported
    assert plain == first == again
    assert empty == left == {"folder": str(folder), "spaces": 0, "bytes": 0, "limit": 4 << 30}
    assert full == cleared == {**empty, "spaces": 1, "bytes": full["bytes"]}
    assert full["bytes"] > 9 * 9 * 8


def test_tests_do_not_use_the_users_cache(monkeypatch):
    inside = cache.cache_folder()
    monkeypatch.delenv("ANCHOROT_CACHE")
    assert inside != cache.cache_folder()
