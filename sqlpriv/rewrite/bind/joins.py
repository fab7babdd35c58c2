"""Outer joins and unions as what is known already: inner joins with public relations, and conditions.

What a row of the private table meets depends on the attributes that ON mentions, and their domains are public. So
`people LEFT JOIN p ON cond(people.a, p.c)` is an inner join with a relation that is public too, `domain of a LEFT JOIN
p ON cond`, by its key a, where NULL meets NULL. SEMI and ANTI JOIN are EXISTS and NOT EXISTS.

UNION ALL of rows, each branch of which reads the private table once, is the private table joined with a small public
relation of branch numbers. A row counts once for each branch whose conditions it meets, and shows what that branch
shows. What a branch joins comes along with its number.

LEFT and FULL JOIN of answers with one another read both as one answer. All groups of the domain come back from each, so
that it is the same as an inner join unless one of them was filtered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from sqlglot import exp

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.core.sqltext import quoted
from sqlpriv.rewrite.bind.flatten import Flattening
from sqlpriv.rewrite.bind.names import Columns, Names, Scope
from sqlpriv.rewrite.bind.refusals import refuse, refuse_self_join
from sqlpriv.rewrite.bind.relations import (
    VALUE,
    Aggregated,
    Answer,
    AnswerColumn,
    Read,
    SelectedRows,
    Shown,
    column,
    distinct_names,
    exists,
    table,
)
from sqlpriv.rewrite.release import Attribute
from sqlpriv.rewrite.syntax import without_parentheses

MOST_ROWS = 10_000_000


@dataclass(frozen=True)
class PublicSide:
    """The public side of a join, read as one relation under a name of its own."""

    called: str
    variable: str
    sql: str
    columns: dict[str, str]
    """Names and types."""
    size: int
    keys: frozenset[str]
    qualified: dict[str, str]
    """As of a scope."""

    def shown(self) -> list[Shown]:
        return [Shown(name, column(self.variable, name)) for name in self.columns]

    @property
    def source(self) -> str:
        return f"({self.sql}) AS {quoted(self.variable)}"


def left_join(names: Names, join: exp.Join, on: exp.Expr, rows: SelectedRows, right: PublicSide) -> list[Shown]:
    """Join a public relation, with NULLs where it has no row for what was read so far; what it shows."""
    if subquery := on.find(exp.Query):
        refuse(names.sql, subquery, "a subquery in ON of a LEFT JOIN", "join a subquery that filters by it instead")
    added = _add_left(names, join, on, rows, right)
    return [Shown(name, new) for name, new in zip(right.columns, added, strict=True)]


def _add_left(names: Names, join: exp.Join, on: exp.Expr, rows: SelectedRows, right: PublicSide) -> list[exp.Column]:
    """Read what a LEFT JOIN reads; the columns of the public side in it."""
    mentioned = {c.table for c in on.find_all(exp.Column)}
    attributes = [a for a in names.release.attributes if a.name in mentioned]
    reads = [n for n in rows.reads if n in mentioned]
    if len(reads) > 1:
        listed = " and ".join(map(repr, reads))
        refuse(names.sql, join.this, f"LEFT JOIN by columns of {listed}", "join these in a subquery, and then to that")
    size = _checked_size(names, join, on, attributes, [rows.reads[n].size for n in reads], right)
    target, read, fresh = _joined(names, on, attributes, {n: rows.reads[n] for n in reads}, right, size)
    keys, shown = fresh[: len(attributes)], fresh[len(attributes) :]
    if read.answer is not None:
        below = _add_below(names, join, on, target, read.answer, right, shown)
        read = replace(read, answer=replace(read.answer, aggregated=below))
    rows.reads[target] = read
    for attribute, key in zip(attributes, keys, strict=True):
        same = exp.NullSafeEQ(this=column(attribute.name, VALUE), expression=column(target, key))
        rows.conditions.append(same)
    return [column(target, own) for own in shown]


def _add_below(
    names: Names, join: exp.Join, on: exp.Expr, variable: str, answer: Answer, right: PublicSide, shown: list[str]
) -> Aggregated | None:
    """The rows that an answer aggregates with the same join, where that goes by group keys, for sums over it."""
    if answer.aggregated is None:
        return None
    flat = Flattening(names.sql, variable, answer.aggregated.columns)
    by_keys = flat.exact(on)
    if flat.mentions_estimates(by_keys):
        return None
    below = answer.aggregated.rows
    rows = replace(below, conditions=list(below.conditions), reads=dict(below.reads))
    try:
        added = _add_left(names, join, by_keys, rows, right)
    except UnsupportedSQLError:  # the join of estimates can be answered all the same
        return None
    return Aggregated(rows, {**answer.aggregated.columns, **dict(zip(shown, added, strict=True))})


def semi_join(names: Names, join: exp.Join, on: exp.Expr, rows: SelectedRows, right: PublicSide) -> None:
    """Keep the rows that meet a row of a public relation (SEMI JOIN), or those that meet none (ANTI JOIN)."""
    met = exists(table(names.define(right.sql, list(right.columns)), right.variable), on)
    rows.conditions.append(exp.Not(this=met) if join.kind.upper() == "ANTI" else met)


def public_side(names: Names, join: exp.Join, rows: SelectedRows, scope: Scope, before: SelectedRows) -> PublicSide:
    """What is joined, which `rows` and `scope` are all of, as one relation; refuses what is not public."""
    if rows.private and before.private:
        refuse_self_join(names.sql, join.this)
    if rows.private or rows.over_answers:
        what = "the private table" if rows.private else "estimates"
        instead = "public rows without a match cannot be estimated; LEFT JOIN the public table to it"
        refuse(names.sql, join.this, f"an outer, SEMI or ANTI JOIN that does not keep the rows of {what}", instead)
    called, columns = next(iter(scope.sources.items()))
    listed = ", ".join(f"{_text(s.expression)} AS {quoted(s.name)}" for s in columns.values())
    sql = f"SELECT {listed} FROM {', '.join(f'{r.relation} AS {quoted(n)}' for n, r in rows.reads.items())}"
    if rows.conditions:
        sql += f" WHERE {' AND '.join(f'({_text(c)})' for c in rows.conditions)}"
    types = {s.name: _type(s.expression, rows) for s in columns.values()}
    keys = frozenset(s.name for s in columns.values() if len(rows.reads) == 1 and _is_key(s.expression, rows))
    size = prod(r.size for r in rows.reads.values())
    return PublicSide(called, names.variable(called), sql, types, size, keys, scope.qualified)


def _is_key(expression: exp.Expr, rows: SelectedRows) -> bool:
    read = rows.reads.get(expression.table) if isinstance(expression, exp.Column) else None
    return read is not None and expression.name in (read.keys or ())


def _type(expression: exp.Expr, rows: SelectedRows) -> str:
    read = rows.reads.get(expression.table) if isinstance(expression, exp.Column) else None
    return read.columns.get(expression.name, "") if read is not None else ""


def _checked_size(
    names: Names, join: exp.Join, on: exp.Expr, attributes: Sequence[Attribute], reads: Sequence[int], right: PublicSide
) -> int:
    """How many rows the relation has at most: those without a match, and those with one.

    Where a key is compared with another type, texts with a number say, a row may meet several after all. Then this is
    no bound, but it is never 1: whether a row meets several is looked up in the data, where there may be more than one.
    """
    fixed = _fixed(on, {a.name for a in attributes})
    base = prod(reads) * prod(a.size for a in attributes)
    met = prod(reads) * prod(a.size for a in attributes if a.name not in fixed) * right.size
    if _meets_one(on, right):
        met = 0
    if base + met > MOST_ROWS:
        listed = " and ".join([*(repr(a.name) for a in attributes), repr(right.called)])
        refuse(
            names.sql,
            join.this,
            f"LEFT JOIN that looks at {listed} together",
            f"it has {base + met:,} rows, and {MOST_ROWS:,} are allowed; compare fewer columns, or compare them by =",
        )
    return max(base + met, min(right.size, 2))


def _equal_columns(on: exp.Expr) -> Iterator[tuple[exp.Column, set[str]]]:
    """The columns that ON says are equal to something, and the relations that this is of."""
    for part in on.flatten() if isinstance(on, exp.And) else [on]:
        equal = without_parentheses(part)
        if not isinstance(equal, exp.EQ | exp.NullSafeEQ):
            continue
        for one, other in ((equal.this, equal.expression), (equal.expression, equal.this)):
            if isinstance(one, exp.Column):
                yield one, {c.table for c in other.find_all(exp.Column)}


def _fixed(on: exp.Expr, attributes: set[str]) -> set[str]:
    """The attributes that are equal to something of the public side: a row of it meets one value of theirs."""
    return {column.table for column, others in _equal_columns(on) if not others & attributes}


def _meets_one(on: exp.Expr, right: PublicSide) -> bool:
    """Whether there is at most one row of the public side for each on the other, since a key of it is equal to that.

    By =, that is: NULL may be there more than once.
    """
    return any(
        column.table == right.variable and column.name in right.keys and right.variable not in others
        for column, others in _equal_columns(on)
        if isinstance(column.parent, exp.EQ)
    )


def _joined(
    names: Names, on: exp.Expr, attributes: Sequence[Attribute], reads: dict[str, Read], right: PublicSide, size: int
) -> tuple[str, Read, list[str]]:
    """The variable, what it reads, and what the keys and the columns of the public side are called in it.

    A relation that ON mentions gets the new columns next to its own, so that each of its rows keeps its matches.
    """
    host, read = next(iter(reads.items()), (right.variable, Read("")))
    own = [*(read.answer.names if read.answer is not None else []), *read.columns]
    unlike = distinct_names([*own, *(f"key of {a.name}" for a in attributes), *right.columns])
    fresh = unlike[len(own) :]
    sources = [f"{read.relation} AS {quoted(host)}"] if reads else []
    sources += [f"{a.domain} AS {quoted(a.name)}" for a in attributes]
    values = [quoted(a.name, VALUE) for a in attributes] + [quoted(right.variable, c) for c in right.columns]
    listed = [quoted(host, c) for c in own] + [f"{v} AS {quoted(n)}" for v, n in zip(values, fresh, strict=True)]
    base = " CROSS JOIN ".join(sources) or "(SELECT 1)"
    query = f"SELECT {', '.join(listed)} FROM {base} LEFT JOIN {right.source} ON {_text(on)}"
    if read.answer is not None:
        columns = {**read.columns, **dict.fromkeys(fresh, "")}
        return host, replace(read, relation=f"({query})", columns=columns), fresh
    types = [*read.columns.values(), *(a.type for a in attributes), *right.columns.values()]
    relation = quoted(names.define(query, unlike))
    keys: frozenset[str] | None = frozenset()
    if _meets_one(on, right):
        keys = read.keys if not attributes else frozenset(fresh[:1] if not reads and len(attributes) == 1 else ())
    return host, Read(relation, dict(zip(unlike, types, strict=True)), size, counted=False, keys=keys), fresh


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="duckdb", comments=False)


def united_rows(names: Names, union: exp.Union, sides: tuple[SelectedRows, SelectedRows]) -> SelectedRows:
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
    return SelectedRows(shown, [exp.Paren(this=exp.or_(*taken, copy=False))], {variable: read}, private=True)


def _branch(number: int, side: SelectedRows, kept: list[tuple[str, str]]) -> str:
    listed = [quoted(name, c) if name in side.reads else "NULL" for name, c in kept]
    sql = f"SELECT {', '.join([str(number), *listed])}"
    sources = [f"{read.relation} AS {quoted(name)}" for name, read in side.reads.items()]
    return f"{sql} FROM {' CROSS JOIN '.join(sources)}" if sources else sql


def _taken(variable: str, number: int, side: SelectedRows, columns: dict[tuple[str, str], exp.Column]) -> exp.Expr:
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


def join_answers(
    names: Names, join: exp.Join, on: exp.Expr, rows: SelectedRows, joined: SelectedRows, scopes: list[Columns]
) -> None:
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
    estimates = {c.name: c.seen_in(variable) for c in columns}

    def moved(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and (node.table, node.name) in fresh:
            return column(variable, fresh[node.table, node.name], node)
        return node

    for columns_seen in scopes:
        for key, shown in columns_seen.items():
            new = shown.expression.transform(moved)
            found = estimates.get(new.name) if isinstance(new, exp.Column) else None
            columns_seen[key] = Shown(shown.name, new, found)


def _renamed(name: str, found: AnswerColumn, fresh: dict[tuple[str, str], str]) -> AnswerColumn:
    low, high = (fresh[name, bound] if bound is not None else None for bound in (found.low, found.high))
    return AnswerColumn(fresh[name, found.name], low, high, found.exact)
