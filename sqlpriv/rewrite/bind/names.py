"""What a query's names stand for: Scope, what an expression can see, and Names, what one whole rewriting keeps.

A scope has the sources of its query, the aliases of its SELECT list, and what is around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.rewrite.bind.catalog import SCHEMA, SCHEMAS
from sqlpriv.rewrite.bind.flatten import Flattening
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import Answer, AnswerColumn, Relation, Shown
from sqlpriv.rewrite.release import Release
from sqlpriv.rewrite.syntax import PREFIX

Columns: TypeAlias = dict[str, Shown]
Ctes: TypeAlias = Mapping[str, tuple[exp.CTE, "Ctes"]]
Reader: TypeAlias = Callable[[exp.Expr, Ctes], Relation]
"""Says what a query inside the query stands for: binding meets such queries, and the whole rewriting reads them."""
AnswerReader: TypeAlias = Callable[[exp.Expr, Ctes], Answer | None]
"""Reads an aggregate query over the private table; None for one that is evaluated over the estimates of others."""


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
    visible = dict(ctes)
    for cte in clause.expressions:
        visible[folded(cte.alias)] = (cte, dict(visible))
    return visible


_MOST_SELECTS = 300


class Names:
    """Owns the state of one rewriting. Everything that resolves names is given this one, and keeps nothing itself."""

    def __init__(self, sql: str, release: Release) -> None:
        self.sql = sql
        """The text of the query, for the places that refusals name."""
        self.release = release
        self.scalars: list[Answer] = []
        """Answers that stand as one value in an expression over estimates."""
        self.warnings: list[str] = []
        """What the one who asks should know, besides the answer."""
        self.chosen_groups: dict[str, list[exp.Expr]] = {}
        """Relations of groups that are chosen by estimates, with what is compared with their keys."""
        self.read_answer: AnswerReader | None = None
        """What reads the answers in a query that is evaluated over estimates, while one is."""
        self.bounded: dict[tuple[str, str], AnswerColumn] = {}
        """Columns of such answers that have bounds, by variable and name."""
        self.whole: set[str] = set()
        """The variables of such answers whose groups nothing has chosen."""
        self.listed: set[str] = set()
        """The variables of such answers that have group keys alone."""
        self.below: dict[tuple[str, str], type[exp.Expr]] = {}
        """What columns of such answers aggregate."""
        self.estimates: set[str] = set()
        """The variables of what has such columns, or others that depend on estimates."""
        self._estimated: dict[tuple[str, str], bool] = {}
        """Columns that are no group keys of such answers, and whether they are places in the order of estimates."""
        self._taken = {folded(a.name) for a in release.attributes}
        self._selects = 0
        self._defined: dict[str, str] = {}
        """Relations of public tables, as common table expressions by their names."""

    def count_select(self) -> None:
        """One more is read. A CTE is read wherever it is named: of twenty that name the last twice, a million are."""
        self._selects += 1
        if self._selects > _MOST_SELECTS:
            message = f"the query has more than {_MOST_SELECTS} SELECTs, each CTE counted wherever it is named"
            raise UnsupportedSQLError(f"{message}; ask several queries")

    def variable(self, name: str) -> str:
        """A name that no other variable has, and none of ours."""
        name = f"the {name}" if folded(name).startswith(PREFIX) else name
        made, number = name, 1
        while folded(made) in self._taken:
            number += 1
            made = f"{name} {number}"
        self._taken.add(folded(made))
        return made

    def note_estimated(self, variable: str, name: str, is_rank: bool) -> None:
        """A column depends on estimates."""
        self._estimated[variable, name] = is_rank

    def are_estimated(self, node: exp.Expr) -> bool:
        """Whether an expression depends on estimates."""
        return any((c.table, c.name) in self._estimated for c in node.find_all(exp.Column))

    def are_ranks(self, node: exp.Expr) -> bool:
        """Whether all that an expression has of estimates is their order."""
        return all(self._estimated.get((c.table, c.name), True) for c in node.find_all(exp.Column))

    def define(self, query: str, names: list[str]) -> str:
        """Give a query over public tables a name of ours, and its columns these names."""
        name = f"__priv_public{len(self._defined)}"
        columns = ", ".join(quoted(n) for n in names)
        self._defined[name] = f"{quoted(name)}({columns}) AS MATERIALIZED ({query})"
        return name

    def with_definitions(self, sql: str) -> str:
        """The rewritten query with the relations that it reads, and those that these read, in front."""
        needed: list[str] = []
        for name, definition in reversed(self._defined.items()):
            if any(quoted(name) in text for text in (sql, *needed)):
                needed.insert(0, definition)
        return f"WITH {', '.join(needed)} {sql}" if needed else sql

    def is_public(self, node: exp.Expr) -> bool:
        """Whether all tables that a query names are public, or common table expressions of its own."""
        own = {folded(cte.alias) for cte in node.find_all(exp.CTE)}
        return not self.reads_private(node, {}) and all(
            folded(table.name) in (own if not table.args.get("db") else ())
            or folded(table.name) in self.release.public
            or folded(table.db) == SCHEMA
            for table in node.find_all(exp.Table)
        )

    def reads_private(self, node: exp.Expr, ctes: Ctes, done: set[int] | None = None) -> bool:
        """Whether a query reads the private table, perhaps by a common table expression; each is looked at once."""
        done = set() if done is None else done
        for table in node.find_all(exp.Table):
            key = folded(table.name)
            if key in ctes and not table.args.get("db"):
                cte, visible = ctes[key]
                if id(cte) in done:
                    continue
                done.add(id(cte))
                if self.reads_private(cte.this, visible, done):
                    return True
            elif key == folded(self.release.table):
                return True
        return False
