"""Functions that PostgreSQL has and DuckDB has not, or not as such, as expressions that both read alike."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from functools import cache

from sqlglot import exp, parse_one

from sqlpriv.rewrite.bind.postgres import types
from sqlpriv.rewrite.bind.postgres.texts import replaces_same
from sqlpriv.rewrite.syntax import without_parentheses

_FORMATS = {
    "YYYY-MM-DD": "%Y-%m-%d", "DD.MM.YYYY": "%d.%m.%Y", "DD/MM/YYYY": "%d/%m/%Y", "MM/DD/YYYY": "%m/%d/%Y",
    "DD-MM-YYYY": "%d-%m-%Y", "YYYYMMDD": "%Y%m%d", "YYYY/MM/DD": "%Y/%m/%d", "YYYY-MM": "%Y-%m", "YYYY": "%Y",
    "YYYY-MM-DD HH24:MI:SS": "%Y-%m-%d %H:%M:%S", "YYYY-MM-DD HH24:MI": "%Y-%m-%d %H:%M",
    "YYYY-MM-DD HH24:MI:SS.US": "%Y-%m-%d %H:%M:%S.%f", "YYYY-MM-DD HH24:MI:SS.MS": "%Y-%m-%d %H:%M:%S.%f",
}  # fmt: skip
_UNITS = ("year", "month", "week", "day", "hour", "minute", "second")
_MOST_BUCKETS = 1000


def written(node: exp.Expr, below: list[str]) -> exp.Expr | None:
    """A call as an expression of DuckDB's; None where it is none of these, or not in a form that surely is the same."""
    rule = _RULES.get(type(node)) or (_CALLS.get(node.name.lower()) if isinstance(node, exp.Anonymous) else None)
    return None if rule is None else rule(node, below)


def date_of(text: str, pattern: str, kind: str) -> exp.Expr | None:
    """What to_date() and to_timestamp() give for a constant."""
    form = _FORMATS.get(pattern)
    try:
        found = None if form is None else datetime.strptime(text, form)
    except ValueError:
        return None
    return None if found is None else _constant(found, kind)


def in_template(template: str, **parts: exp.Expr) -> exp.Expr:
    """An expression with others in the place of the names x, y ... in it."""
    made = _parsed(template).copy()
    for column in list(made.find_all(exp.Column)):
        if column.name in parts:
            column.replace(exp.Paren(this=parts[column.name].copy()))
    return exp.Paren(this=made)


@cache
def _parsed(template: str) -> exp.Expr:
    return parse_one(template, dialect="duckdb")


def _constant(at: datetime, kind: str) -> exp.Expr:
    text = at.date().isoformat() if kind == "date" else at.isoformat(" ")
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind))


def _number(node: exp.Expr | None) -> Decimal | None:
    bare = None if node is None else without_parentheses(node)
    if isinstance(bare, exp.Neg):
        found = _number(bare.this)
        return None if found is None else -found
    return Decimal(bare.this) if isinstance(bare, exp.Literal) and not bare.is_string else None


def _width_bucket(node: exp.Expr, below: list[str]) -> exp.Expr | None:
    """The number of one of equal ranges, or of the range between thresholds."""
    value, given = node.this, node.args.get("threshold")
    if below[0] not in types.NUMBERS:
        return None
    if isinstance(given, exp.Array):
        steps = [_number(each) for each in given.expressions]
        if not steps or None in steps or sorted(steps) != steps:  # type: ignore[type-var]
            return None
        ranks = [in_template("CASE WHEN x >= y THEN 1 ELSE 0 END", x=value, y=each) for each in given.expressions]
        total = ranks[0]
        for each in ranks[1:]:
            total = exp.Add(this=total, expression=each)
        return in_template("CASE WHEN x IS NOT NULL THEN y END", x=value, y=total)
    low, high, count = (_number(node.args.get(part)) for part in ("min_value", "max_value", "num_buckets"))
    if low is None or high is None or count is None or low >= high or not 1 <= count <= _MOST_BUCKETS:
        return None
    # In whole numbers the quotient is exact: a decimal times a power of ten is one.
    span = high - low
    scale = Decimal(10) ** max(0, -int(span.as_tuple().exponent))
    parts = {"lo": low, "hi": high, "factor": count * scale, "span": span * scale, "over": count + 1}
    literals = {name: exp.Literal.number(f"{number:f}") for name, number in parts.items()}
    inside = "CAST(floor(((x - lo) * factor) / span) AS INTEGER) + 1"
    text = f"CASE WHEN x IS NULL THEN NULL WHEN x < lo THEN 0 WHEN x >= hi THEN over ELSE {inside} END"
    return in_template(text, x=value, **literals)


def _date(node: exp.Expr, below: list[str]) -> exp.Expr | None:
    is_of_time = below[:1] in ([types.DATE], [types.TIMESTAMP], [types.LITERAL]) and not node.expressions
    return exp.Cast(this=node.this.copy(), to=exp.DataType.build("date")) if is_of_time else None


def _age(node: exp.Expr, below: list[str]) -> exp.Expr | None:
    """Years, months and days between two times; of one, until midnight today."""
    given = [each.copy() for each in node.expressions]
    if not 1 <= len(given) <= 2 or not {*below} <= {types.DATE, types.TIMESTAMP}:
        return None
    ends = [exp.CurrentDate(), *given][-2:]
    times = [exp.Cast(this=each, to=exp.DataType.build("timestamp")) for each in ends]
    # The other way round, DuckDB's borrows days of another month.
    return in_template("CASE WHEN x >= y THEN age(x, y) ELSE -age(y, x) END", x=times[0], y=times[1])


def _make_interval(node: exp.Expr, below: list[str]) -> exp.Expr | None:
    found: exp.Expr | None = None
    for unit, value in node.args.items():
        number = _number(value.expression if isinstance(value, exp.Kwarg) else value) if value is not None else None
        if value is None or unit not in _UNITS or number is None:
            return None
        part = exp.Interval(this=exp.Literal.string(f"{number:f}"), unit=exp.Var(this=unit.upper()))
        if number:
            found = part if found is None else exp.Add(this=found, expression=part)
    return None if found is None else exp.Paren(this=found)


def _date_bin(node: exp.Expr, below: list[str]) -> exp.Expr | None:
    if len(node.expressions) != 3 or below[1] not in (types.DATE, types.TIMESTAMP):
        return None
    step, at, origin = (without_parentheses(each) for each in node.expressions)
    text = step.this if isinstance(step, exp.Literal) else None
    if isinstance(step, exp.Interval):
        text = f"{step.this.name} {step.text('unit')}"
    if text is None or "mon" in text.lower() or "year" in text.lower() or "-" in text:
        return None
    interval = exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build("interval"))
    start, time = (exp.Cast(this=each.copy(), to=exp.DataType.build("timestamp")) for each in (origin, at))
    return exp.Paren(this=exp.DateBin(this=interval, expression=time, unit=start))


def _to_timestamp(node: exp.Expr, below: list[str]) -> exp.Expr | None:
    """Of seconds since 1970."""
    if len(node.expressions) != 1 or below[0] not in types.NUMBERS:
        return None
    return in_template("CAST('1970-01-01' AS TIMESTAMP) + to_seconds(CAST(x AS DOUBLE))", x=node.expressions[0])


def _substring(node: exp.Expr, below: list[str]) -> exp.Expr | None:
    """The part of a text that matches a pattern, or the part of it in parentheses."""
    pattern = without_parentheses(node.args["start"]) if node.args.get("start") else None
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or node.args.get("length"):
        return None
    groups = pattern.this.count("(")
    if not replaces_same(pattern.this) or groups > 1 or "\\" in pattern.this:
        return None
    text = "CASE WHEN regexp_matches(x, y, 's') THEN regexp_extract(x, y, z, 's') END"
    return in_template(text, x=node.this, y=pattern, z=exp.Literal.number(groups))


def _bytes(node: exp.Expr, below: list[str]) -> exp.Expr | None:
    """E'...' without an escape is the text."""
    return None if "\\" in node.name else exp.Literal.string(node.name)


_RULES: dict[type[exp.Expr], Callable[[exp.Expr, list[str]], exp.Expr | None]] = {
    exp.WidthBucket: _width_bucket, exp.Date: _date, exp.MakeInterval: _make_interval, exp.Substring: _substring,
    exp.ByteString: _bytes,
}  # fmt: skip
_CALLS = {"age": _age, "date_bin": _date_bin, "to_timestamp": _to_timestamp}
