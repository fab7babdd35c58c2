"""Other tables that a policy names: a file in the policy's folder, or a table in the database of the private one.

They are found, read, and refused where they are private: the private table itself, a view of it, or a copy of its rows.
Views are followed by their texts, through other views. A view whose text cannot be followed to its end (a macro of the
database, a function that takes a query or a table by its name, a file whose name is computed) is refused.
"""

from __future__ import annotations

import glob
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import file_literal, folded, literal, quoted, table_parts
from sqlpriv.table.engines.rows import WholeRows
from sqlpriv.table.fingerprint import Sketch, numbering, take_fingerprint
from sqlpriv.table.resemblance import resemblances
from sqlpriv.table.source import ATTACHED, Source, TableReference

Read = tuple[str, ...]
"""Schema and name of a table or view, folded; or the path of a file."""
_CALL = re.compile(r'"?(\w+)"?\s*\(')
_READERS = re.compile(r"(read_csv|read_csv_auto|read_parquet|parquet_scan|read_json|read_json_auto|read_ndjson)", re.I)
_HARMLESS = (exp.GenerateSeries, exp.Unnest, exp.Values)


def read_named(source: Source, name: str, scratch: Scratch, options: str = "") -> Relation:
    """A copy of the table or file in the working database."""
    return scratch.table(f"FROM {find_named(source, name, options)}", "named")


def find_named(source: Source, name: str, options: str = "") -> str:
    """The table or file as SQL that can stand after FROM; `options` are those of read_csv, if it is read so."""
    wanted = name.removeprefix("table:")
    if source.reference.is_file(wanted):
        file = file_literal(source.reference.path(wanted))
        return f"read_csv({file}{options})" if options and not wanted.lower().endswith(".parquet") else file
    if not source.reference.is_in_database:
        raise PolicyError(
            f"there is no file {wanted!r} next to the policy, and no database that could hold such a table"
        )
    schema = source.beside or source.table.rpartition(".")[0]
    return f"{schema}.{quoted(wanted)}"


def is_private(source: Source, name: str) -> bool:
    """Whether the named table is the private one or reads it; an error where both read the same tables, or share rows.

    Views are followed, through any number of others. All tables that the private one reads count as private, also a
    list of names that it joins: its text does not reveal which of them holds the people. Where none is shared, rows are
    compared: half of the smaller table in both is a copy, and nothing is claimed about less.
    """
    if reads_private(source, name, private_reads(source)):
        return True
    if source.reference.is_file(name.removeprefix("table:")) or source.reference.is_in_database:
        _refuse_copy(source, name)
    return False


def private_reads(source: Source) -> set[Read]:
    """The tables and files that the private table reads, itself included, where it is in a database."""
    table = source.reference
    return _read_by(source, folded(_schema(table)), folded(table.own_name)) if table.is_in_database else set()


def reads_private(source: Source, name: str, private: set[Read]) -> bool:
    """As `is_private`, by the tables and files that are read alone: rows are not compared."""
    table, wanted = source.reference, name.removeprefix("table:")
    if table.is_file(wanted):
        reads: set[Read] = {(str(table.path(wanted).resolve()),)}
        if table.includes(table.path(wanted)):
            return True
    else:
        if not table.is_in_database:
            return False
        reads = _read_by(source, _schema(table), wanted)
    if table.is_in_database:
        if (folded(_schema(table)), folded(table.own_name)) in reads:
            return True
        _refuse_shared(reads, private, wanted, table.own_name)
    return False


def _refuse_shared(reads: set[Read], private: set[Read], wanted: str, table: str) -> None:
    if reads & private or any(_is_same_file(reads, Path(read[0])) for read in private if len(read) == 1):
        raise PolicyError(
            f"{wanted!r} is, or reads, the source of the private {table!r}, so it counts as private. If a list in it "
            "is public, export that list to a file next to the policy and name the file"
        )


def _schema(table: TableReference) -> str:
    parts = table_parts(table.source)
    return parts[-2].replace('""', '"') if len(parts) > 1 else "main"


def _refuse_copy(source: Source, name: str) -> None:
    """Refuse rows of the private table: all columns of both, whatever their names, and those that both have by name.

    Of two columns or more: that a public list of values holds those of the table is what it is for.
    """
    public = find_named(source, name)
    try:
        columns = [str(c) for c, *_ in fetch(source.con, f"DESCRIBE FROM {public}")]
        numbers = numbering(source.con, public)
    except SqlprivError:  # it cannot be read; reading it later raises the error
        return
    own = {folded(c) for c in source.columns}
    shared = [c for c in columns if folded(c) in own]
    found = None if _is_product(source, public, columns) else _copied(source, public, source.table, bool(numbers))
    for names in (shared, [c for c in shared if folded(c) not in numbers]):
        if found is None and len(names) > 1 and not _is_product(source, public, names):
            shown = ", ".join(quoted(c) for c in names)
            ours, theirs = (f"(SELECT {shown} FROM {table})" for table in (source.table, public))
            found = _copied(source, theirs, ours, len(names) == len(shared) and bool(numbers))
    if found:
        raise PolicyError(
            f"{name.removeprefix('table:')!r} is taken for a copy of the private table: {found} of the smaller one are "
            "in both; name what is public"
        )


def _copied(source: Source, public: str, private: str, is_numbered: bool) -> str | None:
    """The share that is in both, in words, if that is a copy of rows and no list of possible ones.

    A list has each of its rows equally often, and each stands for many of the private table. One that numbers its rows,
    such as a calendar, may hold half of the table: a row for each of its days.
    """
    if private not in source.sketches:
        source.sketches[private] = _sketches(source, private)
    whole = [source.sketches[private], _sketches(source, public)]
    for found in resemblances(source.con, *whole):
        if not found.listed or found.rare or (found.held and not is_numbered):
            return f"{found.share:.0%} of the {whole[0][found.known].what}"
    return None


def _sketches(source: Source, table: str) -> list[Sketch]:
    """The sketches of whole rows of a table."""
    sketches = take_fingerprint(WholeRows(source.con, table), source.sketch_secret).sketches
    return [s for s in sketches if s.kind == "less" or (s.kind != "column" and s.columns[1:])]


def _is_product(source: Source, table: str, names: Sequence[str]) -> bool:
    """Whether all combinations of values of some columns are there, equally often: that reveals only the values."""
    listed = ", ".join(quoted(c) for c in names)
    counted = ", ".join(f"count(DISTINCT {quoted(c)})" for c in names)
    rows = f"SELECT {listed}, count(*) AS __copies FROM {table} GROUP BY {listed}"
    counts = f"SELECT count(*), min(__copies) = max(__copies), {counted} FROM ({rows})"
    kinds, is_even, *values = fetch(source.con, counts)[0]
    return bool(is_even) and kinds == math.prod(values) and sum(n > 1 for n in values) > 1


def _read_by(source: Source, schema: str, name: str) -> set[Read]:
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


def _is_same_file(reads: set[Read], file: Path) -> bool:
    """Whether a file is among what is read, also by another name of it."""
    paths = (Path(read[0]) for read in reads if len(read) == 1)
    return any(path.exists() and file.exists() and path.samefile(file) for path in paths)
