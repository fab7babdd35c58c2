"""What an expression can see: the sources of its query, the aliases of its SELECT list, and what is around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.rewrite.bind.catalog import SCHEMAS
from sqlpriv.rewrite.bind.flatten import Flattening
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import Relation, Shown
from sqlpriv.sqltext import folded

Columns: TypeAlias = dict[str, Shown]
Ctes: TypeAlias = Mapping[str, tuple[exp.CTE, "Ctes"]]
Reader: TypeAlias = Callable[[exp.Expr, Ctes], Relation]
"""Says what a query inside the query stands for: binding meets such queries, and the whole rewriting reads them."""


@dataclass
class Scope:
    """The names that an expression can see: sources by their alias, then aliases of the SELECT list, then outside."""

    sources: dict[str, Columns] = field(default_factory=dict)
    merged: Columns = field(default_factory=dict)
    """The columns of USING, which need no table in front."""
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    outer: Scope | None = None
    ctes: Ctes = field(default_factory=dict)
    qualified: dict[str, str] = field(default_factory=dict)
    """The tables that are read by their own names, with the catalog that was written before these, or none."""
    over_answers: bool = False
    """Whether its rows are those of an answer, which windows may be about."""
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

    def has_table(self, node: exp.Column) -> bool:
        """Whether the schema and catalog before a column are those of the table; it may have none before it."""
        if not node.args.get("db"):
            return True
        catalog = self.qualified.get(folded(node.table))
        if catalog is None or folded(node.text("db")) not in SCHEMAS:
            return False
        return not catalog or not node.args.get("catalog") or folded(node.text("catalog")) == catalog

    def qualify(self, name: str, table: exp.Expr) -> None:
        """Note that a table is read by its own name, so that its schema may stand before it."""
        key = folded(name)
        is_own = isinstance(table, exp.Table) and folded(table.name) == key
        if is_own and (table.args.get("db") or key not in self.ctes):
            self.qualified[key] = folded(table.text("catalog"))

    def look_up(self, node: exp.Column, sql: str, alias_first: bool = False) -> exp.Expr | None:
        """What a column stands for, seen from here and then from the scopes around."""
        scope: Scope | None = self
        while scope is not None:
            if node.table:
                if (source := scope.sources.get(folded(node.table))) is not None and scope.has_table(node):
                    shown = source.get(folded(node.name))
                    return shown.expression if shown else None
            else:
                alias = scope.aliases.get(folded(node.name))
                if alias_first and alias is not None:
                    return alias
                found = scope.find(node.name)
                if len(found) > 1:
                    refuse(sql, node, f"the column {node.name!r} of two tables", "write the table before it")
                if found:
                    return found[0].expression
                if alias is not None:
                    return alias
            scope = scope.outer
        return None


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
