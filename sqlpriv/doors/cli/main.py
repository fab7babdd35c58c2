"""The command line. Exit code 0: all is well; 1: a requirement fails; 2: the input cannot be used; 130: Ctrl-C."""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import duckdb
import typer
from rich.console import Console
from rich.markup import escape

from sqlpriv.checks import requirements
from sqlpriv.checks.run import Job, Result, check
from sqlpriv.demo import hospital
from sqlpriv.doors.cli import policies, query, releases
from sqlpriv.errors import InputError, SqlprivError
from sqlpriv.macros import catalog
from sqlpriv.macros.dialects import DIALECTS, transpile
from sqlpriv.macros.install import STORAGE, install, locked_by, may_hold_a_database
from sqlpriv.macros.views import create_view
from sqlpriv.policy import draft
from sqlpriv.show.checks import show_draft, show_macro, show_macros, show_result
from sqlpriv.show.progress import progress
from sqlpriv.table.source import open_source
from sqlpriv.version import __version__

app = typer.Typer(
    help="Privacy checks inside DuckDB: may this table go out?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

policies.register(app)
releases.register(app)
query.register(app)

Database = Annotated[
    Path | None,
    typer.Option("--database", "-d", help="The DuckDB file that DATA is a table or view of."),
]


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Privacy checks inside DuckDB: may this table go out?"""
    if version:
        print(__version__)
        raise typer.Exit


@app.command("check")
def check_command(
    data: Annotated[str, typer.Argument(help="A Parquet, CSV or JSON file, or with --database a table or view.")],
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
    _print(result, as_json)
    if not result.passed:
        raise typer.Exit(1)


@app.command("sql")
def sql_command(
    query: Annotated[str, typer.Argument(help="SQL that calls macros, e.g. FROM priv.k_anonymity('t', ['zip']).")],
    dialect: Annotated[str, typer.Option(help=f"One of {', '.join(DIALECTS)}.")] = "duckdb",
    database: Database = None,
) -> None:
    """Print the plain SQL behind a macro call, for DuckDB or another engine."""
    con = _read_only(database) if database else None
    try:
        print(transpile(query, dialect, con))
    finally:
        if con:
            con.close()


@app.command("docs")
def docs_command(
    name: Annotated[
        str | None,
        typer.Argument(help="A macro, e.g. t_closeness.", autocompletion=lambda: list(catalog.macros())),
    ] = None,
) -> None:
    """Print the page of a macro, or the list of all."""
    if name:
        show_macro(out, catalog.macro(name))
    else:
        show_macros(out, list(catalog.macros().values()))


@app.command("install")
def install_command(
    database: Annotated[Path, typer.Argument(help="A DuckDB file; it is made if it does not exist.")],
) -> None:
    """Put the macros into a database file, for every DuckDB client to use without Python."""
    install(database)
    out.print(f"sqlpriv {__version__} is in {database.name}: try FROM priv.report('table', ['qi'], 'sensitive')")


@app.command("init")
def init_command(
    data: Annotated[str, typer.Argument(help="A Parquet, CSV or JSON file, or with --database a table or view.")],
    database: Database = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The policy file to write.")] = Path("policy.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the policy file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the proposal for machines, too.")] = False,
) -> None:
    """Look at a table and write a policy for it: roles, hierarchies and requirements, for you to review."""
    draft.check_target(output, data, database, force)
    proposed = draft.draft(data, database, output.parent)
    draft.write(proposed, output)
    if as_json:
        print(proposed.to_json())
        return
    show_draft(out, proposed)
    _say(f"Wrote {escape(str(output))}. Review the roles, then: [bold]sqlpriv anonymize {escape(str(output))}[/bold]")


@app.command("demo")
def demo_command(
    folder: Annotated[
        Path | None,
        typer.Option(help="Where to write the hospital table; a temporary folder by default."),
    ] = None,
) -> None:
    """Make a hospital table and check it: the main job in one command."""
    target = folder or Path(tempfile.mkdtemp(prefix="sqlpriv-demo-"))
    target.mkdir(parents=True, exist_ok=True)
    out.print("Making a hospital table of 24,000 admissions ...")
    files = hospital.write(target)
    options = "--qi zip,sex --sensitive diagnosis --person patient_id --require 'k>=5' --require 'distinct_l>=3'"
    _say(f"Checking it: [bold]sqlpriv check {files.admissions.name} {options}[/bold]\n")
    job = Job(
        qis=(("zip", "sex"),),
        sensitive=("diagnosis",),
        person="patient_id",
        requirements=(requirements.parse("k>=5"), requirements.parse("distinct_l>=3")),
    )
    with open_source(str(files.admissions)) as source, progress("checking") as on_progress:
        show_result(out, check(source, job, on_progress))
    _say(
        "\nThis table must not go out as it is: zip and sex alone leave people in classes of their own."
        "\nWhat to do next:"
        f"\n  look at it             {target}"
        "\n  check your own table   sqlpriv check FILE --qi a,b --sensitive s --require 'k>=5'"
        "\n  from any DuckDB        sqlpriv install my.duckdb, then FROM priv.report('t', ['a', 'b'], 's')"
        "\n  read about a check     sqlpriv docs t_closeness"
    )


@app.command("view")
def view_command(
    database: Annotated[Path, typer.Argument(help="A DuckDB file.")],
    name: Annotated[str, typer.Argument(help="What to call the view.")],
    query: Annotated[str, typer.Argument(metavar="SQL", help="E.g. FROM priv.hide('t', 'age', 'age < 90').")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a view of this name.")] = False,
) -> None:
    """Keep a query with macros as a view in plain SQL: it may be stacked, and any DuckDB client reads it."""
    if not database.is_file():
        raise InputError(f"there is no database file {str(database)!r}")
    if not may_hold_a_database(database):
        raise InputError(f"cannot open {database.name}: it is not a DuckDB database")
    try:
        con = duckdb.connect(str(database), config={"storage_compatibility_version": STORAGE})
    except duckdb.Error as error:
        raise InputError(f"cannot open {database.name}: {locked_by(error)}") from None
    try:
        create_view(con, name, query, replace)
    finally:
        con.close()
    out.print(escape(f"{name} is a view in {database.name}"))


def _say(text: str) -> None:
    out.print(text, soft_wrap=True)


def main() -> None:
    """Run the command line; every refusal is one sentence."""
    try:
        app()
    except SqlprivError as error:
        err.print(f"[bold red]sqlpriv:[/bold red] {escape(str(error))}", soft_wrap=True)
        sys.exit(2)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(n.strip() for n in next(csv.reader([text], skipinitialspace=True), []))
    if not names or not all(names):
        raise InputError(f"{text!r} is no list of column names; write them like zip,age")
    return names


def _print(result: Result, as_json: bool) -> None:
    if as_json:
        print(result.to_json())
    else:
        show_result(out, result)


def _read_only(database: Path) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(str(database), read_only=True)
    except duckdb.Error as error:
        raise InputError(f"cannot open {database.name}: {locked_by(error)}") from None


if __name__ == "__main__":
    main()
