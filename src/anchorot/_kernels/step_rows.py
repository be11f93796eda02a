"""Rows as quantile step functions."""

from typing import NamedTuple

from anchorot._typing import Float64s


class StepRows(NamedTuple):
    """One increasing step function of the level a row: value[i, a] up to the level end[i, a], the last being 1."""

    value: Float64s
    end: Float64s
