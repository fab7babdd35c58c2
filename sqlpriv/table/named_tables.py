"""Other tables that a policy names: a file in the policy's folder, or a table in the database of the private one.

They are found, read, and refused where they are private: the private table itself, a view of it, or a copy of its rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.core.sqltext import file_literal, folded, quoted, table_parts
from sqlpriv.table.fingerprint import numbering, resemblances, take_fingerprint
from sqlpriv.table.source import Source, TableReference
from sqlpriv.table.view_reads import Read, is_same_file, read_by


def read_named(source: Source, name: str, copy: str, options: str = "") -> str:
    """Copy the table or file into the working database, under a name of ours, and return that name."""
    fetch(source.con, f"CREATE OR REPLACE TABLE {quoted(copy)} AS FROM {find_named(source, name, options)}")
    return copy


def find_named(source: Source, name: str, options: str = "") -> str:
    """The table or file as SQL that can stand after FROM; `options` are those of read_csv."""
    wanted = name.removeprefix("table:")
    if source.reference.is_file(wanted):
        file = file_literal(source.reference.path(wanted))
        return f"read_csv({file}{options})" if options else file
    if not source.reference.is_in_database:
        raise PolicyError(
            f"there is no file {wanted!r} beside the policy, and no database that could hold such a table"
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
    return read_by(source, folded(_schema(table)), folded(table.name)) if table.is_in_database else set()


def reads_private(source: Source, name: str, private: set[Read]) -> bool:
    """As `is_private`, by the tables and files that are read alone: rows are not compared."""
    table, wanted = source.reference, name.removeprefix("table:")
    if table.is_file(wanted):
        reads: set[Read] = {(str(table.path(wanted).resolve()),)}
        if is_same_file(reads, table.file):
            return True
    else:
        if not table.is_in_database:
            return False
        reads = read_by(source, _schema(table), wanted)
    if table.is_in_database:
        if (folded(_schema(table)), folded(table.name)) in reads:
            return True
        _refuse_shared(reads, private, wanted, table.name)
    return False


def _refuse_shared(reads: set[Read], private: set[Read], wanted: str, table: str) -> None:
    if reads & private or any(is_same_file(reads, Path(read[0])) for read in private if len(read) == 1):
        raise PolicyError(
            f"{wanted!r} is, or reads, what the private {table!r} is made of, so it counts as private; if a list in it "
            "is public, export that list to a file beside the policy and name the file"
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
    secret = token_hex(16)
    whole = [
        [
            s
            for s in take_fingerprint(source.con, t, secret).sketches
            if s.kind == "less" or (s.kind != "column" and s.columns[1:])
        ]
        for t in (private, public)
    ]
    for found in resemblances(source.con, *whole):
        if not found.listed or found.rare or (found.held and not is_numbered):
            return f"{found.share:.0%} of the {whole[0][found.known].what}"
    return None


def _is_product(source: Source, table: str, names: Sequence[str]) -> bool:
    """Whether all combinations of values of some columns are there, equally often: that reveals only the values."""
    listed = ", ".join(quoted(c) for c in names)
    counted = ", ".join(f"count(DISTINCT {quoted(c)})" for c in names)
    rows = f"SELECT {listed}, count(*) AS __copies FROM {table} GROUP BY {listed}"
    counts = f"SELECT count(*), min(__copies) = max(__copies), {counted} FROM ({rows})"
    kinds, is_even, *values = fetch(source.con, counts)[0]
    return bool(is_even) and kinds == math.prod(values) and sum(n > 1 for n in values) > 1
