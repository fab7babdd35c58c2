"""Queries over answers that no sum over rows stands for: they run as they are, over the estimates of the answers.

max(n) over the counts of groups is the largest of the estimates, and public rows that a LEFT JOIN keeps get what is
estimated for them. Every aggregate query over the private table in it is rewritten, and read like a public table. Hard
bounds hold for all groups together, so those of an extreme or a mean lie among theirs; over noise there are none.
"""

from __future__ import annotations

from itertools import accumulate

from sqlglot import exp

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.answers import COUNTED
from sqlpriv.rewrite.bind.names import AnswerReader, Scope
from sqlpriv.rewrite.bind.public_queries import resolve_public
from sqlpriv.rewrite.bind.relations import Answer, AnswerColumn
from sqlpriv.rewrite.clauses import Clauses
from sqlpriv.rewrite.estimate.form_builder import FormBuilder
from sqlpriv.rewrite.estimate.joined_tables import Joins
from sqlpriv.rewrite.syntax import aggregated, has_aggregates, has_windows

_COMPUTED = (
    "what is computed over groups is computed from their estimates, of all groups of the domain: over noise the "
    "largest of them tends to be too large, and the smallest too small"
)
_MOMENTS = (exp.Min, exp.Max, exp.Avg)


def on_estimates(clauses: Clauses, query: exp.Query, read: AnswerReader) -> Answer:
    """The answer to a query over estimates, evaluated over these."""
    names = clauses.names
    names.read_answer = read
    try:
        found = resolve_public(names, query, Scope(), {})
    finally:
        names.read_answer = None
    _divide(clauses, query)
    if any(isinstance(n, (*_MOMENTS, exp.Sum)) for n in query.find_all(exp.AggFunc)):
        names.warnings.append(_COMPUTED)
    if any(isinstance(n.this, (exp.Star, exp.Literal)) for n in query.find_all(exp.Count)):
        names.warnings.append(COUNTED)
    kinds = [AnswerColumn(n, exact=at not in found.estimated) for at, n in enumerate(found.names)]
    if isinstance(query, exp.Select) and clauses.options.intervals:
        kinds = _with_bounds(clauses, query, kinds)
    return Answer(query.sql(dialect="duckdb", comments=False), tuple(kinds))


def _divide(clauses: Clauses, query: exp.Expr) -> None:
    """Estimates may be 0, and are no whole numbers: a quotient is NULL there, and // drops what is left over."""
    for node in list(query.find_all(exp.Div, exp.IntDiv)):
        if not clauses.names.are_estimated(node):
            continue
        by = exp.Nullif(this=exp.Paren(this=node.expression.copy()), expression=exp.Literal.number(0))
        made: exp.Expr = exp.Div(this=exp.Paren(this=node.this.copy()), expression=by)
        node.replace(exp.Trunc(this=made) if isinstance(node, exp.IntDiv) else exp.Paren(this=made))


def _with_bounds(clauses: Clauses, select: exp.Select, columns: list[AnswerColumn]) -> list[AnswerColumn]:
    """Put the bounds of each estimate behind it; NULL where it has none."""
    forms = FormBuilder(
        clauses.sql, clauses.texts, clauses.formulas(Joins(clauses.names, {}, None, []), final=False), [],
        clauses.names.bounded,
    )  # fmt: skip
    taken = {folded(column.name) for column in columns}
    null = exp.Cast(this=exp.Null(), to=exp.DataType.build("double"))
    items: list[exp.Expr] = []
    made: list[AnswerColumn] = []
    for item, column in zip(select.expressions, columns, strict=True):
        items.append(item)
        ends = (f"{column.name}_low", f"{column.name}_high")
        is_key = aggregated(select) and not has_aggregates(item.this)
        if column.exact or is_key or taken & {*map(folded, ends)}:
            made.append(column)
            continue
        found = _bounds(clauses, select, item.this, forms)
        for end, text in zip(ends, found or (null, null), strict=True):
            items.append(exp.Alias(this=text.copy(), alias=exp.to_identifier(end, quoted=True)))
        made.append(AnswerColumn(column.name, *ends))
    places = [0, *accumulate(1 if column.low is None else 3 for column in made)]
    for clause in (select.args.get("order"), select.args.get("group")):
        for node in clause.expressions if clause is not None else []:
            by = node.this if isinstance(node, exp.Ordered) else node
            if isinstance(by, exp.Literal) and by.this.isdigit() and 1 <= int(by.this) < len(places):
                by.replace(exp.Literal.number(places[int(by.this) - 1] + 1))
    select.set("expressions", items)
    return made


def _bounds(
    clauses: Clauses, select: exp.Select, item: exp.Expr, forms: FormBuilder
) -> tuple[exp.Expr, exp.Expr] | None:
    """The bounds of an item, if there are sound ones."""
    names = clauses.names
    if has_windows(item) or item.find(exp.Query) is not None or select.args.get("distinct"):
        return None
    if aggregated(select):
        return _of_groups(clauses, select, item, forms.formulas.is_certain)
    filled = item if isinstance(item, exp.Coalesce) and isinstance(item.this, exp.Column) else None
    bare = item if filled is None else filled.this
    if isinstance(bare, exp.Column):
        column = names.bounded.get((bare.table, bare.name))
        if column is None or (filled is not None and forms.formulas.is_conservative and not column.never_below_zero):
            return None
        low, high = (exp.Var(this=end) for end in (column.low, column.high))
        if filled is None:
            return low, high
        others = filled.expressions
        if not all(isinstance(other, exp.Literal) for other in others):
            return None
        least, most = (exp.Coalesce(this=end, expressions=[o.copy() for o in others]) for end in (low, high))
        return least, most
    try:
        found = forms.formulas.bounds(forms.form(item))
    except UnsupportedSQLError:
        return None
    return None if found is None else (exp.Var(this=found[0]), exp.Var(this=found[1]))


def _of_groups(
    clauses: Clauses, select: exp.Select, item: exp.Expr, is_certain: bool
) -> tuple[exp.Expr, exp.Expr] | None:
    """An extreme or a mean of groups lies among bounds that hold for all of them; which groups there are may differ."""
    names = clauses.names
    chosen = [select.args.get(clause) for clause in ("where", "having", "group")]
    chosen += [join.args.get("on") for join in select.args.get("joins") or []]
    if not is_certain or not isinstance(item, _MOMENTS) or not isinstance(item.this, exp.Column):
        return None
    column = names.bounded.get((item.this.table, item.this.name))
    if column is None or item.this.table not in names.whole or any(c and names.are_estimated(c) for c in chosen):
        return None
    is_count = isinstance(item, exp.Max) and column.never_below_zero  # a group without rows has 0 at most
    low: exp.Expr = (exp.Max if is_count else exp.Min)(this=exp.Var(this=column.low))
    return low, exp.Max(this=exp.Var(this=column.high))
