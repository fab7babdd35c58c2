"""What PostgreSQL calls the columns of an answer that have no alias: count, sum, date_trunc, ?column?."""

from __future__ import annotations

from sqlglot import exp

CALLED = "called"
"""Under which a node keeps the name that its function was called by."""
_NAMELESS = "?column?"
_TYPE_NAMES = {
    exp.DataType.Type.INT: "int4", exp.DataType.Type.BIGINT: "int8", exp.DataType.Type.SMALLINT: "int2",
    exp.DataType.Type.DECIMAL: "numeric", exp.DataType.Type.DOUBLE: "float8", exp.DataType.Type.FLOAT: "float4",
    exp.DataType.Type.TEXT: "text", exp.DataType.Type.VARCHAR: "varchar", exp.DataType.Type.DATE: "date",
    exp.DataType.Type.TIMESTAMP: "timestamp", exp.DataType.Type.TIMESTAMPTZ: "timestamptz",
    exp.DataType.Type.BOOLEAN: "bool", exp.DataType.Type.TIME: "time", exp.DataType.Type.INTERVAL: "interval",
}  # fmt: skip
_OTHERS: dict[type[exp.Expr], str] = {
    exp.Exists: "exists", exp.Array: "array", exp.CurrentDate: "current_date", exp.AtTimeZone: "timezone",
    exp.CurrentTimestamp: "current_timestamp", exp.Localtimestamp: "localtimestamp",
}  # fmt: skip
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def name_of(item: exp.Expr) -> str:
    """The name of a column without an alias."""
    return _named(item)[0]


def _named(item: exp.Expr) -> tuple[str, bool]:
    """A name, and whether it is a good one: that of a type, or of a CASE, gives way to a better one."""
    if isinstance(item, exp.Column):
        return item.name, True
    if isinstance(item, (exp.Paren, exp.Filter, exp.Window, exp.WithinGroup)):
        return _named(item.this)
    called = item._meta.get(CALLED) if item._meta else None
    if isinstance(item, exp.Trim) and called == "TRIM":
        return _TRIMS.get(item.text("position").upper(), "btrim"), True
    if called is not None and called not in {"CAST", "TRY_CAST"}:
        return str(called).lower(), True
    if isinstance(item, (exp.Cast, exp.TryCast)):
        name, is_good = _named(item.this)
        return (name, True) if is_good else (_TYPE_NAMES.get(item.to.this, _NAMELESS), False)
    if isinstance(item, exp.Case):
        default = item.args.get("default")
        name, is_good = (_NAMELESS, False) if default is None else _named(default)
        return (name, True) if is_good else ("case", False)
    if isinstance(item, exp.Subquery):
        first = item.this.expressions[0] if isinstance(item.this, exp.Select) and item.this.expressions else None
        if first is None:
            return _NAMELESS, False
        return (first.alias, True) if isinstance(first, exp.Alias) else _named(first)
    if isinstance(item, exp.Anonymous):
        return item.name.lower(), True
    return (_OTHERS[type(item)], True) if type(item) in _OTHERS else (_NAMELESS, False)
