"""Run experiments by name, and compare what they found with what is expected."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anchorot as ao
from experiments.common.code import CHECKOUT, HERE, code_hash
from experiments.common.files import write_whole
from experiments.common.page import write_page
from experiments.common.rules import NAMES
from experiments.common.study import SUMMARY, Study
from experiments.data import find_data

EXPECTED = "expected.json"


def choose(wanted: Sequence[str]) -> list[str]:
    """Return the names of experiments asked for; "all" is all of them."""
    unknown = [name for name in wanted if name not in (*NAMES, "all")]
    if unknown:
        raise ao.InputError(f"there is no experiment {unknown[0]!r}; there are {', '.join(NAMES)}, and all")
    return [name for name in NAMES if name in wanted or "all" in wanted]


def default_output(quick: bool) -> Path:
    """Return the folder of results: that of the checkout, but for quick runs one that git ignores."""
    return CHECKOUT / "build" / "quick" if quick else HERE / "results"


@dataclass(frozen=True)
class Prepared:
    """An experiment of which nothing is missing: its code, and where its data lie."""

    name: str
    code: Any
    data: dict[str, Path]


def prepare(names: Sequence[str], folder: Path, *, quick: bool) -> list[Prepared]:
    """Import the experiments and find data and rivals, so that what is missing is said before the work begins."""
    code = {name: _load(name) for name in names}
    for name, one in code.items():
        missing = [package for package in getattr(one, "RIVALS", ()) if find_spec(package) is None]
        if missing and not quick:
            raise ao.InputError(f"{name} needs the package {missing[0]}; pip install '.[experiments]' brings it")
    data = find_data(dict.fromkeys(needed for one in code.values() for needed in one.DATA), folder)
    return [Prepared(name, one, {needed: data[needed] for needed in one.DATA}) for name, one in code.items()]


def _load(name: str) -> Any:
    try:
        return import_module(f"experiments.{name}.experiment")
    except ModuleNotFoundError as error:
        raise ao.InputError(
            f"{name} needs the package {error.name}; pip install '.[test]' brings all that the experiments need"
        ) from None


def run(prepared: Prepared, output: Path, *, quick: bool, n_jobs: int) -> Study:
    """Run one experiment, write its files, and bring the page of all results up to date."""
    name, experiment = prepared.name, prepared.code
    output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=output, prefix=f".{name}-") as temporary:  # an interrupted run leaves the last results
        folder = Path(temporary) / name
        folder.mkdir()
        # Checkpoints are of one code; a quick run keeps none.
        code = code_hash(name)
        scratch = Path(temporary) / "scratch" if quick else CHECKOUT / "build" / "experiments" / name / code
        scratch.mkdir(parents=True, exist_ok=True)
        study = Study(name, prepared.data, folder, scratch, code, quick, n_jobs, any(scratch.iterdir()))
        experiment.run(study)
        study.finish(experiment.TITLE, experiment.QUESTION)
        shutil.rmtree(output / name, ignore_errors=True)
        folder.rename(output / name)
    write_page(output, list(NAMES))
    return study


def stale(names: Sequence[str], output: Path) -> dict[str, str]:
    """Return the experiments whose stored results are not those of the present code, and why."""
    found = {}
    for name in names:
        path = output / name / SUMMARY
        summary = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        if summary is None:
            found[name] = "has no results"
        elif (now := code_hash(name)) != summary["code"] or summary["quick"]:
            found[name] = f"is of code {summary['code'] or 'unknown'}, which is now {now}"
    return found


def differences(study: Study) -> list[str]:
    """Return in what way the values and verdicts of a quick run differ from the expected ones; each a line."""
    path = HERE / study.name / EXPECTED
    if not path.exists():
        return [f"{study.name}: there is no {EXPECTED}"]
    expected = json.loads(path.read_text(encoding="utf-8"))
    values, verdicts = expected["values"], expected["verdicts"]
    lines = [
        f"{name} is {'reported' if name in study.values else 'expected'} only"
        for name in sorted(values.keys() ^ study.values.keys())
    ]
    for name in sorted(values.keys() & study.values.keys()):
        found, wanted = study.values[name]["value"], values[name]
        if not abs(found - wanted["value"]) <= wanted["tolerance"]:
            lines.append(f"{name} is {found:.6g}, expected {wanted['value']:.6g} ± {wanted['tolerance']:g}")
    for claim, verdict in verdicts.items():
        found_verdict = study.verdicts.get(claim, "is not judged")
        if found_verdict != verdict:
            lines.append(f"{claim!r} {found_verdict}, expected: {verdict}")
    return [f"{study.name}: {line}" for line in lines]


def expect(study: Study) -> None:
    """Make the values and verdicts of this quick run the expected ones."""
    expected = {"values": study.values, "verdicts": study.verdicts}
    write_whole(HERE / study.name / EXPECTED, json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
