"""Matrices from text, .npy and .npz files."""

import zipfile

import numpy as np
import pytest

import anchorot as ao
import anchorot.io.points

COST = np.array([[0.0, 1.5, 2.0], [1.5, 0.0, 1.0], [2.0, 1.0, 0.0]])


LINES = "0 1.5 2\n1.5 0 1\n2 1 0\n"


def saved(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", LINES),
        ("x.txt", "3\n" + LINES),
        ("x.csv", LINES.replace(" ", ",")),
        ("X.CSV", LINES.replace(" ", " , ")),
    ],
)
def test_matrices_as_text(tmp_path, name, text):
    np.testing.assert_array_equal(ao.read(saved(tmp_path / name, text)).cost, COST)


def test_the_authors_format_with_weights(tmp_path):
    x = ao.read(saved(tmp_path / "x.txt", f"3\n{LINES}0.5 0.25 0.25\n"))
    assert x.weights.tolist() == [0.5, 0.25, 0.25]


def test_npy(tmp_path):
    np.save(tmp_path / "x.npy", COST)
    np.testing.assert_array_equal(ao.read(tmp_path / "x.npy").cost, COST)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.txt", "", "x.txt: the file is empty"),
        ("x.txt", "3\n0 1\n", "the first line promises 3 lines of 3 costs"),
        ("x.txt", "2\n0 1 2\n1 0 2\n", "promises a 2 x 2 matrix, but the lines hold 2 x 3"),
        ("x.txt", "99999999999\n0\n", "the first line promises 99999999999 lines"),
        ("x.csv", "1,2\na,b\n", "x.csv: line 2 of numbers: could not convert string to float: .*a"),
        ("x.csv", "1,2\n1\n", "line 2 of numbers has 1 of them, but line 1 has 2"),
        (
            "x.csv",
            "1,2,3\n4,5,6\n",
            "a cost matrix is square, but this one is 2 x 3; if its rows are points, use kind='points'",
        ),
        ("x.csv", "0,nan\n1,0\n", r"x.csv: cost must be finite, but 1 entries are not"),
        ("x.npz", "not a zip", "x.npz: not an .npz archive of plain numbers"),
        ("x.npy", "not an array", "x.npy: not a .npy array of plain numbers"),
        (
            "x.docx",
            "",
            "unknown ending '.docx'; known endings: .cif, .csv, .edgelist, .edges, .gexf, .gml, .gr",
        ),
    ],
)
def test_bad_files_get_one_clear_line(tmp_path, name, text, message):
    with pytest.raises(ao.InputError, match=message) as caught:
        ao.read(saved(tmp_path / name, text))
    assert "\n" not in str(caught.value)


def test_binary_data_as_text(tmp_path):
    (tmp_path / "x.csv").write_bytes(bytes(range(256)))
    with pytest.raises(ao.InputError, match="not a text file"):
        ao.read(tmp_path / "x.csv")


def test_pickles_are_never_opened(tmp_path):
    np.savez(tmp_path / "x.npz", cost=np.array([[None]], dtype=object))
    np.save(tmp_path / "x.npy", np.array([[None]], dtype=object))
    for name in ("x.npz", "x.npy"):
        with pytest.raises(ao.InputError, match=name):
            ao.read(tmp_path / name)


def test_an_archive_without_a_space(tmp_path):
    np.savez(tmp_path / "x.npz", other=COST)
    with pytest.raises(ao.InputError, match=r"needs one of: 'cost'; 'points'; 'V' and 'F'\. This one holds other"):
        ao.read(tmp_path / "x.npz")


def test_names_of_arrays_are_printed_in_one_line(tmp_path):
    np.savez(tmp_path / "x.npz", **{"a\nb": COST})
    with pytest.raises(ao.InputError, match=r"This one holds a b$"):
        ao.read(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("arrays", "n"), [({"cost": COST, "V": COST}, 3), ({"points": COST[:2], "F": COST, "other": COST}, 2)]
)
def test_arrays_of_other_names_are_ignored(tmp_path, arrays, n):
    np.savez(tmp_path / "x.npz", **arrays)
    assert ao.read(tmp_path / "x.npz").n == n


def test_a_header_that_promises_gigabytes(tmp_path):
    np.save(tmp_path / "x.npy", COST)
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(data.replace(b"(3, 3), ", b"(90000, 90000), ", 1)[: len(data)])
    with pytest.raises(
        ao.InputError,
        match=r"x\.npy: the header of the array promises 8100000000 entries, 64800000\d+ bytes, but it has 200",
    ):
        ao.read(tmp_path / "x.npy")


def test_a_header_in_an_archive_that_promises_gigabytes(tmp_path):
    np.save(tmp_path / "cost.npy", np.zeros((2, 2)))
    data = (tmp_path / "cost.npy").read_bytes().replace(b"(2, 2), ", b"(90000, 90000), ", 1)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("cost.npy", data)
    with pytest.raises(
        ao.InputError, match=r"x\.npz: the header of cost\.npy promises 8100000000 entries, 64800000\d+ bytes, but"
    ):
        ao.read(tmp_path / "x.npz")


def test_an_archive_that_promises_gigabytes_in_two_arrays(tmp_path):
    claimed = 2_200_000_128
    np.save(tmp_path / "cost.npy", np.zeros(0))
    shape = f"({(claimed - 128) // 8},), ".encode()
    data = (tmp_path / "cost.npy").read_bytes()
    data = data.replace(b"(0,), ", shape, 1)[:127] + b"\n"
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("cost.npy", data)
    content = bytearray((tmp_path / "x.npz").read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = claimed.to_bytes(4, "little")
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ao.InputError, match=r"x\.npz: its content takes 2\.2 GB, but no more than 2\.15 GB"):
        ao.read(tmp_path / "x.npz")
