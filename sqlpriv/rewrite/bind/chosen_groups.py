"""Groups that a query chooses by its own estimates: the ten largest, by a join with them or by IN.

Which groups these are is read off an answer, and so as public as the release; a row of the private table is in one of
them at most. So the join is a condition, EXISTS over the keys of that answer. It may only choose whole groups of the
query: what is summed over chosen groups together would be too large, since noise had its part in the choice.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.core.sqltext import quoted
from sqlpriv.rewrite.bind.names import Names, Scope
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import Answer, SelectedRows, Shown, column, exists, table
from sqlpriv.rewrite.syntax import conjuncts, without_parentheses

_JOIN = "a join of estimates with the private table"
_INSTEAD = "aggregate the private table once, or join all group keys of the estimates by ="


def chosen_values(names: Names, answer: Answer, node: exp.Expr, compared: exp.Expr) -> exp.Subquery:
    """The values of IN (SELECT ...) over an answer, as a query over a relation that is computed once."""
    if len(answer.columns) != 1 or not answer.columns[0].exact:
        refuse(names.sql, node, "IN with estimates", "select one group key there, and nothing else")
    name = answer.columns[0].name
    defined = _defined(names, answer, [name], [compared])
    own = names.variable("chosen")
    return exp.Subquery(this=exp.Select(expressions=[column(own, name)], from_=exp.From(this=table(defined, own))))


def with_chosen(names: Names, select: exp.Select, rows: SelectedRows, scope: Scope) -> None:
    """Turn the answers that private rows are joined with into conditions."""
    for variable, read in list(rows.reads.items()):
        if read.answer is not None:
            _choose(names, select, rows, scope, variable, read.answer)


def _choose(names: Names, select: exp.Select, rows: SelectedRows, scope: Scope, variable: str, answer: Answer) -> None:
    bound: dict[str, exp.Expr] = {}
    kept: list[exp.Expr] = []
    tests: list[exp.Expr] = []
    own = names.variable("chosen")
    for part in (p for condition in rows.conditions for p in conjuncts(condition)):
        if not any(c.table == variable for c in part.find_all(exp.Column)):
            kept.append(part)
            continue
        key, other = _equal(part, variable)
        if key is None or other is None or key not in (answer.unique_by or ()):
            refuse(names.sql, select, _JOIN, _INSTEAD)
        bound.setdefault(key, other)
        tests.append(type(part)(this=column(own, key), expression=other.copy()))
    if not answer.unique_by or set(bound) != set(answer.unique_by):
        refuse(names.sql, select, _JOIN, _INSTEAD)
    defined = _defined(names, answer, list(bound), list(bound.values()))
    rows.conditions = [*kept, exists(table(defined, own), exp.and_(*tests))]
    rows.reads.pop(variable)
    for columns in (*scope.sources.values(), scope.merged):
        for at, shown in list(columns.items()):
            if isinstance(shown.expression, exp.Column) and shown.expression.table == variable:
                columns.pop(at)
                if shown.expression.name in bound:
                    columns[at] = Shown(shown.name, bound[shown.expression.name].copy())


def _equal(part: exp.Expr, variable: str) -> tuple[str | None, exp.Expr | None]:
    """The column of an answer, and what a condition says is equal to it."""
    if isinstance(part, (exp.EQ, exp.NullSafeEQ)):
        for one, other in ((part.this, part.expression), (part.expression, part.this)):
            bare = without_parentheses(one)
            is_own = isinstance(bare, exp.Column) and bare.table == variable
            if is_own and not any(c.table == variable for c in other.find_all(exp.Column)):
                return bare.name, other
    return None, None


def _defined(names: Names, answer: Answer, keys: list[str], compared: list[exp.Expr]) -> str:
    listed = ", ".join(map(quoted, keys))
    name = names.define(f"SELECT {listed} FROM ({answer.sql})", keys)
    names.chosen_groups[name] = [without_parentheses(c).copy() for c in compared]
    return name


def refuse_unless_grouped(names: Names, rows: SelectedRows, keys: list[exp.Expr]) -> bool:
    """Whether groups were chosen by estimates; refuses it where the query does not group by what they are."""
    found = False
    for read in (t for c in rows.conditions for t in c.find_all(exp.Table)):
        for compared in names.chosen_groups.get(read.name, ()):
            found = True
            if compared not in keys:
                instead = "group by what is chosen, too: sums over groups chosen by estimates are too large"
                refuse(names.sql, compared, "an aggregate over groups chosen by estimates", instead)
    return found
