"""Random small searches: a table, nesting hierarchies, requirements that some nodes meet, and an objective.

Written with a random.Random, because a seed gives more varied cases than hypothesis, which likes everything small and
equal; hypothesis brings its own Random for a part of the cases, and those shrink.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from oracles.counting import Number
from oracles.lattice import Best, Outcome, Require, best_node, measure_nodes, minimal_nodes, values_at
from oracles.lattice_measures import COUNTS, JOINT, TABLE_LEVEL
from oracles.lattice_objectives import OBJECTIVES
from oracles.lattice_table import Node, Table

from support import strategies as _profile  # noqa: F401  (sets the number of examples)

QI_NAMES = ["age", "zip code", "o'clock", "MixedCase", "level", "n", "größe", "node"]
SENSITIVE_NAMES = ["disease", "salary class", "value", "label"]
TYPES: dict[str, list[object]] = {
    "INTEGER": [3, 7, 12, 40, -1, 100],
    "VARCHAR": ["a", "b", "c d", "o'x", "", "é"],
}
GROUPS = ["g", "h", "i"]
SUPPRESSIONS = [0, 0.1, 0.25, 0.5]
TRIES = 4

OF_CLASS_SIZES = ["k", "prosecutor", "marketer", "uniques"]
OF_POPULATION = ["k_map", "delta_presence", "journalist"]
OF_SECRETS = [
    "alpha", "distinct_l", "entropy_l", "recursive_c", "posterior", "t", "t_ordered", "t_hierarchical", "beta",
    "enhanced_beta", "delta", "epsilon_class1", "epsilon_class2", "epsilon_class3",
]  # fmt: skip
MEASURES = OF_CLASS_SIZES + OF_POPULATION + OF_SECRETS
OF_SECRETS_TOGETHER = ["disclosure"]
"""Asked for by name: in random cases of all measures few nodes would meet them."""

# What a threshold may be at all; what is attained is moved into these limits.
SHARES = ["alpha", "posterior", "t", "t_ordered", "t_hierarchical", "delta_presence", "prosecutor", "journalist"]
LEAST = {"t": 0.0, "t_ordered": 0.0, "t_hierarchical": 0.0, "beta": 0.0, "enhanced_beta": 0.0, "uniques": 0}
LEAST |= dict.fromkeys(["k", "distinct_l", "entropy_l", "k_map", "epsilon_class1", "epsilon_class2"], 1)
LEAST |= {"epsilon_class3": 1}
MOST = dict.fromkeys([*SHARES, "marketer"], 1.0) | {"disclosure": 0.99}

Paths = dict[Any, tuple[object, ...]]


@dataclass(frozen=True)
class LatticeCase:
    """One search; rows are tuples in the order of `columns`, which maps names to DuckDB types."""

    rows: tuple[tuple[object, ...], ...]
    columns: Mapping[str, str]
    qis: tuple[str, ...]
    sensitive: tuple[str, ...]
    hierarchies: Mapping[str, Paths]
    population: tuple[tuple[object, ...], ...]
    """Rows of the quasi-identifiers, in their order; the table's own rows are among them."""
    requirements: tuple[Require, ...]
    objective: str
    suppression: float

    def table(self) -> Table:
        return Table.read(self.rows, list(self.columns), self.qis, self.hierarchies)

    def outcomes(self) -> dict[Node, Outcome]:
        names = list(self.columns)
        return measure_nodes(self.rows, names, self.qis, self.hierarchies, self.requirements, self.suppression)

    def best(self) -> Best | None:
        return best_node(
            self.rows, list(self.columns), self.qis, self.hierarchies,
            self.requirements, self.objective, self.suppression,
        )  # fmt: skip

    def minimal(self) -> list[Node]:
        names = list(self.columns)
        return minimal_nodes(self.rows, names, self.qis, self.hierarchies, self.requirements, self.suppression)


def leaf_domain(chance: random.Random) -> tuple[str, list[object]]:
    """A DuckDB type and one to five of its values, often with NULL among them."""
    kind = chance.choice(sorted(TYPES))
    values = chance.sample(TYPES[kind], chance.choice([3, 4, 2, 5, 1]))
    return kind, [*values[:4], None] if chance.random() < 0.4 else values


def nesting_hierarchy(chance: random.Random, leaves: Sequence[object], *, null_may_join: bool = True) -> Paths:
    """Every leaf up to '*', one to three levels; a label may be the text of what is below it, as ARX's often are."""
    paths: Paths = {leaf: (leaf,) for leaf in leaves}
    for level in range(1, chance.choice([2, 3, 1])):
        parents: dict[object, object] = {}
        for below in dict.fromkeys(path[-1] for path in paths.values()):
            stays = chance.random() < 0.2 or (below is None and not null_may_join)
            alone = below if below is None else str(below)
            parents[below] = alone if stays else f"{chance.choice(GROUPS)}{level}"
        paths = {leaf: (*path, parents[path[-1]]) for leaf, path in paths.items()}
    return {leaf: (*path, "*") for leaf, path in paths.items()}


def arguments(
    chance: random.Random, measure: str, domain: Sequence[object], present: Sequence[object]
) -> dict[str, Any]:
    """What a measure of a sensitive column needs; `domain` has the values of the column and maybe more."""
    if measure == "recursive_c":
        return {"l": chance.choice([2, 3, 1])}
    if measure == "posterior":
        return {"l": chance.choice([2, 3])}
    if measure == "t_hierarchical":
        return {"hierarchy": nesting_hierarchy(chance, domain)}
    if measure == "disclosure":
        return {"k": chance.choice([1, 1, 2])}
    if not measure.startswith("epsilon_"):
        return {}
    given: dict[str, Any] = {"b": chance.choice([0, 0, 0, 1, 2])}
    if chance.random() < 0.3:
        sizes = [chance.randint(1, len(present)) for _ in range(chance.randint(1, 3))]
        given["predicates"] = [set(chance.sample(list(present), size)) for size in sizes]
    if measure == "epsilon_class1":  # quarters and 64ths, so that doubles are exact
        given["prior"] = {value: chance.randint(4, 80) / 4 for value in domain}
    elif measure == "epsilon_class2":
        given["sigma"] = chance.randint(4 * len(present), 400) / 4
    else:
        cuts = sorted(chance.randint(0, 64) for _ in domain[1:])
        ends = zip([0, *cuts], [*cuts, 64], strict=True)
        given["shape"] = {value: (high - low) / 64 for value, (low, high) in zip(domain, ends, strict=True)}
    return given


def attained(table: Table, node: Node, requirement: Require) -> list[Number]:
    """The finite values that a measure takes at a node with nothing suppressed, in order, each once."""
    classes = table.classes(node, requirement.sensitive)
    if requirement.measure in TABLE_LEVEL:
        return [TABLE_LEVEL[requirement.measure]([found.n for found in classes.values()])]
    if requirement.measure in JOINT:
        return [JOINT[requirement.measure](list(classes.values()), requirement.arguments)]
    values = values_at(table, node, requirement, classes).values()
    return sorted({value for value in values if not math.isinf(value)})


def threshold(chance: random.Random, table: Table, requirement: Require) -> float:
    """A value that some class attains, exactly or missed by little but more than the tolerance."""
    node = tuple(chance.randint(0, table.height(qi)) for qi in table.qis)
    measure = requirement.measure
    value = chance.choice(attained(table, node, requirement) or [2])
    if measure in COUNTS:
        return max(LEAST[measure], int(value) + chance.choice([0, 0, 1, -1]))
    near = float(value) * chance.choice([1, 1, 1 + 1e-6, 1 - 1e-6, 1.2, 0.9])
    return min(MOST.get(measure, math.inf), max(LEAST.get(measure, 0.01), near))


def requirement(
    chance: random.Random, case: LatticeCase, domains: Mapping[str, Sequence[object]], measure: str
) -> Require:
    """A requirement of this measure that some nodes of the case meet and others do not, with luck."""
    table, sensitive, given = case.table(), None, {}
    if measure in OF_POPULATION:
        given = {"population": case.population}
    elif measure in OF_SECRETS + OF_SECRETS_TOGETHER:
        sensitive = chance.choice(case.sensitive)
        present = list(dict.fromkeys(table.columns[sensitive]))
        given = arguments(chance, measure, domains[sensitive], present)
    asked = Require(measure, 0, sensitive, given)
    return replace(asked, threshold=threshold(chance, table, asked))


def random_case(chance: random.Random, *, null_may_join: bool = True, always: str | None = None) -> LatticeCase:
    """Without `null_may_join` NULL stays NULL on every level below the top. `always` is required, alone or not."""
    qis = chance.sample(QI_NAMES, chance.choice([2, 3, 1]))
    sensitive = chance.sample(SENSITIVE_NAMES, chance.choice([1, 2]))
    domains = {name: leaf_domain(chance) for name in [*qis, *sensitive]}
    leaves = {name: values for name, (_, values) in domains.items()}
    used = {name: values[: chance.randint((len(values) + 1) // 2, len(values))] for name, values in leaves.items()}
    size = chance.choice([14, 10, chance.randint(1, 14)])
    rows = tuple(tuple(chance.choice(values) for values in used.values()) for _ in range(size))
    more = [tuple(chance.choice(leaves[qi]) for qi in qis) for _ in range(chance.randint(0, 10))]
    case = LatticeCase(
        rows=rows,
        columns={name: kind for name, (kind, _) in domains.items()},
        qis=tuple(qis),
        sensitive=tuple(sensitive),
        hierarchies={qi: nesting_hierarchy(chance, leaves[qi], null_may_join=null_may_join) for qi in qis},
        population=(*(row[: len(qis)] for row in rows), *more),
        requirements=(),
        objective=chance.choice(list(OBJECTIVES)),
        suppression=chance.choice(SUPPRESSIONS),
    )
    for _ in range(TRIES):
        kinds = chance.sample(MEASURES, chance.choice([1, 2, 3] if always is None else [0, 0, 1]))
        kinds += [] if always is None else [always]
        case = replace(case, requirements=tuple(requirement(chance, case, leaves, measure) for measure in kinds))
        if is_worth_searching(case):
            break
    return case


def is_worth_searching(case: LatticeCase) -> bool:
    """Some nodes are valid and some are not, and where rows may be suppressed, some node does so."""
    outcomes = case.outcomes().values()
    valid = [found for found in outcomes if found.valid]
    return 0 < len(valid) < len(outcomes) and (not case.suppression or any(found.suppressed for found in valid))


def lattice_cases(*, null_may_join: bool = True, always: str | None = None) -> st.SearchStrategy[LatticeCase]:
    """Seven of eight cases from a seed, the others drawn by hypothesis choice by choice."""
    seeded = st.integers(0, 2**32).map(random.Random)
    drawn = st.randoms(use_true_random=False)
    chances = st.integers(0, 7).flatmap(lambda kind: drawn if kind == 7 else seeded)
    return chances.map(lambda chance: random_case(chance, null_may_join=null_may_join, always=always))
