"""Cohorts: one space per sample of a table of points, such as tissue sections, organoids or patients."""

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
from anchorot.io.attributes import attributes_of, check_length, column_names, numbers_of
from anchorot.io.cells import columns_of_cells, columns_of_frame, h5ad_arrays, stored_columns
from anchorot.io.columns import Columns
from anchorot.io.matrices import SEPARATORS, named_columns
from anchorot.io.names import ending_of
from anchorot.io.points import cloud_space, field_area
from anchorot.io.safe_open import MAX_BYTES, about
from anchorot.space import Space


@dataclass(frozen=True, eq=False)
class Cohort(Sequence[Space]):
    """The spaces of samples, a sequence for all functions of many spaces, with metadata of the samples.

    Attributes
    ----------
    spaces : tuple of Space
    samples : tuple
        Names of the samples.
    metadata : dict of str to list
        Every column that is constant within each sample, such as the condition of a patient: a value per sample, None
        where missing. ``pandas.DataFrame(cohort.metadata, index=cohort.samples)`` makes a data frame of it.
    subjects : tuple, optional
        The subject of each sample, such as the patient: tests of groups permute subjects.
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
    area: str | None = None,
    n_points: int | None = None,
    metric: str = "euclidean",
    n_neighbors: int | None = None,
    disconnected: Disconnected = "error",
    rng: RngLike = None,
    max_bytes: int | str = MAX_BYTES,
) -> Cohort:
    """Make one space per sample of a table of points.

    Parameters
    ----------
    data : anndata.AnnData, data frame, mapping of arrays, or path
        One row per point (a cell, a spot), with a column that gives its sample. Files: .h5ad, and .csv or .tsv with a
        header.
    sample : str
        The column with the sample of every point. Samples are in order of first appearance.
    points : str or list of str
        The positions of points: columns of coordinates, or an array of an AnnData object's obsm, such as ``"spatial"``.
    types : str, optional
        The column with the type of each point, such as its cell type.
    features : str or list of str, optional
        Columns of numbers, or arrays of obsm, with features of the points.
    subject : str, optional
        The column with the subject of the sample: the patient of an image, the animal of a section. Samples of one
        subject are not independent; :func:`group_test`, :func:`scale_test` and :func:`energy_test` permute subjects.
    area : str, optional
        The column with the area (or volume) of the sample's field of view, in the squared (cubed) unit of the
        coordinates; by default it is estimated from the range of the coordinates. It is :attr:`Space.area`.
    n_points : int, optional
        Keep at most this many points of each sample, drawn uniformly.
    metric : str
        Distance between points, see :func:`from_points`.
    n_neighbors : int, optional
        If given, costs are shortest paths on the graph of this many nearest neighbours, see :func:`from_neighbors`.
    disconnected : {"error", "largest"} or float
        What to do with a sample whose graph of neighbours is not connected.
    rng : None, int or numpy.random.Generator
        Source of randomness for the samples of points; each space has its own child generator.
    max_bytes : int or str
        Files: the most bytes to read.

    Returns
    -------
    Cohort
        A sequence of spaces, with ``.samples`` (names), ``.metadata`` (columns that are constant in each sample) and
        ``.subjects``.

    Raises
    ------
    InputError
        If a column is missing, a point has no sample, position or type, or a sample has no points.

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
    options = _SpaceOptions(n_points, metric, n_neighbors, disconnected, check_rng(rng))
    selection = _selection(sample, points, types, features, subject, area)
    if not isinstance(data, str | os.PathLike):
        return _cohort(_rows_of(data, sample), selection, options)
    with about(Path(data)):
        return _cohort(_rows_of_file(Path(data), selection, check_bytes(max_bytes, "max_bytes")), selection, options)


class _Selection(NamedTuple):
    """Names of the selected columns."""

    sample: str
    points: tuple[str, ...]
    types: str | None
    features: tuple[str, ...]
    subject: str | None
    area: str | None

    @property
    def of_points(self) -> list[str]:
        """Distinct names of the columns with data of points."""
        return list(dict.fromkeys((self.sample, *self.points, *column_names(self.types), *self.features)))

    @property
    def all(self) -> list[str]:
        """Distinct names of all columns."""
        return list(dict.fromkeys((*self.of_points, *column_names(self.subject), *column_names(self.area))))


def _selection(sample: str, points: Any, types: Any, features: Any, subject: Any, area: Any) -> _Selection:
    for what, given in (("points", points), ("features", features)):
        if not column_names(given) and (given is not None or what == "points"):
            raise InputError(
                f"{what} must be names of columns, or of an array of obsm, but got a {type(given).__name__}"
            )
    for what, given in (("sample", sample), ("types", types), ("subject", subject), ("area", area)):
        if not isinstance(given, str) and (given is not None or what == "sample"):
            raise InputError(f"{what} must be the name of a column, but got a {type(given).__name__}")
    return _Selection(sample, column_names(points), types, column_names(features), subject, area)


class _Rows(NamedTuple):
    """A table of points."""

    names: Sequence[Any]  # names of rows
    columns: Columns
    described: list[str]  # columns that may be metadata of samples
    declared: Sequence[Hashable]  # samples listed as categories


class _SpaceOptions(NamedTuple):
    """Options for making spaces."""

    n_points: int | None
    metric: str
    n_neighbors: int | None
    disconnected: Disconnected
    rng: np.random.Generator

    def space(self, x: Float64s, attributes: dict[str, Any], names: list[Any], rng: np.random.Generator) -> Space:
        """Make the space of a sample's points."""
        arguments: dict[str, Any] = {**attributes, "labels": names, "n_points": self.n_points, "rng": rng}
        found = cloud_space(x, self.metric, self.n_neighbors, self.disconnected, **arguments)
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


def _rows_of_file(file: Path, selection: _Selection, limit: int) -> _Rows:
    if ending_of(file) in SEPARATORS:
        columns = named_columns(file, limit)
        return _Rows(range(len(columns[selection.sample])), columns, list(columns), ())
    if ending_of(file) != ".h5ad":
        raise InputError("cohorts are read from .h5ad, .csv and .tsv files")
    found = h5ad_arrays("h5ad_table", file, limit, wanted=json.dumps(selection.all))
    columns = stored_columns(found)
    declared = found["categories0"].tolist() if "categories0" in found else ()  # of the sample, selected first
    return _Rows(found["names"].tolist(), columns, list(columns), declared)


def _cohort(rows: _Rows, selection: _Selection, options: _SpaceOptions) -> Cohort:
    codes, samples = _samples(rows, selection.sample)
    x = _positions(rows, selection.points)
    attributes = attributes_of(selection.types, selection.features or None, rows.names, rows.columns, "the table")
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    children = options.rng.spawn(len(samples))
    others = [name for name in rows.described if name not in selection.of_points]
    metadata = _metadata(rows.columns, others, codes, members)
    areas = [field_area(x[own], options.metric) for own in members]
    if selection.area is not None:
        areas = _constants(rows, selection.area, metadata, samples, "area")
    spaces = []
    for name, own, child, area in zip(samples, members, children, areas, strict=True):
        try:
            known = {**attributes.of(own), "area": area}
            spaces.append(options.space(x[own], known, [rows.names[i] for i in own], child))
        except InputError as error:
            raise InputError(f"the sample {name!r}: {error}") from None
    return Cohort(tuple(spaces), tuple(samples), metadata, _subjects(rows, selection, metadata, samples))


def _subjects(
    rows: _Rows, selection: _Selection, metadata: dict[str, list[Any]], samples: list[Hashable]
) -> tuple[Hashable, ...] | None:
    """Return the subject of each sample; raise if a sample has several subjects, or none."""
    if selection.subject is None:
        return None
    if selection.subject == selection.sample:
        return tuple(samples)
    return tuple(_constants(rows, selection.subject, metadata, samples, "subject"))


def _constants(
    rows: _Rows, column: str, metadata: dict[str, list[Any]], samples: list[Hashable], what: str
) -> list[Any]:
    """Return the value of a column for each sample; raise if a sample has several values, or none."""
    rows.columns[column]  # raises if there is no such column
    if column not in metadata:
        raise InputError(f"{column!r} has several values in one sample, but a sample has one {what}")
    if None in metadata[column]:
        raise InputError(f"the sample {samples[metadata[column].index(None)]!r} has no value of {column!r}")
    return metadata[column]


def _samples(rows: _Rows, sample: str) -> tuple[Int64s, list[Hashable]]:
    """Number the samples by first appearance; return the number for each row, and the samples' names."""
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
    empty = [value for value in rows.declared if value not in number]
    if empty or not number:
        which = f"the sample {empty[0]!r} has" if empty else "the samples have"
        raise InputError(f"{which} no points; remove it from the categories of {sample!r} if that is expected")
    return codes, list(number)


def _positions(rows: _Rows, points: tuple[str, ...]) -> Float64s:
    x: Float64s = np.column_stack([numbers_of(rows.columns, name, rows.names) for name in points])
    bad = ~np.isfinite(x).all(axis=1)
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"the position of {rows.names[first]!r} is {x[first].tolist()}, but finite numbers are needed; "
            f"remove such points ({int(bad.sum())} of {len(x)})"
        )
    return x


def _metadata(columns: Columns, names: list[str], codes: Int64s, members: list[Int64s]) -> dict[str, list[Any]]:
    """Return the columns that are constant within each sample; missing values count as equal."""
    first = np.array([own[0] for own in members])
    found = {}
    for name in names:
        values = columns[name]
        check_length(values, name, len(codes))
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            values = np.fromiter(_listed(values), dtype=object, count=len(codes))
        own, shared = values[first], values[first][codes]
        with contextlib.suppress(ValueError):  # arrays in cells have no single truth value
            if ((values == shared) | ((values != values) & (shared != shared))).all():
                found[name] = [None if value != value else value for value in own.tolist()]
    return found


def _listed(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)
