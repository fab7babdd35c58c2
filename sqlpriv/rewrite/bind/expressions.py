"""Expressions: every column resolved to variable.column, everything else checked against the allow-list.

Values that a query asks for and the public domain of a column lacks are warned about: an answer of 0 about them says
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlpriv.core.errors import did_you_mean
from sqlpriv.rewrite.aggregates import BY_VALUE, aggregate_of
from sqlpriv.rewrite.bind.chosen_groups import chosen_values
from sqlpriv.rewrite.bind.functions import allowed, misread
from sqlpriv.rewrite.bind.names import Names, Reader, Scope
from sqlpriv.rewrite.bind.public_queries import resolve_public
from sqlpriv.rewrite.bind.refusals import DISTINCT, refuse, refuse_node, unknown
from sqlpriv.rewrite.bind.relations import SCALAR, VALUE, Answer, SelectedRows, column
from sqlpriv.rewrite.release import Attribute, Release
from sqlpriv.rewrite.syntax import AGGREGATES, GROUPING, HISTOGRAM, has_aggregates, without_parentheses

_MOST_NAMED = 8


def outside_domains(node: exp.Expr, release: Release) -> Iterator[str]:
    """A sentence for each value that a resolved expression compares a column with and that its domain has not."""
    if release.facts is None:
        return
    for found in node.find_all(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In):
        for attribute, value in _compared(found, release):
            if attribute.is_cut or attribute.unlisted:
                continue  # Its values are not all known.
            text = value.sql(dialect="duckdb")
            if not release.facts.has_value(attribute.domain, text):
                values = release.facts.some_values(attribute.domain, _MOST_NAMED)
                listed = f" (it has {', '.join(values)})" if values else " (`sqlpriv show` describes it)"
                yield f"the domain of {attribute.name!r} has no value {text}{listed}: no row of the release can have it"


def _compared(node: exp.Expr, release: Release) -> Iterator[tuple[Attribute, exp.Expr]]:
    """The columns of the private table that a comparison is about, each with a value it is compared with."""
    others = node.expressions if isinstance(node, exp.In) else [node.expression]
    for other in others:
        for side, value in ((node.this, other), (other, node.this)):
            column = without_parentheses(side)
            if isinstance(column, exp.Column) and column.name == VALUE and _is_value(value):
                attribute = release.attribute(column.table)
                if attribute is not None:
                    yield attribute, without_parentheses(value)


def _is_value(node: exp.Expr) -> bool:
    bare = without_parentheses(node)
    if isinstance(bare, exp.Neg | exp.Cast):
        return isinstance(without_parentheses(bare.this), exp.Literal)
    return isinstance(bare, exp.Literal)


class Expressions:
    """Resolves expressions. Given the names of the rewriting, and what reads queries over the private table."""

    def __init__(self, names: Names, read: Reader) -> None:
        self._names = names
        self._sql = names.sql
        self._read = read

    def resolve(self, node: exp.Expr, scope: Scope, aggregates: bool = False, alias_first: bool = False) -> exp.Expr:
        """The expression with every column written variable.column; refuses what may not stand there."""
        holder = exp.Paren(this=node)
        self._visit(node, scope, aggregates, alias_first)
        resolved: exp.Expr = holder.this
        resolved.pop()
        self._names.warnings += (
            w for w in outside_domains(resolved, self._names.release) if w not in self._names.warnings
        )
        return resolved

    def _visit(self, node: exp.Expr, scope: Scope, aggregates: bool, alias_first: bool) -> None:
        if isinstance(node, exp.Column):
            self._column(node, scope, aggregates, alias_first)
        elif isinstance(node, exp.Query):
            self._subquery(node, scope, aggregates)
        elif isinstance(node, exp.Window):
            self._window(node, scope, aggregates, alias_first)
        elif isinstance(node, AGGREGATES):
            self._aggregate(node, scope, aggregates)
        elif (reason := misread(node, self._sql)) is not None:
            refuse(self._sql, node, *reason)
        elif aggregates and isinstance(node, (exp.Any, exp.All)):
            refuse(self._sql, node, f"{node.key.upper()} in SELECT or HAVING", "write IN, or several comparisons")
        elif isinstance(node, (exp.Exists, exp.Any, exp.All)) or allowed(node):
            self._children(node, scope, aggregates, alias_first)
        else:
            refuse_node(self._sql, node)

    def _children(self, node: exp.Expr, scope: Scope, aggregates: bool, alias_first: bool) -> None:
        for child in list(node.iter_expressions()):
            self._visit(child, scope, aggregates, alias_first)

    def _window(self, node: exp.Window, scope: Scope, aggregates: bool, alias_first: bool) -> None:
        """The parts of a window function, which is about the rows of an answer."""
        if scope.flat is not None:
            refuse(
                self._sql,
                node,
                "a window function next to aggregates of estimates",
                "window the sums in a query around",
            )
        if not aggregates and not scope.over_answers:
            refuse_node(self._sql, node)
        if isinstance(node.this, exp.Filter):
            refuse(self._sql, node, "FILTER of a window function", "put a CASE into the function")
        if isinstance(node.this, exp.IgnoreNulls):
            refuse(self._sql, node, "IGNORE NULLS", "leave it out; only a division by 0 leaves an estimate NULL")
        if node.args.get("alias"):
            refuse(self._sql, node, f"the window {node.alias!r}", "define it by WINDOW, or write it out")
        if not isinstance(node.this, exp.Func) or isinstance(node.this, exp.Anonymous):
            refuse_node(self._sql, node.this if isinstance(node.this, exp.Func) else node)
        for part in [*node.this.iter_expressions(), *(node.args.get("partition_by") or [])]:
            if not isinstance(part, exp.Star):
                self._visit(part, scope, aggregates, alias_first)
        for ordered in node.args["order"].expressions if node.args.get("order") else []:
            self._visit(ordered.this, scope, aggregates, alias_first)

    def _aggregate(self, node: exp.Expr, scope: Scope, aggregates: bool) -> None:
        inner = node.this if isinstance(node, exp.Filter) else node
        if not aggregates:
            refuse(
                self._sql,
                node,
                f"an aggregate ({inner.key}) inside WHERE, GROUP BY or another aggregate",
                "aggregate in SELECT or HAVING",
            )
        entry = aggregate_of(inner)
        by_value = entry is not None and entry.estimated_by == BY_VALUE
        if by_value and scope.flat is None:
            self._visit_quantile(inner, scope)
        elif by_value or (entry is None and not isinstance(inner, GROUPING)):
            if scope.flat is not None and isinstance(inner, exp.AggFunc):
                scope.flat.aggregate(inner)
            refuse_node(self._sql, inner)
        else:
            self._visit_arguments(inner, scope)
        if isinstance(node, exp.Filter):
            self._visit(node.expression.this, scope, False, False)
        if scope.flat is not None:
            node.replace(scope.flat.aggregate(node))

    def _visit_quantile(self, node: exp.Expr, scope: Scope) -> None:
        if isinstance(node, exp.WithinGroup):
            self._visit(node.this.this, scope, False, False)
            for ordered in node.expression.expressions:
                self._visit(ordered.this, scope, False, False)
        else:
            self._visit_arguments(node, scope)

    def _visit_arguments(self, node: exp.Expr, scope: Scope) -> None:
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Star) and isinstance(node, exp.Count):
                continue
            if isinstance(child, (exp.Distinct, exp.Order)):
                what = "DISTINCT" if isinstance(child, exp.Distinct) else "ORDER BY"
                name = "histogram" if isinstance(node, HISTOGRAM) else node.key
                refuse(self._sql, node, f"{name}({what} ...)", DISTINCT)
            self._visit(child, scope, False, False)

    def _column(self, node: exp.Column, scope: Scope, aggregates: bool, alias_first: bool) -> None:
        if isinstance(node.this, exp.Star):
            refuse(self._sql, node, "*", "name the columns")
        if node.args.get("join_mark"):
            refuse(self._sql, node, "(+)", "write a LEFT JOIN")
        found = scope.look_up(node, self._sql, alias_first)
        if found is None:
            unknown(self._sql, node, f"column {node.name!r}", self._columns(node.name, scope))
        if not aggregates and has_aggregates(found):
            refuse(self._sql, node, f"the aggregate {node.name!r} inside WHERE or GROUP BY", "use HAVING")
        new = found.copy()
        if isinstance(new, exp.Column):
            new._meta = {**(new._meta or {}), **(node.this._meta or {})}
        node.replace(new if isinstance(new, (exp.Column, exp.Literal)) else exp.Paren(this=new))

    def _columns(self, name: str, scope: Scope) -> str:
        names = [s.name for columns in scope.sources.values() for s in columns.values()]
        more = " ..." if len(names) > 20 else ""
        near = did_you_mean(name, [known for known in names if known != name])
        return f"there are {', '.join(names[:20])}{more}{near}"

    def _subquery(self, node: exp.Expr, scope: Scope, aggregates: bool) -> None:
        reads_private = self._names.reads_private(node, scope.ctes)
        if reads_private and not aggregates and isinstance(node.parent, exp.In):
            answer = self._read(node.copy(), scope.ctes)
            if isinstance(answer, Answer):
                node.replace(chosen_values(self._names, answer, node, node.parent.this))
                return
        if not aggregates or not reads_private:
            resolve_public(self._names, node, scope)
            return
        answer = self._read(node.copy(), scope.ctes)
        if isinstance(answer, SelectedRows) or not isinstance(node, exp.Subquery) or len(answer.columns) != 1:
            refuse(self._sql, node, "a subquery of rows of the private table", "write a scalar subquery: one aggregate")
        if answer.many:
            instead = "aggregate it without GROUP BY, or add WHERE so that one group is left"
            refuse(self._sql, node, "a scalar subquery with a row for each group", instead)
        self._names.scalars.append(answer)
        node.replace(column(SCALAR, str(len(self._names.scalars) - 1), node))
