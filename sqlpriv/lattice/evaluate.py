"""Judge a batch of nodes in one query: base x nodes, one GROUP BY into classes, one into nodes.

The number of a class is node * numbers + (sum of the label numbers), so all classes of all nodes stand in one column
and the formulas of sql/ treat them like the classes of one table. That every node holds the whole table keeps the
shares right that some formulas take from the histogram they are given.

Nodes that generalize the attribute with the most values start from a base in which it is generalized already, which
is much smaller, often: the two bases are read side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlpriv.catalog import inlined
from sqlpriv.engine import Row, fetch
from sqlpriv.lattice.domain import Domain
from sqlpriv.lattice.measures import AGGREGATE, POPULATION, RELATION, TABLE, ClassMeasure

Node = tuple[int, ...]
COSTS = ("loss", "entropy", "volume")


@dataclass(frozen=True)
class Outcome:
    """What a node gives. Sums are over the published classes; costs also over suppressed rows, at the top level."""

    suppressed: int
    ruled_out: int
    classes: int
    all_classes: int
    squares: int
    all_squares: int
    size_logs: float
    all_size_logs: float
    table_fails: bool
    suppressed_by: tuple[int, ...]
    worst: tuple[float | None, ...]
    costs: tuple[float, ...] = ()
    published_worst: tuple[float | None, ...] = ()


def evaluate(
    domain: Domain,
    measures: Sequence[ClassMeasure],
    nodes: Sequence[Node],
    *,
    with_costs: bool = False,
    base: str | None = None,
) -> list[Outcome]:
    """The outcomes of the nodes, in their order; of another base than the table's, if one is given."""
    if not nodes:
        return []
    write_nodes(domain, nodes)
    rows = fetch(domain.source.con, _query(domain, measures, with_costs, base))
    return [_outcome(r, len(measures)) for r in rows]


def _outcome(row: Row, measures: int) -> Outcome:
    _, suppressed, ruled_out, classes, all_classes, squares, all_squares, logs, all_logs, table_fails, *rest = row
    return Outcome(
        int(suppressed),
        int(ruled_out),
        int(classes),
        int(all_classes),
        int(squares),
        int(all_squares),
        float(logs),
        float(all_logs),
        bool(table_fails),
        tuple(int(x) for x in rest[:measures]),
        tuple(rest[measures : 2 * measures]),
        tuple(float(x) for x in rest[2 * measures : 2 * measures + len(COSTS)]),
        tuple(rest[2 * measures + len(COSTS) :]),
    )


def write_nodes(domain: Domain, nodes: Sequence[Node]) -> None:
    """Table nodes: what the next query looks at, levels counted from 1 as list entries are."""
    levels = ", ".join(f"level{a}" for a in range(len(domain.heights)))
    listed = ", ".join(f"({i}, {', '.join(str(level + 1) for level in node)})" for i, node in enumerate(nodes))
    fetch(domain.source.con, f"CREATE OR REPLACE TABLE nodes AS FROM (VALUES {listed}) AS n(node, {levels})")


def class_ctes(
    domain: Domain, measures: Sequence[ClassMeasure], costs: Sequence[str] = (), base: str | None = None
) -> str:
    """The common table expressions up to __priv_classes: one row a class of a node, with every value and `fails`."""
    attributes = range(len(domain.heights))
    number = " + ".join(f"a{a}[level{a}]" for a in attributes)
    node = f"CAST(node AS {domain.number_type}) * {domain.numbers}"
    used = sorted({m.sensitive for m in measures if m.sensitive is not None})
    person = domain.policy.person is not None
    columns = [f"s{j}" for j in used] + (["holder"] if person else []) + ["n"]
    columns += [f"n * ({' + '.join(f'{c}{a}[level{a}]' for a in attributes)}) AS {c}" for c in costs]
    # A suppressed cell is lost, also in a column of one value; its other costs are those of the top.
    columns += [f"n * ({_top(c, attributes)}) AS top_{c}" for c in costs]
    rows = f"SELECT {node} + {number} AS class, {', '.join(columns)} FROM "
    if base is None and not costs and domain.rolled:
        attribute, rolled = domain.rolled
        level = f"level{attribute}"
        rows = f"{rows} base, nodes WHERE {level} = 1 UNION ALL {rows} {rolled}, nodes WHERE {level} > 1"
    else:
        rows += f"{base or (domain.costs if costs else 'base')}, nodes"
    parts = [f"__priv_rows AS ({rows})"]
    parts += _sizes(used, costs, person)
    for j in used:
        parts += _histogram(j, [m for m in measures if m.sensitive == j], person)
    parts += [f"__priv_relation_{m.number} AS ({m.sql})" for m in measures if m.kind == RELATION]
    parts += [_population(domain, m, number, node) for m in measures if m.kind == POPULATION]
    return ", ".join([*parts, *_classes(domain, measures, used, costs)])


def _top(cost: str, attributes: range) -> str:
    return str(len(attributes)) if cost == "loss" else " + ".join(f"{cost}{a}[-1]" for a in attributes)


def _sizes(used: Sequence[int], costs: Sequence[str], person: bool) -> list[str]:
    """Rows of each class, its size in rows or persons, and its costs; without persons also the counts by value."""
    counts = [
        f"__priv_counts_{j} AS MATERIALIZED ("
        f"SELECT class, s{j} AS value, CAST(sum(n) AS BIGINT) AS n FROM __priv_rows GROUP BY class, s{j})"
        for j in (() if person else used)
    ]
    # Cast, because the sum of whole numbers is a HUGEINT to DuckDB, and slow.
    size = "count(DISTINCT holder)" if person else "CAST(sum(n) AS BIGINT)"
    sums = "".join(f", sum({c}) AS {c}, sum(top_{c}) AS top_{c}" for c in costs)
    # Counts by value are fewer than rows and have to be made anyway, but they do not carry costs.
    origin = f"__priv_counts_{used[0]}" if counts and not costs else "__priv_rows"
    sizes = f"SELECT class, {size} AS size, CAST(sum(n) AS BIGINT) AS rows{sums} FROM {origin} GROUP BY class"
    return [*counts, f"__priv_sizes AS MATERIALIZED ({sizes})"]


def _histogram(j: int, measures: Sequence[ClassMeasure], person: bool) -> list[str]:
    """The histogram of a sensitive column with all aggregates over it, and what the relations read."""
    if person:
        held = f"__priv_held_{j} AS MATERIALIZED (SELECT DISTINCT class, s{j} AS value, holder FROM __priv_rows)"
        parts = [held, f"__priv_histogram_{j} AS ({inlined(f'FROM _concentrated(_tallied(__priv_held_{j}))')})"]
    else:
        parts = [
            f"__priv_histogram_{j} AS (SELECT class, value, n, n AS members, n AS r, size, size AS pairs "
            f"FROM __priv_counts_{j} JOIN __priv_sizes USING (class))"
        ]
    if any(m.kind == RELATION for m in measures):
        parts += _relation_inputs(j, person)
    aggregates = [m for m in measures if m.kind == AGGREGATE]
    if aggregates:
        ranked = any("place" in m.sql for m in aggregates)
        place = ", row_number() OVER (PARTITION BY class ORDER BY r DESC) AS place" if ranked else ""
        listed = ", ".join(f"{m.sql} AS {m.column}" for m in aggregates)
        parts.append(
            f"__priv_measured_{j} AS (SELECT class, {listed} FROM (SELECT *{place} FROM __priv_histogram_{j}) AS h "
            f"JOIN values_{j} AS v ON h.value = v.id GROUP BY class, size)"
        )
    return parts


def _relation_inputs(j: int, person: bool) -> list[str]:
    """The histogram with the values themselves, and who holds what, as sql/epsilon_privacy.sql wants them."""
    texts = (
        f"__priv_texts_{j} AS (SELECT h.* REPLACE (v.value AS value) "
        f"FROM __priv_histogram_{j} AS h JOIN values_{j} AS v ON h.value = v.id)"
    )
    item = "CAST(v.value AS VARCHAR) AS item"
    if person:
        holdings = (
            f"SELECT h.class, CAST(size AS BIGINT) AS size, {item}, CAST(holder AS VARCHAR) AS holder, 1 AS n "
            f"FROM __priv_held_{j} AS h JOIN __priv_sizes AS z ON h.class = z.class "
            f"JOIN values_{j} AS v ON h.value = v.id"
        )
    else:
        holdings = (
            f"SELECT class, CAST(size AS BIGINT) AS size, {item}, NULL AS holder, n "
            f"FROM __priv_histogram_{j} AS h JOIN values_{j} AS v ON h.value = v.id"
        )
    return [texts, f"__priv_holdings_{j} AS ({holdings})"]


def _population(domain: Domain, measure: ClassMeasure, number: str, node: str) -> str:
    i = measure.number
    counted = "count(DISTINCT holder)" if domain.policy.person is not None else "sum(n)"
    return (
        f"__priv_population_{i} AS (SELECT {node} + {number} AS class, {counted} AS people{i} "
        f"FROM population_{i}, nodes WHERE {number} IS NOT NULL GROUP BY 1)"
    )


def _classes(domain: Domain, measures: Sequence[ClassMeasure], used: Sequence[int], costs: Sequence[str]) -> list[str]:
    joins = "".join(
        f" LEFT JOIN __priv_measured_{j} AS measured_{j} ON z.class = measured_{j}.class"
        for j in used
        if any(m.kind == AGGREGATE and m.sensitive == j for m in measures)
    )
    joins += "".join(
        f" LEFT JOIN __priv_{kind}_{m.number} AS {kind}_{m.number} ON z.class = {kind}_{m.number}.class"
        for m in measures
        for kind in [m.kind]
        if kind in {RELATION, POPULATION}
    )
    values = "".join(f", {_value(m)} AS {m.column}" for m in measures if m.kind != TABLE)
    kept = "".join(f", {c}, top_{c}" for c in costs)
    judged = [m for m in measures if m.kind != TABLE]
    ruling = [m for m in judged if rules_out(domain, m)]
    flags = "".join(f", {m.fails} AS x{m.number}" for m in judged)
    return [
        f"__priv_values AS (SELECT z.class, z.size, z.rows{kept}{values} FROM __priv_sizes AS z{joins})",
        f"__priv_judged AS (SELECT *{flags} FROM __priv_values)",
        f"__priv_classes AS (SELECT class // {domain.numbers} AS node, *, {_any_flag(judged)} AS fails, "
        f"{_any_flag(ruling)} AS rules_out FROM __priv_judged)",
    ]


def _any_flag(measures: Sequence[ClassMeasure]) -> str:
    return " OR ".join(f"x{m.number}" for m in measures) or "false"


def _value(measure: ClassMeasure) -> str:
    if measure.kind == AGGREGATE:
        return f"measured_{measure.sensitive}.{measure.column}"
    if measure.kind == RELATION:
        return f"relation_{measure.number}.value"
    return measure.sql


def allowance(domain: Domain) -> int:
    """How many rows may be suppressed. The share is taken as written: 0.1 is a tenth, not the double next to it."""
    return int(Fraction(str(domain.policy.suppression)) * domain.rows)


def rules_out(domain: Domain, measure: ClassMeasure) -> bool:
    """Whether a node that fails this requirement closes all nodes below it."""
    return measure.monotone_suppressed if allowance(domain) > 0 else measure.monotone


_SUMS = """node, coalesce(sum(CASE WHEN fails THEN rows END), 0) AS suppressed,
coalesce(sum(CASE WHEN rules_out THEN rows END), 0) AS ruled_out,
count(CASE WHEN NOT fails THEN 1 END) AS classes, count(*) AS all_classes,
coalesce(sum(CASE WHEN NOT fails THEN rows * rows END), 0) AS squares, sum(rows * rows) AS all_squares,
coalesce(sum(CASE WHEN NOT fails THEN rows * ln(rows) END), 0) AS size_logs, sum(rows * ln(rows)) AS all_size_logs,
count(CASE WHEN size = 1 AND NOT fails THEN 1 END) AS uniques,
coalesce(sum(CASE WHEN NOT fails THEN size END), 0) AS size"""
_COUNTED = "suppressed, ruled_out, classes, all_classes, squares, all_squares, size_logs, all_size_logs"


def _query(domain: Domain, measures: Sequence[ClassMeasure], with_costs: bool, base: str | None) -> str:
    costs = COSTS if with_costs else ()
    sums = [_SUMS]
    sums += [f"{_suppressed_by(m)} AS f{m.number}" for m in measures]
    sums += [f"{m.worst}({m.column}) AS {m.column}" for m in measures if m.kind != TABLE]
    sums += [f"sum(CASE WHEN fails THEN top_{c} ELSE {c} END) AS {c}" for c in costs]
    if with_costs:
        sums += [
            f"{m.worst}(CASE WHEN NOT fails THEN {m.column} END) AS p{m.number}" for m in measures if m.kind != TABLE
        ]
    tables = [m for m in measures if m.kind == TABLE]
    table_values = "".join(f", {m.sql} AS {m.column}" for m in tables)
    table_fails = " OR ".join(m.fails for m in tables) or "false"
    listed = [*(f"f{m.number}" for m in measures), *(m.column for m in measures), *costs]
    if with_costs:
        listed += [m.column if m.kind == TABLE else f"p{m.number}" for m in measures]
    return (
        f"WITH {class_ctes(domain, measures, costs, base)}, "
        f"__priv_nodes AS (SELECT {', '.join(sums)} FROM __priv_classes GROUP BY node), "
        f"__priv_tables AS (SELECT *{table_values} FROM __priv_nodes) "
        f"SELECT node, {_COUNTED}, {table_fails} AS table_fails, {', '.join(listed)} FROM __priv_tables ORDER BY node"
    )


def _suppressed_by(measure: ClassMeasure) -> str:
    """The rows in classes that fail this requirement."""
    return "0" if measure.kind == TABLE else f"coalesce(sum(CASE WHEN x{measure.number} THEN rows END), 0)"
