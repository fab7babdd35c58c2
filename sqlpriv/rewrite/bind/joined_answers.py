"""LEFT and FULL JOIN of answers with one another: two metrics side by side, each with its bounds.

All groups of the domain come back from both, so that it is the same as an inner join unless one of them was filtered.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.rewrite.bind.names import Names
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import Answer, AnswerColumn, Read, Rows, column, distinct_names
from sqlpriv.rewrite.bind.scope import Columns
from sqlpriv.sqltext import quoted


def join_answers(names: Names, join: exp.Join, on: exp.Expr, rows: Rows, joined: Rows, scopes: list[Columns]) -> None:
    """Read two answers as one, joined; what is seen of them becomes columns of that."""
    if rows.conditions or joined.conditions or len(rows.reads) != 1 or len(joined.reads) != 1:
        refuse(names.sql, join.this, "an outer join of estimates with conditions on them", "put these into WHERE")
    reads = {**rows.reads, **joined.reads}
    variable = names.variable("estimates")
    of = [(name, c) for name, read in reads.items() for c in (read.answer.names if read.answer else ())]
    fresh = dict(zip(of, distinct_names([c for _, c in of]), strict=True))
    listed = ", ".join(f"{quoted(*old)} AS {quoted(new)}" for old, new in fresh.items())
    left, right = (f"{read.relation} AS {quoted(name)}" for name, read in reads.items())
    text = f"SELECT {listed} FROM {left} {join.side} JOIN {right} ON {on.sql(dialect='duckdb', comments=False)}"
    answers = {name: read.answer for name, read in reads.items() if read.answer is not None}
    columns = tuple(_renamed(name, c, fresh) for name, answer in answers.items() for c in answer.columns)
    cost = sum(answer.cost for answer in answers.values())
    plans = tuple(plan for answer in answers.values() for plan in answer.plans)
    rows.reads = {variable: Read(f"({text})", answer=Answer(text, columns, cost, plans))}
    shown_as = {c.name: c for c in columns}
    for seen in scopes:
        for key, shown in seen.items():
            new = shown.expression.transform(lambda node: _moved(node, variable, fresh))
            found = shown_as.get(new.name) if isinstance(new, exp.Column) else None
            seen[key] = type(shown)(shown.name, new, _in(variable, found))


def _moved(node: exp.Expr, variable: str, fresh: dict[tuple[str, str], str]) -> exp.Expr:
    if isinstance(node, exp.Column) and (node.table, node.name) in fresh:
        return column(variable, fresh[node.table, node.name], node)
    return node


def _renamed(name: str, found: AnswerColumn, fresh: dict[tuple[str, str], str]) -> AnswerColumn:
    low, high = (fresh[name, bound] if bound is not None else None for bound in (found.low, found.high))
    return AnswerColumn(fresh[name, found.name], low, high, found.exact)


def _in(variable: str, found: AnswerColumn | None) -> AnswerColumn | None:
    if found is None or found.low is None or found.high is None:
        return None
    return AnswerColumn(quoted(variable, found.name), quoted(variable, found.low), quoted(variable, found.high))
