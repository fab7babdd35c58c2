"""What a release says of itself: guarantee, columns and domains, and what count(*) means there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sqlpriv.engine import fetch
from sqlpriv.errors import InputError, ReleaseError
from sqlpriv.macros.install import locked_by, may_hold_a_database

_MOST_VALUES = 6


@dataclass(frozen=True)
class Shown:
    """The public facts of a release: all of it is in the file for anyone to read."""

    about: dict[str, str]
    parameters: dict[str, float]
    columns: list[dict[str, Any]]
    requirements: list[dict[str, str]]
    public: list[str]

    def to_json(self) -> str:
        """The facts for machines."""
        content = {
            **self.about,
            "parameters": self.parameters,
            "columns": self.columns,
            "requirements": self.requirements,
            "public": self.public,
        }
        if "warnings" in self.about:
            content["warnings"] = json.loads(self.about["warnings"])
        return json.dumps(content, indent=2, default=str)


def read_shown(path: Path) -> Shown:
    """Read a release file, of any method."""
    if not path.is_file():
        raise InputError(f"there is no release file {str(path)!r}")
    if not may_hold_a_database(path):
        raise ReleaseError(f"{path.name} is no DuckDB file; a release is one, with the ending .duckdb")
    try:
        con = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise InputError(f"cannot open {path.name}: {locked_by(error)}") from None
    with con:
        tables = {(r[0], r[1]) for r in fetch(con, "SELECT schema_name, table_name FROM duckdb_tables()")}
        if ("release", "about") not in tables:
            raise ReleaseError(f"{path.name} is no release: it has no table release.about")
        about = {str(k): str(v) for k, v in fetch(con, "SELECT name, value FROM release.about")}
        if ("release", "published") not in tables:
            return Shown(about, {}, _rows(con, "release.columns"), _rows(con, "release.requirements"), [])
        parameters: dict[str, float] = dict(fetch(con, "SELECT name, value FROM release.parameters"))
        public = sorted(table for schema, table in tables if schema == "public")
        return Shown(about, parameters, _attributes(con), [], public)


def _rows(con: duckdb.DuckDBPyConnection, table: str) -> list[dict[str, Any]]:
    names = [r[0] for r in fetch(con, f"DESCRIBE {table}")]
    return [dict(zip(names, row, strict=True)) for row in fetch(con, f"FROM {table}")]


def _attributes(con: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    found = _rows(con, "release.attributes")
    for attribute in found:
        name = '"' + attribute["name"].replace('"', '""') + '"'
        values = fetch(con, f"SELECT CAST(value AS VARCHAR) FROM domain.{name} LIMIT {_MOST_VALUES + 1}")
        attribute["values"] = [v[0] for v in values[:_MOST_VALUES]] + (["..."] if len(values) > _MOST_VALUES else [])
        attribute["noise"] = "by shares" if fetch(con, f"SELECT count(share) FROM domain.{name}")[0][0] else "uniform"
    return found


def show_release(console: Console, name: str, shown: Shown) -> None:
    """The release for people to read."""
    about = shown.about
    console.print(f"[bold]{escape(name)}[/bold]  {escape(about.get('method', ''))}", soft_wrap=True)
    if "guarantee" in about:
        console.print(escape(about["guarantee"]), soft_wrap=True)
        console.print(
            f"count(*) of {escape(about['table'])} estimates the number of [bold]{about['counts']}[/bold]; "
            f"view {about['view']}",
            soft_wrap=True,
        )
        for warning in json.loads(about.get("warnings", "[]")):
            console.print(f"[yellow]warning[/yellow]  {escape(warning)}", soft_wrap=True)
    for requirement in shown.requirements:
        console.print(
            f"[green]holds[/green]  {escape(requirement['requirement'])}: {escape(requirement['guarantee'])}",
            soft_wrap=True,
        )
    console.print(_columns(shown.columns))
    if shown.parameters:
        listed = ", ".join(f"{k} = {v:.6g}" for k, v in shown.parameters.items())
        console.print(f"parameters: {escape(listed)}", soft_wrap=True)
    if shown.public:
        console.print(f"public tables: {escape(', '.join(shown.public))}", soft_wrap=True)


def _columns(columns: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    names = [n for n in (columns[0] if columns else {}) if n != "position"]
    for name in names:
        table.add_column(name)
    for column in columns:
        table.add_row(*(escape(_cell(column[n])) for n in names))
    return table


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join("NULL" if v is None else str(v) for v in value)
    return "" if value is None else str(value)
