"""The command that checks a table."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlpriv.apps.cli.options import (
    Connection,
    Data,
    Database,
    Delimiter,
    Encoding,
    Engine,
    Header,
    Junit,
    print_facts,
    read_options,
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
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Quasi-identifiers, between commas: one combination of columns."),
    ] = None,
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
    copies: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that says how many rows each row stands for."),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="REQUIREMENT", help="Such as k>=5 or posterior(l=3)<=0.5. May be repeated."),
    ] = None,
    database: Database = None,
    engine: Engine = None,
    connection: Connection = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, without values of people.")] = False,
    junit: Junit = None,
    worst: Annotated[int, typer.Option(min=0, metavar="N", help="How many of the smallest classes to show.")] = 5,
    show_values: Annotated[
        bool,
        typer.Option("--show-values", help="Print the values of the smallest classes, for the owner alone."),
    ] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = None,
) -> None:
    """Report every privacy model on a table, and judge it against requirements."""
    refuse_values_in_json(as_json, show_values)
    if junit is not None:
        require_writable(junit)
    options = read_options(encoding, delimiter, header, database)
    table = table_of(data, database, engine, connection)
    if not qi:
        with open_source(table, database, options, ()) as source:
            columns = ", ".join(source.columns)
        raise InputError(
            "name what others may know of a person with --qi, columns between commas, and what nobody shall learn with "
            f"--sensitive; {data} has {columns}"
        )
    job = Job(
        qis=(_combination(qi), *(_names(q) for q in or_qi or [])),
        sensitive=tuple(n for s in sensitive or [] for n in _names(s)),
        person=person,
        requirements=tuple(requirements.parse(r) for r in require or []),
        worst=worst,
        show_values=show_values,
    )
    opened = open_source(table, database, options, job.read, copies=copies)
    with opened as source, progress("checking") as on_progress:
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
