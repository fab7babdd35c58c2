"""UNION ALL of rows, each branch of which reads the private table once.

It is the private table joined with a small public relation of branch numbers: a row counts once for each branch whose
conditions it meets, and shows what that branch shows. What a branch joins comes along with its number.
"""

from __future__ import annotations

from math import prod

from sqlglot import exp

from sqlpriv.rewrite.bind.names import Names
from sqlpriv.rewrite.bind.outer_joins import MOST_ROWS
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import Read, Rows, Shown, column, distinct_names
from sqlpriv.rewrite.syntax import without_parentheses
from sqlpriv.sqltext import quoted


def united_rows(names: Names, union: exp.Union, sides: tuple[Rows, Rows]) -> Rows:
    """The rows of both sides, as one relation that reads the private table once."""
    for side, node in zip(sides, (union.this, union.expression), strict=True):
        if not side.private:
            refuse(names.sql, node, "UNION ALL of private with public rows", "ask the private table alone")
    if len(sides[0].shown) != len(sides[1].shown):
        refuse(names.sql, union, "UNION ALL of queries with different columns", "give both the same columns")
    reads = {name: read for side in sides for name, read in side.reads.items()}
    size = sum(prod(read.size for read in side.reads.values()) for side in sides)
    if size > MOST_ROWS:
        instead = f"their product has {size:,} rows, and {MOST_ROWS:,} are allowed; ask the branches one by one"
        refuse(names.sql, union, "UNION ALL of rows joined with " + " and ".join(map(repr, reads)), instead)
    kept = [(name, c) for name, read in reads.items() for c in read.columns]
    own = distinct_names(["branch", *(c for _, c in kept)])
    variable = names.variable("branch")
    columns = {old: column(variable, new) for old, new in zip(kept, own[1:], strict=True)}
    types = ["INTEGER", *(reads[name].columns[c] for name, c in kept)]
    query = " UNION ALL ".join(_branch(number, side, kept) for number, side in enumerate(sides, 1))
    relation = quoted(names.define(query, own))
    read = Read(relation, dict(zip(own, types, strict=True)), size, counted=False)
    taken = [_taken(variable, number, side, columns) for number, side in enumerate(sides, 1)]
    pairs = zip(sides[0].shown, sides[1].shown, strict=True)
    shown = [Shown(one.name, _either(names, variable, one, other, columns)) for one, other in pairs]
    return Rows(shown, [exp.Paren(this=exp.or_(*taken, copy=False))], {variable: read}, private=True)


def _branch(number: int, side: Rows, kept: list[tuple[str, str]]) -> str:
    listed = [quoted(name, c) if name in side.reads else "NULL" for name, c in kept]
    sql = f"SELECT {', '.join([str(number), *listed])}"
    sources = [f"{read.relation} AS {quoted(name)}" for name, read in side.reads.items()]
    return f"{sql} FROM {' CROSS JOIN '.join(sources)}" if sources else sql


def _taken(variable: str, number: int, side: Rows, columns: dict[tuple[str, str], exp.Column]) -> exp.Expr:
    is_branch = exp.EQ(this=column(variable, "branch"), expression=exp.Literal.number(number))
    return exp.and_(is_branch, *(_moved(c, columns) for c in side.conditions), copy=False)


def _either(
    names: Names, variable: str, one: Shown, other: Shown, columns: dict[tuple[str, str], exp.Column]
) -> exp.Expr:
    """What a column shows in each branch. Next to a text all else is text, as UNION has it and CASE has not."""
    first, second = _moved(one.expression, columns), _moved(other.expression, columns)
    if first == second:
        return first
    if _is_text(names, first) or _is_text(names, second):
        first, second = (exp.Cast(this=e, to=exp.DataType.build("varchar")) for e in (first, second))
    taken = exp.If(this=exp.Literal.number(1), true=first)
    return exp.Case(this=column(variable, "branch"), ifs=[taken], default=second)


def _is_text(names: Names, node: exp.Expr) -> bool:
    bare = without_parentheses(node)
    if isinstance(bare, exp.Column):
        found = names.release.attribute(bare.table)
        return found is not None and found.type.upper() == "VARCHAR"
    return (isinstance(bare, exp.Literal) and bare.is_string) or (
        isinstance(bare, exp.Cast) and bare.to.is_type("varchar")
    )


def _moved(node: exp.Expr, columns: dict[tuple[str, str], exp.Column]) -> exp.Expr:
    """The expression with the columns of what a branch joins as those of the common relation."""

    def move(each: exp.Expr) -> exp.Expr:
        found = columns.get((each.table, each.name)) if isinstance(each, exp.Column) else None
        return each if found is None else found.copy()

    return node.transform(move)
