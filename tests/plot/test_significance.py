"""Plots of tests: null distributions, and where groups differ."""

from dataclasses import replace

import numpy as np
import pytest

import anchorot as ao
from anchorot.plot.style import BLUE, PALE, RED
from tests.plot.fresh import drawn, plot
from tests.plot.test_style import SCALES, TYPE_PAIRS


def bars_of(ax, colour):
    from matplotlib.colors import to_hex

    return sum(bar.get_height() for bar in ax.patches if to_hex(bar.get_facecolor()) == colour)


@pytest.mark.parametrize("observed", [0.25, 5.0, 0.0, np.inf])
def test_blue_bars_are_the_permutations_that_the_pvalue_counts(observed):
    null = np.linspace(0.1, 0.5, 41)
    reached = np.count_nonzero(null >= observed)
    ax = drawn(plot.null_distribution(ao.PermutationTest(observed, (reached + 1) / 42, null)))
    assert (bars_of(ax, BLUE), bars_of(ax, PALE)) == (reached, 41 - reached)
    assert ax.get_xscale() == ("log" if observed == 5.0 else "linear")


def test_a_null_of_one_value_can_be_drawn():
    ax = drawn(plot.null_distribution(ao.PermutationTest(0.0, 1.0, np.zeros(9))))
    assert sum(bar.get_height() for bar in ax.patches) == 9


def test_a_scale_curve_is_red_and_beyond_chance_where_groups_differ():
    from matplotlib.colors import to_rgba

    by_level = {level: drawn(plot.scale_curve(SCALES, level=level)) for level in (0.5, 0.001)}
    for level, ax in by_level.items():
        steps = {patch.get_edgecolor(): patch.get_data() for patch in ax.patches}
        beyond = SCALES.adjusted_pvalues <= level
        red, blue = (steps[to_rgba(colour)] for colour in (RED, BLUE))
        assert np.array_equal(blue.values, SCALES.share)
        assert np.array_equal(red.values, np.where(beyond, SCALES.share, np.nan), equal_nan=True)
        assert ("no significant distance" in ax.texts[-1].get_text()) == (not beyond.any())
    assert (SCALES.adjusted_pvalues <= 0.5).any()
    assert not (SCALES.adjusted_pvalues <= 0.5).all()


def test_a_scale_curve_has_room_for_its_whole_band_of_errors():
    unsure = replace(SCALES, share=0.2 * SCALES.share, error=np.full(len(SCALES.share), 0.3))
    ax = drawn(plot.scale_curve(unsure, level=0.5))
    highest = max(path.vertices[:, 1].max() for patch in ax.collections for path in patch.get_paths())
    assert highest <= ax.get_ylim()[1]


def test_a_scale_curve_has_a_band_of_two_errors_by_subject():
    band = drawn(plot.scale_curve(SCALES)).collections[-1].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(min(1.0, float((SCALES.share + 2 * SCALES.error).max())))


@pytest.mark.parametrize("level", [0.05, 1.0])
def test_a_map_of_type_pairs_shows_all_effects_and_frames_the_significant_ones(level):
    ax = drawn(plot.type_pairs(TYPE_PAIRS, level=level))
    names = [f"{first} and {second}" for first, second in TYPE_PAIRS.pairs]
    order = [names.index(label.get_text()) for label in ax.get_yticklabels()]
    assert sorted(order) == list(range(len(names)))
    shown = ax.collections[0].get_array().reshape(len(names), -1)
    assert np.array_equal(shown, np.maximum(TYPE_PAIRS.pair_effects[order], 0))
    assert len(ax.lines) == np.count_nonzero(TYPE_PAIRS.pair_adjusted_pvalues <= level)


def test_a_map_of_type_pairs_needs_pairs():
    with pytest.raises(ao.InputError, match="type_pairs=True"):
        plot.type_pairs(SCALES)
