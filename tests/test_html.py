"""What notebooks show of spaces and results: small tables of valid HTML, in which no name can do harm."""

from html.parser import HTMLParser

import numpy as np
import pytest

import anchorot as ao
from anchorot._html import WithFacts, card, dots, histogram, line, rows

EVIL = "<script>alert('x')<b>\n&"
LONGEST = 4000  # letters


class Checker(HTMLParser):
    """Collects text and refuses elements that are not closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(html):
    assert len(html) <= LONGEST
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert not checker.open
    assert checker.tags <= {"div", "b", "table", "tr", "td", "th", "svg", "path"}
    assert "nan" not in html
    return checker, " ".join(checker.text)


def shown(thing):
    return parsed(thing._repr_html_())


CLOUD = np.random.default_rng(0).random((300, 3))
SPACE = ao.from_points(CLOUD, types=["a", "b"] * 150, features=CLOUD)
LINE = ao.Space(np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0))))


def test_a_space_shows_its_size_its_costs_and_what_it_looked_like():
    checker, text = shown(SPACE)
    for words in ("Space", "300", "uniform", "float64", "2 types", "3 features"):
        assert words in text
    assert "svg" in checker.tags
    checker, text = shown(LINE.take([0, 3]))
    assert "0 to 3" in text
    assert "svg" in checker.tags  # no places: its costs are drawn


@pytest.mark.parametrize("scale", [0.0, 5e-324, 1.7e308])
def test_pictures_of_costs_of_any_size_are_drawn(scale):
    shown(ao.Space(scale * np.array([[0.0, 1.0], [-1.0, 0.0]])))
    assert parsed(dots(scale * CLOUD - scale / 2))
    assert parsed(line(np.array([scale, -scale])))


def test_names_from_outside_are_text():
    origin = ao.io.Origin(EVIL, {})
    checker, text = shown(SPACE.coming_from(origin))
    assert "script" not in checker.tags
    assert "<script>" in text
    found = ao.Neighbors(np.array([0]), np.array([1.0]), (EVIL,), 1, True, 1)
    assert "<script>" in shown(found)[1]
    assert "\n" not in card(EVIL, {EVIL: EVIL}) + rows([EVIL], [[EVIL]])
    assert len(card("x", {"name": "y" * 10_000})) < 500


def test_transports_and_alignments_show_their_values():
    plan = ao.anchor_wasserstein(LINE, LINE, epsilon=0)
    _, text = shown(plan)
    for words in ("Transport", "6 x 6", "converged"):
        assert words in text
    _, text = shown(ao.align(LINE, LINE, rng=0))
    for words in ("Alignment", "6 and 6, all matched", "loss", "runner-up"):
        assert words in text


def test_tests_show_the_statistic_among_its_permutations():
    test = ao.energy_test(list(CLOUD[:10]), list(CLOUD[10:20] + 1), n_resamples=99, rng=0, progress=False)
    checker, text = shown(test)
    for words in ("PermutationTest", "p-value", "99"):
        assert words in text
    assert "svg" in checker.tags
    distances = ao.pairwise([scale * LINE.cost for scale in range(1, 9)])
    labels = [EVIL, "b"] * 4
    checker, text = shown(ao.group_test(distances, labels, n_resamples=99, rng=0, progress=False))
    assert "GroupTest" in text
    assert "<script>" in text
    spaces = [ao.Space(scale * LINE.cost) for scale in range(1, 9)]
    _, text = shown(ao.scale_test(spaces, labels, n_resamples=99, rng=0, progress=False))
    for words in ("ScaleTest", "most from"):
        assert words in text


def test_a_statistic_that_is_infinite_is_shown():
    assert "inf" in shown(ao.PermutationTest(np.inf, 0.5, np.array([np.inf, 1.0])))[1]
    assert "svg" not in shown(ao.PermutationTest(np.inf, 0.5, np.array([np.inf])))[0].tags
    assert histogram(np.array([np.nan]), 1.0) == ""


def test_many_groups_and_neighbours_stay_few_lines():
    index = np.arange(5000)
    _, text = shown(ao.Neighbors(index, index / 7, tuple(map(str, index)), 5000, True, 5000))
    assert "and 4990 more" in text
    labels = np.repeat(np.arange(30), 2)
    distances = np.abs(np.subtract.outer(labels, labels)).astype(float)
    _, text = shown(ao.group_test(distances, labels, n_resamples=1, rng=0, progress=False))
    assert "more" in text


# -- results in one line -------------------------------------------------------------------------------------------

CLOUDS = [CLOUD[k : k + 6] for k in range(0, 24, 3)]
SPACES = [ao.from_points(points) for points in CLOUDS]
GROUPS = ["a", "b"] * 4
RESULTS = {
    "alignment": lambda: ao.align(LINE, LINE, rng=0),
    "landmarks": lambda: ao.align(CLOUD, CLOUD[::-1], n_landmarks=8, rng=0),
    "graphs": lambda: ao.align_graphs([(0, 1), (1, 2), (2, 3), (1, 3)], [(0, 1), (1, 2), (2, 3), (1, 3)], rng=0),
    "transport": lambda: ao.anchor_wasserstein(LINE, LINE, epsilon=0),
    "nearest of all": lambda: ao.pairwise(SPACES, k=2, progress=False),
    "nearest of one": lambda: ao.distances.nearest_gw(SPACES[0], SPACES, k=7),
    "duplicates": lambda: ao.duplicates(SPACES, 0.1, progress=False),
    "two samples": lambda: ao.energy_test(SPACES[:4], SPACES[4:], rng=0, progress=False),
    "groups": lambda: ao.group_test(ao.pairwise(SPACES, progress=False), GROUPS, rng=0, progress=False),
    "scales": lambda: ao.scale_test(SPACES, GROUPS, n_resamples=19, rng=0, progress=False),
    "estimate": lambda: ao.anchor_energy_estimate(ao.from_points(CLOUD), ao.from_points(CLOUD[::-1]), n_draws=5, rng=0),
    "bounds": lambda: ao.lower_bounds(LINE, LINE),
}
IN_PASSING = {"matches", "common", "_induced"}  # one pass over a plan, or over the edges


@pytest.mark.parametrize("name", RESULTS)
def test_the_repr_of_a_result_is_short_and_computes_nothing(name):
    found = RESULTS[name]()
    before = set(vars(found))
    text = repr(found)
    assert set(vars(found)) - before <= IN_PASSING
    assert len(text) < 600
    assert len(text.splitlines()) <= 6
    assert text.startswith(type(found).__name__)


@pytest.mark.parametrize("name", RESULTS)
def test_the_facts_of_a_result_are_what_repr_and_notebooks_show(name):
    found = RESULTS[name]()
    if not hasattr(found, "facts"):
        assert not hasattr(found, "_repr_html_")
        return
    facts = found.facts()
    page = shown(found)[1]
    assert all(fact in page or len(fact) > 60 for fact in facts.values())
    if isinstance(found, WithFacts):
        assert repr(found) == f"{type(found).__name__}({'; '.join(f'{key}: {fact}' for key, fact in facts.items())})"
