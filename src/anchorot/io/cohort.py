"""Cohorts: one space for every sample of a table of points, such as tissue sections, organoids or patients."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from anchorot._typing import Disconnected, Float64s, Int64s, RngLike
from anchorot._validate import check_bytes, check_rng, equals_itself
from anchorot.exceptions import InputError
from anchorot.io.attributes import Columns, attributes_of, check_length, column_names, numbers_of
from anchorot.io.cells import columns_of_cells, columns_of_frame, h5ad_arrays, stored_columns
from anchorot.io.matrices import SEPARATORS, named_columns
from anchorot.io.names import ending_of
from anchorot.io.points import cloud_space
from anchorot.io.safe_open import MAX_BYTES, about
from anchorot.space import Space


@dataclass(frozen=True, eq=False)
class Cohort(Sequence[Space]):
    """Spaces of samples, a sequence that every function of many spaces takes, with what is known of the samples.

    Attributes
    ----------
    spaces : tuple of Space
    samples : tuple
        What the samples are called.
    metadata : dict of str to list
        Every column that has one value in each sample, such as the condition of a patient: a value for each sample,
        None where it is missing. ``pandas.DataFrame(cohort.metadata, index=cohort.samples)`` is a data frame of it.
    subjects : tuple, optional
        Whose each sample is, such as the patient's: tests of groups permute subjects.
    """

    spaces: tuple[Space, ...]
    samples: tuple[Hashable, ...]
    metadata: dict[str, list[Any]]
    subjects: tuple[Hashable, ...] | None = None

    def __len__(self) -> int:
        return len(self.spaces)

    @overload
    def __getitem__(self, index: int) -> Space: ...
    @overload
    def __getitem__(self, index: slice) -> Cohort: ...
    def __getitem__(self, index: int | slice) -> Space | Cohort:
        if not isinstance(index, slice):
            return self.spaces[index]
        metadata = {name: values[index] for name, values in self.metadata.items()}
        subjects = None if self.subjects is None else self.subjects[index]
        return Cohort(self.spaces[index], self.samples[index], metadata, subjects)

    def __repr__(self) -> str:
        sizes = [space.n for space in self.spaces]
        points = f"{min(sizes)} to {max(sizes)} points" if sizes else "no points"
        known = f"; {', '.join(self.metadata)}" if self.metadata else ""
        owners = "" if self.subjects is None else f" from {len(set(self.subjects))} subjects"
        return f"Cohort({len(self)} samples{owners} of {points}{known})"


def from_cohort(
    data: Any,
    *,
    sample: str,
    points: str | Sequence[str],
    types: str | None = None,
    features: str | Sequence[str] | None = None,
    subject: str | None = None,
    n_points: int | None = None,
    metric: str = "euclidean",
    n_neighbors: int | None = None,
    disconnected: Disconnected = "error",
    rng: RngLike = None,
    max_bytes: int | str = MAX_BYTES,
) -> Cohort:
    """Make one space for every sample of a table of points.

    Parameters
    ----------
    data : anndata.AnnData, data frame, mapping of arrays, or path
        One row per point (a cell, a spot), with a column that says which sample it is in. Files: .h5ad, and .csv or
        .tsv with a header.
    sample : str
        The column that names the sample of every point. Samples stand in the order in which they first appear.
    points : str or list of str
        Where the points are: columns of coordinates, or of an AnnData object an array of obsm, such as ``"spatial"``.
    types : str, optional
        The column that says what kind of point each is, such as its cell type.
    features : str or list of str, optional
        Columns of numbers, or arrays of obsm, that each point has besides its position.
    subject : str, optional
        The column that says whose the sample is: the patient of an image, the animal of a section. Samples of one
        subject are not independent; :func:`group_test`, :func:`scale_test` and :func:`energy_test` permute subjects.
    n_points : int, optional
        Keep at most this many points of each sample, drawn uniformly.
    metric : str
        Distance between points, see :func:`from_points`.
    n_neighbors : int, optional
        If given, costs are shortest paths on the graph of this many nearest neighbours, see :func:`from_neighbors`.
    disconnected : {"error", "largest"} or float
        What to do with a sample whose graph of neighbours is in several parts.
    rng : None, int or numpy.random.Generator
        Source of randomness for the draws; each sample has its own child of it.
    max_bytes : int or str
        Files: refuse to read more than this.

    Returns
    -------
    Cohort
        A sequence of spaces, with ``.samples`` (names), ``.metadata`` (columns that are constant in each sample) and
        ``.subjects``.

    Raises
    ------
    InputError
        If a column is not there, a point has no sample, position or type, or a sample has no points.

    Examples
    --------
    >>> import anchorot as ao
    >>> table = {"slide": ["a", "a", "b", "b"], "dose": [0, 0, 5, 5], "x": [0, 1, 0, 3], "cell": ["T", "B", "T", "T"]}
    >>> cohort = ao.from_cohort(table, sample="slide", points="x", types="cell")
    >>> cohort
    Cohort(2 samples of 2 to 2 points; dose)
    >>> cohort.metadata["dose"], cohort[1].cost.tolist(), cohort[0].types
    ([0, 5], [[0.0, 3.0], [3.0, 0.0]], ('T', 'B'))
    """
    making = _Making(n_points, metric, n_neighbors, disconnected, check_rng(rng))
    asked = _asked(sample, points, types, features, subject)
    if not isinstance(data, str | os.PathLike):
        return _cohort(_rows_of(data, sample), asked, making)
    with about(Path(data)):
        return _cohort(_rows_of_file(Path(data), asked, check_bytes(max_bytes, "max_bytes")), asked, making)


class _Asked(NamedTuple):
    """Names of the columns that are asked for."""

    sample: str
    points: tuple[str, ...]
    types: str | None
    features: tuple[str, ...]
    subject: str | None

    @property
    def of_points(self) -> list[str]:
        """Every name once of what points have."""
        return list(dict.fromkeys((self.sample, *self.points, *column_names(self.types), *self.features)))

    @property
    def all(self) -> list[str]:
        """Every name once."""
        return list(dict.fromkeys((*self.of_points, *column_names(self.subject))))


def _asked(sample: str, points: Any, types: Any, features: Any, subject: Any) -> _Asked:
    for what, given in (("points", points), ("features", features)):
        if not column_names(given) and (given is not None or what == "points"):
            raise InputError(
                f"{what} must be names of columns, or of an array of obsm, but got a {type(given).__name__}"
            )
    for what, given in (("sample", sample), ("types", types), ("subject", subject)):
        if not isinstance(given, str) and (given is not None or what == "sample"):
            raise InputError(f"{what} must be the name of a column, but got a {type(given).__name__}")
    return _Asked(sample, column_names(points), types, column_names(features), subject)


class _Rows(NamedTuple):
    """A table of points."""

    names: Sequence[Any]  # what each row is called
    columns: Columns
    described: list[str]  # columns that may say something of a sample
    declared: Sequence[Hashable]  # samples that there should be


class _Making(NamedTuple):
    """How spaces are made."""

    n_points: int | None
    metric: str
    n_neighbors: int | None
    disconnected: Disconnected
    rng: np.random.Generator

    def space(self, x: Float64s, attributes: dict[str, Any], names: list[Any], rng: np.random.Generator) -> Space:
        """Make the space of a sample's points."""
        options: dict[str, Any] = {**attributes, "labels": names, "n_points": self.n_points, "rng": rng}
        found = cloud_space(x, self.metric, self.n_neighbors, self.disconnected, **options)
        if isinstance(found, list):
            raise InputError(
                "disconnected='split' is not possible, since a sample is one space; use 'largest' or a number"
            )
        return found


def _rows_of(data: Any, sample: str) -> _Rows:
    if hasattr(data, "obs") and hasattr(data, "obsm"):
        frame, columns = data.obs, columns_of_cells(data)
        names: Sequence[Any] = [str(name) for name in data.obs_names]
    else:
        frame, columns = data, columns_of_frame(data)
        names = list(data.index) if hasattr(data, "iloc") else range(len(columns[sample]))
    described = [name for name in columns if name in frame]
    kind = getattr(frame[sample], "dtype", None) if sample in described else None
    declared = getattr(kind, "categories", None)  # of a categorical column of pandas
    return _Rows(names, columns, described, list(declared) if hasattr(frame, "iloc") and declared is not None else ())


def _rows_of_file(file: Path, asked: _Asked, limit: int) -> _Rows:
    if ending_of(file) in SEPARATORS:
        columns = named_columns(file, limit)
        return _Rows(range(len(columns[asked.sample])), columns, list(columns), ())
    if ending_of(file) != ".h5ad":
        raise InputError("cohorts are read from .h5ad, .csv and .tsv files")
    found = h5ad_arrays("h5ad_table", file, limit, wanted=json.dumps(asked.all))
    columns = stored_columns(found)
    declared = found["categories0"].tolist() if "categories0" in found else ()  # the sample is asked for first
    return _Rows(found["names"].tolist(), columns, list(columns), declared)


def _cohort(rows: _Rows, asked: _Asked, making: _Making) -> Cohort:
    codes, samples = _samples(rows, asked.sample)
    x = _positions(rows, asked.points)
    attributes = attributes_of(asked.types, asked.features or None, rows.names, rows.columns, "the table")
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    children = making.rng.spawn(len(samples))
    spaces = []
    for name, own, child in zip(samples, members, children, strict=True):
        try:
            spaces.append(making.space(x[own], attributes.of(own), [rows.names[i] for i in own], child))
        except InputError as error:
            raise InputError(f"the sample {name!r}: {error}") from None
    others = [name for name in rows.described if name not in asked.of_points]
    metadata = _metadata(rows.columns, others, codes, members)
    return Cohort(tuple(spaces), tuple(samples), metadata, _subjects(rows, asked, metadata, samples))


def _subjects(
    rows: _Rows, asked: _Asked, metadata: dict[str, list[Any]], samples: list[Hashable]
) -> tuple[Hashable, ...] | None:
    """Return whose each sample is; refuse samples of several subjects, or of nobody."""
    if asked.subject is None:
        return None
    if asked.subject == asked.sample:
        return tuple(samples)
    rows.columns[asked.subject]  # refused if it is not there
    if asked.subject not in metadata:
        raise InputError(f"{asked.subject!r} has several values in one sample, but a sample is of one subject")
    subjects = metadata[asked.subject]
    if None in subjects:
        raise InputError(f"the sample {samples[subjects.index(None)]!r} has no value of {asked.subject!r}")
    return tuple(subjects)


def _samples(rows: _Rows, sample: str) -> tuple[Int64s, list[Hashable]]:
    """Number the samples as they first appear; return the number of each row's, and their names."""
    values = _listed(rows.columns.ids(sample))
    check_length(values, sample, len(rows.names))
    number: dict[Hashable, int] = {}
    codes = np.empty(len(values), np.int64)
    for place, (name, value) in enumerate(zip(rows.names, values, strict=True)):
        if value is None or not equals_itself(value):
            raise InputError(f"{sample!r} has no value at {name!r}; every point needs a sample")
        if not isinstance(value, Hashable):
            raise InputError(f"{sample!r} is a {type(value).__name__} at {name!r}, but a sample has a name or a number")
        codes[place] = number.setdefault(value, len(number))
    lost = [value for value in rows.declared if value not in number]
    if lost or not number:
        which = f"the sample {lost[0]!r} has" if lost else "the samples have"
        raise InputError(f"{which} no points; leave it out of the categories of {sample!r} if none are expected")
    return codes, list(number)


def _positions(rows: _Rows, points: tuple[str, ...]) -> Float64s:
    x: Float64s = np.column_stack([numbers_of(rows.columns, name, rows.names) for name in points])
    bad = ~np.isfinite(x).all(axis=1)
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"the position of {rows.names[first]!r} is {x[first].tolist()}, but finite numbers are needed; "
            f"leave such points out ({int(bad.sum())} of {len(x)})"
        )
    return x


def _metadata(columns: Columns, names: list[str], codes: Int64s, members: list[Int64s]) -> dict[str, list[Any]]:
    """Return the columns that have one value in each sample; two missing values are the same."""
    first = np.array([own[0] for own in members])
    found = {}
    for name in names:
        values = columns[name]
        check_length(values, name, len(codes))
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            values = np.fromiter(_listed(values), dtype=object, count=len(codes))
        own, shared = values[first], values[first][codes]
        with contextlib.suppress(ValueError):  # of arrays in a cell nobody can say whether they are equal
            if ((values == shared) | ((values != values) & (shared != shared))).all():
                found[name] = [None if value != value else value for value in own.tolist()]
    return found


def _listed(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
