"""The tables and files that a view of the private database reads, through other views, by its text.

A view whose text cannot be followed to its end (a macro of the database, a function that takes a query or a table by
its name, a file whose name is computed) is not followed at all: the caller has to take it for private.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded, literal
from sqlpriv.table.source import ATTACHED, Source

Read = tuple[str, ...]
"""Schema and name of a table or view, folded; or the path of a file."""
_CALL = re.compile(r'"?(\w+)"?\s*\(')
_READERS = re.compile(r"(read_csv|read_csv_auto|read_parquet|parquet_scan|read_json|read_json_auto|read_ndjson)", re.I)
_HARMLESS = (exp.GenerateSeries, exp.Unnest, exp.Values)


def read_by(source: Source, schema: str, name: str) -> set[Read]:
    """The tables and files that a table or view of the private database reads, itself included."""
    views = {
        (folded(s), folded(v)): str(text)
        for s, v, text in fetch(
            source.con,
            "SELECT schema_name, view_name, sql FROM duckdb_views() "
            f"WHERE NOT internal AND database_name = {literal(ATTACHED)}",
        )
    }
    macros = {
        folded(str(m))
        for (m,) in fetch(
            source.con,
            "SELECT DISTINCT function_name FROM duckdb_functions() "
            f"WHERE NOT internal AND database_name = {literal(ATTACHED)}",
        )
    }
    found: set[Read] = set()
    waiting: list[Read] = [(folded(schema), folded(name))]
    while waiting:
        read = waiting.pop()
        if read in found:
            continue
        found.add(read)
        if len(read) == 2 and (read[0], read[1]) in views:
            waiting += _named_in(views[read[0], read[1]], read, macros)
    return found


def _named_in(text: str, view: Read, macros: set[str]) -> Iterator[Read]:
    cannot = PolicyError(
        f"the view {view[1]!r} cannot be followed to what it reads; make a table of what is public in it"
    )
    if macros & {folded(name) for name in _CALL.findall(text)}:
        raise cannot
    try:
        parsed = sqlglot.parse_one(text, dialect="duckdb")
    except (SqlglotError, RecursionError):
        raise cannot from None
    body = parsed.expression if isinstance(parsed, exp.Create) else None
    if body is None:
        raise cannot
    for table in body.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier):
            yield from _by_name(table, view)
        elif isinstance(table.this, exp.Func) and _READERS.match(table.this.sql(dialect="duckdb")):
            files = [p.this for p in table.this.find_all(exp.Literal) if p.is_string]
            if not files or any(table.this.find_all(exp.Column, exp.Concat, exp.DPipe, exp.Subquery)):
                raise cannot
            yield from (path for file in files for path in _files(file))
        elif not isinstance(table.this, _HARMLESS):
            raise cannot


def _by_name(table: exp.Table, view: Read) -> Iterator[Read]:
    """A name without a schema may be that of a common table expression: then a table of that name counts as read."""
    if not table.db and (Path(table.name).suffix or "/" in table.name):
        yield from _files(table.name)
    yield folded(table.db or view[0]), folded(table.name)


def _files(pattern: str) -> list[Read]:
    return [(str(Path(path).resolve()),) for path in glob.glob(pattern, recursive=True)]


def is_same_file(reads: set[Read], file: Path) -> bool:
    """Whether a file is among what is read, also by another name of it."""
    paths = (Path(read[0]) for read in reads if len(read) == 1)
    return any(path.exists() and file.exists() and path.samefile(file) for path in paths)
