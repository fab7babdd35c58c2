"""The command that asks a release: ordinary SQL in, estimates with their bounds out."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlpriv import publishing
from sqlpriv.apps.cli.options import named_tables, print_facts, require_writable, write_csv
from sqlpriv.apps.rows import distinct_names, plain_value
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts, Grid, Line, Part, shown_number
from sqlpriv.rewrite.clauses import BUDGET

Row = Sequence[Any]
_STDIN = "-"


def query_command(
    release: Annotated[Path, typer.Argument(help="The release file.")],
    query: Annotated[
        str | None,
        typer.Argument(metavar="SQL", help="A SELECT over the private table's own name and columns; - reads it."),
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the SQL from this file; - is stdin.")] = None,
    most: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many rows to print; all go to --csv and --json.")
    ] = 40,
    to_csv: Annotated[Path | None, typer.Option("--csv", help="Write every row there; - prints them.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as objects.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the rewritten SQL and its cost; run nothing.")
    ] = False,
    confidence: Annotated[
        float, typer.Option(metavar="SHARE", help="Of intervals, not of hard bounds; below 1.")
    ] = 0.95,
    intervals: Annotated[bool, typer.Option("--intervals/--no-intervals", help="With x_low and x_high.")] = True,
    nonnegative: Annotated[
        bool, typer.Option("--nonnegative", help="Counts below 0 become 0; sums of such counts are biased.")
    ] = False,
    parameters: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Values of ? and $1, as in '[\"x\", 3]', or of $name, as in '{...}'."),
    ] = None,
    domain_extremes: Annotated[
        bool, typer.Option("--domain-extremes", help="Answer min and max from the public domain, named ..._domain.")
    ] = False,
    views: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="FILE", help="Another view of the same sequence. May be repeated."),
    ] = None,
    public: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="A public table to join. May be repeated.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(min=1, metavar="ROWS", help="How many rows sums over the domain may read.")
    ] = None,
) -> None:
    """Ask a release ordinary SQL: estimates with their bounds."""
    tables = named_tables(public or [])
    to_stdout = to_csv is not None and str(to_csv) == _STDIN
    if to_stdout and as_json:
        raise InputError("--csv - and --json both print the rows: leave one out")
    if to_csv and not to_stdout:
        require_writable(to_csv)
    sql, values = _sql(query, file), _values(parameters)
    with publishing.open_release(release, *(views or []), public=tables, budget=budget or BUDGET) as opened:
        options = (sql, confidence, intervals, nonnegative, values, domain_extremes)
        if explain:
            print(opened.explain(*options))
            return
        answer = opened.sql(*options)
        columns, rows, warnings = list(answer.columns), answer.fetchall(), opened.warnings(*options)
    if to_csv:
        plain = ([plain_value(value) for value in row] for row in rows)
        write_csv(sys.stdout if to_stdout else to_csv, distinct_names(columns), plain)
    if as_json or to_stdout:
        print(*(f"sqlpriv: warning: {w}" for w in warnings), sep="\n", end="\n" if warnings else "", file=sys.stderr)
    if not to_stdout:
        print_facts(facts_of(columns, rows, most, warnings), as_json)


def _sql(query: str | None, file: Path | None) -> str:
    """The query: an argument, a file, or what comes in where nobody types."""
    if query is not None and file is not None:
        raise InputError("the SQL is given twice, as an argument and with --file: leave one out")
    if query not in {None, _STDIN}:
        text = str(query)
    elif file is not None and str(file) != _STDIN:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            raise InputError(f"cannot read the SQL in {str(file)!r}; name a text file in UTF-8") from None
    elif query == _STDIN or file is not None or not sys.stdin.isatty():
        text = sys.stdin.read()
    else:
        text = ""
    if not text.strip():
        raise InputError("there is no SQL to ask: give it as an argument, with --file, or on standard input")
    return text


def facts_of(columns: list[str], rows: Sequence[Row], most: int, warnings: tuple[str, ...]) -> Facts:
    """The first rows for people, all of them as data."""
    names = distinct_names(columns)
    bounds = dict(_bounds(names))
    cells = tuple(tuple(_cell(row, place, bounds) for place in range(len(names))) for row in rows[:most])
    parts: list[Part] = [Grid(tuple(columns), cells)]
    if any(text.startswith(_OUTSIDE) for row in cells for text in row):
        parts.append(Line(f"{_OUTSIDE}beyond what its column can hold: too few rows to tell more than its bounds say"))
    if len(rows) > most:
        parts.append(Line(f"{len(rows) - most:,} more rows; --csv FILE writes all {len(rows):,}, --most prints more"))
    content = [dict(zip(names, map(plain_value, row), strict=True)) for row in rows]
    return Facts("", content, tuple(parts), warnings)


_OUTSIDE = "* "


def _bounds(names: list[str]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Where the bounds of each estimate are; a bound has itself."""
    places = {name: place for place, name in enumerate(names)}
    for name, place in places.items():
        low, high = places.get(f"{name}_low"), places.get(f"{name}_high")
        if low is not None and high is not None:
            yield from ((place, (low, high)), (low, (low, low)), (high, (high, high)))


def _cell(row: Row, place: int, bounds: dict[int, tuple[int, int]]) -> str:
    """A value for people: of an estimate few digits, and a mark where it lies beyond its bounds; all of a group key."""
    value = row[place]
    if value is None:
        return "NULL"
    if not isinstance(value, float):
        return str(value)
    if place not in bounds:
        return shown_number(value, 6) if math.isfinite(value) and not bounds else str(value)
    low, high = (row[bound] for bound in bounds[place])
    text = shown_number(value)
    return f"{_OUTSIDE}{text}" if _is_beyond(value, low, high) else text


def _is_beyond(value: float, low: float | None, high: float | None) -> bool:
    """Only bounds that were cut to a range leave their estimate outside; a rounding error does not count."""
    room = 1e-9 * max(abs(value), 1.0)
    return low is not None and high is not None and not low - room <= value <= high + room


def _values(text: str | None) -> list[Any] | dict[str, Any] | None:
    try:
        found = json.loads(text) if text is not None else None
    except ValueError:
        found = text
    if found is not None and not isinstance(found, (list, dict)):
        raise InputError("--parameters takes a JSON list or object, as in '[\"north\", 20]'")
    return found
