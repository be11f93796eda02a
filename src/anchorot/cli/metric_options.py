"""Options that say what spaces are compared by, from the list of metrics."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from anchorot.anchors.marking import MARKS
from anchorot.distances.ground import GROUNDS
from anchorot.many.metrics import METRICS, WITH_GRADIENT, WITH_PLAN

USUAL_POWER = 1


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]


def _checked(names: tuple[str, ...]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in names:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(names)}")
        return value

    return check


def _completed(names: tuple[str, ...]) -> Callable[[str], list[tuple[str, str]]]:
    def complete(incomplete: str) -> list[tuple[str, str]]:
        return [(name, METRICS[name].title) for name in names if name.startswith(incomplete)]

    return complete


def _choice(names: tuple[str, ...], *flags: str) -> Any:
    """Return an option whose value is one of these metrics."""
    titles = ", ".join(f"{name} ({METRICS[name].title})" for name in names)
    return typer.Option(
        *(flags or ("--metric",)),
        metavar=f"[{'|'.join(names)}]",
        callback=_checked(names),
        autocompletion=_completed(names),
        help=f"What spaces are compared by: {titles}. Distances between points of one space are --point-metric.",
    )


def _plan_title(metric: str) -> str:
    maker = METRICS[metric].plan
    return "" if maker is None else maker.title


PLANS = {"align": "Alignment"} | {"aep" if name == "ae" else name: _plan_title(name) for name in WITH_PLAN}


def _checked_plan(value: str) -> str:
    """Return the name of a plan; ae, the metric, stands for its plan, aep."""
    return _checked(tuple(PLANS))("aep" if value == "ae" else value)


def _checked_marks(value: str | None) -> str | None:
    return None if value is None else _checked(MARKS)(value)


def _powers() -> str:
    others = tuple(name for name, kind in METRICS.items() if kind.power != USUAL_POWER)
    return f"{USUAL_POWER}; {METRICS[others[0]].power} for {_listed(others)}"


_REGULARISED = _listed(tuple(name for name, kind in METRICS.items() if kind.has_epsilon))

MetricOption = Annotated[str, _choice(tuple(METRICS))]
PlanOption = Annotated[
    str,
    typer.Option(
        "--plan",
        "--metric",
        metavar=f"[{'|'.join(PLANS)}]",
        callback=_checked_plan,
        autocompletion=lambda incomplete: [item for item in PLANS.items() if item[0].startswith(incomplete)],
        help=f"How points are matched: {', '.join(f'{name} ({title})' for name, title in PLANS.items())}.",
    ),
]
GradientOption = Annotated[str, _choice(WITH_GRADIENT, "--metric", "--geometry")]
POption = Annotated[int | None, typer.Option("--p", help="Power of the costs.", min=1, show_default=_powers())]
MarksOption = Annotated[
    str | None,
    typer.Option(
        metavar="[types|features]",
        callback=_checked_marks,
        help="Of ae: tell points apart by their types or features too, if files have them.",
        show_default=False,
    ),
]
ReachOption = Annotated[
    float | None,
    typer.Option(help="Of ae: compare costs up to this one, by default all.", show_default=False),
]
GroundOption = Annotated[
    str,
    typer.Option(
        metavar=f"[{'|'.join(GROUNDS)}]",
        callback=_checked(GROUNDS),
        help="Of ae: the distance between anchors. w2 is 0 for equal anchors only, but takes n³ time.",
    ),
]
EpsilonOption = Annotated[
    float | None,
    typer.Option(
        help=f"Entropic regularisation, of {_REGULARISED}; 0: none (default: 1e-3 of the mean cost for aw, 0 for gw).",
        min=0,
        show_default=False,
    ),
]
