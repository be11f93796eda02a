"""Where spaces and alignments come from and how far to trust them, in words."""

import numpy as np

from anchorot.distances.alignment import Alignment, Start
from anchorot.space import Space


def origins(x: Space, y: Space) -> dict[str, str]:
    """Where the two spaces come from, if they were read."""
    named = {"first space": x.origin, "second space": y.origin}
    return {name: str(origin) for name, origin in named.items() if origin is not None}


def provenance(found: Alignment) -> dict[str, str]:
    """What the top of the page says of an alignment."""
    n, m = found.plan.shape
    best, *others = found.starts
    said = {
        "method": "align" if found.converged else "align, not converged",
        "points": f"{n} and {m}",
        "value": f"{found.value:.6g}",
    }
    if found.feature_scale:
        said["objective with features"] = f"{found.objective:.6g}"
    is_whole = found.mass >= 1 - 1e-6
    said["mass matched"] = "all" if is_whole else f"{found.mass:.4g}"
    gap = f"{found.bound:.6g}, so that the gap is at most {found.gap:.3g}"
    said["bound"] = gap if is_whole else "none for a part of the mass"
    said["best start"] = _named(best)
    if others:
        said["other starts"] = ", ".join(map(_named, others))
    rival = found.runner_up
    said["runner-up"] = "none" if rival is None else f"{rival.objective:.6g}, {rival.differs:.0%} other matches"
    said["matches of a point"] = _typical(found.spread)
    return said


def _named(start: Start) -> str:
    return f"{start.name.replace(', ', ' ')} ({start.objective:.6g})"


def _typical(spread: np.ndarray) -> str:
    known = spread[np.isfinite(spread)]
    if not known.size:
        return "none"
    low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
    return f"effectively {middle:.3g}, of most {low:.3g} to {high:.3g}"
