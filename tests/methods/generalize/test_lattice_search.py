"""The search against the oracle that tries every node: same node, same value, same rows suppressed, same classes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from unittest import mock

import duckdb
import pytest
from hypothesis import given
from oracles.counting import same
from oracles.lattice import objective_value
from support.lattice_cases import LatticeCase, lattice_cases
from support.lattice_runs import source_of, write_case
from support.strategies import fewer

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalized.evaluate import evaluate
from sqlpriv.methods.generalized.generalize import lattice
from sqlpriv.methods.generalized.generalize.lattice import all_nodes, minimal_nodes
from sqlpriv.methods.generalized.generalize.plan import prepare
from sqlpriv.methods.generalized.generalize.search import is_valid, search

SCHEMA = "memory.given"


@pytest.fixture(scope="module")
def scratch() -> Iterator[Calls]:
    """A database of its own, with the macros that were created in it."""
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("CREATE SCHEMA priv; CREATE SCHEMA given").fetchall()
        yield Calls(con)


@fewer(4, deep=2)  # 1,000 in make test-deep
@given(case=lattice_cases())
def test_the_search_finds_the_optimum(scratch: Calls, case: LatticeCase) -> None:
    policy = write_case(scratch.con, case, SCHEMA)
    domain, measures, objective, _ = prepare(source_of(scratch, case, SCHEMA, policy), policy)
    answer = search(domain, measures, objective)
    expected = case.best()
    assert answer.optimal
    assert answer.nodes_evaluated + answer.pruned_by_requirement + answer.pruned_by_bound == answer.nodes_total
    if expected is None:
        assert answer.best is None
        return
    assert answer.best is not None
    found = answer.best
    assert (found.node, found.outcome.suppressed, found.outcome.classes) == (
        expected.node,
        expected.suppressed_rows,
        expected.classes,
    )
    assert math.isclose(objective.shown(found.cost), float(expected.value), rel_tol=1e-9, abs_tol=1e-9)


@fewer(8)
@pytest.mark.parametrize("least", [2, 64], ids=["from a base", "from the table"])
@given(case=lattice_cases())
def test_every_node_is_judged_like_the_oracle(scratch: Calls, least: int, case: LatticeCase) -> None:
    policy = write_case(scratch.con, case, SCHEMA)
    domain, measures, *_ = prepare(source_of(scratch, case, SCHEMA, policy), policy)
    expected = case.outcomes()
    table = case.table()
    with mock.patch.object(lattice, "_LEAST", least):
        rows = all_nodes(domain, measures)
    assert [r.node for r in rows] == list(expected)
    for row in rows:
        outcome = expected[row.node]
        assert (row.outcome.suppressed, row.outcome.classes, row.valid) == (
            outcome.suppressed,
            len(outcome.published),
            outcome.valid,
        )
        for name, value in row.objectives.items():
            if outcome.published:
                assert same(value, float(objective_value(name, table, row.node, outcome))) or math.isclose(
                    value, float(objective_value(name, table, row.node, outcome)), rel_tol=1e-9, abs_tol=1e-9
                )
    assert [r.node for r in rows if r.minimal] == case.minimal()


@fewer(8)
@given(case=lattice_cases())
def test_the_minimal_nodes_are_those_of_the_oracle(scratch: Calls, case: LatticeCase) -> None:
    policy = write_case(scratch.con, case, SCHEMA)
    domain, measures, *_ = prepare(source_of(scratch, case, SCHEMA, policy), policy)
    found = minimal_nodes(domain, measures)
    assert sorted(r.node for r in found) == case.minimal()
    assert all(is_valid(domain, o) for o in evaluate(domain, measures, [r.node for r in found]))
