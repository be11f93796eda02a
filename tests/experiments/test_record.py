"""Measurements are numbers with units."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.record import FIELDS, RECORD, RELATIONS, Number, cell, put, read, shown, to_toml

NUMBERS = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(1e-9, 1e9).map(lambda value: Number(f"{value:.2e}" if value < 1 else f"{value:.2f}")),
)
QUANTITIES = st.fixed_dictionaries(
    {"value": NUMBERS},
    optional={
        "relation": st.sampled_from(RELATIONS),
        "deviation": NUMBERS,
        "of": NUMBERS,
        "unit": st.sampled_from(["s", "%", "ms by the clock", "GB so far"]),
        "ratio": NUMBERS,
    },
).map(lambda found: found["value"] if len(found) == 1 else {name: found[name] for name in FIELDS if name in found})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.00", 1.0),
        ("10 878", 10878),
        ("98 ms", {"value": 98, "unit": "ms"}),
        ("at most 5 s", {"relation": "at most", "value": 5, "unit": "s"}),
        ("0.05 (0.02 to 0.08)", {"value": 0.05, "low": 0.02, "high": 0.08}),
        ("6.1 to 8.9 s", {"low": 6.1, "high": 8.9, "unit": "s"}),
        ("7.1 and 7.9", {"values": [7.1, 7.9]}),
        ("*23 min*", {"value": 23, "unit": "min", "extrapolated": True}),
        ("66 ms (2.30)", {"value": 66, "unit": "ms", "ratio": 2.3}),
        ("p = 0.04", {"p": 0.04}),
        ("0.9 of 800; 3 s", "0.9 of 800; 3 s"),
        ("common 0.9 of 800; 3 s", {"common": {"value": 0.9, "of": 800}, "time": {"value": 3, "unit": "s"}}),
        ("hits 0.3, 1.95 over POT", {"hits": 0.3, "over POT": {"value": 1.95, "unit": "over POT"}}),
        ("2 (4 s / 2 s)", {"ratio": 2, "of": {"value": 4, "unit": "s"}, "over": {"value": 2, "unit": "s"}}),
        ("no plan", "no plan"),
        ("8 x 8", "8 x 8"),
        ("0.3, 0.4", "0.3, 0.4"),
    ],
)
def test_what_a_script_prints_becomes_numbers_with_units(text, expected):
    assert cell(text) == expected


@given(QUANTITIES)
def test_quantities_are_shown_as_they_are_read(found):
    assert cell(shown(found)) == found
    assert shown(cell(shown(found))) == shown(found)


@given(st.lists(QUANTITIES, max_size=3))
def test_a_record_is_read_as_it_was_written(found):
    sections = [
        {"command": "python", "part": [{"columns": list("abcd"), "rows": [["1 x", *found, *[""] * (3 - len(found))]]}]}
    ]
    again = tomllib.loads(to_toml(sections), parse_float=Number)["section"]
    assert again == sections
    assert to_toml(again) == to_toml(sections)


def test_a_run_takes_the_place_of_the_last_run_of_its_command(tmp_path):
    record = tmp_path / "record.toml"
    for milliseconds in (3, 4):
        put("python a.py", f"Once.\n\n| what | time |\n|---|---|\n| 8 ms | {milliseconds} ms |\n", record)
        put("python b.py", "Nothing.", record)
    first, second = read(record)
    assert second["part"] == [{"text": "Nothing."}]
    assert first["part"][1] == {"columns": ["what", "time"], "rows": [["8 ms", {"value": 4, "unit": "ms"}]]}
    assert first["machine"]
    assert first["commit"]


def test_no_measurement_is_recorded_as_text():
    text = RECORD.read_text(encoding="utf-8")
    assert text == to_toml(read()), "record.toml has measurements typed as text: python -m experiments.fill"
