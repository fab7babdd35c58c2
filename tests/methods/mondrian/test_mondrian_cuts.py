"""Mondrian on random tables with NULLs: nothing lost, every box holds its rows and what is required, no cut left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import grids, mondrian
from oracles.grids import grid_floor, grid_next
from support.boxes import check_boxes, classes_found, random_case
from support.strategies import EXAMPLES

from sqlpriv.core.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods import METHODS
from sqlpriv.methods.generalized import scan
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.methods.generalized.grid import on_grid, points_after
from sqlpriv.methods.generalized.mondrian import cuts
from sqlpriv.methods.generalized.plan import BoxPlan
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import planned


@pytest.mark.some(1)
@pytest.mark.parametrize("points", ["data", "public"])
def test_random_tables_are_cut_as_finely_as_is_allowed(points: str) -> None:
    cases = [random_case(seed, points) for seed in range(max(EXAMPLES // 4, 3))]
    published = [check_boxes(case) for case in cases]
    assert sum(published) >= len(published) / 3, "most are refused"


@pytest.mark.some(1)
@pytest.mark.parametrize("large", [2, 5, 400])
def test_random_tables_are_cut_as_one_would_by_hand(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Whether cuts of a large partition are counted before one is tried changes nothing of what is found.
    monkeypatch.setattr(cuts, "_LARGE", large)
    compared = 0
    for case in (random_case(seed) for seed in range(1000, 1000 + max(EXAMPLES // 2, 6))):
        numbered = [(*row, number) for number, row in enumerate(case.rows)]
        if not case.holds(numbered):
            continue
        by_hand = mondrian.classes(numbered, case.trees(), case.holds)
        found = classes_found(case)
        assert set(found) == {frozenset(row[-1] for row in part) for part, _ in by_hand}
        for part, cell in by_hand:
            ends = found[frozenset(row[-1] for row in part)]
            has_null = {axis for axis in cell if any(row[axis] is None for row in part)}
            assert {axis: end for axis, end in ends.items() if axis not in has_null} == {
                axis: end for axis, end in cell.items() if axis not in has_null
            }
        compared += 1
    assert compared >= 3, "most are refused"


def test_rounds_one_by_one_cut_as_those_of_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "FEW", 0)
    monkeypatch.setattr(cuts, "_SORTED", (1, 3))
    cases = [random_case(seed, points) for seed in range(max(EXAMPLES // 40, 3)) for points in ("data", "public")]
    assert any(check_boxes(case) for case in cases)


def test_a_way_that_is_too_long_is_refused() -> None:
    # Nine children on every level, of which one has children: sixteen levels take four bits each.
    zips = pa.table({"zip": ["1" * at + str(digit) * (16 - at) for at in range(16) for digit in range(1, 10)]})
    column = 'zip = { role = "quasi-identifier", hierarchy = "mask:16" }'
    text = f'[table]\nsource = "zips.csv"\n[columns]\n{column}\n[require]\nk = 2\n[release]\nmethod = "mondrian"\n'
    policy = parse_policy(text, Path(), METHODS, "policy.toml").holding(zips)
    with pytest.raises(PolicyError, match="hierarchy of 'zip' has too many labels below labels"), planned(policy):
        pass


def test_a_way_that_is_too_long_and_lacks_a_value_is_refused_for_the_value(tmp_path: Path) -> None:
    zips = ["1" * at + str(digit) * (16 - at) for at in range(16) for digit in range(1, 10)]
    levels = [[z[: 16 - level] + "*" * level for level in range(16)] + ["*"] for z in sorted(set(zips))]
    (tmp_path / "zips.csv").write_text("".join(";".join(each) + "\n" for each in levels), encoding="utf-8")
    column = 'zip = { role = "quasi-identifier", hierarchy = "zips.csv" }'
    text = f'[table]\nsource = "people.csv"\n[columns]\n{column}\n[require]\nk = 2\n[release]\nmethod = "mondrian"\n'
    policy = parse_policy(text, tmp_path, METHODS, "policy.toml").holding(pa.table({"zip": ["elsewhere"] * 3}))
    with pytest.raises(PolicyError, match=r"level 0: 1 value\(s\) of the table are not in it"), planned(policy):
        pass


@pytest.mark.parametrize("kind", ["INTEGER", "BIGINT", "UBIGINT", "HUGEINT"])
def test_whole_numbers_beside_floats_are_not_rounded(kind: str) -> None:
    numbers = duckdb.sql(
        f"SELECT CAST(2000000000 + i AS {kind}) AS whole, CAST(i % 2 AS FLOAT) AS part FROM range(8) AS t(i)"
    )
    every = 'domain = "range:2000000000..2000000007"'  # else all of them are at one point of the grid
    columns = f'whole = {{ role = "quasi-identifier", {every} }}\npart = {{ role = "quasi-identifier" }}'
    text = f'[table]\nsource = "n.csv"\n[columns]\n{columns}\n[require]\nk = 1\n[release]\nmethod = "mondrian"\n'
    policy = parse_policy(text, Path(), METHODS, "policy.toml").holding(numbers.to_arrow_table())
    with planned(policy) as plan:
        assert plan.facts().content["classes"] == 8


def test_the_node_of_a_cut_is_published_and_not_the_least_one_over_the_rows() -> None:
    ages = pa.table({"age": [3, 3, 4, 60, 61, 61]})
    column = 'age = { role = "quasi-identifier", domain = "range:0..99" }'
    text = f'[table]\nsource = "n.csv"\n[columns]\n{column}\n[require]\nk = 3\n[release]\nmethod = "mondrian"\n'
    policy = parse_policy(f'{text}cuts = "public"\n', Path(), METHODS, "policy.toml").holding(ages)
    with planned(policy) as plan:
        assert isinstance(plan, BoxPlan)
        labels = plan.source.con.execute(f"SELECT label0 FROM {plan.boxed.relation} ORDER BY 1").fetchall()
    assert labels == [("0-49",), ("50-99",)]


@pytest.mark.parametrize("domain", ['"range:0..99"', '"range:0..35000000"', "[0, 3, 10, 60, 70, 99]"])
def test_the_ends_of_a_domain_are_those_of_the_axis(domain: str) -> None:
    ages = pa.table({"age": [3, 3, 10, 60, 70, 70]})
    column = f'age = {{ role = "quasi-identifier", domain = {domain} }}'
    text = f'[table]\nsource = "n.csv"\n[columns]\n{column}\n[require]\nk = 3\n[release]\nmethod = "mondrian"\n'
    policy = parse_policy(text, Path(), METHODS, "policy.toml").holding(ages)
    with planned(policy) as plan:
        assert isinstance(plan, BoxPlan)
        labels = plan.source.con.execute(f"SELECT label0 FROM {plan.boxed.relation} ORDER BY low0").fetchall()
    last = {'"range:0..99"': ("0-10", "11-99"), '"range:0..35000000"': ("0-10", "11-35000000")}
    assert [label for (label,) in labels] == list(last.get(domain, ("0-10", "60-99")))


NUMBERS = [0, 1, 9, 10, 99, 100, 101, 990, 999, 1000, 1050, 867220, 35000000, 10**15 + 3]
DECIMALS = [0.29, 0.7, 1.05, 12.5, 0.001234, 999.9999999999999, 1e-11, 3e20]


def with_examples(*numbers: float) -> Callable[[Any], Any]:
    """A test with these examples beside those that are drawn."""

    def decorate(test: Any) -> Any:
        for number in numbers:
            test = example(number)(test)
        return test

    return decorate


@given(st.integers(-(10**15), 10**15) | st.floats(-1e18, 1e18, allow_nan=False))
@settings(max_examples=EXAMPLES, deadline=None)
@with_examples(*NUMBERS, *(-n for n in NUMBERS), *DECIMALS, *(-n for n in DECIMALS))
def test_points_of_the_grid_have_two_digits_and_are_next_to_the_number(number: float) -> None:
    kind = "BIGINT" if isinstance(number, int) else "DOUBLE"
    axis = Axis(0, "x", kind, "boxes")
    floored = on_grid(f"SELECT CAST({number!r} AS DOUBLE) AS v0", [axis])
    ((low, after),) = duckdb.sql(f"SELECT value, after FROM ({points_after(axis, floored, None)})").fetchall()
    assert (low, after) == (float(grid_floor(number)), float(grid_next(number)))


def test_the_helpers_of_the_grid() -> None:
    asked = {
        "_grid_number": [(12, 3), (-7, -2), (29, -2), (0, 5)],
        "_grid_near": [(1234.5,), (-1234.5,), (0.05,), (0,), (35000000,)],
        "_grid_exponent": [(1000, 2, 0), (-1000, 2, 0), (1050, 2, -10), (5, -1, 0), (999.5, 2, -10), (1000, 1, -10)],
        "_grid_nearest": [(1049, 2), (1051, 2), (-1051, 2), (0.29, -2)],
        "_grid_steps": [(1049, 2, 10), (1051, 2, 11), (-1051, 2, -11), (0.29, -2, 29)],
    }
    for name, given_to in asked.items():
        for arguments in given_to:
            listed = ", ".join(f"CAST({a!r} AS DOUBLE)" for a in arguments)
            (found,) = duckdb.sql(f"SELECT {inlined(f'{name}({listed})')}").fetchall()
            assert found == (getattr(grids, name)(*arguments),), (name, arguments)
    for low, high in ((1, 1), (1, 2), (-3, -1), (-3, -3), (-3, 4), (0, 4)):
        call = inlined(f"_closed_label({low}, {high})")
        assert duckdb.sql(f"SELECT {call}").fetchall() == [(grids._closed_label(low, high),)]
    assert grids._closed_label(-110, -76) == "-110 to -76"
    for low, high, cut in ((3, 5, 6), (3, 3, 4), (-9, -5, -4), (3, None, None), (None, 5, 6), (None, None, None)):
        for is_closed in (True, False):
            texts = [repr(a) if a is not None else "NULL::INTEGER" for a in (low, high, cut)]
            call = inlined(f"_cell_label({', '.join(texts)}, {is_closed}, ' or more', 'less than ')")
            wanted = grids._cell_label(low, high, cut, is_closed, " or more", "less than ")
            assert duckdb.sql(f"SELECT {call}").fetchall() == [(wanted,)]


def test_the_widths_and_labels_of_boxes() -> None:
    asked = {
        "_normalised_width": [(2, 5, 0, 10), (3, 3, 3, 3), (-1.5, 2.5, -1.5, 2.5)],
        "_node_width": [(1, 1), (1, 7), (3, 7), (7, 7)],
        "_node_share": [(1, 1), (3, 7), (7, 7)],
        "_middle": [(0, 99), (-7, 4), (3, 3), (3, 4)],
        "_bits_for": [(0,), (1,), (2,), (3,), (40,), (2**20,)],
        "_top_bit": [(0, 0), (5, 5), (4, 5), (0, 2**60), (0, 2**61 - 1), (2**60, 2**60 + 2**52), (0, 2**53 - 1)],
        "_mark": [(0, 1), (13, 1), (13, 2), (13, 8), (2**61 - 1, 2**61), (2**61 - 1, 2)],
        "_eagerness": [(1.0, 0), (1.0, 3), (0.25, 1)],
    }
    for name, given_to in asked.items():
        for arguments in given_to:
            call = inlined(f"{name}({', '.join(map(repr, arguments))})")
            assert duckdb.sql(f"SELECT {call}").fetchall() == [(getattr(mondrian, name)(*arguments),)], name
