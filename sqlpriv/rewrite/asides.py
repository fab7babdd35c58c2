"""What tools ask beside estimates: of public tables alone, and of the types of columns. Both are answered exactly."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.rewrite.bind.names import Names
from sqlpriv.rewrite.bind.public_subquery import resolve_public
from sqlpriv.rewrite.bind.relations import Answer, AnswerColumn, Rows
from sqlpriv.rewrite.bind.scope import Scope
from sqlpriv.rewrite.clauses import Clauses
from sqlpriv.rewrite.syntax import conjuncts, without_parentheses
from sqlpriv.sqltext import quoted


def public_answer(clauses: Clauses, query: exp.Expr) -> Answer:
    """The answer to a query that reads public tables alone: it runs as it is, with its names resolved."""
    limits = ""
    if not query.args.get("order"):
        # Inside a query it would depend on chance which rows are kept; here nothing depends on them.
        limits = clauses.limits(query)
        for clause in ("limit", "offset"):
            query.set(clause, None)
    found = resolve_public(clauses.names, query, Scope(), {})
    sql = query.sql(dialect="duckdb", comments=False) + limits
    return Answer(sql, tuple(AnswerColumn(name, exact=True) for name in found.names))


def without_rows(names: Names, rows: Rows) -> Answer | None:
    """The columns of rows of which a condition says that there are none, as WHERE 1 = 0 and LIMIT 0 do."""
    if not any(map(_is_false, (part for c in rows.conditions for part in conjuncts(c)))):
        return None
    return rows_of_types(names, rows)


def rows_of_types(names: Names, rows: Rows) -> Answer:
    """No row, with the columns of these rows, and their types."""
    listed = ", ".join(f"{s.expression.sql(dialect='duckdb', comments=False)} AS {quoted(s.name)}" for s in rows.shown)
    mentioned = {c.table for s in rows.shown for c in s.expression.find_all(exp.Column)}
    sources = [f"{a.domain} AS {quoted(a.name)}" for a in names.release.attributes if a.name in mentioned]
    sources += [f"{read.relation} AS {quoted(name)}" for name, read in rows.reads.items()]
    read = f" FROM {', '.join(sources)}" if sources else ""
    text = f"SELECT {listed}{read} WHERE false"
    return Answer(text, tuple(AnswerColumn(s.name, exact=True) for s in rows.shown))


def _is_false(condition: exp.Expr) -> bool:
    """Whether a condition is surely false, seen without computing anything: FALSE, or two constants that differ."""
    if isinstance(condition, exp.Boolean):
        return not condition.this
    if not isinstance(condition, exp.EQ):
        return False
    sides = [without_parentheses(side) for side in (condition.this, condition.expression)]
    if not all(isinstance(side, exp.Literal) and side.this.isdigit() for side in sides):
        return False
    return int(sides[0].this) != int(sides[1].this) and sides[0].is_string == sides[1].is_string
