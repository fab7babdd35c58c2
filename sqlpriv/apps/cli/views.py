"""The commands that keep queries as views in plain SQL: questions about a release, or steps with macros."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlpriv import released
from sqlpriv.apps.cli.options import AsJson, ReleasePath, print_facts
from sqlpriv.core.engine import open_database
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts
from sqlpriv.macros.expand import create_view
from sqlpriv.release.file import released_there
from sqlpriv.release.views import CONFIDENCE

view = typer.Typer(
    help="Keep a query as a view in plain SQL that any DuckDB client reads.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@view.callback()
def root() -> None:
    """Keep a query as a view in plain SQL that any DuckDB client reads."""


@view.command("add")
def add_command(
    file: Annotated[Path, typer.Argument(help="A release, or another DuckDB file.")],
    name: Annotated[str, typer.Argument(help="What to call the view.")],
    query: Annotated[
        str,
        typer.Argument(metavar="SQL", help="A question about the release's table; or SQL with macros, as priv.hide."),
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a view of this name.")] = False,
    confidence: Annotated[
        float | None, typer.Option(help=f"Of a release's intervals, between 0 and 1; {CONFIDENCE} without it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep a question about a release as a view of its estimates, or a query with macros as what it runs.

    A release is verified without the view and with it, and is replaced by a copy in one step.
    """
    if not file.is_file():
        raise InputError(f"there is no database file {str(file)!r}")
    if released_there(file) is not None:
        given = CONFIDENCE if confidence is None else confidence
        print_facts(released.add_view(file, name, query, confidence=given, replace=replace), as_json)
        return
    if confidence is not None:
        raise InputError(f"{file.name} is no release, so a view in it has no confidence; leave --confidence out")
    with open_database(file, write=True) as con:
        create_view(con, name, query, replace)
    print_facts(Facts(f"{name} is a view in {file.name}", {"database": file.name, "view": name}), as_json)


@view.command("drop")
def drop_command(
    release: ReleasePath,
    name: Annotated[str, typer.Argument(help="The view.")],
    as_json: AsJson = False,
) -> None:
    """Take a view out of a release."""
    print_facts(released.drop_view(release, name), as_json)
