"""The allow-list: which nodes of a parsed query may stand in an expression. What is not listed is refused.

Every function here always answers the same for the same arguments, reads no file, table or setting, and is written
back by sqlglot as it was read; tests/test_query_functions.py runs each of them both ways.
"""

from __future__ import annotations

from sqlglot import exp

_OPERATORS = """
Column Identifier Literal Boolean Null Paren Tuple Var DataType DataTypeParam Interval Escape And Or Not EQ NEQ GT GTE
LT LTE NullSafeEQ NullSafeNEQ Is In Between Like ILike SimilarTo Glob RegexpLike RegexpFullMatch Add Sub Mul Div
IntDiv Mod Pow Neg BitwiseAnd BitwiseOr BitwiseLeftShift BitwiseRightShift BitwiseNot DPipe Case If Cast TryCast
Coalesce Nullif Array
"""
_FUNCTIONS = """
Abs Acos Asin Atan Atan2 Cbrt Ceil Cos Cot Degrees Exp Floor Greatest Least Ln Log Radians Round Sign Sin Sqrt Tan
Trunc IsNan IsInf BitwiseXor Ascii Chr Concat ConcatWs Contains EndsWith Left Length Levenshtein Lower Pad Repeat
Replace Reverse Right Split SplitPart StartsWith StrPosition Substring Translate Trim Upper Unicode RegexpExtract
RegexpReplace MD5 SHA2 ArrayContains Hex ToDays Extract Year Month Day Quarter Week DayOfWeek DayOfMonth DayOfYear
WeekOfYear DayOfWeekIso Hour Minute Second Dayname Monthname TimestampTrunc DateTrunc DateDiff DateFromParts LastDay
TimeToStr StrToTime TimeToUnix DateAdd DateBin Format Bracket Slice
"""
# Functions that sqlglot does not know and writes as it reads them.
_NAMES = """
age date_part datepart weekday isodow isoyear yearweek century decade millennium era weekofyear julian make_time
date_sub datesub datediff date_diff to_months to_years to_weeks to_hours to_minutes to_seconds
strlen prefix suffix ltrim rtrim nfc_normalize strip_accents
lcase ucase damerau_levenshtein jaccard jaro_similarity hamming editdist3 mismatches instr position
even gamma lgamma isfinite gcd lcm greatest_common_divisor least_common_multiple
add subtract multiply divide fmod fdiv xor bit_count log10 log2 signbit nextafter
regexp_full_match regexp_matches regexp_extract like_escape ilike_escape not_like_escape printf bar
list_contains list_has list_position list_indexof len list_value array_length
sha256 url_encode url_decode to_base
"""
NAMES = frozenset(_NAMES.split())
# Functions of other engines that sqlglot reads as some of these.
_FOREIGN = """
array char charindex convert datefromparts date_bin date_from_parts date_to_date_str dayofweek_iso day_of_month
day_of_week day_of_year endswith iif is_inf is_nan last_day_of_month leftpad like locate nvl regexp_like rightpad sha2
signum startswith str_position str_to_time timestamp_trunc
time_to_unix time_to_str time_to_time_str truncate ts_or_ds_to_date_str
week_of_year
"""
FOREIGN = frozenset(_FOREIGN.split())
_FAMILIAR = {
    "iif": "write if(condition, x, y)",
    "nvl": "write coalesce(x, y)",
    "regexp_like": "write regexp_matches(x, y)",
    "startswith": "write starts_with(x, y)",
    "endswith": "write ends_with(x, y)",
}

_ZONED = (exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ, exp.DataType.Type.TIMETZ)


def _classes(names: str) -> frozenset[type[exp.Expr]]:
    return frozenset(getattr(exp, name) for name in names.split() if hasattr(exp, name))


ROW_NODES = _classes(_OPERATORS) | _classes(_FUNCTIONS)
# Inside a subquery over public tables alone, exact answers are computed, so more is allowed.
PUBLIC_NODES = ROW_NODES | _classes(
    "Select From Where Group Having Order Ordered Limit Offset Join Table TableAlias Subquery Star Exists Any All "
    "Count Sum Avg Min Max Distinct Filter Union CountIf"
)


def allowed(node: exp.Expr) -> bool:
    """Whether a node may stand in an expression over rows."""
    kind = type(node)
    return kind in ROW_NODES or (kind is exp.Anonymous and node.name.lower() in NAMES)


def misread(node: exp.Expr, sql: str) -> tuple[str, str] | None:
    """What DuckDB's versions, or sqlglot and DuckDB, read differently, and what to write instead."""
    if isinstance(node, exp.Func) and (name := _called(node, sql)) in FOREIGN:
        return f"the function {name}()", f"DuckDB has no such function; {_FAMILIAR.get(name, 'use one that it has')}"
    if isinstance(node, (exp.Cast, exp.TryCast)) and node.to.this in _ZONED:
        return f"a cast to {node.to.this.value}", "it depends on the time zone of the machine; cast to TIMESTAMP"
    if isinstance(node, exp.Between) and node.args.get("symmetric"):
        return "BETWEEN SYMMETRIC", "DuckDB does not know it; write x BETWEEN least(a, b) AND greatest(a, b)"
    if isinstance(node, (exp.Like, exp.ILike)) and isinstance(node.expression, (exp.Any, exp.All)):
        return "LIKE ANY", "DuckDB does not know it; write x LIKE 'a' OR x LIKE 'b'"
    if isinstance(node, exp.Anonymous) and node.name.lower() == "age" and len(node.expressions) != 2:
        return "age() of one date", "it asks for the time of the machine; write age(current_date, d)"
    if isinstance(node, exp.DateAdd) and not isinstance(node.expression, exp.Interval):
        return "date_add() without an INTERVAL", "write date_add(d, INTERVAL 3 DAY), or d + 3"
    if isinstance(node, (exp.RegexpLike, exp.RegexpILike)) and not _is_call(node):
        return "the operator ~", "DuckDB 1.5 and 2.0 read it differently; write regexp_full_match() or regexp_matches()"
    if isinstance(node, exp.Pow) and not _is_call(node):
        tight = all(isinstance(n, (exp.Column, exp.Literal, exp.Paren, exp.Func)) for n in (node.this, node.expression))
        if not tight or isinstance(node.parent, (exp.Neg, exp.Pow)):
            return "the operator ** next to another one", "what it binds first is unclear; write pow(x, y)"
    return None


def _called(node: exp.Expr, sql: str) -> str:
    """The name of a function as it was written."""
    place = node._meta or {}
    return sql[place["start"] : place["end"] + 1].lower() if "start" in place and "end" in place else ""


def _is_call(node: exp.Expr) -> bool:
    """Whether a node was written as name(...): the parser keeps the place of the name."""
    return "start" in (node._meta or {})
