"""How a query is refused: the construct, its place in the query, and what to write instead, before anything runs."""

from __future__ import annotations

import re
from typing import NoReturn

from sqlglot import exp

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.rewrite.aggregates import FAMILIES

_EXTREMES = (
    "extremes of a release are those of noise or of labels; ask for the range of the public domain "
    "(domain_extremes=True), counts for ranges, as in GROUP BY x // 10"
)
_LISTS = "SELECT x, count(*) ... GROUP BY x lists the values of the public domain with their counts"
_VALUES = f"no release has the values of single rows; {_LISTS}"
_ONE_ROW = "no release has a value of one row; put the column into GROUP BY, or ask for its avg or median"
DISTINCT = f"a release does not show which rows are equal; count rows, or GROUP BY the column: {_LISTS}"
# What a construct is called, and what to write instead; the class of a node or the name of a function.
INSTEAD: dict[str, tuple[str, str]] = {
    "Distinct": ("DISTINCT", "a release does not show how often a value occurs; count rows, or GROUP BY"),
    "Min": ("min()", f"{_EXTREMES}, or quantile_cont(x, 0.05)"),
    "Max": ("max()", f"{_EXTREMES}, or quantile_cont(x, 0.95)"),
    "Mode": ("mode()", "noise would choose it; write SELECT x, count(*) ... GROUP BY x ORDER BY 2 DESC LIMIT 1"),
    "AnyValue": ("any_value()", _ONE_ROW),
    "First": ("first()", _ONE_ROW),
    "Last": ("last()", _ONE_ROW),
    "ArgMax": ("arg_max()", _ONE_ROW),
    "ArgMin": ("arg_min()", _ONE_ROW),
    "ArrayAgg": ("a list of values", _VALUES),
    "GroupConcat": ("string_agg()", _VALUES),
    "ApproxDistinct": ("approx_count_distinct()", f"a release does not show which rows are equal; {_LISTS}"),
    "Window": ("a window function over single rows", "aggregate with GROUP BY first; windows may be about the groups"),
    "PositionalColumn": ("a column by its position", "name the column"),
    "Columns": ("COLUMNS()", "name the columns"),
    "Explode": ("unnest()", "an estimate is of rows as they are; nothing may multiply them"),
    "Unnest": ("unnest()", "an estimate is of rows as they are; nothing may multiply them"),
    "TableSample": ("SAMPLE", "a release is one sample already; ask it as it is"),
    "Except": ("EXCEPT", "ask the two queries one by one"),
    "Intersect": ("INTERSECT", "ask the two queries one by one"),
    "Collate": ("COLLATE", "compare lower(a) with lower(b)"),
    "AtTimeZone": ("AT TIME ZONE", "it depends on a setting; compute with timestamps as they are"),
    "Lock": ("FOR UPDATE", "leave it out"),
    "Filter": ("FILTER", "put it behind an aggregate"),
    "ArrayFilter": ("a lambda", "write the condition on the attributes themselves"),
    "Lambda": ("a lambda", "write the condition on the attributes themselves"),
    "Pivot": ("PIVOT", "write GROUP BY, or one aggregate with FILTER for each column"),
    "Lateral": ("LATERAL", "join a public table, or use a subquery over one"),
    "Values": ("VALUES", "give the rows as a public table, or use IN (...)"),
    "Rand": ("random()", "only functions that always answer the same can be estimated"),
    "ByteString": ("an escape string", "write a plain text in single quotes"),
    "JSONExtract": ("->", "the operator is not among the functions that can be estimated"),
}
_CLAUSES = frozenset({"qualify", "into", "windows", "laterals"})
"""Clauses that are refused by their names, not by what they hold."""
_LISTED = "docs/query.md lists what can be"
_AGGREGATES = (exp.AggFunc, exp.WithinGroup, exp.IgnoreNulls)
INSTEAD_OF_STATEMENTS = {
    "PIVOT": "write GROUP BY with both columns, as in SELECT a, b, count(*) FROM t GROUP BY a, b, or one aggregate "
    "with FILTER for each column, as in count(*) FILTER (WHERE b = 'x') AS x",
    "UNPIVOT": "write one aggregate for each column, and UNION ALL of these",
    "PRAGMA": "for the columns of a table write DESCRIBE t, or read information_schema.columns",
    "EXPLAIN": "ask for it separately, by release.explain(query)",
    "SHOW": "write SHOW TABLES, DESCRIBE t, or read information_schema.columns",
    "SUMMARIZE": "ask for each column what you want of it, as in SELECT count(x), avg(x), stddev(x), "
    "quantile_cont(x, 0.5) FROM t, and SELECT x, count(*) FROM t GROUP BY x",
}
STATEMENTS = "only one SELECT can be asked of a release; write SELECT ... FROM its table"


def place(sql: str, node: exp.Expr | None) -> str:
    """Where a construct starts, as line and column, counted from 1; empty when the parser did not keep it."""
    start = _start(sql, node)
    while start is None and node is not None:
        node = node.parent
        start = _start(sql, node)
    if start is None:
        return ""
    before = sql[:start]
    return f" at line {before.count(chr(10)) + 1}, column {start - before.rfind(chr(10))}"


def _start(sql: str, node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    found = [n.meta["start"] for n in node.walk() if n._meta and "start" in n._meta]
    if found and isinstance(node, exp.Func) and "start" not in (node._meta or {}):
        # Of some functions the parser keeps the place of the arguments alone: the name stands right before them.
        name = re.search(r"\w+\s*\(\s*$", sql[: min(found)])
        return name.start() if name else min(found)
    return min(found) if found else None


def refuse(sql: str, node: exp.Expr | None, construct: str, instead: str) -> NoReturn:
    """Raise the refusal of a construct."""
    raise UnsupportedSQLError(f"{construct}{place(sql, node)} cannot be estimated: {instead}")


def unknown(sql: str, node: exp.Expr | None, what: str, instead: str) -> NoReturn:
    """Raise for a name that does not exist."""
    raise UnsupportedSQLError(f"there is no {what}{place(sql, node)}; {instead}")


def refuse_self_join(sql: str, node: exp.Expr) -> NoReturn:
    """Raise the refusal of pairs of private rows."""
    refuse(sql, node, "the private table a second time", "pairs of rows cannot be estimated; aggregate it once")


def refuse_other_parts(sql: str, node: exp.Expr, known: set[str], where: str = "") -> None:
    """Refuse every part of a query that is not among the known ones; `where` says what it is a part of."""
    for key, value in node.args.items():
        if value and key not in known:
            inside = value[0] if isinstance(value, list) else value
            if isinstance(inside, exp.Expr) and not isinstance(inside, exp.Paren) and key not in _CLAUSES:
                refuse_node(sql, inside)
            at = inside if isinstance(inside, exp.Expr) else node
            refuse(sql, at, f"{key.upper().strip('_')}{where}", "leave it out")


def refuse_node(sql: str, node: exp.Expr) -> NoReturn:
    """Raise the refusal of a node that no rule knows."""
    construct, instead = INSTEAD.get(type(node).__name__, (_name_of(node), _LISTED))
    if isinstance(node, _AGGREGATES) and instead is _LISTED:
        families = f"{', '.join(FAMILIES[:-1])} and {FAMILIES[-1]}"
        instead = f"only {families} can be; ask counts for ranges, as in GROUP BY x // 10"
    elif isinstance(node, exp.Func) and instead is _LISTED:
        instead = "only functions that always answer the same, and read nothing else, can be; docs/query.md lists them"
    refuse(sql, node, construct, instead)


def _name_of(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name.lower()}()"
    if isinstance(node, (exp.WithinGroup, exp.IgnoreNulls)):
        node = node.this
    if isinstance(node, exp.AggFunc):
        return f"the aggregate {node.sql_name().lower()}()"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name().lower()}()"
    return f"the construct {node.key}"
