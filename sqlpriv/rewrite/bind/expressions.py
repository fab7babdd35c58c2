"""Expressions: every column resolved to variable.column, everything else checked against the allow-list."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sqlpriv.rewrite.bind.functions import allowed, misread
from sqlpriv.rewrite.bind.public_subquery import resolve_public
from sqlpriv.rewrite.bind.refusals import refuse, refuse_node, unknown
from sqlpriv.rewrite.bind.relations import SCALAR, Answer, Rows, column
from sqlpriv.rewrite.bind.scope import Ctes, Scope
from sqlpriv.rewrite.release import Release
from sqlpriv.rewrite.syntax import AGGREGATES, PREFIX, has_aggregates
from sqlpriv.sqltext import folded


class Expressions:
    """Resolves the expressions of one query."""

    def __init__(self, sql: str, release: Release, read: Callable[[exp.Expr, Ctes], Rows | Answer]) -> None:
        self.sql = sql
        self.release = release
        self._read = read
        self._taken = {folded(a.name) for a in release.attributes}
        self.defined: dict[str, str] = {}
        """Relations of public tables, as common table expressions by their names."""
        self.scalars: list[Answer] = []
        """Answers that stand as one value in an expression over estimates."""

    def variable(self, name: str) -> str:
        """A name that no other variable has, and none of ours."""
        name = f"the {name}" if folded(name).startswith(PREFIX) else name
        made, number = name, 1
        while folded(made) in self._taken:
            number += 1
            made = f"{name} {number}"
        self._taken.add(folded(made))
        return made

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
        elif (reason := misread(node, self.sql)) is not None:
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
            if scope.flat is not None and isinstance(inner, exp.AggFunc):
                scope.flat.aggregate(inner)
            refuse_node(self.sql, inner)
        self._visit_arguments(inner, scope)
        if isinstance(node, exp.Filter):
            self._visit(node.expression.this, scope, False, False)
        if scope.flat is not None:
            node.replace(scope.flat.aggregate(node))

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
        if not aggregates and has_aggregates(found):
            refuse(self.sql, node, f"the aggregate {node.name!r} inside WHERE or GROUP BY", "use HAVING")
        new = found.copy()
        if isinstance(new, exp.Column):
            new._meta = {**(new._meta or {}), **(node.this._meta or {})}
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
        if not aggregates or not self.reads_private(node, scope.ctes):
            resolve_public(self, node, scope)
            return
        answer = self._read(node.copy(), scope.ctes)
        if isinstance(answer, Rows) or not isinstance(node, exp.Subquery) or len(answer.columns) != 1:
            refuse(self.sql, node, "a subquery of rows of the private table", "write a scalar subquery: one aggregate")
        if answer.many:
            instead = "aggregate it without GROUP BY, or add WHERE so that one group is left"
            refuse(self.sql, node, "a scalar subquery with a row for each group", instead)
        self.scalars.append(answer)
        node.replace(column(SCALAR, str(len(self.scalars) - 1), node))

    def reads_private(self, node: exp.Expr, ctes: Ctes) -> bool:
        """Whether a query reads the private table, perhaps by a common table expression."""
        for table in node.find_all(exp.Table):
            key = folded(table.name)
            if key in ctes and not table.args.get("db"):
                cte, seen = ctes[key]
                if self.reads_private(cte.this, seen):
                    return True
            elif key == folded(self.release.table):
                return True
        return False
