"""Mondrian on random tables with NULLs: nothing lost, every box holds its rows and what is required, no cut left."""

from __future__ import annotations

import pytest
from support.boxes import check_boxes, random_case
from support.strategies import EXAMPLES


@pytest.mark.parametrize("cuts", ["data", "public"])
def test_random_tables_are_cut_as_finely_as_is_allowed(cuts: str) -> None:
    cases = [random_case(seed, cuts) for seed in range(EXAMPLES)]
    published = [check_boxes(case) for case in cases]
    assert sum(published) > len(published) / 3
