"""A statement in PostgreSQL's SQL, as the same in DuckDB's: what its clients mean when they write it.

Most of both is the same. What is not is written otherwise here, by what its operands are, or refused: nothing that
DuckDB would read differently is left as it is. Names of columns without an alias become PostgreSQL's, too. What only
DuckDB has, median() say, means what it means there. tests/apps/server/test_serve_dialect.py compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.bind.postgres import types
from sqlpriv.rewrite.bind.postgres.names import name_of
from sqlpriv.rewrite.bind.postgres.rules import NO_VALUES, Rules
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.syntax import is_star, without_parentheses

Tables = Mapping[str, Mapping[str, str]]
"""The tables that can be read, with DuckDB's types of their columns."""


@dataclass
class _Scope:
    """The types of the columns that an expression can see."""

    sources: dict[str, dict[str, str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    outer: _Scope | None = None

    def type_of(self, column: exp.Column) -> str:
        name, table = folded(column.name), folded(column.table)
        scope: _Scope | None = self
        while scope is not None:
            read = [scope.sources.get(table, {})] if table else [*scope.sources.values()]
            found = {columns[name] for columns in read if name in columns}
            estimate = name.removesuffix("_low").removesuffix("_high")
            if not found and estimate != name and any(estimate in columns for columns in read):
                return types.DOUBLE  # a bound
            if found:
                return found.pop() if len(found) == 1 else types.UNKNOWN
            if not table and name in scope.aliases:
                return scope.aliases[name]
            if table and table in scope.sources:
                return types.UNKNOWN
            scope = scope.outer
        return types.UNKNOWN


_Columns = list[tuple[str, str]]
_Ctes = Mapping[str, _Columns]


def to_duckdb(statement: exp.Expr, tables: Tables, sql: str) -> None:
    """Change a parsed statement in place."""
    if isinstance(statement, exp.Query):
        known = {
            folded(name): {folded(c): types.type_of_column(kind) for c, kind in columns.items()}
            for name, columns in tables.items()
        }
        _Reader(sql, known).query(statement, {}, None)
        for node in statement.find_all(exp.Div, exp.SimilarTo):
            if isinstance(node, exp.SimilarTo) or node.args.get("typed"):  # it stands where nothing was translated
                refuse(sql, node, f"the operator {node.key.upper()} at this place", "write it into a subquery")


class _Reader:
    """Reads one statement from the outside in, and writes its expressions from the inside out."""

    def __init__(self, sql: str, tables: Mapping[str, dict[str, str]]) -> None:
        self._rules = Rules(sql)
        self._tables = tables

    def query(self, node: exp.Expr, ctes: _Ctes, outer: _Scope | None) -> _Columns:
        """Translate a query; the names and types of its columns, as far as they are known."""
        if isinstance(node, exp.Subquery):
            return self.query(node.this, ctes, outer)
        ctes = self._with_ctes(node, ctes, outer)
        if isinstance(node, exp.SetOperation):
            left, right = (self.query(side, ctes, outer) for side in (node.this, node.expression))
            columns = [(n, types.common([one, other])) for (n, one), (_, other) in zip(left, right, strict=False)]
            scope = _Scope(aliases={folded(name): kind for name, kind in columns}, outer=outer)
        elif isinstance(node, exp.Select):
            return self._select(node, ctes, outer)
        else:
            columns, scope = [], _Scope(outer=outer)
        for clause in ("order", "limit", "offset"):
            if part := node.args.get(clause):
                self._clause(part, ctes, scope)
        return columns

    def _with_ctes(self, node: exp.Expr, ctes: _Ctes, outer: _Scope | None) -> _Ctes:
        found = dict(ctes)
        for cte in node.args["with_"].expressions if node.args.get("with_") else []:
            columns = self.query(cte.this, found, outer)
            found[folded(cte.alias)] = _renamed(columns, cte.args.get("alias"))
        return found

    def _select(self, select: exp.Select, ctes: _Ctes, outer: _Scope | None) -> _Columns:
        scope = _Scope(outer=outer)
        first, joins = select.args.get("from_"), select.args.get("joins") or []
        for source in [*([first.this] if first else []), *(join.this for join in joins)]:
            self._source(source, ctes, scope)
        for join in joins:
            if on := join.args.get("on"):
                self._visit(on, ctes, scope)
        columns: _Columns = []
        _choose_first(select)
        for item in list(select.expressions):
            columns += self._item(item, ctes, scope)
        for clause in ("distinct", "where", "group", "having", "qualify", "windows", "order", "limit", "offset"):
            parts = select.args.get(clause)
            for part in parts if isinstance(parts, list) else [parts]:
                if isinstance(part, exp.Expr):
                    self._clause(part, ctes, scope)
        return columns

    def _clause(self, clause: exp.Expr, ctes: _Ctes, scope: _Scope) -> None:
        number = clause.expression if isinstance(clause, exp.Limit) else None
        if isinstance(number, exp.Var) and number.name.upper() == "ALL":
            clause.pop()  # LIMIT ALL is none
            return
        for child in list(clause.iter_expressions()):
            by = child.this if isinstance(child, exp.Ordered) else None
            if (
                isinstance(by, exp.Column)
                and by.name.upper() == "ALL"
                and not by.table
                and len(clause.expressions) == 1
            ):
                child.set("this", exp.Var(this="ALL"))
            elif not isinstance(child, NO_VALUES):
                self._visit(child, ctes, scope)

    def _source(self, node: exp.Expr, ctes: _Ctes, scope: _Scope) -> None:
        alias = node.args.get("alias")
        if isinstance(node, exp.Subquery):
            columns = self.query(node.this, ctes, scope.outer)
        elif isinstance(node, exp.Values):
            columns = self._values(node, ctes, scope)
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            name = folded(node.name)
            is_cte = name in ctes and not node.args.get("db")
            columns = list(ctes[name]) if is_cte else list(self._tables.get(name, {}).items())
        else:
            columns = []
        for join in node.args.get("joins") or []:
            self._source(join.this, ctes, scope)
            if on := join.args.get("on"):
                self._visit(on, ctes, scope)
        name = node.alias or (node.name if isinstance(node, exp.Table) else "")
        scope.sources[folded(name) or f"source {len(scope.sources)}"] = {
            folded(column): kind for column, kind in _renamed(columns, alias)
        }

    def _values(self, node: exp.Values, ctes: _Ctes, scope: _Scope) -> _Columns:
        rows = [[self._visit(cell, ctes, scope) for cell in list(row.expressions)] for row in node.expressions]
        width = min(map(len, rows), default=0)
        # PostgreSQL calls them column1, column2, ..., where DuckDB says col0, col1, ...
        columns = [(f"column{i + 1}", types.common([row[i] for row in rows])) for i in range(width)]
        alias = node.args.get("alias")
        if alias is None:
            alias = exp.TableAlias(this=exp.to_identifier("values", quoted=True))
            node.set("alias", alias)
        given = alias.args.get("columns") or []
        names = [exp.to_identifier(name, quoted=True) for name, _ in columns[len(given) :]]
        alias.set("columns", [*given, *names])
        return columns

    def _item(self, item: exp.Expr, ctes: _Ctes, scope: _Scope) -> _Columns:
        """An item of the SELECT list, under PostgreSQL's name for it."""
        if is_star(item):
            table = folded(item.table) if isinstance(item, exp.Column) else ""
            read = [scope.sources.get(table, {})] if table else scope.sources.values()
            return [column for columns in read for column in columns.items()]
        if isinstance(item, exp.Alias):
            name, value = item.alias, item.this
            if not item.args["alias"].quoted and name != name.lower():
                name = name.lower()
                item.set("alias", exp.to_identifier(name, quoted=True))
        else:
            name, value = name_of(item), exp.Alias(this=item.copy())
            if isinstance(item, exp.Column) and (item.this.quoted or name == name.lower()):
                value = item
            else:
                name = name.lower() if isinstance(item, exp.Column) else name
                value.set("alias", exp.to_identifier(name, quoted=True))
                item.replace(value)
                value = value.this
        kind = self._visit(value, ctes, scope)
        scope.aliases.setdefault(folded(name), kind)
        return [(name, kind)]

    # --- expressions -------------------------------------------------------------------------------

    def _visit(self, node: exp.Expr, ctes: _Ctes, scope: _Scope) -> str:
        """Translate an expression; its type."""
        if isinstance(node, exp.Column):
            return scope.type_of(node)
        if isinstance(node, exp.Query):
            columns = self.query(node, ctes, scope)
            return columns[0][1] if len(columns) == 1 else types.UNKNOWN
        below = [
            self._visit(child, ctes, scope)
            for child in list(node.iter_expressions())
            if not isinstance(child, NO_VALUES) or (isinstance(child, exp.Var) and isinstance(node, exp.Anonymous))
        ]
        made = self._rules.written(node, below)
        if made is not node:
            made._meta = {**(node._meta or {}), **(made._meta or {})}
            node.replace(made)
        if isinstance(node, exp.AtTimeZone):
            return types.TIMESTAMP
        kind = types.type_of(node, below)
        if isinstance(node, exp.Anonymous) and kind == types.UNKNOWN:
            kind = types.type_of(without_parentheses(made), below)
        return kind


def _choose_first(select: exp.Select) -> None:
    """DISTINCT ON (a) keeps the first row of each a, in the order of the query: the first by row_number()."""
    distinct, order = select.args.get("distinct"), select.args.get("order")
    on = distinct.args.get("on") if isinstance(distinct, exp.Distinct) else None
    if on is None or order is None or select.args.get("qualify") or select.args.get("group") is None:
        return
    items = list(select.expressions)
    named = {folded(item.alias): item.this for item in items if isinstance(item, exp.Alias)}

    def meant(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Literal) and node.this.isdigit() and 1 <= int(node.this) <= len(items):
            return exp.Paren(this=items[int(node.this) - 1].unalias().copy())
        is_alias = isinstance(node, exp.Column) and not node.table and folded(node.name) in named
        return exp.Paren(this=(named[folded(node.name)] if is_alias else node).copy())

    by = order.copy()
    for ordered in by.expressions:
        ordered.set("this", meant(ordered.this))
    keys = [meant(key) for key in (on.expressions if isinstance(on, exp.Tuple) else [on])]
    place = exp.Window(this=exp.RowNumber(), partition_by=keys, order=by)
    select.set("qualify", exp.Qualify(this=exp.EQ(this=place, expression=exp.Literal.number(1))))
    select.set("distinct", None)


def _renamed(columns: _Columns, alias: exp.Expr | None) -> _Columns:
    """Columns under the names that an alias gives to the first of them; the bounds of estimates are numbers."""
    given = [c.name for c in alias.args.get("columns") or []] if alias is not None else []
    names = given + [name for name, _ in columns[len(given) :]]
    return [(name, kind) for name, (_, kind) in zip(names, columns, strict=False)]
