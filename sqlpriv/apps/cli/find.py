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
    Delimiter,
    Encoding,
    Engine,
    Header,
    print_facts,
    read_options,
    split_names,
    table_of,
)
from sqlpriv.display import charts
from sqlpriv.display.progress import progress
from sqlpriv.risk.find import FindOptions, find_people


def find_command(
    data: Data,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="The columns to look at, between commas; else all.")
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
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = None,
    as_json: AsJson = False,
) -> None:
    """Find the columns, and small sets of columns, that identify people."""
    if chart is not None:
        charts.ready(chart)
    options = read_options(encoding, delimiter, header, database)
    named = tuple(name for text in columns or [] for name in split_names(text))
    chosen = FindOptions(named, most, person, fraction, top)
    table = table_of(data, database, engine, connection)
    with progress("looking at sets of columns") as on_progress:
        found = find_people(table, database, options, chosen, on_progress)
    if chart is not None:
        charts.draw(charts.uniqueness_picture(found), chart)
    print_facts(found.facts(), as_json)
