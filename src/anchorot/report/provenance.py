"""Where spaces and alignments come from and how far to trust them, in words."""

import numpy as np

from anchorot._drawing.scene import Drawable
from anchorot.distances.alignment import Alignment, Correspondence, Start
from anchorot.distances.dense import DenseAlignment, DenseRival


def origins(x: Drawable, y: Drawable) -> dict[str, str]:
    """Where the two spaces come from, if they were read."""
    named = {"first space": x.origin, "second space": y.origin}
    return {name: str(origin) for name, origin in named.items() if origin is not None}


def provenance(found: Correspondence) -> dict[str, str]:
    """What the top of the page says of an alignment."""
    n, m = found.shape
    said = {"points": f"{n} and {m}"}
    if isinstance(found, Alignment):
        said = {"method": _method(found, ""), **said, **_of_plan(found)}
    elif isinstance(found, DenseAlignment):
        said = {"method": _method(found.alignment, " by landmarks"), **said, **_of_map(found)}
    best, *others = found.starts
    said["best start"] = _named(best)
    if others:
        said["other starts"] = ", ".join(map(_named, others))
    rival = found.runner_up
    size = rival.discrepancy if isinstance(rival, DenseRival) else getattr(rival, "objective", 0.0)
    said["runner-up"] = "none" if rival is None else f"{size:.6g}, {rival.differs:.0%} other matches"
    if isinstance(found, Alignment):
        said["matches of a point"] = _typical(found.spread)
    return said


def _method(found: Alignment, how: str) -> str:
    return f"align{how}" if found.converged else f"align{how}, not converged"


def _of_plan(found: Alignment) -> dict[str, str]:
    said = {"value": f"{found.value:.6g}"}
    if found.objective != found.value:
        said["objective with features"] = f"{found.objective:.6g}"
    is_whole = found.mass >= 1 - 1e-6
    said["mass matched"] = "all" if is_whole else f"{found.mass:.4g}"
    gap = f"{found.bound:.6g}, so that the gap is at most {found.gap:.3g}"
    said["bound"] = gap if is_whole else "none for a part of the mass"
    return said


def _of_map(found: DenseAlignment) -> dict[str, str]:
    said = {
        "landmarks": " and ".join(str(len(side)) for side in found.landmarks),
        "discrepancy": f"{found.discrepancy:.6g}",
    }
    if found.agreement is not None:
        said["agreement"] = f"{found.agreement:.3g} of -1 to 1; below 0 the map mirrors"
    said["value of the landmarks"] = f"{found.alignment.value:.6g}"
    return said


def _named(start: Start) -> str:
    return f"{start.name.replace(', ', ' ')} ({start.objective:.6g})"


def _typical(spread: np.ndarray) -> str:
    known = spread[np.isfinite(spread)]
    if not known.size:
        return "none"
    low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
    return f"effectively {middle:.3g}, of most {low:.3g} to {high:.3g}"
