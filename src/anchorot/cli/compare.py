"""`anchorot compare`: the distance between two files."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import anchorot as ao
from anchorot.anchors.attributes import attribute_rule_of
from anchorot.cli.options import (
    AttributesOption,
    GroundOption,
    JsonOption,
    MaxCostOption,
    MetricOption,
    POption,
    SpaceArgument,
    ThreadsOption,
    reads_spaces,
    takes_metric_options,
)
from anchorot.cli.output import Stopwatch, new_table, plain, print_json, print_table, read_both
from anchorot.distances.estimate import EnergyEstimate
from anchorot.io.safe_open import about
from anchorot.many.metric import Metric
from anchorot.many.metrics import METRICS, metric_of


@takes_metric_options
@reads_spaces
def compare(
    a: Annotated[Path, SpaceArgument],
    b: Annotated[Path, typer.Argument(help="The space to compare it with.", show_default=False)],
    metric: MetricOption = "ae",
    robust: Annotated[
        bool | None,
        typer.Option(help="Compare only the ranks of costs, or only the costs.", show_default="both"),
    ] = None,
    p: POption = None,
    ground: GroundOption = "w1",
    attributes: AttributesOption = None,
    max_cost: MaxCostOption = None,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate",
            help="For ae: also estimate it between the populations that the points were drawn from, with an "
            "interval. Points are then drawn uniformly, with a separate seed for each file.",
        ),
    ] = False,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
    *,
    reading: dict[str, Any],
    options: dict[str, Any],
) -> None:
    """Compute the distance between two spaces, by their costs and by the ranks of these (robust)."""
    forms = (False, True) if robust is None else (robust,)
    plain_metrics = [metric_of(metric, p, is_robust, ground=ground, threads=threads, **options) for is_robust in forms]
    others = ground != "w1" or attributes is not None or max_cost is not None
    if estimate and ((metric, plain_metrics[0].options["p"]) != ("ae", 1) or others):
        raise ao.InputError(
            "--estimate works with --metric ae and --p 1 only, and not with --ground, --attributes or --max-cost"
        )
    if estimate:  # independent uniform samples, from one random stream for both files
        reading = reading | {"rng": np.random.default_rng(reading["rng"]), "sampling": "uniform"}
    stopwatch = Stopwatch()
    x, y = read_both(a, b, reading, stopwatch)
    attribute_rules = [attribute_rule_of((x, y), attributes, max_cost, robust=is_robust) for is_robust in forms]
    metrics = [
        metric_of(metric, p, is_robust, ground=ground, attribute_rule=attribute_rule, threads=threads, **options)
        for is_robust, attribute_rule in zip(forms, attribute_rules, strict=True)
    ]
    values: dict[str, float] = {}
    for chosen in metrics:
        name = _name(chosen)
        with stopwatch(name, f"computing the {name.replace('_', ' ')}"):
            values[name] = _distance((a, x), (b, y), chosen)
    estimates = _estimates(x, y, metrics if estimate else [], reading["rng"], threads, stopwatch)
    if as_json:
        how = {name: value for name, value in metrics[0].options.items() if name in ("metric", "p", *options)}
        how |= {"ground": ground, "attributes": attributes, "max_cost": max_cost}
        shown = {name: _described(found) for name, found in estimates.items()}
        sizes = {"n": x.n, "m": y.n}
        print_json({"a": str(a), "b": str(b), **sizes, **how, **values, **shown, "seconds": stopwatch.seconds})
        return
    texts = {name: f"{value:.9g}" for name, value in values.items()}
    texts |= {name: f"{found.value:.3g} ± {found.standard_error:.2g}" for name, found in estimates.items()}
    table = new_table(f"{a.name} ({x.n} points) and {b.name} ({y.n} points)", "", "value", "seconds")
    for file, step in ((a, "read_a"), (b, "read_b")):
        table.add_row(f"reading {plain(file.name)}", "", f"[dim]{stopwatch.seconds[step]:.3f}[/]")
    for name, text in texts.items():
        table.add_row(name.replace("_", " "), f"[bold]{text}[/]", f"[dim]{stopwatch.seconds[name]:.3f}[/]")
    print_table(table, *(_verdict(name, found) for name, found in estimates.items()))


def _name(metric: Metric) -> str:
    return f"{'robust_' * metric.options['robust']}{METRICS[metric.options['metric']].value_name}"


def _estimates(
    x: ao.Space, y: ao.Space, metrics: list[Metric], rng: Any, threads: int, stopwatch: Stopwatch
) -> dict[str, EnergyEstimate]:
    found = {}
    for metric in metrics:
        name, is_robust = f"{_name(metric)}_estimate", metric.options["robust"]
        with stopwatch(name, f"estimating the {_name(metric).replace('_', ' ')}"):
            found[name] = ao.anchor_energy_estimate(x, y, robust=is_robust, rng=rng, threads=threads)
    return found


def _described(found: EnergyEstimate) -> dict[str, float]:
    names = ("value", "standard_error", "noise", "n_points", "n_draws", "is_reliable", "tail", "blur", "ties")
    return dict(zip(("low", "high"), found.interval(), strict=True)) | {name: getattr(found, name) for name in names}


def _verdict(name: str, found: EnergyEstimate) -> str:
    low, high = found.interval()
    verdict = "0 lies outside" if low > 0 else "two samples of one space may be as far apart"
    doubt = f"; not reliable: {found.doubt}" if found.doubt else ""
    return f"{name.replace('_', ' ')}: {low:.3g} to {high:.3g} (95 %), {verdict}{doubt}"


def _distance(x: tuple[Path, ao.Space], y: tuple[Path, ao.Space], metric: Metric) -> float:
    prepared = []
    for file, space in (x, y):
        with about(file):
            prepared.append(metric.prepare(space))
    value, converged = (metric.compare_alone or metric.compare)(*prepared)
    if not converged:
        what = f"{METRICS[metric.options['metric']].title}{' of ranks' * metric.options['robust']}"
        warnings.warn(
            f"{what}: the solver did not converge; try another --epsilon", ao.ConvergenceWarning, stacklevel=2
        )
    return value
