"""Where the page draws two spaces: each upright and as large as fits, the second as its matches stand."""

from typing import Any, NamedTuple

import numpy as np

from anchorot._drawing.facing import Turn, turn_onto
from anchorot._drawing.pose import eye, unit_box, upright
from anchorot._drawing.scene import Drawable, Scene, scene
from anchorot._typing import Float64s

AGREES = 0.5  # correlation of matched places: from there on two drawings face the same way
HELPS = 0.1  # of correlation: what a turn must gain to put a thing that has an upside off its feet


class Place(NamedTuple):
    """Where one space is drawn."""

    scene: Scene
    sites: Float64s  # (N, 2) or (N, 3), within the unit box
    eye: Float64s | None  # of the camera, in 3-D


class Places(NamedTuple):
    """Where both are drawn."""

    first: Place
    second: Place
    notes: list[str]  # what was done to the second
    agree: bool  # whether both face the same way


def place(x: Drawable, y: Drawable, plan: Any) -> Places:
    """Draw both, and turn the second so that points matched by a plan, sparse or not, are at the same places.

    Layouts and bare clouds have no upside and may be turned and mirrored at will. Surfaces, graphs with places and
    neurons are turned only, and only if they stand better afterwards.
    """
    first, second = scene(x), scene(y)
    sites_x, sites_y = _standing(unit_box(first.positions)), _standing(unit_box(second.positions))
    apart = _placed(first, sites_x), _placed(second, sites_y)
    if sites_x.shape[1] != sites_y.shape[1] or not plan.sum() > 0:
        return Places(*apart, notes=[], agree=False)
    turn = turn_onto(sites_x[first.index], sites_y[second.index], plan, mirrored=second.is_free)
    if not second.is_free and turn.agreement < max(AGREES, turn.before + HELPS):
        return Places(*apart, notes=[], agree=turn.before >= AGREES)
    both = unit_box(np.concatenate([sites_x, turn(sites_y)]))
    seen = _eye(both)
    cut = len(sites_x)
    return Places(Place(first, both[:cut], seen), Place(second, both[cut:], seen), [_note(turn)], agree=True)


def _standing(positions: Float64s) -> Float64s:
    return upright(positions) if positions.shape[1] == 3 else positions


def _placed(found: Scene, sites: Float64s) -> Place:
    return Place(found, sites, _eye(sites))


def _eye(sites: Float64s) -> Float64s | None:
    return eye(sites) if sites.shape[1] == 3 else None


def _note(turn: Turn) -> str:
    return f"turned{' and mirrored' if turn.is_mirrored else ''} so that matched points are at the same places"
