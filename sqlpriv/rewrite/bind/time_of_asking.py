"""What is constant while a query runs: the time at which it was asked, and series of numbers or times.

now() and current_date become that time, in UTC. generate_series() in FROM becomes VALUES, and so a public table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.syntax import without_parentheses

_MOST_ROWS = 4000
_ASKS_TIME = re.compile(
    r"\b(now|today|age|\w+_timestamp)\s*\(|\b(current_date|current_timestamp|localtimestamp)\b", re.IGNORECASE
)
"""A call that this misses, as of "now"(), is refused; a column called age is asked for far more often than age()."""
_CALLS = frozenset({"now", "transaction_timestamp", "statement_timestamp", "get_current_timestamp"})
_NOW = (exp.CurrentTimestamp, exp.Localtimestamp)
_UNITS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
_MONTHS = {"MONTH": 1, "MON": 1, "QUARTER": 3, "YEAR": 12}


def time_of_asking(query: str) -> str:
    """The time for a query that may ask for it, in UTC as ISO 8601; empty for others, whose answers never change."""
    if not _ASKS_TIME.search(query):
        return ""
    return datetime.now(timezone.utc).replace(tzinfo=None).isoformat(" ", "milliseconds")


def fold_now(statement: exp.Expr, now: str) -> None:
    """Put the time into a query; where there is none, the query may not ask for it, and binding refuses it."""
    for node in list(statement.find_all(exp.CurrentDate, *_NOW, exp.Anonymous)) if now else ():
        is_call = isinstance(node, exp.Anonymous) and not node.expressions and node.name.lower() in _CALLS
        if isinstance(node, exp.Anonymous) and not is_call:
            continue
        kind = "date" if isinstance(node, exp.CurrentDate) else "timestamp"
        made = exp.Cast(this=exp.Literal.string(now[:10] if kind == "date" else now), to=exp.DataType.build(kind))
        made._meta = node._meta
        node.replace(made)


@dataclass(frozen=True)
class _Step:
    """An interval: months, and what has a fixed length."""

    months: int = 0
    seconds: int = 0


_Value: TypeAlias = "int | datetime | _Step | None"


def list_series(statement: exp.Expr, sql: str, now: str, is_postgres: bool) -> None:
    """Write generate_series() in FROM, or alone in SELECT, as VALUES, and so the elements of an array."""
    for series in list(statement.find_all(exp.ExplodingGenerateSeries)):
        _move_to_from(series)
    for array in list(statement.find_all(exp.Unnest)) if is_postgres else ():
        _list_elements(array)
    for table in list(statement.find_all(exp.Table)):
        if isinstance(table.this, exp.GenerateSeries):
            table.replace(_listed(table, sql, now, is_postgres))


def _move_to_from(series: exp.Expr) -> None:
    """SELECT generate_series(1, 3) is SELECT generate_series FROM generate_series(1, 3)."""
    select = series.parent_select
    alone = isinstance(select, exp.Select) and select.args.get("from_") is None and len(select.expressions) == 1
    if not alone or select is None or len(list(select.find_all(exp.ExplodingGenerateSeries))) > 1:
        return
    called = exp.to_identifier("generate_series")
    made = exp.Table(this=exp.GenerateSeries(**series.args), alias=exp.TableAlias(this=called))
    series.replace(exp.column(called.copy()))
    select.set("from_", exp.From(this=made))


def _list_elements(array: exp.Unnest) -> None:
    """FROM unnest(ARRAY[1, 2]) AS t(x) is FROM (VALUES (1), (2)) AS t(x)."""
    alias, values = array.args.get("alias"), array.expressions
    elements = without_parentheses(values[0]) if len(values) == 1 else None
    is_source = isinstance(array.parent, (exp.From, exp.Join)) and not array.args.get("offset")
    if not is_source or not isinstance(elements, exp.Array) or not elements.expressions:
        return
    if len(elements.expressions) > _MOST_ROWS or not all(_is_constant(e) for e in elements.expressions):
        return
    called = alias.this if alias is not None and alias.this is not None else exp.to_identifier("unnest")
    columns = (alias.args.get("columns") if alias is not None else None) or [called.copy()]
    rows = [exp.Tuple(expressions=[each.copy()]) for each in elements.expressions]
    made = exp.Values(expressions=rows, alias=exp.TableAlias(this=called.copy(), columns=columns))
    made._meta = array._meta
    array.replace(made)


def _is_constant(node: exp.Expr) -> bool:
    bare = node.this if isinstance(node, (exp.Cast, exp.Neg)) else node
    return isinstance(without_parentheses(bare), (exp.Literal, exp.Null, exp.Boolean))


def _listed(table: exp.Table, sql: str, now: str, is_postgres: bool) -> exp.Expr:
    series, alias = table.this, table.args.get("alias")
    ends = [_value(series.args.get(part), now) for part in ("start", "end")]
    step = _value(series.args.get("step"), now) if series.args.get("step") is not None else 1
    found = _series(ends[0], ends[1], step)
    if not found or series.args.get("is_end_exclusive"):
        instead = f"give it two whole numbers, or two dates and an INTERVAL, of 1 to {_MOST_ROWS:,} rows"
        refuse(sql, series, "generate_series() of these", instead)
    called = alias.name if alias is not None and alias.name else "generate_series"
    given = alias.args.get("columns") if alias is not None else None
    name = called if is_postgres else "generate_series"
    columns = given or [exp.to_identifier(name, quoted=True)]
    rows = [exp.Tuple(expressions=[_constant(value)]) for value in found]
    made = exp.Values(expressions=rows, alias=exp.TableAlias(this=exp.to_identifier(called), columns=columns))
    made._meta = series._meta
    return made


def _series(start: _Value, end: _Value, step: _Value) -> list[int | datetime]:
    """The values; none where these are no series, or it is too long."""
    found: list[int | datetime] = []
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int) and step:
        numbers = range(start, end + (1 if step > 0 else -1), step)
        return [*numbers] if len(numbers) <= _MOST_ROWS else []
    if isinstance(start, datetime) and isinstance(end, datetime) and isinstance(step, _Step):
        is_up = step.months >= 0 and step.seconds >= 0
        if not (step.months or step.seconds) or not (is_up or (step.months <= 0 and step.seconds <= 0)):
            return []
        while (start <= end if is_up else start >= end) and len(found) <= _MOST_ROWS:
            found.append(start)
            start = _later(start, step)
    return found if len(found) <= _MOST_ROWS else []


def _later(at: datetime, step: _Step, sign: int = 1) -> datetime:
    months = at.year * 12 + at.month - 1 + sign * step.months
    year, month = divmod(months, 12)
    last = _first_after(year, month) - timedelta(1)
    moved = at.replace(year=year, month=month + 1, day=min(at.day, last.day))
    return moved + timedelta(seconds=sign * step.seconds)


def _first_after(year: int, month: int) -> date:
    """The first day after a month, which is counted from 0."""
    return date(year + 1, 1, 1) if month == 11 else date(year, month + 2, 1)


def _value(node: exp.Expr | None, now: str) -> _Value:
    """What a constant expression stands for; None if it is none of these."""
    node = None if node is None else without_parentheses(node)
    if isinstance(node, exp.Literal):
        return _step(node.this, "") if node.is_string else int(node.this) if node.this.isdigit() else None
    if isinstance(node, exp.Neg):
        found = _value(node.this, now)
        return -found if isinstance(found, int) else None
    if isinstance(node, exp.Interval):
        return _step(node.this.name, node.text("unit")) if isinstance(node.this, exp.Literal) else None
    if now and isinstance(node, exp.CurrentDate):
        return datetime.fromisoformat(now[:10])
    if now and (isinstance(node, _NOW) or (isinstance(node, exp.Anonymous) and node.name.lower() in _CALLS)):
        return datetime.fromisoformat(now)
    if isinstance(node, exp.Cast):
        return _cast(node, now)
    if isinstance(node, (exp.TimestampTrunc, exp.DateTrunc)):
        at = _value(node.this, now)
        return _truncated(at, node.text("unit").upper()) if isinstance(at, datetime) else None
    if isinstance(node, (exp.Add, exp.Sub)):
        return _moved(_value(node.this, now), _value(node.expression, now), 1 if isinstance(node, exp.Add) else -1)
    return None


def _cast(node: exp.Cast, now: str) -> _Value:
    kind, inner = node.to.this, without_parentheses(node.this)
    if kind is exp.DataType.Type.INTERVAL and isinstance(inner, exp.Literal):
        return _step(inner.this, "")
    if kind not in (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP):
        return _value(inner, now) if kind in exp.DataType.INTEGER_TYPES else None
    if isinstance(inner, exp.Literal):
        try:
            found: _Value = datetime.fromisoformat(inner.this)
        except ValueError:
            return None
    else:
        found = _value(inner, now)
    if not isinstance(found, datetime) or found.tzinfo is not None:
        return None
    return datetime.combine(found.date(), time()) if kind is exp.DataType.Type.DATE else found


def _moved(at: _Value, by: _Value, sign: int) -> _Value:
    if isinstance(at, datetime) and isinstance(by, int):
        return at + timedelta(days=sign * by)
    if isinstance(at, int) and isinstance(by, int):
        return at + sign * by
    return _later(at, by, sign) if isinstance(at, datetime) and isinstance(by, _Step) else None


def _step(text: str, unit: str) -> _Step | None:
    months = seconds = 0
    found = re.findall(r"([+-]?\d+)\s*([A-Za-z]*)", text)
    if not found or not re.fullmatch(r"\s*([+-]?\d+\s*[A-Za-z]*\s*)+", text):
        return None
    for number, own in found:
        name = (own or unit).upper()
        name = name if name in _UNITS or name in _MONTHS else name.removesuffix("S")
        if name in _MONTHS:
            months += int(number) * _MONTHS[name]
        elif name in _UNITS:
            seconds += int(number) * _UNITS[name]
        else:
            return None
    return _Step(months, seconds)


def _truncated(at: datetime, unit: str) -> _Value:
    day = datetime.combine(at.date(), time())
    if unit == "WEEK":
        return day - timedelta(days=day.weekday())
    month = {"YEAR": 1, "QUARTER": (day.month - 1) // 3 * 3 + 1, "MONTH": day.month}.get(unit)
    if month is not None:
        return day.replace(month=month, day=1)
    return day if unit == "DAY" else at.replace(minute=0, second=0, microsecond=0) if unit == "HOUR" else None


def _constant(value: int | datetime) -> exp.Expr:
    if isinstance(value, datetime):
        return exp.Cast(this=exp.Literal.string(value.isoformat(" ")), to=exp.DataType.build("timestamp"))
    number: exp.Expr = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number
