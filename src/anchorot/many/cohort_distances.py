"""Distances between the samples of a cohort: an array that knows whose they are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from anchorot._typing import Float64s, Int64s
from anchorot.anchors.attributes import AttributeRule
from anchorot.anchors.fields import Field
from anchorot.io.cohort import Cohort


class SampleTable(NamedTuple):
    """What is known of samples besides their points."""

    samples: tuple[Hashable, ...]
    metadata: dict[str, list[Any]]
    subjects: tuple[Hashable, ...] | None
    fields: tuple[Field | None, ...]
    metric: str  # by which they were compared
    has_types: bool  # whether types were
    max_cost: float | None  # up to which cost, if there is a limit

    def take(self, places: Int64s) -> SampleTable:
        """Restrict to some samples."""

        def picked(values: Sequence[Any]) -> list[Any]:
            return [values[place] for place in places.tolist()]

        return self._replace(
            samples=tuple(picked(self.samples)),
            metadata={name: picked(values) for name, values in self.metadata.items()},
            subjects=None if self.subjects is None else tuple(picked(self.subjects)),
            fields=tuple(picked(self.fields)),
        )


class CohortDistances(np.ndarray):
    """The matrix of a cohort, with the subjects and other metadata of its samples, which tests of groups use.

    It is an array like any other. Selecting rows and columns, copies, pickles and elementwise functions keep what is
    known of the samples. What other functions return does not know it, and tests of groups then say so.

    Examples
    --------
    >>> import anchorot as ao
    >>> table = {"slide": [0, 0, 1, 1, 2, 2, 3, 3], "dose": [0, 0, 0, 0, 5, 5, 5, 5], "x": [0, 1, 0, 2, 0, 4, 0, 5]}
    >>> D = ao.pairwise(ao.from_cohort(table, sample="slide", points="x"))
    >>> D.samples, D.metadata
    ((0, 1, 2, 3), {'dose': [0, 0, 5, 5]})
    >>> D[1:, 1:].metadata["dose"]
    [0, 5, 5]
    >>> round(ao.group_test(D, "dose").pvalue, 2)
    0.33
    """

    _known: SampleTable | None
    _places: tuple[Int64s, Int64s]  # the samples of rows and columns
    _has_lost_subjects: bool

    @classmethod
    def of(cls, values: Float64s, cohort: Cohort, metric: str, rule: AttributeRule | None) -> Self:
        """The distances between all samples of a cohort, in place."""
        fields = tuple(Field.of(space, near=False) for space in cohort)
        has_types, max_cost = rule is not None and rule.attributes == "types", None if rule is None else rule.max_cost
        known = SampleTable(cohort.samples, cohort.metadata, cohort.subjects, fields, metric, has_types, max_cost)
        every = np.arange(len(cohort))
        return values.view(cls)._knowing(known, every, every)

    def __array_finalize__(self, template: Any) -> None:
        """Know nothing of the samples of an array that was made from another one in whatever way."""
        self._known = None
        self._places = (np.empty(0, np.int64), np.empty(0, np.int64))
        known = getattr(template, "_known", None)
        lost = getattr(template, "_has_lost_subjects", False)
        self._has_lost_subjects = lost or (known is not None and known.subjects is not None)

    def _knowing(self, known: SampleTable | None, rows: Int64s, columns: Int64s) -> Self:
        if known is not None:
            self._known, self._places, self._has_lost_subjects = known, (rows, columns), False
        return self

    @property
    def table(self) -> SampleTable | None:
        """What is known of the samples; None unless rows and columns are of the same samples."""
        rows, columns = self._places
        return self._known.take(rows) if self._known is not None and np.array_equal(rows, columns) else None

    @property
    def has_lost_subjects(self) -> bool:
        """Whether the cohort had subjects that are not known any more."""
        return self._has_lost_subjects

    @property
    def max_cost(self) -> float | None:
        """Up to which cost spaces were compared; None if there is no limit, or it is unknown."""
        return None if self._known is None else self._known.max_cost

    @property
    def samples(self) -> tuple[Hashable, ...]:
        """Names of the samples, empty if unknown."""
        return () if self.table is None else self.table.samples

    @property
    def metadata(self) -> dict[str, list[Any]]:
        """Columns with a value per sample, empty if unknown."""
        return {} if self.table is None else self.table.metadata

    @property
    def subjects(self) -> tuple[Hashable, ...] | None:
        """The subject of each sample, if known."""
        return None if self.table is None else self.table.subjects

    def __getitem__(self, index: Any) -> Any:
        """Select entries; rows and columns keep what is known of them, anything else is a plain array."""
        found = super().__getitem__(index)
        if not isinstance(found, CohortDistances):
            return found
        if found.ndim != 2:
            return np.asarray(found)
        places = _selected(index, self._places)
        if places is not None and found.shape == (len(places[0]), len(places[1])):
            found._knowing(self._known, *places)
        return found

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function; elementwise ones keep what is known."""
        plain = [np.asarray(each) if isinstance(each, CohortDistances) else each for each in inputs]
        targets = options.get("out", ())
        if targets:
            options["out"] = tuple(np.asarray(each) if each is not None else None for each in targets)
        found = getattr(ufunc, method)(*plain, **options)
        if targets:
            return targets[0] if len(targets) == 1 else targets
        is_elementwise = method == "__call__" and ufunc.signature is None and isinstance(found, np.ndarray)
        if not is_elementwise or found.shape != self.shape or not np.issubdtype(found.dtype, np.floating):
            return found
        sources = [each for each in inputs if isinstance(each, CohortDistances)]
        known = [each for each in sources if each._known is not None]
        result = found.view(type(self))
        if known and all(map(known[0]._agrees_with, known)):
            return result._knowing(known[0]._known, *known[0]._places)
        result._has_lost_subjects = any(each._has_lost_subjects or each.subjects is not None for each in sources)
        return result

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        """Apply another function of NumPy; a matrix of this shape says that it was made from this one."""
        found = super().__array_function__(function, types, inputs, options)
        if type(found) is not np.ndarray or found.shape != self.shape or not np.issubdtype(found.dtype, np.floating):
            return found
        result = found.view(type(self))
        result._has_lost_subjects = self._has_lost_subjects or self.subjects is not None
        return result

    def _agrees_with(self, other: CohortDistances) -> bool:
        return self._known is other._known and all(map(np.array_equal, self._places, other._places))

    def copy(self, order: Any = "C") -> Self:
        """Return a copy that knows as much."""
        return self._with(np.array(self, order=order))

    def _with(self, values: Float64s) -> Self:
        """The same samples, as far as they are known, with other values."""
        twin = values.view(type(self))
        twin._known, twin._places, twin._has_lost_subjects = self._known, self._places, self._has_lost_subjects
        return twin

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        """Round; what is known stays known."""
        found = np.asarray(self).round(decimals, out)
        return found if out is not None else self._with(found)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.copy()

    def __reduce__(self) -> Any:
        """Pickle what is known too."""
        make, arguments, state, *_ = tuple(super().__reduce__())
        return make, arguments, (state, self._known, self._places, self._has_lost_subjects)

    def __setstate__(self, state: Any) -> None:
        """Unpickle."""
        array, self._known, self._places, self._has_lost_subjects = state
        super().__setstate__(array)


def _selected(index: Any, places: tuple[Int64s, Int64s]) -> tuple[Int64s, Int64s] | None:
    """The samples of the rows and columns that an index selects; None if it selects anything else."""
    both: tuple[Any, Any] = index if isinstance(index, tuple) and len(index) == 2 else (index, slice(None))
    of_rows, of_columns = both
    shapes = [np.shape(each) for each in (of_rows, of_columns)]
    if isinstance(of_rows, tuple) or (len(shapes[0]) == len(shapes[1]) == 1):
        return None  # entries, not rows and columns
    if shapes[0][1:] == (1,) and shapes[1][:1] == (1,):  # of np.ix_
        of_rows, of_columns = np.ravel(of_rows), np.ravel(of_columns)
    try:
        found = places[0][of_rows], places[1][of_columns]
    except (IndexError, TypeError):
        return None
    return found if found[0].ndim == found[1].ndim == 1 else None
