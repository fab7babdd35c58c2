"""The commands about the macros themselves: sql, docs, install."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from sqlpriv.apps.cli.options import print_facts
from sqlpriv.core.engine import open_database
from sqlpriv.core.errors import InputError
from sqlpriv.macros import catalog
from sqlpriv.macros.catalog import script
from sqlpriv.macros.dialects import DIALECTS, transpile
from sqlpriv.macros.install import install
from sqlpriv.macros.pages import list_facts, page_facts
from sqlpriv.version import __version__


def sql_command(
    query: Annotated[
        str | None, typer.Argument(help="SQL that calls macros, e.g. FROM priv.k_anonymity('t', ['zip']).")
    ] = None,
    dialect: Annotated[str, typer.Option(help=f"One of {', '.join(DIALECTS)}.")] = "duckdb",
    database: Annotated[
        Path | None, typer.Option("--database", "-d", help="The DuckDB file with the tables of the query.")
    ] = None,
    all_macros: Annotated[
        bool, typer.Option("--all", help="Print the script that creates all macros, for any DuckDB client.")
    ] = False,
) -> None:
    """Print the plain SQL behind a macro call, for DuckDB or another engine."""
    if all_macros == (query is not None):
        raise InputError("sql takes a query that calls macros, or --all for the script that creates them")
    if query is None:
        print(script(), end="")
        return
    with open_database(database) if database else nullcontext() as con:
        print(transpile(query, dialect, con))


def docs_command(
    name: Annotated[
        str | None,
        typer.Argument(help="A macro, e.g. t_closeness.", autocompletion=lambda: list(catalog.macros())),
    ] = None,
) -> None:
    """Print the page of a macro, or the list of all."""
    print_facts(page_facts(catalog.macro(name)) if name else list_facts(list(catalog.macros().values())))


def install_command(
    database: Annotated[Path, typer.Argument(help="A DuckDB file; it is made if it does not exist.")],
) -> None:
    """Put the macros into a database file, for every DuckDB client."""
    install(database)
    print(f"sqlpriv {__version__} is in {database.name}: try FROM priv.report('table', ['qi'], 'sensitive')")
