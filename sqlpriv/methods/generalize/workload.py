"""The mean error of the owner's own counting queries, estimated on a release: an objective.

A query is `SELECT count(*) FROM t WHERE condition`. On a release a row stands for all combinations of values below its
labels, with equal weights, so it counts for the share of them that meet the condition. The condition is split at its
ANDs into factors, those that share a quasi-identifier joined; factors are independent, so the share of a row is the
product of its factors' shares. A factor is looked at once for each combination of values and levels of its columns
(table factor_<query>_<factor>, one list entry for each combination of levels); judging a node is then one sum.
Suppressed rows count for nothing, as an analyst would not see them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from sqlpriv.engine import fetch
from sqlpriv.errors import InputError, InternalError, PolicyError
from sqlpriv.methods.generalize.policy import GeneralizePolicy
from sqlpriv.methods.labelled.evaluate import Node, class_ctes, write_nodes
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.labelled.scan import FREQUENCIES, Scan
from sqlpriv.sqltext import folded, quoted

_MOST_LEVELS = 400
_MOST_COMBINATIONS = 5_000_000


@dataclass(frozen=True)
class Factor:
    """A part of a condition: its SQL, the quasi-identifiers in it by number, and its other columns."""

    condition: str
    attributes: tuple[int, ...]
    others: tuple[str, ...]


Query = tuple[Factor, ...]


def read_workload(policy: GeneralizePolicy, file: str) -> list[Query]:
    """The counting queries of a file, or an error that names the query that is not one."""
    path = policy.table.path(file)
    if not path.is_file():
        raise PolicyError(f"there is no workload file {file!r}")
    try:
        parsed = sqlglot.parse(path.read_text(encoding="utf-8"), dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        raise PolicyError(f"{file} is not SQL: write one SELECT count(*) FROM t WHERE ... a query") from None
    queries = [_query(policy, tree, f"{file}, query {i}") for i, tree in enumerate(filter(None, parsed), 1)]
    if not queries:
        raise PolicyError(f"{file} holds no query")
    return queries


def other_columns(queries: Sequence[Query]) -> list[str]:
    """The columns that conditions use beside quasi-identifiers."""
    return sorted({c for query in queries for factor in query for c in factor.others})


def _query(policy: GeneralizePolicy, tree: exp.Expr, where: str) -> Query:
    columns = {folded(c): c for c in policy.named("quasi-identifier", "sensitive", "other")}
    only_counts = (
        isinstance(tree, exp.Select)
        and [e.unalias().sql() for e in tree.expressions] == ["COUNT(*)"]
        and isinstance(tree.args.get("from_", tree.args.get("from")), exp.From)
        and not any(tree.args.get(k) for k in ("joins", "group", "having", "distinct", "limit", "with", "with_"))
        and len(list(tree.find_all(exp.Query, exp.AggFunc, exp.Window))) == 2
    )
    if not only_counts:
        raise PolicyError(f"{where}: only SELECT count(*) FROM t WHERE condition can be a workload")
    condition = tree.args.get("where")
    parts = list(condition.this.flatten()) if condition and isinstance(condition.this, exp.And) else []
    parts = parts or ([condition.this] if condition else [])
    qis = {folded(q): a for a, q in enumerate(policy.qis)}
    factors = []
    for part in parts:
        names = [folded(c.name) for c in part.find_all(exp.Column)]
        unknown = [n for n in names if n not in columns]
        if unknown:
            raise PolicyError(f"{where}: {unknown[0]!r} is not a published column")
        for column in part.find_all(exp.Column):
            column.set("table", None)
        attributes = tuple(sorted({qis[n] for n in names if n in qis}))
        others = tuple(sorted({columns[n] for n in names if n not in qis}))
        factors.append(Factor(f"({part.sql(dialect='duckdb')})", attributes, others))
    return _joined(factors)


def _joined(factors: Sequence[Factor]) -> Query:
    """Factors that share a quasi-identifier made one, since their shares are not independent."""
    done: list[Factor] = []
    for factor in factors:
        new = factor
        for other in [d for d in done if set(d.attributes) & set(new.attributes)]:
            done.remove(other)
            new = Factor(
                f"{other.condition} AND {new.condition}",
                tuple(sorted({*other.attributes, *new.attributes})),
                tuple(sorted({*other.others, *new.others})),
            )
        done.append(new)
    return tuple(done)


class Workload:
    """The factors of all queries, looked up; then the mean error of nodes."""

    def __init__(self, scan: Scan, measures: tuple[ClassMeasure, ...], queries: Sequence[Query], file: str) -> None:
        self._scan = scan
        self._measures = measures
        self._queries = queries
        for i, query in enumerate(queries):
            for j, factor in enumerate(query):
                try:
                    _write_factor(scan, factor, f"factor_{i}_{j}")
                except (InputError, InternalError):
                    raise PolicyError(
                        f"{file}, query {i + 1}: the condition does not work on the columns of the table"
                    ) from None
        self._write_base()

    def errors(self, nodes: Sequence[Node]) -> dict[Node, float]:
        """The mean of |estimate - count| over the queries, in rows."""
        write_nodes(self._scan, nodes)
        attributes = range(len(self._scan.heights))
        number = " + ".join(f"a{a}[level{a}]" for a in attributes)
        estimates = ", ".join(f"sum(n * {self._share(i)}) AS e{i}" for i in range(len(self._queries)))
        error = " + ".join(
            f"abs(coalesce(sum(CASE WHEN NOT fails THEN e{i} END), 0) - any_value(t{i}))"
            for i in range(len(self._queries))
        )
        rows = fetch(
            self._scan.source.con,
            f"WITH {class_ctes(self._scan, self._measures)}, __priv_estimates AS (SELECT "
            f"CAST(node AS {self._scan.number_type}) * {self._scan.numbers} + {number} AS class, {estimates} "
            f"FROM workload, nodes GROUP BY class) SELECT node, ({error}) / {len(self._queries)} "
            "FROM __priv_classes JOIN __priv_estimates USING (class), workload_counts GROUP BY node ORDER BY node",
        )
        return {node: float(value) for node, (_, value) in zip(nodes, rows, strict=True)}

    def _share(self, i: int) -> str:
        """The share of a row that meets a query, under the levels of a node: the product of its factors."""
        factors = [f"w{i}_{j}[{self._entry(f)}]" for j, f in enumerate(self._queries[i])]
        return " * ".join(factors) or "1"

    def _entry(self, factor: Factor) -> str:
        """Which entry of a factor's list belongs to the levels of a node; levels in table nodes count from 1."""
        entry = "1"
        step = 1
        for a in reversed(factor.attributes):
            entry += f" + (level{a} - 1) * {step}"
            step *= self._scan.heights[a] + 1
        return entry

    def _write_base(self) -> None:
        """Table workload: the frequencies with the lists of all factors; workload_counts: the true counts."""
        policy = self._scan.policy
        factors = [(f"w{i}_{j}", f"factor_{i}_{j}", f) for i, q in enumerate(self._queries) for j, f in enumerate(q)]
        columns = [f"l{a}.numbers AS a{a}" for a in range(len(policy.qis))]
        columns += [f"{name}.shares AS {name}" for name, _, _ in factors]
        joins = "".join(
            f" JOIN leaves AS l{a} ON l{a}.attribute = {a} "
            f"AND CAST(t.{quoted(q)} AS VARCHAR) IS NOT DISTINCT FROM l{a}.value"
            for a, q in enumerate(policy.qis)
        )
        for name, table, factor in factors:
            same = [f"l{a}.numbers[1] = {name}.leaf{a}" for a in factor.attributes]
            same += [f"t.{quoted(c)} IS NOT DISTINCT FROM {name}.{quoted(c)}" for c in factor.others]
            joins += f" JOIN {table} AS {name} ON {' AND '.join(same) or 'true'}"
        con = self._scan.source.con
        fetch(
            con,
            f"CREATE OR REPLACE TABLE workload AS SELECT {', '.join(columns)}, __priv_n AS n "
            f"FROM {FREQUENCIES} AS t{joins}",
        )
        exact = ", ".join(
            f"sum(n * {' * '.join(f'w{i}_{j}[1]' for j in range(len(q))) or '1'}) AS t{i}"
            for i, q in enumerate(self._queries)
        )
        fetch(con, f"CREATE OR REPLACE TABLE workload_counts AS SELECT {exact} FROM workload")


def _write_factor(scan: Scan, factor: Factor, table: str) -> None:
    """Table: for each combination of values, the share that meets the condition below its labels, by levels."""
    con, policy = scan.source.con, scan.policy
    levels = [range(scan.heights[a] + 1) for a in factor.attributes]
    combinations = list(itertools.product(*levels))
    leaves = 1
    for a in factor.attributes:
        leaves *= int(fetch(con, f"SELECT count(*) FROM paths WHERE attribute = {a}")[0][0])
    if len(combinations) > _MOST_LEVELS or leaves > _MOST_COMBINATIONS:
        raise PolicyError(f"the workload's condition {factor.condition} joins too many quasi-identifiers at once")
    kinds = {folded(r[0]): r[1] for r in fetch(con, f"DESCRIBE {FREQUENCIES}")}
    sources = [
        f"(SELECT TRY_CAST(p.labels[1] AS {kinds[folded(policy.qis[a])]}) AS {quoted(policy.qis[a])}, "
        f"p.labels AS __priv_labels{a}, l.numbers[1] AS leaf{a} FROM paths AS p LEFT JOIN leaves AS l "
        f"ON p.attribute = l.attribute AND p.labels[1] IS NOT DISTINCT FROM l.value WHERE p.attribute = {a})"
        for a in factor.attributes
    ]
    others = ", ".join(quoted(c) for c in factor.others)
    sources += [f"(SELECT DISTINCT {others} FROM {FREQUENCIES})"] if others else []
    hits = f"SELECT *, CASE WHEN {factor.condition} THEN 1.0::DOUBLE ELSE 0.0 END AS __priv_hit"
    hits += f" FROM {', '.join(sources or ['(SELECT 1 AS __priv_row)'])}"
    keys = [*(f"leaf{a}" for a in factor.attributes), *(quoted(c) for c in factor.others)]
    shares = ", ".join(_share_below(factor, c, others) for c in combinations)
    listed = "".join(f"{k}, " for k in keys)
    fetch(con, f"CREATE OR REPLACE TABLE {table} AS SELECT {listed}[{shares}] AS shares FROM ({hits})")


def _share_below(factor: Factor, levels: tuple[int, ...], others: str) -> str:
    labels = [f"__priv_labels{a}[{level + 1}]" for a, level in zip(factor.attributes, levels, strict=True)]
    partition = ", ".join([*labels, *([others] if others else [])])
    return f"avg(__priv_hit) OVER (PARTITION BY {partition})" if partition else "__priv_hit"
