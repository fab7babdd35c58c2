"""The command that checks a table."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlpriv.apps.cli.options import (
    Connection,
    Data,
    Database,
    Engine,
    Junit,
    print_facts,
    refuse_values_in_json,
    require_writable,
    split_names,
    table_of,
)
from sqlpriv.checks import requirements
from sqlpriv.checks.run import Job, check
from sqlpriv.core.errors import InputError
from sqlpriv.display.progress import progress
from sqlpriv.table.source import open_source


def check_command(
    data: Data,
    qi: Annotated[
        list[str],
        typer.Option(metavar="COLUMNS", help="Quasi-identifiers, between commas: one combination of columns."),
    ],
    or_qi: Annotated[
        list[str] | None,
        typer.Option(
            "--or-qi",
            metavar="COLUMNS",
            help="Another combination to check, as in --qi zip,age --or-qi zip,job. May be repeated.",
        ),
    ] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="Sensitive columns, between commas.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="Count distinct persons by this column, not rows.")] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="REQUIREMENT", help="Such as k>=5 or posterior(l=3)<=0.5. May be repeated."),
    ] = None,
    database: Database = None,
    engine: Engine = None,
    connection: Connection = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines. Never holds values of people.")] = False,
    junit: Junit = None,
    worst: Annotated[int, typer.Option(min=0, metavar="N", help="How many of the smallest classes to show.")] = 5,
    show_values: Annotated[
        bool,
        typer.Option("--show-values", help="Print the values of the smallest classes, maybe of single people."),
    ] = False,
    encoding: Annotated[str | None, typer.Option(help="Of a CSV file that is not UTF-8, such as latin-1.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What is between the columns of a CSV file.")] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether a CSV file starts with the names of its columns."),
    ] = None,
) -> None:
    """Report every privacy model on a table, and judge it against requirements."""
    refuse_values_in_json(as_json, show_values)
    if junit is not None:
        require_writable(junit)
    given = {"encoding": encoding, "delimiter": delimiter, "header": header}
    options = {name: value for name, value in given.items() if value is not None}
    if options and database:
        raise InputError(f"--{next(iter(options))} is about a CSV file, and --database names a database: leave one out")
    job = Job(
        qis=(_combination(qi), *(_names(q) for q in or_qi or [])),
        sensitive=tuple(n for s in sensitive or [] for n in _names(s)),
        person=person,
        requirements=tuple(requirements.parse(r) for r in require or []),
        worst=worst,
        show_values=show_values,
    )
    table = table_of(data, database, engine, connection)
    with open_source(table, database, options, job.read) as source, progress("checking") as on_progress:
        result = check(source, job, on_progress)
    facts = result.facts()
    if junit is not None:
        from sqlpriv.display.junit import write_junit

        write_junit(facts, f"sqlpriv check {data}", junit)
    print_facts(facts, as_json)


def _combination(given: list[str]) -> tuple[str, ...]:
    """The first combination. `--qi a --qi b` is one of both, but lists given again were once several combinations."""
    listed = [_names(text) for text in given]
    if len(listed) > 1 and any(len(names) > 1 for names in listed):
        together = ",".join(dict.fromkeys(name for names in listed for name in names))
        apart = " --or-qi ".join(",".join(names) for names in listed)
        raise InputError(
            f"several --qi with lists can mean two things: for one combination of all write --qi {together}, "
            f"for each on its own --qi {apart}"
        )
    return tuple(name for names in listed for name in names)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(split_names(text))
    if not names or not all(names):
        raise InputError(f"{text!r} is no list of column names; write them like zip,age")
    return names
