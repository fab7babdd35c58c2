"""Aggregate queries over rows: the sums they need, one query per grouping set, and their clauses over estimates.

GROUP BY may name expressions, ordinals and ALL; ROLLUP, CUBE and GROUPING SETS become the list of their sets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations, product
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.rewrite.bind.below_answers import aggregated_rows
from sqlpriv.rewrite.bind.chosen_groups import refuse_unless_grouped
from sqlpriv.rewrite.bind.names import Scope
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import SCALAR, Answer, SelectedRows, mark
from sqlpriv.rewrite.by_value import ByValue
from sqlpriv.rewrite.clauses import Clauses, Item
from sqlpriv.rewrite.estimate.form_builder import FormBuilder
from sqlpriv.rewrite.estimate.forms import Exact
from sqlpriv.rewrite.estimate.joined_tables import Joins
from sqlpriv.rewrite.estimate.summands import Summand
from sqlpriv.rewrite.estimate.sums import SUMS
from sqlpriv.rewrite.release import Release
from sqlpriv.rewrite.syntax import has_aggregates, has_windows, windowed, without_parentheses

Keys: TypeAlias = list[exp.Expr]
Sets: TypeAlias = list[tuple[int, ...]]
_MOST_SETS = 64


def grouped(
    clauses: Clauses, select: exp.Select, rows: SelectedRows, scope: Scope, given: Keys | None = None
) -> Answer:
    """The answer to SELECT ... GROUP BY over rows of the private table; `given` are its keys, if they are given."""
    items = [clauses.item(item, scope, aggregates=True) for item in list(select.expressions)]
    if where := select.args.get("where"):
        rows.conditions.append(clauses.resolve(where.this, scope))
    keys, sets = _groups(clauses, select, items, scope) if given is None else (given, [tuple(range(len(given)))])
    _refuse_distinct(clauses, select, keys, items)
    _refuse_possible(clauses, select, items, [*keys, *rows.conditions])
    if scope.flat is not None:
        scope.flat.refuse_estimates([*rows.conditions, *keys])
    by_estimates = refuse_unless_grouped(clauses.names, rows, keys)
    if by_estimates and clauses.options.deviations:
        refuse(clauses.sql, select, "groups chosen by estimates", "a plan shows no choice that the private rows make")
    below = aggregated_rows(rows, [(i.name, i.node) for i in items], keys, windowed(select))
    condition = exp.and_(*rows.conditions, copy=False) if rows.conditions else None
    groupings = [[keys[i] for i in chosen] for chosen in sets]
    options, names = clauses.options, clauses.names
    formulas = clauses.formulas(Joins(names, rows.reads, condition, groupings))
    sums = formulas.sums
    forms = FormBuilder(clauses.sql, clauses.texts, formulas, keys, None, names.scalars)
    by_value = ByValue(clauses, rows, keys, partial(answered, clauses))
    by_value.is_possible = len(sets) == 1
    forms.by_value = by_value.form
    having = clauses.having(select, scope)
    by_keys = having is None or isinstance(forms.form(having), Exact)
    # A row that meets several public rows may be in several groups.
    forms.adds_groups = len(sets) == 1 and by_keys and not Joins(names, rows.reads, condition, [[]]).multiply
    if having is None and not by_estimates:
        forms.all_rows = partial(_of_same_rows, rows)
    listed, columns = clauses.listed(items, forms)
    tail = clauses.tail(select, scope, items, forms, having=having)
    if by_value.was_used and not keys:
        sums.estimate(sums.summands.add(Summand(None)))  # else the rows of the view would not be aggregated
    parts, cost, plans = [], 0.0, []
    for chosen in sets:
        groups = [key if i in chosen else None for i, key in enumerate(keys)]
        computed = sums.query(groups, options.budget, _grouping(forms, chosen))
        parts.append(computed.sql)
        plans.append(computed.plan)
        cost += computed.cost
    source = parts[0] if len(parts) == 1 else " UNION ALL ".join(f"({p})" for p in parts)
    source = by_value.joined(source)
    if having is not None and by_keys and sums.window_columns:
        source = f'SELECT * FROM ({source}) AS "{SUMS}" WHERE {forms.text(having)}'
    sql = f'SELECT {", ".join(listed)} FROM ({formulas.layered(source)}) AS "{SUMS}"{tail}'
    chosen_from = len(sets) > 1 or any(select.args.get(c) for c in ("having", "limit", "offset", "qualify"))
    all_groups = not rows.conditions and not rows.reads and not chosen_from
    for answer in by_value.answers:
        cost += answer.cost
        plans += answer.plans
    return Answer(
        sql,
        columns,
        cost,
        tuple(plans),
        unique_by=_shown_keys(keys, items) if len(sets) == 1 else None,
        many=all_groups and any(_has_values(key, names.release) for key in keys),
        aggregated=None if chosen_from or by_estimates else below,
    )


def answered(clauses: Clauses, items: list[Item], keys: Keys, rows: SelectedRows) -> Answer:
    """The answer to a query whose parts are resolved already, with a row for each group; its windows are of those
    groups that differ in the last key alone."""
    condition = exp.and_(*rows.conditions) if rows.conditions else None
    formulas = clauses.formulas(Joins(clauses.names, rows.reads, condition, [keys]), final=False)
    sums = formulas.sums
    forms = FormBuilder(clauses.sql, clauses.texts, formulas, keys)
    forms.adds_groups = not Joins(clauses.names, rows.reads, condition, [keys[:-1]]).multiply
    listed, columns = clauses.listed(items, forms)
    computed = sums.query(list(keys), clauses.options.budget)
    sql = f'SELECT {", ".join(listed)} FROM ({formulas.layered(computed.sql)}) AS "{SUMS}"'
    return Answer(sql, columns, computed.cost, (computed.plan,))


def _of_same_rows(rows: SelectedRows, answer: Answer) -> exp.Expr | None:
    """What a scalar subquery asks, if it is about all rows that the groups are made of: then it is a sum over these."""
    below = answer.aggregated
    if below is None or below.keys or below.windowed or rows.reads or below.rows.reads:
        return None
    mine, other = (sorted(c.sql(dialect="duckdb") for c in r.conditions) for r in (rows, below.rows))
    return next(iter(below.columns.values())) if mine == other and len(below.columns) == 1 else None


def _shown_keys(keys: Keys, items: list[Item]) -> tuple[str, ...] | None:
    """What the group keys are called, if all of them are shown."""
    shown = {key: item.name for item in reversed(items) for key in [without_parentheses(item.node)]}
    return tuple(shown[key] for key in keys) if all(key in shown for key in keys) else None


def _has_scalars(node: exp.Expr) -> bool:
    return any(c.table == SCALAR for c in node.find_all(exp.Column))


def _refuse_distinct(clauses: Clauses, select: exp.Select, keys: Keys, items: list[Item]) -> None:
    """Where all keys are shown, no two rows are alike, and DISTINCT changes nothing."""
    distinct = select.args.get("distinct")
    shown = [without_parentheses(i.node) for i in items]
    if distinct and (distinct.args.get("on") or not all(key in shown for key in keys)):
        refuse(clauses.sql, distinct, "SELECT DISTINCT", "use GROUP BY; each group comes back once")


def _refuse_possible(clauses: Clauses, select: exp.Select, items: list[Item], nodes: list[exp.Expr]) -> None:
    """Values of columns that are published apart go together in any way: listed alone, they would look like rows."""
    named = {column.table for node in nodes for column in node.find_all(exp.Column)}
    if not clauses.names.release.lists_combinations(named) and not any(has_aggregates(item.node) for item in items):
        refuse(
            clauses.sql, select, "a list of values of columns that are published apart",
            "which of them go together is not known, and it would have all that may; ask for count(*) of each, which "
            "comes with its bounds",
        )  # fmt: skip


def _has_values(key: exp.Expr, release: Release) -> bool:
    """Whether a group key is an attribute with several values: each of them is a group."""
    found = release.attribute(key.table) if isinstance(key, exp.Column) else None
    return found is not None and found.size > 1


def _groups(clauses: Clauses, select: exp.Select, items: list[Item], scope: Scope) -> tuple[Keys, Sets]:
    plain = [i.node for i in items if not (has_aggregates(i.node) or has_windows(i.node) or _has_scalars(i.node))]

    def resolve(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Literal) and not node.is_string:
            item = clauses.by_ordinal(node, items)
            if has_aggregates(item.node):
                refuse(clauses.sql, node, "GROUP BY an aggregate", "group by columns or expressions of them")
            return without_parentheses(item.node)
        return without_parentheses(clauses.resolve(node, scope))

    keys, sets = _grouping_sets(select.args.get("group"), plain, resolve, clauses.sql)
    for key in keys:
        if scalar := next((c for c in key.find_all(exp.Column) if c.table == SCALAR), None):
            refuse(clauses.sql, scalar, "GROUP BY an estimate", "group by columns or expressions of them")
    return keys, sets


def _grouping(forms: FormBuilder, chosen: tuple[int, ...]) -> dict[str, int]:
    """grouping(a, b) in this grouping set: a bit for each key that is not in it."""
    present = {f"g{i}" for i in chosen}
    return {
        name: sum(2 ** (len(keys) - 1 - i) for i, key in enumerate(keys) if key not in present)
        for keys, name in forms.groupings.items()
    }


def _grouping_sets(
    group: exp.Group | None, plain_items: Keys, resolve: Callable[[exp.Expr], exp.Expr], sql: str
) -> tuple[Keys, Sets]:
    """The group keys, and which of them make up each grouping set; without GROUP BY one empty set."""
    if group is None:
        return [], [()]
    for argument, value in group.args.items():
        if value and argument not in {"expressions", "all", "grouping_sets", "rollup", "cube"}:
            refuse(sql, group, f"GROUP BY ... {argument}", "write ROLLUP (...), CUBE (...) or GROUPING SETS (...)")
    keys: Keys = []
    if group.args.get("all"):
        return plain_items, [tuple(range(len(plain_items)))]

    def key(node: exp.Expr) -> int:
        resolved = resolve(node)
        for place, other in enumerate(keys):
            if other == resolved and mark(other) == mark(resolved):
                return place
        keys.append(resolved)
        return len(keys) - 1

    listed = [n for arg in ("expressions", "grouping_sets", "rollup", "cube") for n in group.args.get(arg) or []]
    factors = [_sets(node, key, sql) for node in listed]
    sets = [tuple(dict.fromkeys(k for part in parts for k in part)) for parts in product(*factors)]
    if len(sets) > _MOST_SETS:
        refuse(sql, group, f"GROUP BY with {len(sets)} grouping sets", f"ask for {_MOST_SETS} at most")
    return keys, sets


def _sets(node: exp.Expr, key: Callable[[exp.Expr], int], sql: str) -> Sets:
    if isinstance(node, exp.Rollup):
        parts = [_tuple(n, key) for n in node.expressions]
        return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        parts = [_tuple(n, key) for n in node.expressions]
        if len(parts) > 6:
            refuse(sql, node, "CUBE of more than 6 columns", "name the GROUPING SETS you need")
        return [_joined(chosen) for length in range(len(parts), -1, -1) for chosen in combinations(parts, length)]
    if isinstance(node, exp.GroupingSets):
        return [s for n in node.expressions for s in (_sets(n, key, sql) if _nested(n) else [_tuple(n, key)])]
    return [_tuple(node, key)]


def _nested(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets))


def _tuple(node: exp.Expr, key: Callable[[exp.Expr], int]) -> tuple[int, ...]:
    if isinstance(node, exp.Tuple):
        return tuple(key(n) for n in list(node.expressions))
    return (key(node.unnest() if isinstance(node, exp.Paren) else node),)


def _joined(parts: list[tuple[int, ...]] | tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(k for part in parts for k in part))
