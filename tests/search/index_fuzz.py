"""Mutate index files part by part, with valid checksums: they are refused, or give correct results.

    python -m tests.search.index_fuzz --cases 1000        as many of every mutation
    python -m tests.search.index_fuzz row --only 12       one case again

Every case follows from its mutation and its number alone. Run it in its own process: it is there to crash.
"""

import argparse
import json
import random
import shutil
import sqlite3
import tempfile
import zlib
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

import anchorot as ao
from anchorot._kernels.records import Events
from tests.search.expected import pairs

ENTRY = np.dtype("<i8, <i8, <u4, <u4, <u4, <f8")
ENTRY.names = ("id", "length", "anchors", "item_bytes", "checksum", "radius")


def sound_index(file):
    """Make an index of three small spaces, of which the first is weighted, and return another space."""
    rng = np.random.default_rng(0)
    weighted, *uniform, other = (ao.from_points(rng.normal(size=(n, 2))) for n in (5, 4, 6, 5))
    spaces = [ao.Space(weighted.cost, rng.dirichlet(np.ones(5))), *uniform]
    ao.SearchIndex.build(spaces, list("abc"), grid=(2, 2), path=file)
    return other


@dataclass
class Parts:
    """An index file taken apart; written again, all checksums fit."""

    about: dict
    directions: bytes
    entries: np.ndarray
    names: list
    vectors: np.ndarray
    features: list

    @classmethod
    def of(cls, file):
        with closing(sqlite3.connect(file)) as connection:
            (about,), (directions,) = connection.execute("SELECT data FROM about ORDER BY part").fetchall()
            rows = connection.execute("SELECT entry, name, vector FROM spaces ORDER BY id").fetchall()
            features = [bytearray(data) for (data,) in connection.execute("SELECT data FROM features ORDER BY id")]
        entries, names, vectors = zip(*rows, strict=True)
        return cls(
            json.loads(about),
            directions,
            np.frombuffer(b"".join(entries), ENTRY).copy(),
            list(names),
            np.array([np.frombuffer(vector, np.float32) for vector in vectors]),
            features,
        )

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

    def write(self, file, rows=None, **header):
        """Put all of it into an index file, with other rows of spaces, or other words in the header, if given."""
        for k, data in enumerate(self.features):
            self.entries["checksum"][k] = zlib.crc32(data)
        spaces = [
            [k, self.entries[k].tobytes(), self.names[k], self.vectors[k].tobytes(), None]
            for k in range(len(self.names))
        ]
        for row in spaces:
            row[4] = zlib.crc32(row[1] + row[3] + (row[2] or b""))
        spaces = spaces if rows is None else rows(spaces)
        sums = {"count": len(spaces), "total": sum(row[4] for row in spaces if isinstance(row[4], int))}
        about = json.dumps(self.about | sums | header).encode()
        with closing(sqlite3.connect(file)) as connection, connection:
            for table in ("about", "spaces", "features"):
                connection.execute(f"DELETE FROM {table}")
            connection.executemany("INSERT INTO spaces VALUES (?, ?, ?, ?, ?)", spaces)
            connection.executemany("INSERT INTO features VALUES (?, ?)", enumerate(map(bytes, self.features)))
            parts = [(0, about, digest(about)), (1, self.directions, digest(self.directions))]
            connection.executemany("INSERT INTO about VALUES (?, ?, ?)", parts)


def digest(data):
    return blake2b(data, digest_size=16).digest()


NASTY = (0, 1, -1, 7, 8, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, -(1 << 63))
NASTY_FLOATS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 2.0, 1e308, -1e308, 1e-320)
NASTY_JSON = (None, True, "", "x", -1, 0, 1, 1 << 40, 1 << 70, 0.5, float("nan"), 1e300, [], [1], [2, 2, 2], {}, ["a"])
NASTY_VALUES = (None, "", "x", b"", b"\0", 0, -1, 0.5, b"x" * 100, "y" * 44, (1 << 63) - 1)
WEIGHTED, UNIFORM = 0, 1  # which spaces of the file


def put(array, value, rng):
    """Put a value somewhere in an array; integers wrap around as they must to fit."""
    if array.dtype.kind in "iu":
        value = np.array(value).astype(array.dtype) if -(1 << 63) <= value < 1 << 63 else value % (1 << 32)
    with np.errstate(over="ignore"):
        array.reshape(-1)[rng.randrange(array.size)] = value


def shuffle(array, rng):
    array[:] = array[rng.sample(range(len(array)), len(array))]


def random_bytes(data, rng):
    for _ in range(rng.choice((1, 1, 2, 8))):
        data[rng.randrange(len(data))] = rng.randrange(256)


def entry(parts, rng):
    field = rng.choice(ENTRY.names)
    near = (*NASTY, *(int(parts.entries[field][0]) + d for d in (-8, -1, 1, 8)))
    put(parts.entries[field], rng.choice(NASTY_FLOATS if field == "radius" else near), rng)


def header(parts, rng):
    key = rng.choice((*parts.about, "count", "total"))
    values = (*NASTY_JSON, [rng.choice(NASTY_JSON), 2], [rng.choice(NASTY), rng.choice(NASTY)])
    return {key: rng.choice(values)}


def names(parts, rng):
    parts.names[rng.randrange(3)] = rng.choice((None, b"\xff", b"\xed\xb0\x80", b"", b"a" * 1000, b"\0"))


def of_events(which, values):
    return lambda parts, rng: put(parts.events(WEIGHTED)[which], rng.choice(values), rng)


def copied_entry(parts, rng):
    parts.entries[rng.randrange(3)] = parts.entries[rng.randrange(3)]


def other_length(parts, rng):
    k = rng.randrange(3)
    parts.features[k] = parts.features[k][: rng.randrange(len(parts.features[k]))]
    if rng.random() < 0.7:
        parts.entries["length"] = [len(data) for data in parts.features]


def value(parts, rng):
    """Put something of another kind into a row: SQLite's columns take anything."""
    k, column, other = rng.randrange(3), rng.randrange(1, 5), rng.choice(NASTY_VALUES)

    def rows(spaces):
        spaces[k][column] = other
        return spaces

    return {"rows": rows}


def fewer_or_more_rows(parts, rng):
    """Leave rows out, or add some, and count them or not."""
    k, is_counted, is_more = rng.randrange(3), rng.random() < 0.5, rng.random() < 0.5

    def rows(spaces):
        return [*spaces, [3 + k, *spaces[k][1:]]] if is_more else spaces[:k] + spaces[k + 1 :]

    return {"rows": rows} | ({} if is_counted else {"count": 3})


MUTATIONS = {
    "entry": entry,
    "header": header,
    "names": names,
    "value": value,
    "fewer or more rows": fewer_or_more_rows,
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
    "bytes of vectors": lambda parts, rng: random_bytes(parts.vectors.reshape(-1).view(np.uint8), rng),
    "bytes of entries": lambda parts, rng: random_bytes(parts.entries.view(np.uint8), rng),
    "vector": lambda parts, rng: put(parts.vectors, rng.choice(NASTY_FLOATS), rng),
}


def bytes_of_the_file(data, rng):
    """Change bytes of the file itself, most of them in pages that hold something."""
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        page = rng.choice([0, 0, *range(len(data) // 8192)])
        data[8192 * page + rng.randrange(rng.choice((16, 120, 1000, 8192)))] = rng.choice((0, 255, rng.randrange(256)))


def cut(data, rng):
    del data[rng.choice((rng.randrange(len(data)), 8192 * rng.randrange(len(data) // 8192))) :]


def moved_pages(data, rng):
    one, other = (8192 * rng.randrange(len(data) // 8192) for _ in range(2))
    data[one : one + 8192], data[other : other + 8192] = data[other : other + 8192], data[one : one + 8192]


RAW_MUTATIONS = {"bytes of the file": bytes_of_the_file, "cut": cut, "moved pages": moved_pages}


def features_of(parts, k, robust):
    """What an accepted file holds of a space, read without the package's own reader."""
    if parts.entries["item_bytes"][k]:
        levels = parts.levels(k).reshape(-1, parts.entries["anchors"][k])
        return ao.AnchorFeatures(levels=levels, robust=robust)
    position, jump, mass, row = parts.events(k)
    return ao.AnchorFeatures(events=Events(position, row, jump, mass), robust=robust)


def energies_of(parts, x, robust):
    held = [features_of(parts, k, robust) for k in range(len(parts.entries))]
    return [ao.AnchorFeatures.of(x, robust=robust).energy_to(features) for features in held]


def used_in_every_way(file, x):
    """Ask, copy and change an index; None if it is refused, in one line."""
    try:
        index = ao.SearchIndex.load(file)
        robust, everything, nearest = index.robust, index.query(x, k=len(index)), index.query(x, k=1)
        index.save(file.with_name("copy"))
        index.add([x], None if nearest.names is None else ["x"])
        index.remove(index.ids[:1])
        index.query(x, k=1)
        index.compact()
    except ao.InputError as error:
        line = str(error)
    else:
        return robust, pairs(everything), pairs(nearest)
    assert line.startswith(f"{file.name}: ") or "k=" in line or "k must be" in line, line
    assert "\n" not in line, line
    return None


def is_refused(file, parts, x):
    """Whether a file is refused; if not, its results must be those of brute force over the features in it."""
    with closing(sqlite3.connect(file)) as connection:
        ids = [i for (i,) in connection.execute("SELECT id FROM spaces")]
    found = used_in_every_way(file, x)
    if found is None:
        return True
    robust, everything, nearest = found
    energies = energies_of(parts, x, robust)
    right = sorted((energies[i], i) for i in ids)
    assert everything == right
    assert nearest[0] in right
    return False


def run(which, numbers, file):
    """Try mutations; print how many files were refused, and how many not."""
    x = sound_index(file)
    sound = file.with_name("sound")
    shutil.copy(file, sound)
    before, refused = Parts.of(sound), 0
    everything = sorted(zip(energies_of(before, x, False), range(3), strict=True))
    for number in numbers:
        print(f"{which} --only {number}", flush=True)  # the last line, if the process ends here
        rng = random.Random(f"{which} {number}")
        if which in RAW_MUTATIONS:
            data = bytearray(sound.read_bytes())
            RAW_MUTATIONS[which](data, rng)
            file.write_bytes(data)
            found = used_in_every_way(file, x)
            assert found is None or found == (False, everything, everything[:1]), found
            refused += found is None
        else:
            shutil.copy(sound, file)
            parts = Parts.of(sound)
            parts.write(file, **(MUTATIONS[which](parts, rng) or {}))
            refused += is_refused(file, parts, x)
        for path in (file, file.with_name("copy")):
            Path(f"{path}-journal").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
    print(f"{which}: {refused} of {len(numbers)} refused")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mutations", nargs="*", default=[*MUTATIONS, *RAW_MUTATIONS])
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    numbers = range(options.cases) if options.only is None else [options.only]
    memory = Path("/dev/shm")  # where nobody waits for disks
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for which in options.mutations:
            run(which, numbers, Path(folder) / "index")
