"""Only regular files are opened, and only up to a limit; errors are one line and fast."""

import io
import os
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

import anchorot as ao
from anchorot.cli.sources import find_sources
from anchorot.io import safe_open
from tests.io.expected import refused

COST = np.array([[0.0, 1.5, 2.0], [1.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


ENDINGS = [
    "csv",
    "tsv",
    "txt",
    "npy",
    "npz",
    "edgelist",
    "graphml",
    "gexf",
    "gml",
    "swc",
    "off",
    "obj",
    "ply",
    "stl",
    "mat",
    "h5ad",
    "csv.gz",
    "graphml.gz",
    "off.gz",
]


@pytest.mark.parametrize("ending", ENDINGS)
def test_pipes_and_devices_are_refused(tmp_path, ending, patience):
    os.mkfifo(tmp_path / f"pipe.{ending}")
    refused(tmp_path / f"pipe.{ending}", "this is a pipe, a device or a socket, but a regular file is needed")
    (tmp_path / f"zero.{ending}").symlink_to("/dev/zero")
    refused(tmp_path / f"zero.{ending}", "this is a pipe, a device or a socket, but a regular file is needed")


SPECIAL = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/null"),
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "folder": os.mkdir,
    "loop": lambda path: path.symlink_to(path.name),
    "dangling": lambda path: path.symlink_to("nowhere"),
    "empty": lambda path: path.touch(),
    "blank": lambda path: path.write_bytes(b"\n \n"),
    "one byte": lambda path: path.write_bytes(b"\0"),
    "locked": lambda path: (path.write_bytes(b"0"), path.chmod(0)),
}


ENTRY_POINTS = {
    "read": ao.read,
    "cache": lambda path: ao.read(path, cache=True),
    "mesh": ao.from_mesh,
    "cohort": lambda path: ao.from_cohort(path, sample="a", points="b"),
    "gin": ao.io.read_gin,
    "tu": ao.io.read_tu,
    "sources": lambda path: ao.read(find_sources([path])[0].path),
}


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
@pytest.mark.parametrize("kind", SPECIAL)
def test_anything_in_place_of_a_file_is_one_line(tmp_path, monkeypatch, kind, entry_point, patience):
    if kind == "locked" and os.geteuid() == 0:
        pytest.skip("root may read everything")
    monkeypatch.chdir(tmp_path)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    for ending in ENDINGS:
        path = Path(f"x.{ending}")
        SPECIAL[kind](path)
        with pytest.raises((ao.InputError, OSError)) as caught:
            ENTRY_POINTS[entry_point](path)
        assert re.search(rf"\bx\.{ending}\b", str(caught.value)), caught.value
        assert "\n" not in str(caught.value)
    caught = None
    assert before is None or len(os.listdir("/proc/self/fd")) <= before + 6  # a quarantine process and its pipes


@pytest.mark.parametrize("ending", [e for e in ENDINGS if e not in ("mat", "h5ad", "npz")])
def test_files_above_the_limit_are_refused_and_the_limit_can_be_raised(tmp_path, ending):
    path = tmp_path / f"large.{ending}"
    with path.open("wb") as handle:
        handle.truncate(safe_open.MAX_BYTES + 1)  # takes no space on the disk
    refused(
        path, r"the file takes 2\.15 GB, but no more than 2\.15 GB of a file are read; if you trust it, raise max_b"
    )
    path.write_bytes(bytes(3000))
    refused(path, "the file takes 3e-06 GB, but no more than 2e-06 GB", max_bytes="2kB")
    with pytest.raises(ao.InputError, match=f"large.{ending}") as caught:
        ao.read(path, max_bytes="4kB")
    assert "max_bytes" not in str(caught.value)


@pytest.mark.parametrize("ending", ["gexf", "graphml"])
def test_entities_neither_explode_nor_refer_to_other_files(tmp_path, ending):
    nested = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 20}">' for i in range(8))
    for entities, use in ((f'<!ENTITY a0 "{"x" * 1000}">{nested}', "&a8;"), ('<!ENTITY s SYSTEM "x.txt">', "&s;")):
        path = tmp_path / f"x.{ending}"
        path.write_text(f'<?xml version="1.0"?><!DOCTYPE g [{entities}]><{ending}>{use}</{ending}>')
        refused(path, "file that can be read")


@pytest.mark.parametrize("text", ["a [ " * 100_000, "@" * 1_000_000, 'a "' + "\n".join(["line"] * 100_000)])
def test_endless_gml_is_one_short_line(tmp_path, text):
    (tmp_path / "x.gml").write_text(f"graph [ {text}")
    refused(tmp_path / "x.gml", r"^x\.gml: not a GML file that can be read .{1,330}$")


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="there is no /proc")
@pytest.mark.parametrize("ending", ["csv", "txt", "off", "graphml", "npy", "csv.gz"])
def test_errors_of_reading_name_the_file(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    path.symlink_to("/proc/self/mem")  # which opens, but has nothing at its begin
    with pytest.raises((ao.InputError, OSError), match=rf"x\.{ending}"):
        ao.read(path)


def test_files_that_claim_to_be_empty_are_read_to_the_limit_only(tmp_path):
    (tmp_path / "endless.csv").symlink_to("/proc/self/maps")
    refused(tmp_path / "endless.csv", "the file takes", max_bytes=100)


def test_an_archive_that_unpacks_to_more_than_the_limit(tmp_path):
    header = io.BytesIO()
    shape = (4000, 4000)
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("cost.npy", "w") as member:
        member.write(header.getvalue())
        member.write(bytes(8 * 4000 * 4000))
    assert path.stat().st_size < 200_000
    refused(path, r"its content takes 0\.128 GB, but no more than 0\.1 GB", n_points=10, max_bytes="100MB")


def test_what_is_not_read_of_an_archive_does_not_count(tmp_path):
    np.savez(tmp_path / "x.npz", cost=COST, other=np.zeros(1000))
    assert ao.read(tmp_path / "x.npz", max_bytes=400).n == 3
    refused(tmp_path / "x.npz", "its content takes", max_bytes=100)


def test_entries_of_no_size_are_counted_too(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<U0", "fortran_order": False, "shape": (10**10,)})
    np.savez(tmp_path / "x.npz", cost=COST)
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("labels.npy", header.getvalue())
    refused(tmp_path / "x.npz", "the header of labels.npy promises 10000000000 entries")


def test_shapes_of_labels_are_checked_before_they_are_listed(tmp_path):
    np.savez(tmp_path / "x.npz", cost=COST, labels=np.zeros((3, 3)))
    refused(tmp_path / "x.npz", r"labels has shape \(3, 3\), but one value per point is needed")


def test_the_materials_of_a_mesh_are_not_opened(tmp_path, patience):
    os.mkfifo(tmp_path / "pipe.mtl")
    (tmp_path / "x.obj").write_text(f"mtllib pipe.mtl\nusemtl red\n{OBJ}")
    assert ao.read(tmp_path / "x.obj", geodesic="edge").n == 3
