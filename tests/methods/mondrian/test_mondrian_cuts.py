"""Mondrian on random tables with NULLs: nothing lost, every box holds its rows and what is required, no cut left."""

from __future__ import annotations

import duckdb
import pytest
from oracles import mondrian
from support.boxes import check_boxes, random_case
from support.strategies import EXAMPLES

from sqlpriv.macros.catalog import inlined


@pytest.mark.parametrize("cuts", ["data", "public"])
def test_random_tables_are_cut_as_finely_as_is_allowed(cuts: str) -> None:
    cases = [random_case(seed, cuts) for seed in range(max(EXAMPLES // 4, 3))]
    published = [check_boxes(case) for case in cases]
    assert sum(published) >= len(published) / 3, "most are refused"


def test_the_widths_and_labels_of_boxes() -> None:
    asked = {
        "_normalised_width": [(2, 5, 0, 10), (3, 3, 3, 3), (-1.5, 2.5, -1.5, 2.5)],
        "_node_width": [(1, 1), (1, 7), (3, 7), (7, 7)],
        "_node_share": [(1, 1), (3, 7), (7, 7)],
        "_middle": [(0, 99), (-7, 4), (3, 3), (3, 4)],
        "_closed_label": [(1, 1), (1, 2), (-3, -1)],
    }
    for name, given in asked.items():
        for arguments in given:
            call = inlined(f"{name}({', '.join(map(repr, arguments))})")
            assert duckdb.sql(f"SELECT {call}").fetchall() == [(getattr(mondrian, name)(*arguments),)], name
