"""What the commands share: options that mean the same everywhere, and how results are printed and written."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts
from sqlpriv.table.engines import EngineTable, engine_table

Database = Annotated[
    Path | None,
    typer.Option("--database", "-d", help="The DuckDB file with the table or view DATA."),
]
Data = Annotated[str, typer.Argument(help="A Parquet, CSV or JSON file, or with --database a table or view.")]
Engine = Annotated[
    str | None,
    typer.Option(metavar="ENGINE", help="The engine that reads the table DATA: spark or a warehouse."),
]
Connection = Annotated[
    str | None, typer.Option(metavar="env:NAME", help="The environment variable with the address of the warehouse.")
]
Encoding = Annotated[str | None, typer.Option(help="The encoding of a CSV file, such as latin-1; else UTF-8.")]
Delimiter = Annotated[str | None, typer.Option(help="The character between the columns of a CSV file.")]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether a CSV file starts with column names.")
]
PolicyFile = Annotated[Path, typer.Argument(help="The policy, a TOML file; `sqlpriv init` writes one.")]
ReleasePath = Annotated[Path, typer.Argument(help="A release file, of any method.")]
LedgerFile = Annotated[
    Path | None,
    typer.Option("--ledger", help="The ledger; else that of the policy, of SQLPRIV_LEDGER, or your own."),
]
Junit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the results there as JUnit XML, for CI.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ShowValues = Annotated[
    bool, typer.Option("--show-values", help="Print rows before and after: values of people, for the owner alone.")
]


def table_of(data: str, database: Path | None, engine: str | None, connection: str | None) -> str | EngineTable:
    """DATA as it is opened; where an engine is named, a table of that."""
    if engine is None and connection is None:
        return data
    if database is not None:
        raise InputError("--database is a file of DuckDB, and --engine names another engine: leave one out")
    return engine_table(engine, data, Path(), None, connection) or data


def read_options(
    encoding: str | None, delimiter: str | None = None, header: bool | None = None, database: Path | None = None
) -> dict[str, Any]:
    """How DATA is read as CSV, by the options that are given."""
    given = {"encoding": encoding, "delimiter": delimiter, "header": header}
    options = {name: value for name, value in given.items() if value is not None}
    if options and database:
        raise InputError(f"--{next(iter(options))} is about a CSV file, and --database names a database: leave one out")
    return options


def refuse_values_in_json(as_json: bool, show_values: bool) -> None:
    """JSON may be sent anywhere, so it never holds values of people."""
    if as_json and show_values:
        raise InputError("--show-values is for a person at a terminal; --json never holds values: leave one out")


def print_facts(facts: Facts, as_json: bool = False, values: bool = False) -> None:
    """Print facts, as JSON or for people; exit code 1 where something that was required fails."""
    if as_json:
        print(facts.to_json())
    else:
        from rich.console import Console

        from sqlpriv.display.terminal import show

        show(Console(highlight=False), facts, values)
    if facts.passed is False:
        raise typer.Exit(1)


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before the work."""
    if path.is_dir():
        raise InputError(f"cannot write {str(path)!r}: it is a folder; name a file in it")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {str(path)!r}: there is no such folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"cannot write {str(path)!r}: you may not write there; name another file")


def write_csv(target: Path | TextIO, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV, NULL as nothing; into a file or a stream."""
    if not isinstance(target, Path):
        csv.writer(target, lineterminator="\n").writerows([headings, *rows])
        return
    try:
        with target.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([headings, *rows])
    except OSError:
        raise InputError(f"cannot write {str(target)!r}; is the disk full?") from None


def split_names(text: str) -> list[str]:
    """Column names between commas; names with commas stand in quotes."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def named_tables(texts: Iterable[str]) -> dict[str, str]:
    """Public tables by name, from texts like NAME=FILE."""
    found = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not name or not equals or not file:
            raise InputError(f"{text!r} names no public table; write it like regions=regions.csv")
        found[name] = file
    return found


def print_text(text: str) -> None:
    """Print a sentence for people, in rich's markup."""
    from rich.console import Console

    Console(highlight=False).print(text, soft_wrap=True)
