"""Mondrian on random tables with NULLs: nothing lost, every box holds its rows and what is required, no cut left."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from oracles import mondrian
from support.boxes import check_boxes, classes_found, random_case
from support.strategies import EXAMPLES

from sqlpriv.core.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods import METHODS
from sqlpriv.methods.generalized import scan
from sqlpriv.methods.generalized.mondrian import cuts
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
        assert classes_found(case) == {frozenset(row[-1] for row in part) for part in by_hand}
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
    columns = "\n".join(f'{name} = {{ role = "quasi-identifier" }}' for name in ("whole", "part"))
    text = f'[table]\nsource = "n.csv"\n[columns]\n{columns}\n[require]\nk = 1\n[release]\nmethod = "mondrian"\n'
    policy = parse_policy(text, Path(), METHODS, "policy.toml").holding(numbers.to_arrow_table())
    with planned(policy) as plan:
        assert plan.facts().content["classes"] == 8


def test_the_widths_and_labels_of_boxes() -> None:
    asked = {
        "_normalised_width": [(2, 5, 0, 10), (3, 3, 3, 3), (-1.5, 2.5, -1.5, 2.5)],
        "_node_width": [(1, 1), (1, 7), (3, 7), (7, 7)],
        "_node_share": [(1, 1), (3, 7), (7, 7)],
        "_middle": [(0, 99), (-7, 4), (3, 3), (3, 4)],
        "_closed_label": [(1, 1), (1, 2), (-3, -1)],
        "_bits_for": [(0,), (1,), (2,), (3,), (40,), (2**20,)],
        "_top_bit": [(0, 0), (5, 5), (4, 5), (0, 2**60), (0, 2**61 - 1), (2**60, 2**60 + 2**52), (0, 2**53 - 1)],
        "_mark": [(0, 1), (13, 1), (13, 2), (13, 8), (2**61 - 1, 2**61), (2**61 - 1, 2)],
        "_eagerness": [(1.0, 0), (1.0, 3), (0.25, 1)],
    }
    for name, given in asked.items():
        for arguments in given:
            call = inlined(f"{name}({', '.join(map(repr, arguments))})")
            assert duckdb.sql(f"SELECT {call}").fetchall() == [(getattr(mondrian, name)(*arguments),)], name
