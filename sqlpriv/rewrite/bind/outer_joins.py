"""LEFT, SEMI and ANTI JOIN with a public relation, as what is known already: inner joins and conditions.

What a row of the private table meets depends on the attributes that ON mentions, and their domains are public. So
`people LEFT JOIN p ON cond(people.a, p.c)` is an inner join with a relation that is public too, `domain of a LEFT JOIN
p ON cond`, by its key a, where NULL meets NULL. SEMI and ANTI JOIN are EXISTS and NOT EXISTS.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from sqlglot import exp

from sqlpriv.errors import UnsupportedSQLError
from sqlpriv.rewrite.bind.flatten import Flattening
from sqlpriv.rewrite.bind.names import Names
from sqlpriv.rewrite.bind.refusals import refuse, refuse_self_join
from sqlpriv.rewrite.bind.relations import VALUE, Aggregated, Answer, Read, Rows, Shown, column, distinct_names
from sqlpriv.rewrite.bind.scope import Scope
from sqlpriv.rewrite.release import Attribute
from sqlpriv.rewrite.syntax import without_parentheses
from sqlpriv.sqltext import quoted

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


def left_join(names: Names, join: exp.Join, on: exp.Expr, rows: Rows, right: PublicSide) -> list[Shown]:
    """Join a public relation, with NULLs where it has no row for what was read so far; what it shows."""
    if subquery := on.find(exp.Query):
        refuse(names.sql, subquery, "a subquery in ON of a LEFT JOIN", "join a subquery that filters by it instead")
    added = _add_left(names, join, on, rows, right)
    return [Shown(name, new) for name, new in zip(right.columns, added, strict=True)]


def _add_left(names: Names, join: exp.Join, on: exp.Expr, rows: Rows, right: PublicSide) -> list[exp.Column]:
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


def semi_join(names: Names, join: exp.Join, on: exp.Expr, rows: Rows, right: PublicSide) -> None:
    """Keep the rows that meet a row of a public relation (SEMI JOIN), or those that meet none (ANTI JOIN)."""
    table = exp.Table(
        this=exp.to_identifier(names.define(right.sql, list(right.columns)), quoted=True),
        alias=exp.TableAlias(this=exp.to_identifier(right.variable, quoted=True)),
    )
    met = exp.Exists(
        this=exp.Select(expressions=[exp.Literal.number(1)], from_=exp.From(this=table), where=exp.Where(this=on))
    )
    rows.conditions.append(exp.Not(this=met) if join.kind.upper() == "ANTI" else met)


def public_side(names: Names, join: exp.Join, rows: Rows, scope: Scope, before: Rows) -> PublicSide:
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


def _is_key(expression: exp.Expr, rows: Rows) -> bool:
    read = rows.reads.get(expression.table) if isinstance(expression, exp.Column) else None
    return read is not None and expression.name in (read.keys or ())


def _type(expression: exp.Expr, rows: Rows) -> str:
    read = rows.reads.get(expression.table) if isinstance(expression, exp.Column) else None
    return read.columns.get(expression.name, "") if read is not None else ""


def _checked_size(
    names: Names, join: exp.Join, on: exp.Expr, attributes: Sequence[Attribute], reads: Sequence[int], right: PublicSide
) -> int:
    """How many rows the relation has at most: those without a match, and those with one.

    Where a key is compared with another type, texts with a number say, a row may meet several after all. Then this is
    no bound, but it is never 1: whether a row meets several is asked of the data, where there may be more than one.
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

    A relation that ON mentions gets the new columns beside its own, so that each of its rows keeps its matches.
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
