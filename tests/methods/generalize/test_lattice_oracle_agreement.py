"""The oracle of the lattice search against the oracles of the checks, on random searches."""

import math
from typing import Any

import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.counting import PerClass, canon, same
from oracles.lattice import Require, is_below, measure_nodes, objective_value, values_at
from oracles.lattice_measures import TABLE_LEVEL
from oracles.lattice_objectives import LARGEST_IS_BEST, OBJECTIVES
from oracles.lattice_table import Node
from support.lattice_cases import LatticeCase, lattice_cases
from support.strategies import fewer

pytestmark = pytest.mark.one_version

SIMPLE = {
    "alpha": oracles.alpha_k_anonymity_per_class,
    "distinct_l": oracles.l_diversity_per_class,
    "entropy_l": oracles.entropy_diversity_per_class,
    "t": oracles.t_closeness_per_class,
    "t_ordered": oracles.t_closeness_ordered_per_class,
    "beta": oracles.beta_likeness_per_class,
    "enhanced_beta": oracles.enhanced_beta_likeness_per_class,
    "delta": oracles.delta_disclosure_per_class,
}
WITH_L = {"recursive_c": oracles.recursive_diversity_per_class, "posterior": oracles.negation_diversity_per_class}
WITH_BELIEF = {
    "epsilon_class1": (oracles.epsilon_class1_per_class, "prior"),
    "epsilon_class2": (oracles.epsilon_class2_per_class, "sigma"),
    "epsilon_class3": (oracles.epsilon_class3_per_class, "shape"),
}


def generalize(case: LatticeCase, rows: Any, names: list[str], node: Node) -> list[dict[str, object]]:
    """The rows as a published table would show them, nothing suppressed."""
    levels = dict(zip(case.qis, node, strict=True))
    show = {qi: {value: path[levels[qi]] for value, path in case.hierarchies[qi].items()} for qi in case.qis}
    return [
        {name: show[name][cell] if name in show else cell for name, cell in zip(names, row, strict=True)}
        for row in rows
    ]


def by_its_check(case: LatticeCase, node: Node, asked: Require) -> PerClass:
    """The same measure by the oracle of its check, on the generalized table."""
    rows, qis = generalize(case, case.rows, list(case.columns), node), case.qis
    secret, argument = str(asked.sensitive), asked.arguments
    if asked.measure == "k":
        return oracles.k_anonymity_per_class(rows, qis)
    if asked.measure == "prosecutor":
        return oracles.risk_per_class(rows, qis)
    if "population" in argument:
        people = generalize(case, argument["population"], list(qis), node)
        if asked.measure == "delta_presence":
            found = oracles.delta_presence_per_class(rows, people, qis)
            return {key: (size, value) for key, (size, value) in found.items() if size}
        if asked.measure == "k_map":
            return oracles.k_map_per_class(rows, people, qis)
        inverse = oracles.k_map_per_class(rows, people, qis).items()
        return {key: (size, 1 / value) for key, (size, value) in inverse}
    if asked.measure in SIMPLE:
        return SIMPLE[asked.measure](rows, qis, secret)
    if asked.measure in WITH_L:
        return WITH_L[asked.measure](rows, qis, secret, argument["l"])
    if asked.measure == "t_hierarchical":
        return oracles.t_closeness_hierarchical_per_class(rows, qis, secret, list(argument["hierarchy"].values()))
    check, belief = WITH_BELIEF[asked.measure]
    sets = argument.get("predicates")
    named = None if sets is None else [(f"set {at}", value) for at, own in enumerate(sets) for value in own]
    found = check(rows, qis, secret, argument[belief], argument["b"], predicates=named)
    everybody = oracles.k_anonymity_per_class(rows, qis)
    return {key: found.get(key, (size, 1)) for key, (size, _) in everybody.items()}


@given(lattice_cases(), st.randoms(use_true_random=False))
def test_every_measure_is_that_of_its_check(case: LatticeCase, chance: Any) -> None:
    table = case.table()
    node = chance.choice(list(table.nodes()))
    for asked in case.requirements:
        if asked.measure not in TABLE_LEVEL:
            ours = values_at(table, node, asked, table.classes(node, asked.sensitive))
            checked = by_its_check(case, node, asked)
            assert ours.keys() == checked.keys()
            for key, value in ours.items():
                assert same(value, checked[key][1]), (asked, key)


@fewer(4)
@given(lattice_cases())
def test_every_row_is_published_or_suppressed(case: LatticeCase) -> None:
    for found in case.outcomes().values():
        assert sum(found.published.values()) + found.suppressed == len(case.rows)
        assert not set(found.published) & set(found.failing)
        if found.valid:
            assert found.published
            assert found.suppressed <= case.suppression * len(case.rows) + 1e-9


@fewer(4)
@given(lattice_cases())
def test_the_best_node_is_valid_and_none_is_better(case: LatticeCase) -> None:
    table, best = case.table(), case.best()
    valid = {node: found for node, found in case.outcomes().items() if found.valid}
    minimal = case.minimal()
    assert (best is None) == (not valid) == (not minimal)
    assert all(any(is_below(lowest, node) for lowest in minimal) for node in valid)
    if best is not None:
        sign = -1 if case.objective in LARGEST_IS_BEST else 1
        for node, found in valid.items():
            value = objective_value(case.objective, table, node, found)
            assert sign * value >= sign * best.value or same(value, best.value)


@fewer(4)
@given(lattice_cases())
def test_utility_without_suppression_is_that_of_the_utility_checks(case: LatticeCase) -> None:
    table = case.table()
    originals = [dict(zip(case.columns, row, strict=True)) for row in case.rows]
    for node in list(table.nodes())[:4]:
        published = {key: found.n for key, found in table.classes(node).items()}
        rows = generalize(case, case.rows, list(case.columns), node)
        values = {name: OBJECTIVES[name](table, node, published) for name in OBJECTIVES}
        assert values["discernibility"] == oracles.discernibility(rows, case.qis)
        assert values["average_class_size"] == oracles.average_class_size(rows, case.qis)
        numbered = [{**row, "record": at} for at, row in enumerate(rows)]
        known = [{**row, "record": at} for at, row in enumerate(originals)]
        assert math.isclose(
            values["kl"], oracles.kl_divergence(numbered, known, case.qis, "record"), rel_tol=1e-9, abs_tol=1e-12
        )


@fewer(4)
@given(lattice_cases())
def test_loss_cell_by_cell(case: LatticeCase) -> None:
    """Loss and entropy once more, from the rows and with no counting in advance."""
    table, best = case.table(), case.best()
    if best is None:
        return
    published = case.outcomes()[best.node].published
    shown = generalize(case, case.rows, list(case.columns), best.node)
    loss = bits = 0.0
    for row, general in zip(case.rows, shown, strict=True):
        kept = tuple(canon(general[qi]) for qi in case.qis) in published
        for place, (qi, level) in enumerate(zip(case.qis, best.node, strict=True)):
            paths = case.hierarchies[qi].values()
            below = sum(1 for path in paths if path[level] == general[qi])
            if not kept:
                loss += 1
            elif len(paths) > 1:
                loss += (below - 1) / (len(paths) - 1)
            alike = sum(1 for other in shown if other[qi] == general[qi]) if kept else len(shown)
            bits += math.log2(alike / sum(1 for other in case.rows if other[place] == row[place]))
    cells = len(case.rows) * len(case.qis)
    assert math.isclose(OBJECTIVES["loss"](table, best.node, published), loss / cells, rel_tol=1e-9, abs_tol=1e-12)
    assert math.isclose(OBJECTIVES["entropy"](table, best.node, published), bits, rel_tol=1e-9, abs_tol=1e-9)


@fewer(4)
@given(lattice_cases())
def test_k_and_distinct_l_are_monotone_whatever_is_suppressed(case: LatticeCase) -> None:
    monotone = [asked for asked in case.requirements if asked.measure in ("k", "distinct_l", "k_map", "prosecutor")]
    names = list(case.columns)
    outcomes = measure_nodes(case.rows, names, case.qis, case.hierarchies, monotone, case.suppression)
    valid = [node for node, found in outcomes.items() if found.valid]
    assert all(outcomes[above].valid for node in valid for above in outcomes if is_below(node, above))
