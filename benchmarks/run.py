"""How fast anchorot is, as ratios measured in one run on one thread.

    python benchmarks/run.py                  print the table, in about a minute
    python benchmarks/run.py --pot            with the rows that wait for POT's Sinkhorn, in about ten
    python benchmarks/run.py --search         the rows about search alone, in about five
    python benchmarks/run.py --tests          the rows about permutation tests alone, in about three
    python benchmarks/run.py --align          the rows about alignments alone, in about twenty (see align.py)
    python benchmarks/run.py --reading FOLDER the rows about reading the shapes in FOLDER/*.mat alone, in about two
    python benchmarks/run.py --pot --write    also write it to benchmarks/record.toml
    python benchmarks/run.py --tosca FOLDER   with all pairs of the shapes in FOLDER/*.mat

Every ratio is the median of alternating measurements of its two sides, so that a machine that slows down slows both.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads its BLAS

import argparse
from pathlib import Path

import align
import attributes
import energy
import pairwise
import plans
import reading
import search
import twosample
from anchorot.config import config
from measure import table, write_results
from record import RECORD, processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pot", action="store_true", help="wait for POT's Sinkhorn too")
    parser.add_argument("--search", action="store_true", help="print the rows about search alone")
    parser.add_argument("--tests", action="store_true", help="print the rows about permutation tests alone")
    parser.add_argument("--align", action="store_true", help="print the rows about alignments alone")
    parser.add_argument("--reading", type=Path, metavar="FOLDER", help="print the rows about reading meshes alone")
    parser.add_argument("--write", action="store_true", help=f"also write {RECORD.name}")
    parser.add_argument("--peak-memory", action="store_true", help="print the figure of row (e) alone")
    parser.add_argument("--sort-rows", action="store_true", help="print rows (a) and (c) alone")
    parser.add_argument("--tosca", type=Path, metavar="FOLDER", help="the TOSCA shapes, for rows about all pairs")
    options = parser.parse_args()
    if options.peak_memory:
        print(energy.peak_memory())
        return
    if options.sort_rows:
        print(table(energy.sort_rows()))
        return
    if options.search:
        print(table([row for part in search.SLOW for row in part()]))
        return
    if options.tests:
        print(table([row for part in twosample.SLOW for row in part()]))
        return
    if options.align:
        print(table([row for part in align.SLOW for row in part()]))
        return
    if options.reading:
        print(table(reading.rows(options.reading)))
        return
    parts = [*energy.ALL, *attributes.ALL, *plans.ALL, *pairwise.ALL, *(plans.SLOW if options.pot else ())]
    rows = [row for part in parts for row in part()]
    if options.tosca:
        rows += pairwise.tosca_rows(options.tosca)
    found = config()
    machine = f"{processor()}, kernels {found['kernels']}, Python {found['python']}, NumPy {found['numpy']}, one thread"
    text = f"{machine}\n\n{table(rows)}\n"
    print(text)
    if options.write:
        how = f"{'--pot ' * options.pot}{'--tosca FOLDER ' * bool(options.tosca)}--write"
        write_results("run.py", how, text)


if __name__ == "__main__":
    main()
