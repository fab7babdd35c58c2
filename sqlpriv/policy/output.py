"""Where a release goes, by the name that [release] output or --output gives it.

A release is a DuckDB file. Where the name is that of a CSV, Parquet or Excel file, or of a folder (with / at its end),
its tables go there, for people who want no database. The release is beside them, or in the folder, under the same
name.
"""

from __future__ import annotations

from pathlib import PurePath

TABLES = (".csv", ".parquet", ".xlsx")
"""The kinds of files that tables of a release are written to."""


def release_name(output: str) -> str:
    """The release file.

    >>> release_name("people.duckdb"), release_name("out/people.csv"), release_name("people/")
    ('people.duckdb', 'out/people.duckdb', 'people/people.duckdb')
    """
    path = PurePath(output)
    if output.endswith("/"):
        return (path / f"{path.name}.duckdb").as_posix()
    return path.with_suffix(".duckdb").as_posix() if path.suffix.lower() in TABLES else output


def tables_name(output: str) -> str | None:
    """The file of the published table, or the folder of the tables with / at its end; None: the release alone.

    >>> tables_name("people.duckdb"), tables_name("out/people.csv"), tables_name("people/")
    (None, 'out/people.csv', 'people/')
    """
    return output if output.endswith("/") or PurePath(output).suffix.lower() in TABLES else None
