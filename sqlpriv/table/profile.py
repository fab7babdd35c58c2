"""What each column of a table looks like: counts and shapes, computed in SQL. No cell value comes to Python.

The smallest and largest number and the first and last year stay inside this process, to choose ranges: what is printed
of them is rounded outwards, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sqlpriv.core.engine import Runs, fetch

# Texts that point at one person, or at that person's things, whatever the column is called.
PATTERNS: dict[str, str] = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[^@\s.]+",
    "UUIDs": r"\{?[0-9A-Fa-f]{8}-?([0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12}\}?",
    "social security numbers": r"[0-9]{3}-[0-9]{2}-[0-9]{4}",
    "phone numbers": r"(\+|\(|0)[0-9][0-9 ()/.-]{5,}[0-9]|[0-9]{3}[ .-][0-9]{3,4}([ .-][0-9]{2,4}){1,2}",
    "bank accounts": r"[A-Z]{2}[0-9]{2} ?([A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}",
    "network addresses": r"([0-9]{1,3}\.){3}[0-9]{1,3}|[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}",
    "web addresses": r"https?://\S+",
}
DATE_LEVELS = ("day", "month", "quarter", "year", "decade")

_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
_INTEGERS = _WHOLE | {f"U{name}" for name in _WHOLE}
_NUMBERS = _INTEGERS | {"FLOAT", "DOUBLE", "DECIMAL"}
_AT_ONCE = 25  # columns in a query: its time grows with their square, and beyond this that is what counts
_UNREADABLE = {"STRUCT", "MAP", "UNION", "JSON", "BLOB", "BIT", "GEOMETRY", "VARIANT"}


@dataclass(frozen=True)
class ColumnProfile:
    """Counts and shapes of one column; what does not apply to its kind is left at zero."""

    name: str
    kind: str  # text, number, date, timestamp, flag or nested
    rows: int
    present: int  # rows that are not NULL
    distinct: int  # different values other than NULL
    shortest: int = 0
    longest: int = 0
    mean_length: float = 0.0
    mean_words: float = 0.0
    only_digits: bool = False
    only_dates: bool = False
    matches: dict[str, int] = field(default_factory=dict)  # how many values look like each of PATTERNS
    infinite: int = 0  # numbers and dates that are infinite, or no number
    low: float = 0.0
    high: float = 0.0
    middle: float = 0.0  # how far apart the numbers are but for the lowest and the highest twentieth
    finite: bool = False  # numbers without infinity and NaN
    whole: bool = False  # numbers without a fraction
    date_levels: dict[str, int] = field(default_factory=dict)  # how many different labels each level would have
    first_year: int = 0
    last_year: int = 0
    zoned: bool = False  # timestamps whose day depends on the time zone

    @property
    def values(self) -> int:
        """Different values, NULL counted as one of them, as the checks count it."""
        return self.distinct + (self.present < self.rows)

    @property
    def distinct_share(self) -> float:
        """1 when no two rows share a value."""
        return self.distinct / self.present if self.present else 0.0


def profile(con: Runs, relation: str) -> tuple[ColumnProfile, ...]:
    """A profile of every column of a relation (any SQL that can follow FROM)."""
    types = {str(name): str(kind) for name, kind, *_ in fetch(con, f"DESCRIBE FROM {relation}")}
    columns = [(name, kind_of(kind)) for name, kind in types.items()]
    chunks = [columns[start : start + _AT_ONCE] for start in range(0, len(columns), _AT_ONCE)]
    found = (p for chunk in chunks for p in _profiles(con, relation, chunk))
    return tuple(replace(p, zoned=types[p.name] == "TIMESTAMP WITH TIME ZONE") for p in found)


def _profiles(con: Runs, relation: str, columns: list[tuple[str, str]]) -> Iterator[ColumnProfile]:
    measures = ", ".join(f"{_measures(name, kind)} AS c{n}" for n, (name, kind) in enumerate(columns))
    rows, *measured = fetch(con, f"SELECT count(*) AS n, {measures} FROM {relation}")[0]
    for (name, kind), measures_of_column in zip(columns, measured, strict=True):
        yield _profile(name, kind, rows, measures_of_column)


def kind_of(duckdb_type: str) -> str:
    """The kind of a column by its DuckDB type. Types are not shown to anybody: an ENUM's name holds its values."""
    base = re.split(r"[ (]", duckdb_type, maxsplit=1)[0]
    if duckdb_type.endswith("]") or base in _UNREADABLE:
        return "nested"
    if base in _NUMBERS:
        return "number"
    if base.startswith("TIMESTAMP"):
        return "timestamp"
    return {"DATE": "date", "BOOLEAN": "flag"}.get(base, "text")


def _measures(name: str, kind: str) -> str:
    """SQL for a struct of aggregates over one column."""
    column = '"' + name.replace('"', '""') + '"'
    measures = {"present": f"count({column})", "distinct": f"count(DISTINCT {column})"}
    if kind == "text":
        text = f"CAST({column} AS VARCHAR)"
        # Long texts would fill the memory; their hashes do not. NULL has a hash too.
        measures["distinct"] = f"count(DISTINCT hash({text})) FILTER (WHERE {column} IS NOT NULL)"
        measures |= {
            "shortest": f"min(length({text}))",
            "longest": f"max(length({text}))",
            "mean_length": f"avg(length({text}))",
            "mean_words": f"avg(1 + length(trim({text})) - length(replace(trim({text}), ' ', '')))",
            "only_digits": f"bool_and(regexp_full_match({text}, '[0-9]+'))",
            "only_dates": f"bool_and(TRY_CAST({text} AS TIMESTAMP) IS NOT NULL)",
        }
        measures |= {
            f"match{n}": f"count(*) FILTER (WHERE regexp_full_match({text}, '{pattern}'))"
            for n, pattern in enumerate(PATTERNS.values())
        }
    elif kind == "number":
        number = f"CAST({column} AS DOUBLE)"
        finite = f"FILTER (WHERE isfinite({number}))"
        measures |= {
            "infinite": f"count(*) FILTER (WHERE NOT isfinite({number}))",
            "shortest": f"min(length(CAST({column} AS VARCHAR)))",
            "longest": f"max(length(CAST({column} AS VARCHAR)))",
            "low": f"min({number}) {finite}",
            "high": f"max({number}) {finite}",
            "middle": f"quantile_cont({number}, 0.95) {finite} - quantile_cont({number}, 0.05) {finite}",
            "finite": f"bool_and(isfinite({number}))",
            "whole": f"bool_and({number} = floor({number})) {finite}",
        }
    elif kind in {"date", "timestamp"}:
        measures |= {
            level: f"count(DISTINCT date_trunc('{level}', {column})) FILTER (WHERE isfinite({column}))"
            for level in DATE_LEVELS
        }
        measures["infinite"] = f"count(*) FILTER (WHERE NOT isfinite({column}))"
        measures |= {
            name: f"{function}(year({column})) FILTER (WHERE isfinite({column}))"
            for name, function in (("first_year", "min"), ("last_year", "max"))
        }
    return "{" + ", ".join(f"'{key}': {sql}" for key, sql in measures.items()) + "}"


def _profile(name: str, kind: str, rows: int, measured: dict[str, Any]) -> ColumnProfile:
    """The struct as a profile. Aggregates over no value are NULL, which is the same as zero here."""
    known = {key: value for key, value in measured.items() if value is not None}
    matches = {label: known.pop(f"match{n}", 0) for n, label in enumerate(PATTERNS)}
    levels = {level: known.pop(level, 0) for level in DATE_LEVELS}
    return ColumnProfile(name, kind, rows, matches=matches, date_levels=levels, **known)
