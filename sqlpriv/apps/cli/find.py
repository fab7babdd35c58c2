"""The command that finds out by which columns people can be found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlpriv.apps.cli.options import (
    AsJson,
    Connection,
    Data,
    Database,
    Engine,
    print_facts,
    split_names,
    table_of,
)
from sqlpriv.core.errors import InputError
from sqlpriv.display import charts
from sqlpriv.display.progress import progress
from sqlpriv.risk.find import FindOptions, find_people


def find_command(
    data: Data,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="Those to look at, between commas; else all.")
    ] = None,
    most: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many columns a set may have; else up to 3.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="Count distinct persons by this column, not rows.")] = None,
    fraction: Annotated[
        float | None, typer.Option(help="The share of the population in the table, a random sample of it, as in 0.05.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="How many columns and sets to print.")] = 10,
    chart: Annotated[Path | None, typer.Option(help="Draw the numbers there (needs sqlpriv[report]).")] = None,
    database: Database = None,
    engine: Engine = None,
    connection: Connection = None,
    encoding: Annotated[str | None, typer.Option(help="Of a CSV file that is not UTF-8, such as latin-1.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What is between the columns of a CSV file.")] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether a CSV file starts with the names of its columns."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find by which columns, and small sets of them, people can be found."""
    if chart is not None:
        charts.ready(chart)
    given = {"encoding": encoding, "delimiter": delimiter, "header": header}
    options = {name: value for name, value in given.items() if value is not None}
    if options and database:
        raise InputError(f"--{next(iter(options))} is about a CSV file, and --database names a database: leave one out")
    named = tuple(name for text in columns or [] for name in split_names(text))
    asked = FindOptions(named, most, person, fraction, top)
    table = table_of(data, database, engine, connection)
    with progress("looking at sets of columns") as on_progress:
        found = find_people(table, database, options, asked, on_progress)
    if chart is not None:
        charts.draw(charts.uniqueness_picture(found), chart)
    print_facts(found.facts(), as_json)
