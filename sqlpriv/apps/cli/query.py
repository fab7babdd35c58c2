"""The commands that ask: query, ordinary SQL in and estimates with their bounds out; view, a query kept as a view.

A view is plain SQL: a question about a release, or steps with macros.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlpriv import publishing
from sqlpriv.apps.answers import AnsweredQuery, plain_value
from sqlpriv.apps.cli.options import AsJson, ReleasePath, named_tables, print_facts, require_writable, write_csv
from sqlpriv.core.engine import open_database
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts
from sqlpriv.macros.expand import create_view
from sqlpriv.release.file import released_there
from sqlpriv.release.views import CONFIDENCE
from sqlpriv.rewrite.clauses import BUDGET

_STDIN = "-"


def query_command(
    release: Annotated[Path, typer.Argument(help="The release file.")],
    query: Annotated[
        str | None,
        typer.Argument(metavar="SQL", help="A SELECT with the private table's names; - is standard input."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read the SQL from this file; - is standard input.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many rows to print; all go to --csv and --json.")
    ] = 40,
    to_csv: Annotated[Path | None, typer.Option("--csv", help="Write every row there as CSV; - prints them.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all rows as JSON.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the rewritten SQL and its cost; run nothing.")
    ] = False,
    confidence: Annotated[
        float, typer.Option(metavar="SHARE", help="The confidence of intervals, between 0 and 1.")
    ] = 0.95,
    intervals: Annotated[bool, typer.Option("--intervals/--no-intervals", help="Also show x_low and x_high.")] = True,
    nonnegative: Annotated[
        bool,
        typer.Option("--nonnegative", help="Show 0 for counts and sums that are estimated below 0."),
    ] = False,
    parameters: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Values of ? and $1, as in '[\"x\", 3]', or of $name, as in '{...}'."),
    ] = None,
    domain_extremes: Annotated[
        bool,
        typer.Option("--domain-extremes", help="Answer min and max from the public domain, as columns ..._domain."),
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
        found = opened.sql(*options)
        answer = AnsweredQuery(
            found.columns, found.fetchall(), opened.warnings(*options), opened.never_below_zero(*options)
        )
    if to_csv:
        plain = ([plain_value(value) for value in row] for row in answer.rows)
        write_csv(sys.stdout if to_stdout else to_csv, answer.names, plain)
    if as_json or to_stdout:
        for warning in answer.warnings:
            print(f"sqlpriv: warning: {warning}", file=sys.stderr)
    if not to_stdout:
        print_facts(answer.facts(most), as_json)


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


def _values(text: str | None) -> list[Any] | dict[str, Any] | None:
    try:
        found = json.loads(text) if text is not None else None
    except ValueError:
        found = text
    if found is not None and not isinstance(found, (list, dict)):
        raise InputError("--parameters takes a JSON list or object, as in '[\"north\", 20]'")
    return found


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
    name: Annotated[str, typer.Argument(help="The name of the view.")],
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
        print_facts(publishing.add_view(file, name, query, confidence=given, replace=replace), as_json)
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
    print_facts(publishing.drop_view(release, name), as_json)
