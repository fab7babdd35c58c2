"""What an expression can see: the sources of its query, the aliases of its SELECT list, and what is around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import Shown
from sqlpriv.sqltext import folded

if TYPE_CHECKING:
    from sqlpriv.rewrite.bind.flatten import Flattening

Columns: TypeAlias = dict[str, Shown]
Ctes: TypeAlias = Mapping[str, tuple[exp.CTE, "Ctes"]]
AGGREGATES = (exp.AggFunc, exp.Filter, exp.Window, exp.Grouping, exp.GroupingId, exp.WithinGroup)
SCALAR = "__priv_scalar"
SELECT_ARGS = {
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_"
}  # fmt: skip
"""The clauses of a SELECT that are known."""


@dataclass
class Scope:
    """The names that an expression can see: sources by their alias, then aliases of the SELECT list, then outside."""

    sources: dict[str, Columns] = field(default_factory=dict)
    merged: Columns = field(default_factory=dict)
    """The columns of USING, which need no table in front."""
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    outer: Scope | None = None
    ctes: Ctes = field(default_factory=dict)
    flat: Flattening | None = None
    """How aggregates over an answer become aggregates over its rows."""

    def find(self, name: str) -> list[Shown]:
        """All columns of that name."""
        key = folded(name)
        if key in self.merged:
            return [self.merged[key]]
        return [c[key] for c in self.sources.values() if key in c]

    def star(self, table: str = "") -> list[Shown]:
        """What * stands for, or table.*; a column of USING once, where the first table has it."""
        if table:
            return list(self.sources[folded(table)].values())
        found: list[Shown] = []
        met: set[str] = set()
        for columns in self.sources.values():
            found += [self.merged.get(key, shown) for key, shown in columns.items() if key not in met]
            met |= columns.keys() & self.merged.keys()
        return found


def by_name(shown: list[Shown]) -> Columns:
    """Columns by their names; of those with the same name the first."""
    found: Columns = {}
    for each in shown:
        found.setdefault(folded(each.name), each)
    return found


def with_ctes(select: exp.Expr, ctes: Ctes, sql: str) -> Ctes:
    """The common table expressions that a query sees: each sees those before it."""
    clause = select.args.get("with_")
    if clause is None:
        return ctes
    if clause.args.get("recursive"):
        refuse(sql, clause, "WITH RECURSIVE", "write the steps out")
    seen = dict(ctes)
    for cte in clause.expressions:
        seen[folded(cte.alias)] = (cte, dict(seen))
    return seen


def aggregated(select: exp.Select) -> bool:
    """Whether a SELECT aggregates its rows."""
    if select.args.get("group") or select.args.get("having"):
        return True
    return any(isinstance(n, AGGREGATES) for item in select.expressions for n in outside_subqueries(item))


def default_name(item: exp.Expr) -> str:
    """What DuckDB would call a column without an alias."""
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Count) and (item.this is None or isinstance(item.this, exp.Star)):
        return "count_star()"
    return item.sql(dialect="duckdb", normalize_functions="lower")


def is_star(item: exp.Expr) -> bool:
    """Whether an item of a SELECT list is * or table.*."""
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def without_parentheses(node: exp.Expr) -> exp.Expr:
    """What is inside the parentheses. Those of a subquery belong to it, and stay: unnest() would take them away."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def outside_subqueries(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those of queries inside it."""
    return node.walk(prune=lambda n: isinstance(n, exp.Query))
