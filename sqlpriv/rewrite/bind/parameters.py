"""Parameters of a query: `?`, `$1` and `$name`, replaced by their values before anything else is read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias

import sqlglot
from sqlglot import TokenType, exp, parse_one
from sqlglot.dialects.duckdb import DuckDB

from sqlpriv.core.errors import InputError
from sqlpriv.rewrite.bind.refusals import place, refuse

Values: TypeAlias = Sequence[Any] | Mapping[str, Any] | None
Bound: TypeAlias = tuple[tuple[str, str], ...]
"""Names, or numbers from 1, with constants as SQL text: these can be compared, also 1 with TRUE."""


@dataclass(frozen=True)
class Interval:
    """An interval as PostgreSQL and DuckDB have it: a month is no number of days."""

    months: int
    days: int
    microseconds: int


class READ(DuckDB):
    """DuckDB's SQL as it is read: in `IN ($1,$2)`, sqlglot would take $1,$ for the beginning of a text."""

    class Tokenizer(DuckDB.Tokenizer):
        """A $ begins a parameter, and never a text."""

        HEREDOC_STRINGS: ClassVar[list[str | tuple[str, str]]] = []
        SINGLE_TOKENS: ClassVar[dict[str, TokenType]] = {**DuckDB.Tokenizer.SINGLE_TOKENS, "$": TokenType.PARAMETER}


def as_constants(values: Values) -> Bound:
    """The values as constants of SQL."""
    if values is None:
        return ()
    named = values.items() if isinstance(values, Mapping) else ((str(i), v) for i, v in enumerate(values, 1))
    return tuple((str(name), _constant(str(name), value)) for name, value in named)


def _constant(name: str, value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (float, Decimal)) and not math.isfinite(value):
        raise InputError(f"the parameter {name} is no finite number")
    if isinstance(value, float):
        return f"CAST({_text(repr(value))} AS DOUBLE)"
    if isinstance(value, Decimal):
        return text if "." in (text := f"{value:f}") else f"{text}.0"  # else it would be a whole number
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            raise InputError(f"the parameter {name} has a time zone; give a timestamp without one")
        return f"CAST({_text(value.isoformat(' '))} AS TIMESTAMP)"
    if isinstance(value, (date, time)):
        kind = "DATE" if isinstance(value, date) else "TIME"
        return f"CAST({_text(value.isoformat())} AS {kind})"
    if isinstance(value, timedelta):
        value = Interval(0, value.days, value.seconds * 1_000_000 + value.microseconds)
    if isinstance(value, Interval):
        seconds = [f"{value.microseconds / 1e6:f} seconds"] if value.microseconds else []
        return f"CAST({_text(' '.join([f'{value.months} months', f'{value.days} days', *seconds]))} AS INTERVAL)"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_constant(name, each) for each in value)}]"
    raise InputError(
        f"the parameter {name} is of a type that cannot be bound; give a text, a number, a truth, a date or a list"
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def numbered(sql: str) -> tuple[str, list[int]]:
    """The query with $1, $2, ... for each ?, since a tree does not keep their order; and where these stood."""
    try:
        places = [t.start for t in sqlglot.tokenize(sql, dialect=READ) if t.token_type is TokenType.PLACEHOLDER]
    except sqlglot.errors.SqlglotError:
        return sql, []  # the parser says why
    return _joined(sql, places), places


def _joined(sql: str, places: list[int]) -> str:
    made, end = "", 0
    for number, at in enumerate(places, 1):
        made += f"{sql[end:at]}${number}"
        end = at + 1
    return made + sql[end:]


def move_back(statement: exp.Expr, places: list[int]) -> None:
    """Let the nodes say where they stand in the query as it was written."""
    shifts = [
        (at + sum(len(str(n)) for n in range(1, number)), len(str(number))) for number, at in enumerate(places, 1)
    ]
    moved: set[int] = set()
    for node in statement.walk() if shifts else ():
        meta = node._meta
        if meta is None or id(meta) in moved:
            continue
        moved.add(id(meta))
        for key in ("start", "end"):
            if key in meta:
                meta[key] -= sum(width for at, width in shifts if at < meta[key])


def bind_parameters(statement: exp.Expr, bound: Bound, sql: str, places: list[int]) -> None:
    """Put the values into a parsed query."""
    given, used = dict(bound), set[str]()
    for node in list(statement.find_all(exp.Placeholder, exp.Parameter)):
        name = str(node.this if isinstance(node, exp.Placeholder) else node.name)
        where = _where(sql, name, places)
        if name not in given:
            instead = "pass it with the query, as in release.sql(query, parameters=[...]), or write it into the query"
            refuse(sql, where, "a parameter without a value", instead)
        if places and not name.isdigit():
            raise InputError(f"the query mixes ? with ${name}{place(sql, where)}; write its parameters in one way")
        used.add(name)
        made = parse_one(given[name], dialect="duckdb")
        made._meta = where._meta
        node.replace(made)
    if unused := [name for name in given if name not in used]:
        raise InputError(f"the query has no parameter {unused[0]}; give as many values as it has parameters")


def _where(sql: str, name: str, places: list[int]) -> exp.Var:
    """A node that stands where a parameter does."""
    node = exp.Var(this=name)
    if places and name.isdigit() and int(name) <= len(places):
        node.meta["start"] = places[int(name) - 1]
    elif (found := re.search(rf"[$:]{re.escape(name)}\b", sql)) is not None:
        node.meta["start"] = found.start()
    return node
