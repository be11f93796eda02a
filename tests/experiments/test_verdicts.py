"""Verdicts of the experiments follow from figures by rules, and expected values could be missed."""

import csv
import json

import numpy as np
import pytest

from experiments.common.differences import Difference
from experiments.common.filling import Results
from experiments.common.page import write_page
from experiments.common.study import FORMS, Verdict
from experiments.node_assignment.claims import BASELINE, FAMILIES, Figures, better_than_all, others_fail, shown_methods
from experiments.trade_off.experiment import verdict_of
from tests.means import ROOT

FOLDER = ROOT / "experiments"


def around(mean, n=50):
    """Return paired differences of this mean and of standard deviation 0.1."""
    noise = np.random.default_rng(0).normal(size=n)
    return mean + 0.1 * (noise - noise.mean()) / noise.std(ddof=1)


def test_difference_is_the_mean_over_pairs_with_its_standard_error():
    common = np.random.default_rng(1).normal(size=50)  # what both methods share does not widen the interval
    found = Difference.paired(common + around(0.03), common)
    assert (found.mean, found.error) == (pytest.approx(0.03), pytest.approx(0.1 / np.sqrt(50)))
    assert (found.high - found.mean) / found.error == pytest.approx(2.0096, abs=1e-4)  # Student's t, 49 degrees
    assert str(found) == "+0.030 ± 0.014"


def test_exchanging_the_methods_exchanges_ahead_and_behind():
    for mean, word, other in ((0.05, "ahead", "behind"), (0.01, "nil", "nil")):
        values = around(mean)
        assert Difference.paired(values, 0 * values).word == word
        assert Difference.paired(0 * values, values).word == other


def test_a_difference_of_nil_does_not_hold():
    ahead, nil, behind = (Difference.paired(around(mean), np.zeros(50)) for mean in (0.1, 0.02, -0.1))
    assert nil.mean > 0  # in the right direction, but within its interval
    assert better_than_all([ahead, ahead]) == Verdict.HOLDS
    assert better_than_all([ahead, nil]) == Verdict.FAILS
    assert better_than_all([ahead, behind]) == Verdict.FAILS
    assert [others_fail(leads) for leads in ([nil, behind], [ahead, nil], [ahead, ahead])] == [
        Verdict.FAILS,
        Verdict.IN_PART,
        Verdict.HOLDS,
    ]


def test_parameters_are_tuned_on_other_graphs_than_those_of_the_answers():
    def scores(mean):
        return {"split": np.full(3, mean)}

    names = ["AEP", "align", "degree", *(f"{family} ({form})" for family in FAMILIES for form in "ab")]
    tuning = {name: scores(0.6 if name.endswith("(a)") else 0.5) for name in names} | {"GOT (9 steps)": scores(0.1)}
    fresh = {name: scores(0.5 if name.endswith("(a)") else 0.6) for name in names}
    figures = Figures(tuning, fresh)
    assert figures.best(BASELINE) == f"{BASELINE} (a)"  # though b is better on the fresh graphs
    assert figures.mean(f"{BASELINE} (a)", "split") == 0.5
    shown = shown_methods(figures)
    assert shown[0] == "AEP"
    assert sorted(shown) == sorted(
        ["AEP", "align", "degree", "GOT (9 steps)", *(f"{family} (a)" for family in FAMILIES)]
    )
    assert figures.lead("GOT (9 steps)").mean == pytest.approx(0.4)  # on the pairs that both matched


def test_the_stored_verdict_follows_from_the_stored_differences():
    folder = FOLDER / "results" / "node_assignment"
    claims = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["claims"]
    with (folder / "differences.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    enough = [row for row in rows if int(row["pairs"]) >= 50]
    assert [row["AEP less"] for row in rows if row not in enough] == ["GOT (200 steps)"]
    for row in rows:
        low, high = (float(end) for end in row["95 % interval"].split(" to "))
        assert row["AEP is"] == ("ahead" if low > 0 else "behind" if high < 0 else "nil")
    is_better = all(row["AEP is"] == "ahead" for row in enough)
    assert claims[0]["verdict"] == (Verdict.HOLDS if is_better else Verdict.FAILS)


@pytest.mark.parametrize("name", ["node_assignment", "beyond"])
def test_expected_values_could_be_missed(name):
    expected = json.loads((FOLDER / name / "expected.json").read_text(encoding="utf-8"))
    for value in expected["values"].values():
        assert 0 < value["tolerance"] <= 0.1 * abs(value["value"])
    assert expected["verdicts"]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["comparable", "comparable"], Verdict.HOLDS),
        (["comparable", "undecided"], Verdict.IN_PART),
        (["undecided", "undecided"], Verdict.OPEN),
        (["comparable", "not comparable"], Verdict.FAILS),
    ],
)
def test_what_is_not_shown_is_neither_held_nor_refuted(words, verdict):
    assert verdict_of(words) == verdict


def test_answers_of_an_earlier_form_are_marked(tmp_path):
    claim = {"paper": "P", "ours": "O", "verdict": "holds", "why": "W"}
    summary = {"title": "T", "question": "Q", "quick": False, "machine": "M", "seconds": 1.0, "claims": [claim]}
    summary |= {key: [] for key in ("notes", "tables", "figures")}
    for form, is_marked in (({}, True), ({"form": FORMS["trade_off"]}, False)):
        (tmp_path / "trade_off").mkdir(exist_ok=True)
        (tmp_path / "trade_off" / "summary.json").write_text(json.dumps(summary | form), encoding="utf-8")
        page = write_page(tmp_path, ["trade_off"]).read_text(encoding="utf-8")
        assert ("of an earlier form of this experiment" in page) == is_marked
        assert ("earlier form: **holds**" in page) == is_marked
        assert ("T (earlier form)" in Results(tmp_path, ("trade_off",)).text("verdicts")) == is_marked
