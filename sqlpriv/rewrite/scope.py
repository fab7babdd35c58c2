"""Names: which relation each column of a query comes from, common table expressions and subqueries merged.

A subquery that only projects and filters is replaced by what it stands for, so that one aggregate over rows is left.
Everything that is read is known here: the private table once, public tables, and answers to aggregate queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.rewrite.described import Described
from sqlpriv.rewrite.functions import allowed, ambiguous_operator
from sqlpriv.rewrite.refuse import refuse, refuse_node, unknown
from sqlpriv.rewrite.relations import VALUE, Answer, AnswerColumn, Read, Rows, Shown, column
from sqlpriv.sqltext import folded, quoted

Columns: TypeAlias = dict[str, Shown]
Ctes: TypeAlias = Mapping[str, tuple[exp.CTE, "Ctes"]]
AGGREGATES = (exp.AggFunc, exp.Filter, exp.Window, exp.Grouping, exp.GroupingId, exp.WithinGroup)
_SOURCE_ARGS: dict[type[exp.Expr], set[str]] = {
    exp.Table: {"this", "alias", "db", "catalog"},
    exp.Subquery: {"this", "alias"},
}
SCALAR = "__priv_scalar"
_JOIN_ARGS = {"this", "on", "side", "kind", "using", "method"}


@dataclass
class Scope:
    """The names that an expression can see: sources by their alias, then aliases of the SELECT list, then outside."""

    sources: dict[str, Columns] = field(default_factory=dict)
    merged: Columns = field(default_factory=dict)
    """The columns of USING, which need no table in front."""
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    outer: Scope | None = None
    ctes: Ctes = field(default_factory=dict)

    def find(self, name: str) -> list[Shown]:
        """All columns of that name."""
        key = folded(name)
        if key in self.merged:
            return [self.merged[key]]
        return [c[key] for c in self.sources.values() if key in c]


class Names:
    """Resolves the names of one query."""

    def __init__(self, sql: str, release: Described, read: Callable[[exp.Expr, Ctes], Rows | Answer]) -> None:
        self.sql = sql
        self.release = release
        self._read = read
        self._taken = {folded(a.name) for a in release.attributes}
        self.scalars: list[Answer] = []
        """Answers that stand as one value in an expression over estimates."""

    # --- FROM -------------------------------------------------------------------------------------

    def read_from(self, select: exp.Select, ctes: Ctes) -> tuple[Rows, Scope]:
        """The sources of a SELECT, joined, with the names they bring."""
        rows, scope = Rows(), Scope(ctes=ctes)
        first = select.args.get("from_")
        if first is None:
            return rows, scope
        self._source(first.this, ctes, rows, scope)
        for join in select.args.get("joins") or []:
            self._join(join, ctes, rows, scope)
        return rows, scope

    def _join(self, join: exp.Join, ctes: Ctes, rows: Rows, scope: Scope) -> None:
        self._only(join, _JOIN_ARGS)
        kind = " ".join(filter(None, (join.args.get("method"), join.side, join.kind))).upper()
        if kind not in {"", "INNER", "CROSS"}:
            refuse(self.sql, join.this, f"{kind} JOIN", "write an inner join, or a subquery over the public table")
        before = dict(scope.sources)
        self._source(join.this, ctes, rows, scope)
        if using := join.args.get("using"):
            self._using(using, before, rows, scope)
        if on := join.args.get("on"):
            rows.conditions.append(self.resolve(on, scope))

    def _using(self, names: list[exp.Expr], before: dict[str, Columns], rows: Rows, scope: Scope) -> None:
        added = next(columns for alias, columns in scope.sources.items() if alias not in before)
        for identifier in names:
            key = folded(identifier.name)
            left = [scope.merged[key]] if key in scope.merged else [c[key] for c in before.values() if key in c]
            if len(left) != 1 or key not in added:
                unknown(self.sql, identifier, f"column {identifier.name!r} on both sides", "write ON a.x = b.y")
            scope.merged[key] = left[0]
            rows.conditions.append(exp.EQ(this=_use(left[0]), expression=_use(added[key])))

    def _source(self, node: exp.Expr, ctes: Ctes, rows: Rows, scope: Scope) -> None:
        if type(node) not in _SOURCE_ARGS:
            refuse_node(self.sql, node)
        self._only(node, _SOURCE_ARGS[type(node)])
        alias = node.args.get("alias")
        if isinstance(node, exp.Table):
            shown, name = self._table(node, ctes, rows)
        else:
            shown, name = self._merge(self._read(node.this, ctes), rows, node), "subquery"
        if alias is not None:
            name = alias.name or name
            shown = self._renamed(shown, alias.args.get("columns") or [], node)
        if folded(name) in scope.sources:
            refuse(self.sql, node, f"two tables called {name!r}", "give one of them another alias")
        scope.sources[folded(name)] = {folded(s.name): s for s in reversed(shown)}
        scope.sources[folded(name)] = dict(reversed(scope.sources[folded(name)].items()))

    def _renamed(self, shown: list[Shown], names: list[exp.Expr], node: exp.Expr) -> list[Shown]:
        if len(names) > len(shown):
            refuse(self.sql, node, "an alias with more columns than the table", "leave the extra names out")
        new = [n.name for n in names] + [s.name for s in shown[len(names) :]]
        return [Shown(name, s.expression, s.estimate) for name, s in zip(new, shown, strict=True)]

    def _table(self, node: exp.Table, ctes: Ctes, rows: Rows) -> tuple[list[Shown], str]:
        if not isinstance(node.this, exp.Identifier):
            refuse(self.sql, node, "a table function", f"only {self.release.table!r} and its public tables can be read")
        name, key = node.name, folded(node.name)
        if node.args.get("catalog") or (node.args.get("db") and folded(node.db) not in {"main", "public"}):
            unknown(self.sql, node, f"table {node.sql(dialect='duckdb')}", self._tables())
        if not node.args.get("db") and key in ctes:
            cte, seen = ctes[key]
            return self._merge(self._read_cte(cte, seen), rows, node), name
        public = self.release.public.get(key)
        if key == folded(self.release.table) and folded(node.db or "main") == "main":
            if rows.private:
                self._self_join(node)
            rows.private = True
            return [Shown(a.name, column(a.name, VALUE)) for a in self.release.attributes], name
        if public is None:
            unknown(self.sql, node, f"table {name!r}", self._tables())
        variable = self.variable(name)
        rows.reads[variable] = Read(public.relation, dict(public.columns), public.size)
        return [Shown(c, column(variable, c)) for c in public.columns], name

    def _read_cte(self, cte: exp.CTE, seen: Ctes) -> Rows | Answer:
        relation = self._read(cte.this.copy(), seen)
        names = [c.name for c in cte.args["alias"].args.get("columns") or []]
        if names and isinstance(relation, Rows):
            relation.shown = self._renamed(relation.shown, cte.args["alias"].args["columns"], cte)
        elif names and isinstance(relation, Answer):
            refuse(
                self.sql, cte.args["alias"], "a column list on a query of estimates", "name the columns in it, with AS"
            )
        return relation

    def _merge(self, relation: Rows | Answer, rows: Rows, node: exp.Expr) -> list[Shown]:
        """Take what a relation reads and asks into `rows`; what it shows."""
        if isinstance(relation, Answer):
            variable = self.variable("estimates")
            rows.reads[variable] = Read(f"({relation.sql})", answer=relation)
            estimates = {c.name: c for c in relation.columns}
            return [Shown(n, column(variable, n), _in(variable, estimates.get(n))) for n in relation.names]
        if rows.private and relation.private:
            self._self_join(node)
        rows.private |= relation.private
        rows.conditions += relation.conditions
        rows.reads.update(relation.reads)
        return relation.shown

    def _self_join(self, node: exp.Expr) -> None:
        refuse(
            self.sql, node, "the private table a second time", "pairs of rows cannot be estimated; aggregate it once"
        )

    def variable(self, name: str) -> str:
        """A name that no other variable has."""
        made, number = name, 1
        while folded(made) in self._taken:
            number += 1
            made = f"{name} {number}"
        self._taken.add(folded(made))
        return made

    def _tables(self) -> str:
        others = ", ".join(repr(t.name) for t in self.release.public.values())
        return f"the release answers for {self.release.table!r}" + (
            f", with the public tables {others}" if others else ""
        )

    def _only(self, node: exp.Expr, known: set[str]) -> None:
        for key, value in node.args.items():
            if value and key not in known:
                inside = value[0] if isinstance(value, list) else value
                if isinstance(inside, exp.Expr) and type(inside) is not exp.Paren:
                    refuse_node(self.sql, inside)
                refuse(self.sql, node, f"{key} in FROM", "leave it out")

    # --- expressions ------------------------------------------------------------------------------

    def resolve(self, node: exp.Expr, scope: Scope, aggregates: bool = False, alias_first: bool = False) -> exp.Expr:
        """The expression with every column written variable.column; refuses what may not stand there."""
        holder = exp.Paren(this=node)
        self._visit(node, scope, aggregates, alias_first)
        resolved: exp.Expr = holder.this
        resolved.pop()
        return resolved

    def _visit(self, node: exp.Expr, scope: Scope, aggregates: bool, alias_first: bool) -> None:
        if isinstance(node, exp.Column):
            self._column(node, scope, aggregates, alias_first)
        elif isinstance(node, exp.Query):
            self._subquery(node, scope, aggregates)
        elif isinstance(node, AGGREGATES):
            self._aggregate(node, scope, aggregates)
        elif (reason := ambiguous_operator(node)) is not None:
            refuse(self.sql, node, *reason)
        elif isinstance(node, (exp.Exists, exp.Any, exp.All)) or allowed(node):
            self._children(node, scope, aggregates, alias_first)
        else:
            refuse_node(self.sql, node)

    def _children(self, node: exp.Expr, scope: Scope, aggregates: bool, alias_first: bool) -> None:
        for child in list(node.iter_expressions()):
            self._visit(child, scope, aggregates, alias_first)

    def _aggregate(self, node: exp.Expr, scope: Scope, aggregates: bool) -> None:
        inner = node.this if isinstance(node, exp.Filter) else node
        if not aggregates:
            construct = "a window function" if isinstance(node, exp.Window) else f"an aggregate ({inner.key})"
            refuse(
                self.sql,
                node,
                f"{construct} inside WHERE, GROUP BY or another aggregate",
                "aggregate in SELECT or HAVING",
            )
        if not isinstance(inner, (exp.Count, exp.CountIf, exp.Sum, exp.Avg, exp.Grouping, exp.GroupingId)):
            refuse_node(self.sql, inner)
        if isinstance(node, exp.Filter):
            self._visit_arguments(inner, scope)
            self._visit(node.expression.this, scope, False, False)
        else:
            self._visit_arguments(inner, scope)

    def _visit_arguments(self, node: exp.Expr, scope: Scope) -> None:
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Star) and isinstance(node, exp.Count):
                continue
            if isinstance(child, (exp.Distinct, exp.Order)):
                what = "DISTINCT" if isinstance(child, exp.Distinct) else "ORDER BY"
                instead = "a randomized release cannot tell which rows are equal; count rows, or GROUP BY the column"
                refuse(self.sql, node, f"{node.key}({what} ...)", instead)
            self._visit(child, scope, False, False)

    def _column(self, node: exp.Column, scope: Scope, aggregates: bool, alias_first: bool) -> None:
        if isinstance(node.this, exp.Star):
            refuse(self.sql, node, "*", "name the columns")
        if node.args.get("db") or node.args.get("join_mark"):
            refuse(self.sql, node, "a column with more than one dot", "write table.column, with the table's alias")
        found = self.look_up(node, scope, alias_first)
        if found is None:
            unknown(self.sql, node, f"column {node.name!r}", self._columns(scope))
        if not aggregates and any(isinstance(n, AGGREGATES) for n in found.walk()):
            refuse(self.sql, node, f"the aggregate {node.name!r} inside WHERE or GROUP BY", "use HAVING")
        new = found.copy()
        if isinstance(new, exp.Column):
            new._meta = node.this._meta
        node.replace(new if isinstance(new, (exp.Column, exp.Literal)) else exp.Paren(this=new))

    def look_up(self, node: exp.Column, scope: Scope | None, alias_first: bool = False) -> exp.Expr | None:
        """What a column stands for, seen from a scope and then from those around it."""
        while scope is not None:
            if node.table:
                if (source := scope.sources.get(folded(node.table))) is not None:
                    shown = source.get(folded(node.name))
                    return shown.expression if shown else None
            else:
                alias = scope.aliases.get(folded(node.name))
                if alias_first and alias is not None:
                    return alias
                found = scope.find(node.name)
                if len(found) > 1:
                    refuse(self.sql, node, f"the column {node.name!r} of two tables", "write the table before it")
                if found:
                    return found[0].expression
                if alias is not None:
                    return alias
            scope = scope.outer
        return None

    def _columns(self, scope: Scope) -> str:
        names = [s.name for columns in scope.sources.values() for s in columns.values()]
        return f"there are {', '.join(names[:20])}" + (" ..." if len(names) > 20 else "")

    def _subquery(self, node: exp.Expr, scope: Scope, aggregates: bool) -> None:
        from sqlpriv.rewrite.public_subquery import resolve_public

        if not aggregates or not self._reads_private(node, scope.ctes):
            resolve_public(self, node, scope)
            return
        answer = self._read(node.copy(), scope.ctes)
        if isinstance(answer, Rows) or not isinstance(node, exp.Subquery) or len(answer.columns) != 1:
            refuse(self.sql, node, "a subquery of rows of the private table", "write a scalar subquery: one aggregate")
        self.scalars.append(answer)
        node.replace(column(SCALAR, str(len(self.scalars) - 1), node))

    def _reads_private(self, node: exp.Expr, ctes: Ctes) -> bool:
        """Whether a query reads the private table, perhaps by a common table expression."""
        for table in node.find_all(exp.Table):
            key = folded(table.name)
            if key in ctes and not table.args.get("db"):
                cte, seen = ctes[key]
                if self._reads_private(cte.this, seen):
                    return True
            elif key == folded(self.release.table):
                return True
        return False


def _use(shown: Shown) -> exp.Expr:
    new = shown.expression.copy()
    return new if isinstance(new, exp.Column) else exp.Paren(this=new)


def _in(variable: str, found: AnswerColumn | None) -> AnswerColumn | None:
    if found is None or found.low is None or found.high is None:
        return None
    return AnswerColumn(quoted(variable, found.name), quoted(variable, found.low), quoted(variable, found.high))


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


def outside_subqueries(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those of queries inside it."""
    return node.walk(prune=lambda n: isinstance(n, exp.Query))
