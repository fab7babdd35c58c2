"""Queries over rows as two queries: one that aggregates the private table, and one over its answer.

`calendar LEFT JOIN visits ON ... GROUP BY calendar.day` counts the rows of each day, and has days without any:
it is the days, LEFT JOIN the counts of an inner join. And what groups by a choice that estimates make, such as the
three largest and all others, groups by the column first and adds up the parts. The tree of the query is changed before
its names are resolved; what does not surely mean the same is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.bind.public_queries import OF_PARTS
from sqlpriv.rewrite.syntax import PREFIX, aggregated, default_name, has_aggregates, has_windows, without_parentheses

_ROWS, _KEPT = f"{PREFIX}rows", f"{PREFIX}kept"
_VALUES = (
    exp.Column, exp.Identifier, exp.Literal, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Cast, exp.Abs,
    exp.Round, exp.DataType, exp.DataTypeParam,
)  # fmt: skip
_WHOLE = (exp.AggFunc, exp.Filter, exp.WithinGroup)
_TESTS = (*_VALUES, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.And, exp.Not, exp.Like, exp.ILike)


@dataclass(frozen=True)
class Known:
    """What is known of tables before names are resolved."""

    reads_private: Callable[[exp.Expr], bool]
    is_rows: Callable[[exp.Expr], bool]
    """Whether a table is the private table, or a query that projects and filters it."""
    private: frozenset[str]
    """The columns of the private table, folded."""
    public: frozenset[str]
    """Those of all public tables."""


def in_two_steps(select: exp.Expr, known: Known) -> bool:
    """Change a query over rows of the private table in place; whether it was."""
    if not isinstance(select, exp.Select) or not aggregated(select) or select.args.get("distinct"):
        return False
    clauses = [*select.expressions, *(select.args[c] for c in ("having", "order") if select.args.get(c))]
    if any(map(has_windows, clauses)) or select.args.get("from_") is None:
        return False
    return _kept_public(select, known) or _added_up(select, known)


def _kept_public(select: exp.Select, known: Known) -> bool:
    """`public LEFT JOIN private ... GROUP BY public`."""
    first, joins = select.args["from_"].this, list(select.args.get("joins") or [])
    if len(joins) == 1 and joins[0].side.upper() == "RIGHT":
        turned = exp.Join(this=first.copy(), side="LEFT", on=joins[0].args.get("on"), using=joins[0].args.get("using"))
        first, joins = joins[0].this, [turned]
    if not joins or joins[-1].side.upper() != "LEFT" or joins[-1].args.get("on") is None:
        return False
    *others, last = joins
    keys = _keys(select, known)
    if not known.is_rows(last.this) or any(map(known.reads_private, [first, *others])) or not keys:
        return False
    called = folded(last.this.alias_or_name)
    is_table = isinstance(last.this, exp.Table) and not last.this.args.get("db") and called not in known.public

    def is_own(column: exp.Column) -> bool:
        return folded(column.table) == called if column.table else is_table and folded(column.name) in known.private

    where = select.args.get("where")
    if any(is_own(c) for node in [*keys, where] if node is not None for c in node.find_all(exp.Column)):
        return False
    aggregates = list(_aggregates(select))
    fills = [_fills(node, is_own) for node in aggregates]
    if not aggregates or None in fills:
        return False
    listed = [exp.alias_(key.copy(), f"key{at}", quoted=True) for at, key in enumerate(keys)]
    parts = [exp.alias_(node.copy(), f"part{at}", quoted=True) for at, node in enumerate(aggregates)]
    kept = _query(listed, first, others, where, keys)
    rows = _query([*listed, *parts], first, [*others, exp.Join(this=last.this, on=last.args["on"])], where, keys)
    for at, (node, fill) in enumerate(zip(aggregates, fills, strict=True)):
        value = _column(_ROWS, f"part{at}")
        _put(select, node, exp.Coalesce(this=value, expressions=[exp.Literal.number(0)]) if fill else value)
    _replace(select, {key: _column(_KEPT, f"key{at}") for at, key in enumerate(keys)})
    having = select.args.get("having")
    same = [
        exp.NullSafeEQ(this=_column(_KEPT, f"key{at}"), expression=_column(_ROWS, f"key{at}"))
        for at in range(len(keys))
    ]
    select.set("from_", exp.From(this=_named(kept, _KEPT)))
    select.set("joins", [exp.Join(this=_named(rows, _ROWS), side="LEFT", on=exp.and_(*same))])
    select.set("group", None)
    select.set("having", None)
    select.set("where", None if having is None else exp.Where(this=having.this))
    return True


def _added_up(select: exp.Select, known: Known) -> bool:
    """Groups that are chosen by estimates, in a key or by a LEFT JOIN with an answer."""
    first, joins = select.args["from_"].this, list(select.args.get("joins") or [])
    chosen = [j for j in joins if known.reads_private(j.this) and not known.is_rows(j.this)]
    rows = [j for j in joins if j not in chosen]
    keys = _keys(select, known)
    tests = [j.args.get("on") for j in chosen]
    by_choice = any(known.reads_private(key) for key in keys) or any(j.side.upper() == "LEFT" for j in chosen)
    if not by_choice or not known.is_rows(first) or None in tests:
        return False
    outside = {folded(j.this.alias_or_name) for j in chosen}

    def is_own(column: exp.Column) -> bool:
        return folded(column.table) not in outside and bool(column.table or folded(column.name) in known.private)

    aggregates = list(_aggregates(select))
    where = select.args.get("where")
    if any(not is_own(c) for n in [*aggregates, where] if n is not None for c in n.find_all(exp.Column)):
        return False
    partial = [_partial(node) for node in aggregates]
    if None in partial:
        return False
    base: list[exp.Expr] = list(dict.fromkeys(c for node in [*keys, *tests] for c in _columns(node) if is_own(c)))
    listed = [exp.alias_(c.copy(), f"key{at}", quoted=True) for at, c in enumerate(base)]
    for node, parts in zip(aggregates, partial, strict=True):
        sums = []
        for part in parts or ():
            at = len(listed) - len(base)
            listed.append(exp.alias_(part, f"part{at}", quoted=True))
            sums.append(exp.Sum(this=_column(_ROWS, f"part{at}")))
            sums[-1].meta[OF_PARTS] = True
        value: exp.Expr = sums[0]
        if len(sums) > 1:
            value = exp.Div(this=sums[0], expression=sums[1])
        elif not isinstance(node.this if isinstance(node, exp.Filter) else node, exp.Sum):
            value = exp.Coalesce(this=value, expressions=[exp.Literal.number(0)])
        _put(select, node, exp.Paren(this=value))
    inner = _query(listed, first, rows, where, base)
    put: dict[exp.Expr, exp.Expr] = {c: _column(_ROWS, f"key{at}") for at, c in enumerate(base)}
    _replace(select, put)
    for join in chosen:
        join.set("on", _replaced(join.args["on"], put))
    select.set("from_", exp.From(this=_named(inner, _ROWS)))
    select.set("joins", chosen)
    select.set("where", None)
    return True


def _keys(select: exp.Select, known: Known) -> list[exp.Expr]:
    """What the query groups by; none where that is not known."""
    group, items = select.args.get("group"), list(select.expressions)
    if group is None or any(group.args.get(part) for part in ("grouping_sets", "rollup", "cube")):
        return []
    if group.args.get("all"):
        return [item.unalias() for item in items if not has_aggregates(item)]
    aliases = {folded(item.alias): item.this for item in items if isinstance(item, exp.Alias)}
    found = []
    for node in group.expressions:
        key = node
        if isinstance(node, exp.Literal) and node.this.isdigit() and 1 <= int(node.this) <= len(items):
            key = items[int(node.this) - 1].unalias()
        elif isinstance(node, exp.Column) and not node.table:
            name = folded(node.name)
            meant = aliases.get(name)
            named = set() if meant is None else {folded(c.name) for c in meant.find_all(exp.Column)}
            if meant is not None and name not in known.private | known.public | named:
                key = meant
        found.append(without_parentheses(key))
    return found


def _aggregates(select: exp.Select) -> Iterator[exp.Expr]:
    """The outermost aggregates of a query."""
    for clause in (*select.expressions, select.args.get("having"), select.args.get("order")):
        for node in () if clause is None else clause.walk(prune=lambda n: isinstance(n, (*_WHOLE, exp.Query))):
            if isinstance(node, _WHOLE):
                yield node


def _fills(node: exp.Expr, is_own: Callable[[exp.Column], bool]) -> bool | None:
    """Whether an aggregate is 0 for a public row that meets no private one; False where it is NULL, None if unknown."""
    inner, test = (node.this, node.expression.this) if isinstance(node, exp.Filter) else (node, None)
    if test is not None and not _is_of(test, _TESTS, is_own):
        return None
    value = inner.this
    if isinstance(inner, exp.Count):
        if isinstance(value, (exp.Star, exp.Literal)) or value is None:
            return None if test is None else True
        return True if _is_of(value, _VALUES, is_own) else None
    if isinstance(inner, exp.Sum):
        zero = exp.Literal.number(0)
        if isinstance(value, exp.Coalesce) and value.expressions == [zero]:
            return True if _is_of(value.this, _VALUES, is_own) else None
        if isinstance(value, exp.Case) and value.this is None:
            tests = [branch.this for branch in value.args["ifs"]]
            is_plain = all(_is_of(t, _TESTS, is_own) for t in tests)
            return value.args.get("default") == zero if is_plain and value.args.get("default") in (zero, None) else None
    if isinstance(inner, (exp.Sum, exp.Avg)):
        return False if _is_of(value, _VALUES, is_own) else None
    return None


def _is_of(node: exp.Expr, kinds: tuple[type, ...], is_own: Callable[[exp.Column], bool]) -> bool:
    """Whether an expression has columns of the private side alone, and is NULL where these are, or untrue."""
    columns = list(node.find_all(exp.Column))
    return bool(columns) and all(map(is_own, columns)) and all(isinstance(n, kinds) for n in node.walk())


def _partial(node: exp.Expr) -> list[exp.Expr] | None:
    """The aggregates of a part that an aggregate of all of them is made of: of an average a sum and a count."""
    inner = node.this if isinstance(node, exp.Filter) else node
    if isinstance(inner, (exp.Count, exp.Sum)) and not isinstance(inner.this, exp.Distinct):
        return [node.copy()]
    if not isinstance(inner, exp.Avg) or isinstance(inner.this, exp.Distinct):
        return None
    made: list[exp.Expr] = [exp.Sum(this=inner.this.copy()), exp.Count(this=inner.this.copy())]
    return [exp.Filter(this=m, expression=node.expression.copy()) if isinstance(node, exp.Filter) else m for m in made]


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns of an expression, outside of queries inside it."""
    for found in node.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(found, exp.Column):
            yield found


def _query(
    items: Sequence[exp.Expr], first: exp.Expr, joins: Sequence[exp.Expr], where: exp.Expr | None, keys: list[exp.Expr]
) -> exp.Select:
    made = exp.Select(expressions=[i.copy() for i in items], from_=exp.From(this=first.copy()))
    made.set("joins", [join.copy() for join in joins])
    made.set("where", None if where is None else where.copy())
    made.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return made


def _put(select: exp.Select, node: exp.Expr, value: exp.Expr) -> None:
    """Put a value in the place of a node; an item of the SELECT list keeps its name."""
    if node.parent is select:
        value = exp.alias_(value, default_name(node), quoted=True)
    node.replace(value)


def _replace(select: exp.Select, put: dict[exp.Expr, exp.Expr]) -> None:
    """Write expressions as others in the clauses over groups."""
    items = []
    for item in select.expressions:
        named = item if isinstance(item, exp.Alias) else exp.alias_(item.copy(), default_name(item), quoted=True)
        items.append(_replaced(named, put))
    select.set("expressions", items)
    for clause in ("group", "having", "order"):
        if part := select.args.get(clause):
            select.set(clause, _replaced(part, put))


def _replaced(node: exp.Expr, put: dict[exp.Expr, exp.Expr]) -> exp.Expr:
    """A copy with expressions written as others, outside of queries inside it."""
    holder = exp.Paren(this=node.copy())
    for found in list(holder.this.walk(prune=lambda n: n in put or isinstance(n, exp.Query))):
        if found in put:
            found.replace(put[found].copy())
    made: exp.Expr = holder.this
    made.pop()
    return made


def _column(table: str, name: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def _named(query: exp.Select, name: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
