"""The command that checks a table."""

from __future__ import annotations

import csv
from typing import Annotated

import typer

from sqlpriv.checks import requirements
from sqlpriv.checks.run import Job, check
from sqlpriv.doors.cli.options import Data, Database, tell
from sqlpriv.errors import InputError
from sqlpriv.showing.progress import progress
from sqlpriv.table.source import open_source


def check_command(
    data: Data,
    qi: Annotated[
        list[str],
        typer.Option(help="Quasi-identifiers, between commas. Again for another combination."),
    ],
    sensitive: Annotated[list[str] | None, typer.Option(help="Sensitive columns, between commas.")] = None,
    person: Annotated[str | None, typer.Option(help="Count distinct persons by this column, not rows.")] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(help="A requirement, such as k>=5 or posterior(l=3)<=0.5. May be repeated."),
    ] = None,
    database: Database = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines. Never holds values of people.")] = False,
    worst: Annotated[int, typer.Option(min=0, help="How many of the smallest classes to show.")] = 5,
    show_values: Annotated[
        bool,
        typer.Option("--show-values", help="Print the values of the smallest classes: nearly unique people."),
    ] = False,
) -> None:
    """Report every privacy model on a table, and judge it against requirements."""
    if as_json and show_values:
        raise InputError("--show-values is for a person at a terminal; --json never holds values")
    job = Job(
        qis=tuple(_names(q) for q in qi),
        sensitive=tuple(n for s in sensitive or [] for n in _names(s)),
        person=person,
        requirements=tuple(requirements.parse(r) for r in require or []),
        worst=worst,
        show_values=show_values,
    )
    with open_source(data, database) as source, progress("checking") as on_progress:
        result = check(source, job, on_progress)
    tell(result.facts(), as_json)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(n.strip() for n in next(csv.reader([text], skipinitialspace=True), []))
    if not names or not all(names):
        raise InputError(f"{text!r} is no list of column names; write them like zip,age")
    return names
