"""Judge a batch of nodes in one query: base x nodes, one GROUP BY into classes, one into nodes.

The number of a class is node * numbers + (sum of the label numbers). So all classes of all nodes are in one column
and the formulas of sql/ treat them like the classes of one table. That every node holds the whole table keeps the
shares right that some formulas take from the histogram they are given.

Nodes that generalize the attribute with the most values start from a base in which it is generalized already, and which
is often much smaller: the two bases are read side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlpriv.checks.measures import HISTOGRAM, POPULATION, RELATION, TABLE, TOGETHER
from sqlpriv.core.engine import Row, fetch
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.scan import COSTS, Scan, ScannedTable
from sqlpriv.methods.lattice import Node, Outcome

_SUMS = """node, sum(rows - kept) AS suppressed, sum(ruled_out) AS ruled_out,
count(nullif(kept, 0)) AS classes, count(*) AS all_classes,
sum(CAST(kept AS HUGEINT) * kept) AS squares, sum(CAST(rows AS HUGEINT) * rows) AS all_squares,
sum(kept * ln(greatest(kept, 1))) AS size_logs, sum(rows * ln(rows)) AS all_size_logs"""
_TABLE_SUMS = """count(CASE WHEN size = 1 AND NOT fails THEN 1 END) AS uniques,
coalesce(sum(CASE WHEN NOT fails THEN size END), 0) AS size"""


@dataclass(frozen=True)
class SizedNodes:
    """Nodes with the sizes and costs of their classes."""

    relation: Relation
    """node, class, size, rows, and the costs"""
    numbers: Mapping[Node, int]
    """The number that each node has there."""


def evaluate(
    scan: Scan,
    measures: Sequence[ClassMeasure],
    nodes: Sequence[Node],
    *,
    with_costs: bool = False,
    base: Relation | None = None,
    fixed: Collection[int] = (),
    sized: SizedNodes | None = None,
) -> list[Outcome]:
    """The outcomes of the nodes, in their order; of another base than the table's, if one is given.

    All nodes have the same level of the `fixed` attributes, which the base has summed up (Scan.costs_at). `sized`
    has the sizes and costs of the classes of these nodes already.
    """
    if not nodes:
        return []
    costs = COSTS if with_costs else ()
    tables = [m for m in measures if m.kind == TABLE]
    joints = [m for m in measures if m.kind == TOGETHER]

    def worst(measure: ClassMeasure, value: str, name: str) -> str:
        """The worst value of the classes of a node; values of the whole table are filled in below."""
        return f"CAST(NULL AS DOUBLE) AS {name}" if measure.of_table else f"{measure.worst}({value}) AS {name}"

    sums = [_SUMS, "false AS table_fails"]
    sums += ["0" if m.kind == TABLE else f"sum(x{m.number})" for m in measures]
    sums += [worst(m, m.column, m.column) for m in measures]
    sums += [f"sum(CASE WHEN fails THEN top_{c} ELSE {c} END)" for c in costs]
    if with_costs:
        sums += [worst(m, f"CASE WHEN NOT fails THEN {m.column} END", f"p{m.number}") for m in measures]
    found = f"SELECT {', '.join([*sums, *([_TABLE_SUMS] if tables else [])])} FROM __priv_classes GROUP BY node"
    if tables:
        filled = [f"{m.sql} AS {name}" for m in tables for name in [m.column, f"p{m.number}"][: 1 + with_costs]]
        fails = " OR ".join(f"coalesce({m.fails}, false)" for m in tables)
        found = f"SELECT * EXCLUDE (uniques, size) REPLACE ({', '.join(filled)}) FROM ({found})"
        found = f"SELECT * REPLACE ({fails} AS table_fails) FROM ({found})"
    for m in joints:
        found = _filled_together(scan, m, found, with_costs)
    with scan.source.scratch.nested() as scratch:
        numbers = None if sized is None else [sized.numbers[node] for node in nodes]
        ctes = class_ctes(scan, measures, write_nodes(scratch, nodes, numbers), costs, base, fixed, sized)
        ctes = ", ".join([ctes, *(_judged_together(scan, m) for m in joints)])
        by_number = {int(r[0]): r for r in fetch(scan.source.con, f"WITH {ctes} {found}")}
    return [_outcome(by_number[n], len(measures)) for n in numbers or range(len(nodes))]


def size_nodes(scan: Scan, nodes: Sequence[Node]) -> SizedNodes:
    """The sizes and costs of the classes of some nodes: what does not depend on sensitive values."""
    scratch = scan.source.scratch
    listed = write_nodes(scratch, nodes)
    query = f"SELECT class // {scan.labels.numbers} AS node, * FROM __priv_sizes"
    sizes = scratch.table(f"WITH {class_ctes(scan, (), listed, COSTS)} {query}", "sizes")
    return SizedNodes(sizes, {node: number for number, node in enumerate(nodes)})


def _judged_together(scan: Scan, measure: ClassMeasure) -> str:
    """The value of all classes of a node together, and, where some may be suppressed, of those that are not."""
    classes = f"__priv_together_{measure.number} AS t JOIN __priv_classes AS c USING (class)"
    parts = f"SELECT t.* EXCLUDE (value), node * 2 AS part FROM {classes}"
    if allowance(scan) > 0:
        parts += f" UNION ALL SELECT t.* EXCLUDE (value), node * 2 + 1 FROM {classes} WHERE NOT fails"
    return together_ctes(measure, parts)


def _filled_together(scan: Scan, measure: ClassMeasure, found: str, with_costs: bool) -> str:
    """The values that classes have together, in the place of those of single classes."""
    i, kept = measure.number, "kept" if allowance(scan) > 0 else "everything"
    fails = f"coalesce({measure.fails_by(kept)}, false)"
    values = [f"everything AS {measure.column}", *([f"{kept} AS p{i}"] if with_costs else [])]
    values.append(f"table_fails OR {fails} AS table_fails")
    if rules_out(scan, measure):
        # Then no node below holds, either: its classes are parts of these.
        values.append(f"CASE WHEN {fails} THEN {scan.rows} ELSE ruled_out END AS ruled_out")
    each = ", ".join(
        f"max(value) FILTER (part % 2 = {side}) AS {name}" for side, name in enumerate(("everything", "kept"))
    )
    judged = f"SELECT part // 2 AS node, {each} FROM __priv_joint_{i} GROUP BY 1"
    return (
        f"SELECT * EXCLUDE (everything, kept) REPLACE ({', '.join(values)}) FROM ({found}) JOIN ({judged}) USING (node)"
    )


def together_ctes(measure: ClassMeasure, parts: str) -> str:
    """The common table expressions up to __priv_joint_<i>: part, and the worst value of its classes together.

    `parts` is a query for what the measure says of classes, and the part of each.
    """
    i = measure.number
    worst = f"SELECT part, {measure.worst}(value) AS value FROM ({measure.together}) GROUP BY part"
    return f"__priv_parts_{i} AS MATERIALIZED ({parts}), __priv_joint_{i} AS MATERIALIZED ({worst})"


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


def write_nodes(scratch: Scratch, nodes: Sequence[Node], numbers: Sequence[int] | None = None) -> Relation:
    """Nodes that a query looks at: node, level<a>, levels counted from 1 as list entries are; `numbers` are theirs."""
    # Lists as texts are read fastest. For a parameter DuckDB 1.5 first imports pandas, and a Ctrl-C meanwhile is lost.
    levels = "".join(
        f", unnest(CAST('{[level + 1 for level in column]}' AS BIGINT[])) AS level{a}"
        for a, column in enumerate(zip(*nodes, strict=True))
    )
    listed = f"range({len(nodes)})" if numbers is None else f"CAST('{list(numbers)}' AS BIGINT[])"
    return scratch.table(f"SELECT unnest({listed}) AS node{levels}", "nodes")


def class_ctes(
    scan: Scan,
    measures: Sequence[ClassMeasure],
    nodes: Relation,
    costs: Sequence[str] = (),
    base: Relation | None = None,
    fixed: Collection[int] = (),
    sized: SizedNodes | None = None,
) -> str:
    """The common table expressions up to __priv_classes: one row a class of a node, with every value and `fails`."""
    counted_costs = costs if sized is None else ()
    attributes = range(len(scan.heights))

    def summed(name: str, fixed: Collection[int] = fixed) -> str:
        """The sum of something over the attributes on the levels of a node."""
        listed = [f"{name}{a}[level{a}]" for a in attributes if a not in fixed]
        return " + ".join([*([f"fixed_{name}"] if fixed else []), *listed])

    class_number = f"CAST(node AS {scan.labels.number_type}) * {scan.labels.numbers} + "
    columns = class_columns(scan, measures)
    for c in counted_costs:
        top = f"fixed_top_{c}" if fixed else " + ".join(f"{c}{a}[-1]" for a in attributes)
        # A suppressed cell is lost, also in a column of one value; its other costs are those of the top.
        suppressed = str(len(attributes)) if c == "loss" else top
        columns += [f"n * ({summed(c)}) AS {c}", f"n * ({suppressed}) AS top_{c}"]
    rows = f"SELECT {class_number}{summed('a')} AS class, {', '.join(columns)} FROM "
    if base is None and not counted_costs and scan.rolled:
        attribute, rolled = scan.rolled
        lowest = f"{rows} {scan.base.name}, {nodes.name} WHERE level{attribute} = 1"
        rows = f"{lowest} UNION ALL {rows} {rolled.name}, {nodes.name} WHERE level{attribute} > 1"
    else:
        base = base or (scan.costs if counted_costs else scan.base)
        # A base of few rows is read by one thread; of two halves of the nodes each has its own.
        parts = [f"(FROM {nodes.name} WHERE node % 2 = {half})" for half in range(2)] if fixed else [nodes.name]
        rows = " UNION ALL ".join(f"{rows} {base.name}, {part}" for part in parts)
    counted = "count(DISTINCT holder)" if scan.policy.person is not None else "sum(n)"
    populations = [
        f"__priv_population_{m.number} AS (SELECT {class_number}{summed('a', ())} AS class, {counted} AS "
        f"people{m.number} FROM {m.population.name}, {nodes.name} WHERE {summed('a', ())} IS NOT NULL GROUP BY 1)"
        for m in measures
        if m.population is not None
    ]
    sizes = (
        None
        if sized is None
        else f"SELECT s.* EXCLUDE (node) FROM {sized.relation.name} AS s SEMI JOIN {nodes.name} USING (node)"
    )
    return judged_ctes(scan, measures, rows, costs, populations, f"class // {scan.labels.numbers}", sizes)


def class_columns(scan: ScannedTable, measures: Sequence[ClassMeasure]) -> list[str]:
    """The columns of a row besides its class that the measures read."""
    return [f"s{j}" for j in _judged_columns(measures)] + (["holder"] if scan.policy.person is not None else []) + ["n"]


def _judged_columns(measures: Sequence[ClassMeasure]) -> list[int]:
    """The sensitive columns that are judged, by number."""
    return sorted({m.sensitive for m in measures if m.sensitive is not None})


def judged_ctes(
    scan: ScannedTable,
    measures: Sequence[ClassMeasure],
    rows: str,
    costs: Sequence[str] = (),
    populations: Sequence[str] = (),
    node: str = "0",
    sizes: str | None = None,
) -> str:
    """Likewise for any classes: `rows` is a query for class, s<j>, holder where there are persons, n, and costs.

    `sizes` is one for class, size, rows and costs, where they are known.
    """
    judged_columns, person = _judged_columns(measures), scan.policy.person is not None
    parts = [f"__priv_rows AS ({rows})"]
    if not person:
        parts += [
            f"__priv_counts_{j} AS MATERIALIZED ("
            f"SELECT class, s{j} AS value, CAST(sum(n) AS BIGINT) AS n FROM __priv_rows GROUP BY class, s{j})"
            for j in judged_columns
        ]
    # Cast, because the sum of whole numbers is a HUGEINT to DuckDB, and slow.
    size = "count(DISTINCT holder)" if person else "CAST(sum(n) AS BIGINT)"
    sums = "".join(f", sum({c}) AS {c}, sum(top_{c}) AS top_{c}" for c in costs)
    # Counts by value are fewer than rows and have to be made anyway, but they do not carry costs.
    origin = f"__priv_counts_{judged_columns[0]}" if judged_columns and not person and not costs else "__priv_rows"
    counted = f"SELECT class, {size} AS size, CAST(sum(n) AS BIGINT) AS rows{sums} FROM {origin} GROUP BY class"
    parts.append(f"__priv_sizes AS MATERIALIZED ({sizes or counted})")
    for j in judged_columns:
        parts += _histogram(j, [m for m in measures if m.sensitive == j], person)
    parts += [f"__priv_relation_{m.number} AS ({m.sql})" for m in measures if m.kind == RELATION]
    parts += [
        f"__priv_together_{m.number} AS MATERIALIZED (SELECT *, {m.of_class} AS value FROM ({m.sql}))"
        for m in measures
        if m.kind == TOGETHER
    ]
    return ", ".join([*parts, *populations, *_classes(scan, measures, costs, node)])


def _histogram(j: int, measures: Sequence[ClassMeasure], person: bool) -> list[str]:
    """The histogram of a sensitive column with all aggregates over it, and the inputs of the measures of RELATION."""
    (values,) = {m.values.name for m in measures if m.values is not None}
    joined = f"__priv_histogram_{j} AS h JOIN {values} AS v ON h.value = v.id"
    if person:
        held = f"__priv_held_{j} AS MATERIALIZED (SELECT DISTINCT class, s{j} AS value, holder FROM __priv_rows)"
        parts = [held, f"__priv_histogram_{j} AS ({inlined(f'FROM _concentrated(_tallied(__priv_held_{j}))')})"]
    else:
        parts = [
            f"__priv_histogram_{j} AS (SELECT class, value, n, n AS members, n AS r, size, size AS pairs "
            f"FROM __priv_counts_{j} JOIN __priv_sizes USING (class))"
        ]
    if any(m.kind == RELATION for m in measures):
        # The histogram with the values themselves, and each value with its holders, for sql/checks/epsilon_privacy.sql.
        parts.append(f"__priv_texts_{j} AS (SELECT h.* REPLACE (v.value AS value) FROM {joined})")
        holder, n, origin = "NULL", "n", joined
        if person:
            holder, n = "CAST(holder AS VARCHAR)", "1"
            origin = (
                f"__priv_held_{j} AS h JOIN __priv_sizes AS z ON h.class = z.class JOIN {values} AS v ON h.value = v.id"
            )
        parts.append(
            f"__priv_holdings_{j} AS (SELECT h.class, CAST(size AS BIGINT) AS size, CAST(v.value AS VARCHAR) AS item, "
            f"{holder} AS holder, {n} AS n FROM {origin})"
        )
    aggregates = [m for m in measures if m.kind == HISTOGRAM]
    if aggregates:
        ranked = any("place" in m.sql for m in aggregates)
        place = ", row_number() OVER (PARTITION BY class ORDER BY r DESC) AS place" if ranked else ""
        terms = "".join(f", {sql} AS {name}" for name, sql in dict(t for m in aggregates for t in m.terms).items())
        listed = ", ".join(f"{m.sql} AS {m.column}" for m in aggregates)
        # Materialized, because DuckDB computes slowly with what comes right out of a join.
        parts.append(
            f"__priv_joined_{j} AS MATERIALIZED (SELECT h.*, v.* EXCLUDE (value, id) FROM "
            f"(SELECT *{place} FROM __priv_histogram_{j}) AS h JOIN {values} AS v ON h.value = v.id)"
        )
        parts.append(
            f"__priv_measured_{j} AS (SELECT class, size, {listed} FROM (SELECT *{terms} FROM __priv_joined_{j}) "
            "GROUP BY class, size)"
        )
    return parts


def _classes(scan: ScannedTable, measures: Sequence[ClassMeasure], costs: Sequence[str], node: str) -> list[str]:
    """The values of all classes; x<i>, the rows that fail requirement i; and `kept`, the rows that fail none."""
    measured = sorted({m.sensitive for m in measures if m.kind == HISTOGRAM and m.sensitive is not None})
    joined = [m for m in measures if m.kind in {RELATION, POPULATION, TOGETHER}]
    if len(measured) == 1 and not joined and not costs and scan.policy.person is None:
        # Every class has a value, so the histogram alone has all classes, and a join is saved.
        classes = f"(SELECT *, size AS rows FROM __priv_measured_{measured[0]}) AS z"
    else:
        classes = "__priv_sizes AS z"
        classes += "".join(f" LEFT JOIN __priv_measured_{j} AS measured_{j} USING (class)" for j in measured)
        classes += "".join(
            f" LEFT JOIN __priv_{m.kind}_{m.number} AS {m.kind}_{m.number} USING (class)" for m in joined
        )
    judged = [m for m in measures if m.kind != TABLE]
    values = ""
    for m in judged:
        value = m.column if m.kind == HISTOGRAM else m.sql
        if m.kind in {RELATION, TOGETHER}:
            value = f"{m.kind}_{m.number}.value"
        values += f", {value} AS {m.column}"
    kept = "".join(f", {c}, top_{c}" for c in costs)
    failing = "".join(f", CASE WHEN {m.fails} THEN rows ELSE 0 END AS x{m.number}" for m in judged)

    def rows_that_fail(any_of: Sequence[ClassMeasure]) -> str:
        """The rows of a class that fails any of the requirements, else 0."""
        return f"greatest({', '.join(['0', *(f'x{m.number}' for m in any_of)])})"

    ruling = [m for m in judged if rules_out(scan, m)]
    ruled_out = "rows - kept" if ruling == judged else rows_that_fail(ruling)
    return [
        f"__priv_values AS (SELECT class, z.size, z.rows{kept}{values} FROM {classes})",
        f"__priv_judged AS (SELECT *{failing} FROM __priv_values)",
        f"__priv_classes AS (SELECT {node} AS node, *, rows - {rows_that_fail(judged)} AS kept, "
        f"kept = 0 AS fails, {ruled_out} AS ruled_out FROM __priv_judged)",
    ]


def allowance(scan: ScannedTable) -> int:
    """How many rows may be suppressed. The share is taken as written: 0.1 is a tenth, not the double next to it."""
    return int(Fraction(str(scan.policy.suppression)) * scan.rows)


def rules_out(scan: ScannedTable, measure: ClassMeasure) -> bool:
    """Whether a node that fails this requirement closes all nodes below it."""
    return measure.monotone_suppressed if allowance(scan) > 0 else measure.monotone
