"""Mutate index files part by part, with checksums that fit: they are refused, or answer by what they hold.

    python tests/index_fuzz.py --cases 1000        as many of every mutation
    python tests/index_fuzz.py row --only 12       one case again

Every case follows from its mutation and its number alone. Run it in a process of its own: it is there to crash.
"""

import argparse
import json
import random
import struct
import tempfile
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

import anchorot as ao
from anchorot._kernels.records import Events

from test_search import pairs

ENTRY = np.dtype("<i8, <i8, <i8, <u4, <u4, <u4, <f8")
ENTRY.names = ("id", "offset", "length", "anchors", "item_bytes", "crc", "radius")


def sound_index(file):
    """Save an index of three small spaces, of which the first is weighted, and return another space."""
    rng = np.random.default_rng(0)
    weighted, *uniform, other = (ao.from_points(rng.normal(size=(n, 2))) for n in (5, 4, 6, 5))
    spaces = [ao.Space(weighted.cost, rng.dirichlet(np.ones(5))), *uniform]
    ao.SearchIndex.build(spaces, list("abc"), grid=(2, 2)).save(file)
    return other


@dataclass
class Parts:
    """An index file taken apart; put together again, all checksums fit."""

    about: dict
    entries: np.ndarray
    vectors: np.ndarray
    names: bytes
    features: list

    @classmethod
    def of(cls, data):
        length = struct.unpack_from("<I", data, 12)[0]
        about, end, found = json.loads(data[32 : 32 + length]), 32 + length, {}
        for name, size in about["lengths"].items():
            start = -(-end // 4096) * 4096
            end = start + size
            found[name] = data[start:end]
        entries = np.frombuffer(found["entries"], ENTRY).copy()
        features = [
            bytearray(found["features"][at : at + n])
            for at, n in zip(entries["offset"], entries["length"], strict=True)
        ]
        return cls(about, entries, np.frombuffer(found["vectors"], np.float32).copy(), found["names"], features)

    def events(self, k):
        """Positions, jumps, masses and rows of a weighted space, to be changed where they are."""
        data, anchors = self.features[k], int(self.entries["anchors"][k])
        count = (len(data) - 8 * anchors) // 20
        places = (("<f8", count, 0), ("<i8", count, 8 * count), ("<f8", anchors, 16 * count))
        return *(np.frombuffer(data, *place) for place in places), np.frombuffer(
            data, "<u4", count, len(data) - 4 * count
        )

    def levels(self, k):
        """Costs of a uniform space, to be changed where they are."""
        return np.frombuffer(self.features[k], f"<f{self.entries['item_bytes'][k]}")

    def together(self, **header):
        for k, data in enumerate(self.features):
            self.entries["crc"][k] = zlib.crc32(data)
        features = b"".join(bytes(data) + bytes(-len(data) % 8) for data in self.features)
        parts = {"entries": self.entries.tobytes(), "vectors": self.vectors.tobytes(), "names": self.names}
        about = self.about | {
            "lengths": {name: len(part) for name, part in parts.items()} | {"features": len(features)},
            "checksums": {name: digest(part).hex() for name, part in parts.items()},
        }
        text = json.dumps(about | header).encode()
        out = struct.pack("<8sII16s", b"anchorot", 1, len(text), digest(text)) + text
        for part in (*parts.values(), features):
            out += bytes(-len(out) % 4096) + part
        return out


def digest(data):
    return blake2b(data, digest_size=16).digest()


NASTY = (0, 1, -1, 7, 8, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, -(1 << 63))
NASTY_FLOATS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 2.0, 1e308, -1e308, 1e-320)
NASTY_JSON = (None, True, "", "x", -1, 0, 1, 1 << 40, 1 << 70, 0.5, float("nan"), 1e300, [], [1], [2, 2, 2], {}, ["a"])
WEIGHTED, UNIFORM = 0, 1  # which spaces of the file


def put(array, value, rng):
    """Put a value somewhere in an array; integers wrap around as they must to fit."""
    if array.dtype.kind in "iu":
        value = np.array(value).astype(array.dtype) if -(1 << 63) <= value < 1 << 63 else value % (1 << 32)
    with np.errstate(over="ignore"):
        array[rng.randrange(len(array))] = value


def shuffle(array, rng):
    array[:] = array[rng.sample(range(len(array)), len(array))]


def random_bytes(data, rng):
    for _ in range(rng.choice((1, 1, 2, 8))):
        data[rng.randrange(len(data))] = rng.randrange(256)


def entry(parts, rng):
    field = rng.choice(ENTRY.names)
    values = (
        NASTY_FLOATS if field == "radius" else (*NASTY, *(int(parts.entries[field][0]) + d for d in (-8, -1, 1, 8)))
    )
    put(parts.entries[field], rng.choice(values), rng)


def header(parts, rng):
    key = rng.choice(("shape", "low", "high", "robust", "next_id", "lengths", "checksums"))
    return {key: rng.choice((*NASTY_JSON, [rng.choice(NASTY_JSON), 2], [rng.choice(NASTY), rng.choice(NASTY)]))}


def length(parts, rng):
    sound = json.loads(parts.together()[32:].split(b"\0")[0])["lengths"]
    return {"lengths": sound | {rng.choice((*sound, "more")): rng.choice(NASTY_JSON + NASTY)}}


def names(parts, rng):
    some = (
        b"[" * 100_000,
        b"[" + b"9" * 5000 + b"]",
        b"\xff",
        b"",
        b'["a", "b"]',
        b'["a", "b", 3]',
        b"null",
        b'"abc"',
        b"{}",
    )
    parts.names = rng.choice(some)


def of_events(which, values):
    return lambda parts, rng: put(parts.events(WEIGHTED)[which], rng.choice(values), rng)


def copied_entry(parts, rng):
    parts.entries[rng.randrange(3)] = parts.entries[rng.randrange(3)]


def other_length(parts, rng):
    k = rng.randrange(3)
    parts.features[k] = parts.features[k][: rng.randrange(len(parts.features[k]))]
    if rng.random() < 0.7:
        parts.entries["length"] = [len(data) for data in parts.features]
        sizes = [len(data) + -len(data) % 8 for data in parts.features]
        parts.entries["offset"] = np.cumsum([0, *sizes])[:3]


MUTATIONS = {
    "entry": entry,
    "header": header,
    "length": length,
    "names": names,
    "copied entry": copied_entry,
    "other length": other_length,
    "position": of_events(0, NASTY_FLOATS),
    "jump": of_events(1, NASTY),
    "mass": of_events(2, NASTY_FLOATS),
    "row": of_events(3, (*NASTY, 5, 11, 12, 100)),
    "order of positions": lambda parts, rng: shuffle(parts.events(WEIGHTED)[0], rng),
    "order of jumps": lambda parts, rng: shuffle(parts.events(WEIGHTED)[1], rng),
    "order of rows": lambda parts, rng: shuffle(parts.events(WEIGHTED)[3], rng),
    "level": lambda parts, rng: put(parts.levels(UNIFORM), rng.choice(NASTY_FLOATS), rng),
    "order of levels": lambda parts, rng: shuffle(parts.levels(UNIFORM), rng),
    "bytes of features": lambda parts, rng: random_bytes(rng.choice(parts.features), rng),
    "bytes of vectors": lambda parts, rng: random_bytes(parts.vectors.view(np.uint8), rng),
    "bytes of entries": lambda parts, rng: random_bytes(parts.entries.view(np.uint8), rng),
    "vector": lambda parts, rng: put(parts.vectors, rng.choice(NASTY_FLOATS), rng),
}


def features_of(parts, k, robust):
    """What an accepted file holds of a space, read without the package's own reader."""
    if parts.entries["item_bytes"][k]:
        levels = parts.levels(k).reshape(-1, parts.entries["anchors"][k])
        return ao.AnchorFeatures(levels=levels, robust=robust)
    position, jump, mass, row = parts.events(k)
    return ao.AnchorFeatures(events=Events(position, row, jump, mass), robust=robust)


def refused_or_answered_by_what_it_holds(file, parts, x):
    """Whether a file is refused; if not, its answers must be those of brute force over the features in it."""
    try:
        index = ao.SearchIndex.load(file)
        everything, nearest = index.query(x, k=len(index)), index.query(x, k=1)
        index.save(file.with_name("copy"))
        index.add([x], None if nearest.names is None else ["x"])
        index.remove(index.ids[:1])
        index.query(x, k=1)
    except ao.InputError:
        return True
    held = [features_of(parts, k, index.robust) for k in range(len(parts.entries))]
    energies = [ao.AnchorFeatures.of(x, robust=index.robust).energy_to(features) for features in held]
    right = sorted(zip(energies, parts.entries["id"].tolist(), strict=True))
    assert pairs(everything) == right
    assert pairs(nearest)[0] in right
    return False


def run(which, numbers, file):
    """Try mutations; tell how many files were refused, and how many not."""
    x = sound_index(file)
    sound = file.read_bytes()
    assert Parts.of(sound).together() == sound
    refused = 0
    for number in numbers:
        print(f"{which} --only {number}", flush=True)  # the last line, if the process ends here
        parts, rng = Parts.of(sound), random.Random(f"{which} {number}")
        file.write_bytes(parts.together(**(MUTATIONS[which](parts, rng) or {})))
        refused += refused_or_answered_by_what_it_holds(file, parts, x)
    print(f"{which}: {refused} of {len(numbers)} refused")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mutations", nargs="*", default=list(MUTATIONS))
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    numbers = range(options.cases) if options.only is None else [options.only]
    with tempfile.TemporaryDirectory() as folder:
        for which in options.mutations:
            run(which, numbers, Path(folder) / "index")
