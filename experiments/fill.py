"""Rewrite the figures on pages from their records, listed in docs/figures.toml: `python -m experiments.fill`."""

import sys

import anchorot as ao
from benchmarks.record import RECORD
from experiments.common.code import CHECKOUT, HERE
from experiments.common.filling import Results, fill
from experiments.common.page import write_page
from experiments.common.record import write_record, write_results
from experiments.common.rules import NAMES


def main() -> None:
    """Write both pages of results from their records, rewrite all other pages, and print which changed."""
    write_page(HERE / "results", list(NAMES))
    write_record(RECORD)
    write_results(RECORD)
    for path in fill(CHECKOUT, Results(HERE / "results", NAMES)):
        print(f"rewrote {path.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    try:
        main()
    except ao.InputError as error:
        sys.exit(f"experiments.fill: {error}")
