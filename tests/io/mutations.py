"""Ways to damage a file: random bytes, and changes that know its format."""

import gzip
import io
import zipfile

import numpy as np

MARK = b"\xef\xbb\xbf"
SUPERSCRIPT = "\N{SUPERSCRIPT TWO}".encode()
NASTY = (
    *(b"nan", b"inf", b"-inf", b"-1", b"0", b"-0", b"1e308", b"1e999", b"1e-320", b"99999999999", b"4294967295"),
    *(b"-2147483649", b"9223372036854775808", b"1" * 5000, b"1_0", b"0x10", SUPERSCRIPT, b"x", b"", b"\0", b'"'),
)
NUMBERS = (np.nan, np.inf, -np.inf, -1, 0, -0.0, 1e308, 5e-324, 2**31, 2**32, 2.0**53, 2.0**63, -(2.0**63), 0.5)
TYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "u8", "u1", "?", "c16", "U5", "S3", ">f8", ">i4", "f16", "M8[s]")
DIGITS = b"0123456789.-+e"


def mutate(ending, content, rng, folder):
    """Between one and four injuries; of the kinds that this format knows, or blind ones."""
    if ending.endswith(".gz"):
        return mutate_packed(ending.removesuffix(".gz"), content, rng, folder)
    structured = STRUCTURED.get(ending, (damage_text,))
    if rng.random() < 0.6:
        content = structured[int(rng.integers(len(structured)))](content, rng, folder)
    if rng.random() < 0.5:
        for _ in range(rng.integers(1, 5)):
            content = damage_bytes(content, rng)
    return content


def mutate_packed(ending, content, rng, folder):
    """Damage what is packed, how it is packed, or both."""
    injury = rng.integers(6)
    if injury < 3:
        content = gzip.compress(mutate(ending, gzip.decompress(content), rng, folder), mtime=0)
    if injury == 3:
        return content + pick((bytes(9), b"end", content, gzip.compress(bytes(1 << 24))), rng)
    return damage_bytes(content, rng) if injury > 1 else content


def damage_bytes(content, rng):
    content = bytearray(content)
    size = len(content)
    at = int(rng.integers(size)) if size and rng.random() < 0.6 else int(rng.integers(min(size, 400) + 1))
    injury = rng.integers(6)
    if injury == 0 and at < size:
        content[at] = int(rng.integers(256))
    elif injury == 1 and at < size:
        content[at] ^= 1 << int(rng.integers(8))
    elif injury == 2:
        del content[at : at + int(rng.integers(1, 40))]
    elif injury == 3:
        content[at:at] = content[at : at + int(rng.integers(1, 40))]
    elif injury == 4:
        replace_number(content, at, rng)
    elif rng.random() < 0.3:
        del content[at:]
    return bytes(content)


def replace_number(content, at, rng):
    end = at
    while at > 0 and content[at - 1] in DIGITS:
        at -= 1
    while end < len(content) and content[end] in DIGITS:
        end += 1
    content[at:end] = pick(NASTY, rng)


def pick(choices, rng):
    return choices[int(rng.integers(len(choices)))]


def damage_text(content, rng, folder):
    """Numbers replaced, repeated or swapped; lines lost, repeated or swapped; marks and line ends of other systems."""
    lines = content.split(b"\n")
    i, j = (int(k) for k in rng.integers(len(lines), size=2))
    if rng.random() < 0.3:
        i = min(i, int(rng.integers(4)))  # headers deserve more than their share
    words = lines[i].split(b" ")
    k = int(rng.integers(len(words)))
    injury = rng.integers(10)
    if injury == 0:
        words[k] = pick(NASTY, rng)
    elif injury == 1:
        words[k] = pick(lines[j].split(b" "), rng)  # an index that stands elsewhere, perhaps in the same face
    elif injury == 2:
        words[k : k + 1] = [words[k]] * int(rng.integers(2, 5))
    elif injury == 3:
        del words[k]
    lines[i] = b" ".join(words)
    if injury == 4:
        lines[i], lines[j] = lines[j], lines[i]
    elif injury == 5:
        lines[i:i] = lines[i:j] if i < j else [lines[i]] * int(rng.integers(1, 50))
    elif injury == 6:
        del lines[i : i + int(rng.integers(1, 5))]
    elif injury == 7:
        return MARK * int(rng.integers(1, 3)) + content
    elif injury == 8:
        return pick((b"\r\n", b"\r", b"\x0b", b"\n\n", "\N{LINE SEPARATOR}".encode()), rng).join(lines)
    elif injury == 9:
        return pick((content.decode("latin-1").encode("utf-16"), b"\n".join(lines[:i]), content + content), rng)
    return b"\n".join(lines)


def damage_array(array, rng):
    """Other numbers, indices twice or out of range, another type or shape."""
    array = np.array(array)
    flat = array.reshape(-1)
    injury = rng.integers(7)
    with np.errstate(all="ignore"):
        if injury <= 1 and flat.size and flat.dtype.kind in "biuf":
            some = rng.integers(flat.size, size=int(rng.integers(1, 4)))
            flat[some] = np.array(pick(NUMBERS, rng)).astype(flat.dtype)
        elif injury == 2 and flat.size:
            flat[rng.integers(flat.size, size=3)] = flat[int(rng.integers(flat.size))]
        elif injury == 3:
            array = array.astype(pick(TYPES, rng))
        elif injury == 4:
            array = pick((array.T, array[None], array.ravel(), array[..., :0], array[:0], np.zeros(())), rng)
        elif injury == 5:
            array = array[: int(rng.integers(len(array) + 1))] if array.ndim else array
        else:
            array = np.concatenate([array, array[: int(rng.integers(1, 4))]]) if array.ndim else array
    return array


def damage_npy(content, rng, folder):
    """Another array, or a header that lies about it."""
    if rng.random() < 0.5:
        return saved(damage_array(np.load(io.BytesIO(content)), rng))
    return lie(content, rng)


def saved(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def lie(content, rng):
    """Let the header of a .npy file tell of another array than follows."""
    shape = pick(((10**6, 10**6), (3,), (), (2**62, 4), (-1, 3), (0, 10**18), (12, 12, 1), (144, 1)), rng)
    described = {"descr": pick(("<f8", "|O", "<U0", "|V0", "<f4", ">i8", "<U9999"), rng), "shape": shape}
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {**described, "fortran_order": bool(rng.integers(2))})
    return out.getvalue() + content[128:]


def damage_npz(content, rng, folder):
    """Members damaged, lost, twice there, under each other's names, or declared with another size."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = int(rng.integers(len(members)))
    name, data = members[at]
    injury = rng.integers(6)
    if injury <= 1:
        members[at] = name, saved(damage_array(np.load(io.BytesIO(data)), rng))
    elif injury == 2:
        members[at] = name, lie(data, rng)
    elif injury == 3:
        members[at] = pick(("V", "F", "cost", "points", "weights", "types", "features", "labels"), rng) + ".npy", data
    elif injury == 4:
        members[at] = name, pick(members, rng)[1]
    else:
        del members[at]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", pick((0, 8, 12, 14), rng)) as archive:
        for name, data in dict(members).items():
            archive.writestr(name, data)
    packed = bytearray(out.getvalue())
    if rng.random() < 0.2 and b"PK\x01\x02" in packed:
        size = packed.index(b"PK\x01\x02") + 24
        packed[size : size + 4] = rng.bytes(4)
    return bytes(packed)


def damage_mat(content, rng, folder):
    """Fields damaged, lost, or of another kind; a struct of several, or none."""
    import scipy.io

    surface = scipy.io.loadmat(io.BytesIO(content))["surface"]
    fields = {name: surface[name].item() for name in surface.dtype.names}
    name = pick(list(fields), rng)
    odd = ("text", {"X": 1.0}, np.array([1, "a"], object), np.zeros((0, 0)), [[1, 2], [3]])
    injury = rng.integers(5)
    if injury <= 1:
        fields[name] = damage_array(fields[name], rng)
    elif injury == 2:
        fields[name] = pick(odd, rng)
    elif injury == 3:
        del fields[name]
    out = io.BytesIO()
    held = pick((np.array([fields, fields], object), fields["TRIV"], "text"), rng) if injury == 4 else fields
    try:
        scipy.io.savemat(out, {"surface": held, "other": 1.0}, do_compression=bool(rng.integers(2)))
    except (TypeError, ValueError):  # what MATLAB has no type for
        return content
    return out.getvalue()


def damage_h5ad(content, rng, folder):
    """Arrays damaged, shapes that lie, members lost, and links and storage that lead to another file."""
    import h5py

    path, other = folder / "damaged.hdf", folder / "other.hdf"
    path.write_bytes(content)
    other.write_bytes(content)
    with h5py.File(path, "r+") as handle:
        sparse = not isinstance(handle["X"], h5py.Dataset)
        inside = [f"X/{part}" for part in ("data", "indices", "indptr")] if sparse else ["X"]
        name = pick((*inside, "obs/_index", "obsm/X_pca", "X", "obsm", "obs"), rng)
        injury = rng.integers(6)
        if injury == 0 and sparse:
            handle["X"].attrs["shape"] = pick(((10, 10**12), (-1, 3), (3,), (2**62, 2), (1, 1), (30, 2)), rng)
        elif injury == 1:
            del handle[name]
        elif injury == 2:
            del handle[name]
            handle[name] = pick((h5py.ExternalLink(str(other), name), h5py.SoftLink("/nowhere")), rng)
        elif injury == 3 and name in inside:
            stored = [(str(other), 0, h5py.h5f.UNLIMITED)]
            del handle[name]
            handle.create_dataset(name, pick(((9,), (30, 3), (10**6, 10**6)), rng), "f4", external=stored)
        elif injury == 4 and name in inside:
            del handle[name]
            handle.create_dataset(name, (10**9, 10**3), "f4", chunks=(10, 10), compression="gzip")
        elif isinstance(handle[name], h5py.Dataset) and handle[name].dtype.kind in "iuf":
            array = damage_array(handle[name][...], rng)
            if array.dtype.kind in "biufcS" and array.dtype != np.dtype("f16"):
                del handle[name]
                handle[name] = array
    return path.read_bytes()


def damage_header(content, rng, folder):
    """A count of a binary file that lies: of triangles in an STL, of elements in a PLY."""
    if content[:3] == b"ply":
        head, end, rest = content.partition(b"end_header\n")
        return damage_text(head, rng, folder) + end + rest
    count = pick((0, 1, 2**16, 2**31, 2**32 - 1), rng)
    return content[:80] + count.to_bytes(4, "little") + content[84:]


STRUCTURED = {
    "npy": (damage_npy,),
    "npz": (damage_npz,),
    "mat": (damage_mat,),
    "h5ad": (damage_h5ad,),
    "ply": (damage_header, damage_text),
    "stl": (damage_header, damage_text),
}
