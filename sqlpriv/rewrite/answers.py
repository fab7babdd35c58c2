"""Queries over answers: rows of estimates may be filtered, sorted, joined to public tables, and united."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.rewrite.bind.below_answers import still_aggregated
from sqlpriv.rewrite.bind.names import Scope
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import Answer, AnswerColumn, SelectedRows
from sqlpriv.rewrite.clauses import Clauses, Item, mentions
from sqlpriv.rewrite.estimate.form_builder import FormBuilder
from sqlpriv.rewrite.estimate.joined_tables import Joins
from sqlpriv.rewrite.syntax import conjuncts, default_name, direction, is_star, windowed


def over_answers(clauses: Clauses, select: exp.Select, rows: SelectedRows, scope: Scope) -> Answer:
    """A query over estimates may project, filter, sort and join public tables; each row is one row of an answer."""
    sql, texts = clauses.sql, clauses.texts
    scope.over_answers = True
    if rows.private:
        refuse(sql, select, "a join of estimates with the private table", "aggregate the private table once")
    if distinct := select.args.get("distinct"):
        refuse(sql, distinct, "DISTINCT over estimates", "estimates that happen to be equal are not the same")
    answers = {
        (s.expression.table, s.expression.name): s.estimate
        for columns in scope.sources.values() for s in columns.values()
        if s.estimate is not None and isinstance(s.expression, exp.Column)
    }  # fmt: skip
    forms = FormBuilder(sql, texts, clauses.formulas(Joins(clauses.names, {}, None, []), final=False), [], answers)
    forms.positive = frozenset(
        (variable, column.name)
        for variable, read in rows.reads.items() if read.answer is not None
        for column in read.answer.columns if column.never_below_zero
    )  # fmt: skip
    items = [i for item in list(select.expressions) for i in _items(clauses, item, scope)]
    if where := select.args.get("where"):
        rows.conditions.append(clauses.resolve(where.this, scope))
    estimated = _estimated(rows)
    listed, columns = clauses.listed(items, forms, estimated)
    sources = ", ".join(f"{r.relation} AS {quoted(n)}" for n, r in rows.reads.items())
    text = f"SELECT {', '.join(listed)} FROM {sources}"
    conditions = rows.conditions
    if clauses.options.deviations:
        conditions = [c for each in conditions for c in conjuncts(each) if not mentions(c, estimated)]
    if conditions:
        text += f" WHERE {' AND '.join(f'({texts.plain(c)})' for c in conditions)}"
    answered = [r.answer for r in rows.reads.values() if r.answer is not None]
    plans = tuple(p for a in answered for p in a.plans)
    selects = windowed(select) or select.args.get("limit") or select.args.get("offset")
    below = None if selects else still_aggregated(sql, rows, [(i.name, i.node) for i in items])
    tail = clauses.tail(select, scope, items, forms, estimated, clauses.having(select, scope))
    unique = _unique(rows, items)
    return Answer(text + tail, columns, sum(a.cost for a in answered), plans, unique_by=unique, aggregated=below)


COUNTED = (
    "count(*) is the number of rows that the query inside it returns: one for each group of the domain, whether or not "
    "the table has rows in it"
)


def counts_rows(select: exp.Select, rows: SelectedRows) -> bool:
    """Whether a query is SELECT count(*) of an answer with estimates, as tools ask how many rows there will be."""
    others = any(select.args.get(c) for c in ("group", "having", "where", "distinct", "qualify", "joins"))
    items = [item.unalias() for item in select.expressions]
    is_count = len(items) == 1 and isinstance(items[0], exp.Count) and not items[0].expressions
    counted = items[0].this if is_count else None
    is_rows = isinstance(counted, exp.Star) or (isinstance(counted, exp.Literal) and not counted.is_string)
    answers = [read.answer for read in rows.reads.values()]
    return is_rows and not others and not rows.conditions and len(answers) == 1 and any(
        not column.exact for answer in answers if answer is not None for column in answer.columns
    )  # fmt: skip


def counted(clauses: Clauses, select: exp.Select, rows: SelectedRows, scope: Scope) -> Answer:
    """How many rows an answer has; that is known, and says nothing of the private table."""
    (answer,) = (read.answer for read in rows.reads.values() if read.answer is not None)
    item = select.expressions[0]
    name = item.alias if isinstance(item, exp.Alias) else default_name(item)
    clauses.names.warnings.append(COUNTED)
    sql = f"SELECT count(*) AS {quoted(name)} FROM ({answer.sql}){clauses.limits(select)}"
    return Answer(sql, (AnswerColumn(name, exact=True),), answer.cost, answer.plans)


def _unique(rows: SelectedRows, items: list[Item]) -> tuple[str, ...] | None:
    """What the group keys of the one answer that is read are called here, if all of them are shown."""
    ((variable, read), *others) = rows.reads.items()
    keys = read.answer.unique_by if read.answer is not None and not others else None
    shown = {i.node.name: i.name for i in items if isinstance(i.node, exp.Column) and i.node.table == variable}
    return tuple(shown[key] for key in keys) if keys and all(key in shown for key in keys) else None


def _estimated(rows: SelectedRows) -> frozenset[tuple[str, str]]:
    """The columns of the answers that are read which are estimates, or their bounds."""
    return frozenset(
        (variable, name)
        for variable, read in rows.reads.items() if read.answer is not None
        for column in read.answer.columns if not column.exact
        for name in (column.name, column.low, column.high) if name is not None
    )  # fmt: skip


def _items(clauses: Clauses, item: exp.Expr, scope: Scope) -> list[Item]:
    """An item of the SELECT list, or the columns of * without the bounds: these come back next to their estimates."""
    if not is_star(item):
        return [clauses.item(item, scope, aggregates=False)]
    shown = clauses.shown(item, scope)
    bounds = {b for s in shown if s.estimate for b in (s.estimate.low, s.estimate.high)}
    return [Item(s.name, s.expression.copy(), item) for s in shown if clauses.texts.plain(s.expression) not in bounds]


def united_answers(clauses: Clauses, union: exp.Union, left: Answer, right: Answer) -> Answer:
    """UNION ALL of two answers."""
    if len(left.columns) != len(right.columns):
        refuse(clauses.sql, union, "UNION ALL of queries with different columns", "give both the same columns")
    columns = tuple(
        AnswerColumn(a.name, f"{a.name}_low", f"{a.name}_high", never_below_zero=_are_positive(a, b))
        if a.low or b.low
        else AnswerColumn(a.name, exact=a.exact and b.exact, never_below_zero=_are_positive(a, b))
        for a, b in zip(left.columns, right.columns, strict=True)
    )
    sql = " UNION ALL ".join(f"({_aligned(side, columns)})" for side in (left, right))
    tail = _ordered(clauses, union, columns) + clauses.limits(union)
    tail = "" if clauses.options.deviations else tail
    return Answer(f"{sql}{tail}", columns, left.cost + right.cost, left.plans + right.plans)


def _are_positive(*columns: AnswerColumn) -> bool:
    return all(column.never_below_zero for column in columns)


def _ordered(clauses: Clauses, union: exp.Union, columns: tuple[AnswerColumn, ...]) -> str:
    """ORDER BY after UNION ALL, by the places of columns."""
    places = {folded(n): i for i, n in enumerate(Answer("", columns).names, 1)}
    ordered = []
    for node in union.args["order"].expressions if union.args.get("order") else []:
        by = node.this
        if isinstance(by, exp.Literal) and by.this.isdigit() and 1 <= int(by.this) <= len(columns):
            place = places[folded(columns[int(by.this) - 1].name)]
        elif isinstance(by, exp.Column) and not by.table and folded(by.name) in places:
            place = places[folded(by.name)]
        else:
            refuse(clauses.sql, node, "ORDER BY an expression after UNION ALL", "name a column of the answer")
        ordered.append(f"{place}{direction(node)}")
    return f" ORDER BY {', '.join(ordered)}" if ordered else ""


def _aligned(side: Answer, columns: tuple[AnswerColumn, ...]) -> str:
    """A side of a union, with NULL for bounds that only the other side has."""
    if all((a.low is None) == (b.low is None) for a, b in zip(side.columns, columns, strict=True)):
        return side.sql
    listed: list[str] = []
    for own, column in zip(side.columns, columns, strict=True):
        listed.append(quoted(own.name))
        if column.low is not None:
            listed += [quoted(b) if b else "CAST(NULL AS DOUBLE)" for b in (own.low, own.high)]
    return f"SELECT {', '.join(listed)} FROM ({side.sql})"
