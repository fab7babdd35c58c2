"""The command that asks a release: ordinary SQL in, estimates with their bounds out."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlpriv import publishing
from sqlpriv.doors.cli.options import tell
from sqlpriv.errors import InputError
from sqlpriv.facts import Facts, Grid
from sqlpriv.rewrite.clauses import BUDGET


def query_command(
    release: Annotated[Path, typer.Argument(help="The release file.")],
    query: Annotated[
        str, typer.Argument(metavar="SQL", help="A SELECT over the private table's own name and columns.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as objects.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the rewritten SQL and its cost; run nothing.")
    ] = False,
    confidence: Annotated[float, typer.Option(help="Of the intervals, between 0 and 1.")] = 0.95,
    intervals: Annotated[bool, typer.Option("--intervals/--no-intervals", help="With x_low and x_high.")] = True,
    nonnegative: Annotated[
        bool, typer.Option("--nonnegative", help="Counts below 0 become 0; sums of such counts are biased.")
    ] = False,
    views: Annotated[
        list[Path] | None, typer.Option("--with", help="Another view of the same sequence. May be repeated.")
    ] = None,
    public: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="A public table to join. May be repeated.")
    ] = None,
    budget: Annotated[float | None, typer.Option(min=1, help="How many rows sums over the domain may read.")] = None,
) -> None:
    """Ask a randomized release ordinary SQL: unbiased estimates with their bounds."""
    tables = dict(_named(text) for text in public or [])
    with publishing.open_release(release, *(views or []), public=tables, budget=budget or BUDGET) as opened:
        if explain:
            print(opened.explain(query, confidence, intervals, nonnegative))
            return
        answer = opened.sql(query, confidence, intervals, nonnegative)
        columns, rows = list(answer.columns), answer.fetchall()
    content = [dict(zip(_distinct(columns), map(_plain, row), strict=True)) for row in rows]
    grid = Grid(tuple(columns), tuple(tuple(_shown(v) for v in row) for row in rows), left=tuple(columns))
    tell(Facts("", content, (grid,)), as_json)


def _named(text: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if not name or not equals or not file:
        raise InputError(f"{text!r} names no public table; write it like regions=regions.csv")
    return name, file


def _distinct(columns: list[str]) -> list[str]:
    """An object has a name once: a second column of the same name gets a number."""
    seen: dict[str, int] = {}
    made = []
    for column in columns:
        seen[column] = seen.get(column, 0) + 1
        made.append(column if seen[column] == 1 else f"{column}_{seen[column]}")
    return made


def _plain(value: Any) -> Any:
    """What JSON can hold: a number that is none is null, a date is text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return "" if value is None else str(value)
