"""Fit the coefficients of src/anchorot/align/coefficients.toml, and compare them with those that are stored.

    python benchmarks/calibrate.py --fit graphs            confidence of align_graphs
    python benchmarks/calibrate.py --fit meshes            reliable and confidence of align_meshes
    python benchmarks/calibrate.py --fit spaces            confidence of align
    python benchmarks/calibrate.py --fit whole_graphs      reliable of align_graphs
    python benchmarks/calibrate.py --fit whole_spaces      reliable of align
    python benchmarks/calibrate.py --fit spaces --report   also AUC and calibration error of kinds that are held out
    python benchmarks/calibrate.py --fit spaces --write    also put the fitted coefficients into the file
    python benchmarks/calibrate.py --fit meshes --write match    only those of the model `match`
    python benchmarks/calibrate.py --fit meshes --resume   keep the pairs that an earlier run observed
    python benchmarks/calibrate.py --fit graphs --limit 2  only the first two pairs of each kind, to try it

Every pair is drawn by its number, so all runs find the same. What pairs show is kept in build/calibration/. A fitted
coefficient agrees with a stored one if they differ by at most half a unit of the second digit. ANCHOROT_DATA is the
folder of data sets, ../shared/data by default.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy loads its BLAS

import argparse
import datetime
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import anchorot as ao
from anchorot.align import calibration as stored_models
from anchorot.align.calibration import Logistic
from calibration import Fit, Task, compared, observed, report
from confidence import DATA

TASKS = {"graphs": "graphs", "meshes": "meshes", "spaces": "spaces", "whole_graphs": "graphs", "whole_spaces": "spaces"}
ROOT = Path(__file__).parents[1]
CACHE = ROOT / "build" / "calibration"
FILE = ROOT / "src" / "anchorot" / "align" / "coefficients.toml"
HEAD = "# Fitted coefficients. `python benchmarks/calibrate.py --fit KIND --write` replaces those of a kind of data.\n"
DIGITS = 3  # of a stored coefficient


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def table_of(task: str, fit: Fit, fitted_on: str) -> dict[str, Any]:
    """What is stored of a model."""
    return {
        "constant": rounded(fit.model.constant),
        "coefficients": {name: rounded(value) for name, value in fit.model.coefficients.items()},
        "fitted_on": fitted_on,
        "pairs": fit.pairs,
        "points": fit.points,
        "date": datetime.date.today(),
        "version": ao.__version__,
        "command": f"python benchmarks/calibrate.py --fit {task}",
    }


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {toml(own)}" for name, own in value.items()) + " }"
    return value.isoformat() if isinstance(value, datetime.date) else json.dumps(value)


def write(task: str, fits: dict[str, Fit], fitted_on: dict[str, str]) -> None:
    """Replace the tables of one kind of data."""
    new = {part: table_of(task, fit, fitted_on[part]) for part, fit in fits.items()}
    tables, kind = stored_models.tables(), TASKS[task]
    FILE.write_text(toml_file(tables | {kind: tables[kind] | new}), encoding="utf-8")


def toml_file(tables: dict[str, Any]) -> str:
    lines = [HEAD]
    for name, parts in tables.items():
        for part, table in parts.items():
            lines += [f"[{name}.{part}]", *(f"{key} = {toml(value)}" for key, value in table.items()), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", choices=TASKS, required=True, help="the kind of data")
    parser.add_argument("--report", action="store_true", help="also figures of kinds that are held out")
    parser.add_argument("--write", nargs="*", metavar="MODEL", help="also write coefficients.toml; only these models")
    parser.add_argument("--resume", action="store_true", help="keep the pairs that an earlier run observed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first pairs of each kind; never written")
    options = parser.parse_args()
    task: Task = import_module(f"calibration_{options.fit}").TASK
    how = options.jobs, options.resume, options.limit
    fits = task.fit(observed(task.jobs(DATA, True), CACHE / options.fit, *how))
    stored = {part: stored_models.load(f"{TASKS[options.fit]}.{part}") for part in fits}
    print("\n| model | coefficient | stored | fitted | agree to two digits |\n|---|---|---|---|---|")
    for part, fit in fits.items():
        print(*compared(part, stored[part], fit.model), sep="\n")
    if options.report:
        held = observed(task.jobs(DATA, False), CACHE / options.fit, *how)
        new = {
            part: Logistic({name: rounded(own) for name, own in model.coefficients.items()}, rounded(model.constant))
            for part, (model, *_) in fits.items()
        }
        figures = "AUC | error | right | expected | below 0.5 if wrong | if right"
        print(f"\n| held out | results | stored: {figures} | fitted: {figures} |\n{14 * '|---'}|")
        print(*report(task, held, stored, new), sep="\n")
    if options.write is not None and options.limit is None:
        chosen = {part: fit for part, fit in fits.items() if part in (options.write or fits)}
        write(options.fit, chosen, task.fitted_on)


if __name__ == "__main__":
    main()
