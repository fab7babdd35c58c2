"""Types of PostgreSQL's expressions, as far as the meaning of an operator hangs on them.

`/` of two whole numbers drops what is left over, and + of a date and a number counts days: what an operand is must be
known before the same is written for DuckDB. A type that cannot be known is UNKNOWN, and what hangs on it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

INT, BIGINT, NUMERIC, DOUBLE = "int", "bigint", "numeric", "double"
TEXT, BOOL, DATE, TIMESTAMP, TIME, INTERVAL = "text", "boolean", "date", "timestamp", "time", "interval"
LITERAL = "a constant in quotes"
"""It takes the type of its neighbour, as NULL does."""
UNKNOWN = ""
WHOLE = (INT, BIGINT)
NUMBERS = (INT, BIGINT, NUMERIC, DOUBLE)
"""Each holds those before it."""

_COLUMNS = {
    "BOOLEAN": BOOL, "TINYINT": INT, "UTINYINT": INT, "SMALLINT": INT, "USMALLINT": INT, "INTEGER": INT,
    "UINTEGER": BIGINT, "BIGINT": BIGINT, "UBIGINT": NUMERIC, "HUGEINT": NUMERIC, "UHUGEINT": NUMERIC,
    "FLOAT": DOUBLE, "DOUBLE": DOUBLE, "VARCHAR": TEXT, "DATE": DATE, "TIME": TIME, "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_S": TIMESTAMP, "TIMESTAMP_MS": TIMESTAMP, "TIMESTAMP_NS": TIMESTAMP, "INTERVAL": INTERVAL,
}  # fmt: skip
_Kind = exp.DataType.Type
_CASTS = {
    _Kind.BOOLEAN: BOOL, _Kind.SMALLINT: INT, _Kind.INT: INT, _Kind.BIGINT: BIGINT, _Kind.DECIMAL: NUMERIC,
    _Kind.FLOAT: DOUBLE, _Kind.DOUBLE: DOUBLE, _Kind.TEXT: TEXT, _Kind.VARCHAR: TEXT, _Kind.DATE: DATE,
    _Kind.TIMESTAMPNTZ: TIMESTAMP,
    _Kind.TIMESTAMP: TIMESTAMP, _Kind.TIMESTAMPTZ: TIMESTAMP, _Kind.TIME: TIME, _Kind.INTERVAL: INTERVAL,
}  # fmt: skip


def _of(names: str, kind: str) -> dict[type[exp.Expr], str]:
    return {getattr(exp, name): kind for name in names.split()}


_ALWAYS: dict[type[exp.Expr], str] = {
    **_of("Count CountIf RowNumber Rank DenseRank", BIGINT),
    **_of("WidthBucket Length StrPosition Ascii Unicode Ntile BitLength", INT),
    **_of("Year Month Day Quarter Week DayOfWeek DayOfMonth DayOfYear WeekOfYear DayOfWeekIso Hour Minute", BIGINT),
    **_of("Extract", NUMERIC),
    **_of("PercentileCont Median PercentRank CumeDist Degrees Radians Sin Cos Tan Asin Acos Atan Atan2 Cot", DOUBLE),
    **_of("Cbrt", DOUBLE),
    **_of("Corr CovarPop CovarSamp RegrSlope RegrIntercept RegrR2 Skewness", DOUBLE),
    **_of("Concat ConcatWs DPipe Upper Lower Trim Substring Left Right Replace Reverse Repeat Pad SplitPart", TEXT),
    **_of("Translate Chr MD5 SHA2 RegexpReplace TimeToStr Dayname Monthname RegexpExtract", TEXT),
    **_of("TimestampTrunc DateTrunc StrToTime DateBin CurrentTimestamp Localtimestamp", TIMESTAMP),
    **_of("DateFromParts LastDay CurrentDate Date", DATE),
    **_of("Interval MakeInterval", INTERVAL),
    **_of("And Or Not EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is In Between Like ILike SimilarTo Glob", BOOL),
    **_of("Escape Exists Boolean StartsWith EndsWith Contains RegexpLike RegexpILike RegexpFullMatch LogicalAnd", BOOL),
    **_of("LogicalOr", BOOL),
}  # fmt: skip
_OF_FIRST = (exp.Paren, exp.Neg, exp.Abs, exp.Min, exp.Max, exp.Filter, exp.Nullif, exp.Lag, exp.Lead, exp.FirstValue,
             exp.LastValue, exp.Alias, exp.Ordered, exp.NthValue, exp.PercentileDisc, exp.Quantile, exp.Window,
             exp.IgnoreNulls, exp.BitwiseNot)  # fmt: skip
_ROUNDED = (exp.Round, exp.Trunc, exp.Ceil, exp.Floor, exp.Sign, exp.Avg, exp.Sqrt, exp.Exp, exp.Ln, exp.Log, exp.Pow,
            exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop)  # fmt: skip
_CALLS = {
    "regexp_matches": BOOL, "gcd": BIGINT, "lcm": BIGINT, "date_part": DOUBLE, "log10": DOUBLE, "ltrim": TEXT,
    "rtrim": TEXT, "factorial": NUMERIC, "age": INTERVAL, "to_timestamp": TIMESTAMP,
}  # fmt: skip


def type_of_column(kind: str) -> str:
    """The type that PostgreSQL's clients see for a column of DuckDB's type."""
    return NUMERIC if kind.startswith("DECIMAL") else _COLUMNS.get(kind, UNKNOWN)


def type_of_cast(kind: exp.DataType) -> str:
    """The type that a cast gives."""
    return UNKNOWN if kind.args.get("nested") else _CASTS.get(kind.this, UNKNOWN)


def type_of(node: exp.Expr, below: Sequence[str]) -> str:
    """The type of a node whose children in order, without names and constants of the grammar, have these types."""
    first = below[0] if below else UNKNOWN
    if isinstance(node, exp.Literal):
        return LITERAL if node.is_string else _type_of_number(node.this)
    if isinstance(node, (exp.Null, exp.ByteString)):
        return LITERAL
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return type_of_cast(node.to)
    if isinstance(node, (exp.Add, exp.Sub)):
        return _added(first, below[1], isinstance(node, exp.Sub))
    if isinstance(node, (exp.Mul, exp.Mod, exp.Div, exp.IntDiv)):
        return _multiplied(first, below[1], node)
    if isinstance(node, exp.Sum):
        return {INT: BIGINT, BIGINT: NUMERIC}.get(first, first)
    if isinstance(node, _ROUNDED):
        is_of_numbers = isinstance(node, (exp.Avg, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance))
        exact = (*WHOLE, NUMERIC) if is_of_numbers else (NUMERIC,)
        return UNKNOWN if first not in NUMBERS else NUMERIC if first in exact else DOUBLE
    if isinstance(node, exp.Case):
        return common([*below[1 if node.this is not None else 0 :]])
    if isinstance(node, (exp.Coalesce, exp.Greatest, exp.Least)):
        return common(below)
    if isinstance(node, exp.If):
        return common(below[1:])
    if isinstance(node, _OF_FIRST):
        return first
    if isinstance(node, exp.WithinGroup):
        return DOUBLE if isinstance(node.this, exp.PercentileCont) else below[-1]
    if isinstance(node, exp.Anonymous):
        return _CALLS.get(node.name.lower(), UNKNOWN)
    return _ALWAYS.get(type(node), UNKNOWN)


def common(kinds: Sequence[str]) -> str:
    """The one type of several values, such as the branches of a CASE."""
    known = {kind for kind in kinds if kind != LITERAL}
    if not known:
        return LITERAL
    if len(known) == 1:
        return known.pop()
    if known <= {*NUMBERS}:
        return max(known, key=NUMBERS.index)
    return TIMESTAMP if known == {DATE, TIMESTAMP} else UNKNOWN


def _type_of_number(text: str) -> str:
    if not re.fullmatch(r"\d+", text):
        return NUMERIC
    return INT if int(text) < 1 << 31 else BIGINT if int(text) < 1 << 63 else NUMERIC


def _added(one: str, other: str, is_difference: bool) -> str:
    if one in NUMBERS or other in NUMBERS:
        if {one, other} <= {*NUMBERS}:
            return max(one, other, key=NUMBERS.index)
        is_day = (one == DATE and other in WHOLE) or (one in WHOLE and other == DATE and not is_difference)
        return DATE if is_day else UNKNOWN
    pair = {one, other}
    if pair == {DATE}:
        return INT if is_difference else UNKNOWN
    if pair <= {DATE, TIMESTAMP} and is_difference:
        return INTERVAL
    if INTERVAL in pair and pair <= {INTERVAL, DATE, TIMESTAMP}:
        return INTERVAL if pair == {INTERVAL} else TIMESTAMP
    return UNKNOWN


def _multiplied(one: str, other: str, node: exp.Expr) -> str:
    if {one, other} <= {*NUMBERS}:
        return max(one, other, key=NUMBERS.index)
    if one == INTERVAL and other in NUMBERS and not isinstance(node, exp.Mod):
        return INTERVAL
    return INTERVAL if other == INTERVAL and one in NUMBERS and isinstance(node, exp.Mul) else UNKNOWN
