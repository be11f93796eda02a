"""Run experiments by name, and compare what they found with what is expected."""

import json
import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import anchorot as ao
from anchorot.io.atomic import replacing

from experiments.common.datasets import DataSets
from experiments.common.page import write_page
from experiments.common.study import Study

HERE = Path(__file__).parents[1]
CHECKOUT = HERE.parent
EXPECTED = "expected.json"
NAMES = (
    "scalability",
    "trade_off",
    "robustness",
    "node_assignment",
    "graph_models",
    "barycenters",
    "beyond",
)


def choose(wanted: Sequence[str]) -> list[str]:
    """Return the names of experiments asked for; "all" is all of them."""
    unknown = [name for name in wanted if name not in (*NAMES, "all")]
    if unknown:
        raise ao.InputError(f"there is no experiment {unknown[0]!r}; there are {', '.join(NAMES)}, and all")
    return [name for name in NAMES if name in wanted or "all" in wanted]


def default_output(quick: bool) -> Path:
    """Return the folder of answers: that of the checkout, but for quick runs one that git ignores."""
    return CHECKOUT / "build" / "quick" if quick else HERE / "results"


def run(name: str, data: DataSets, output: Path, *, quick: bool, n_jobs: int) -> Study:
    """Run one experiment, write its files, and bring the page of all results up to date."""
    scratch = CHECKOUT / "build" / "experiments" / ("quick" if quick else "full") / name
    scratch.mkdir(parents=True, exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    try:
        experiment = import_module(f"experiments.{name}.experiment")
    except ModuleNotFoundError as error:
        raise ao.InputError(
            f"{name} needs the package {error.name}; pip install '.[test]' brings all that the experiments need"
        ) from None
    with TemporaryDirectory(dir=output, prefix=f".{name}-") as temporary:  # an interrupted run leaves the last answers
        folder = Path(temporary) / name
        folder.mkdir()
        study = Study(name, data, folder, scratch, quick, n_jobs)
        experiment.run(study)
        study.finish(experiment.TITLE, experiment.QUESTION)
        shutil.rmtree(output / name, ignore_errors=True)
        folder.rename(output / name)
    write_page(output, list(NAMES))
    return study


def differences(study: Study) -> list[str]:
    """Return in what way the values of a quick run differ from the expected ones; each a line."""
    path = HERE / study.name / EXPECTED
    if not path.exists():
        return [f"{study.name}: there is no {EXPECTED}"]
    expected = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        f"{study.name}: {name} is {'reported' if name in study.values else 'expected'} only"
        for name in sorted(expected.keys() ^ study.values.keys())
    ]
    for name in sorted(expected.keys() & study.values.keys()):
        found, wanted = study.values[name]["value"], expected[name]
        if not abs(found - wanted["value"]) <= wanted["tolerance"]:
            lines.append(
                f"{study.name}: {name} is {found:.6g}, expected {wanted['value']:.6g} ± {wanted['tolerance']:g}"
            )
    return lines


def expect(study: Study) -> None:
    """Make the values of this quick run the expected ones."""
    with replacing(HERE / study.name / EXPECTED) as temporary:
        temporary.write_text(json.dumps(study.values, indent=1) + "\n", encoding="utf-8")
