"""Tables that a policy names beside its own: a file in the policy's folder, or a table beside the private one."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError, SqlprivError
from sqlpriv.sqltext import file_literal, folded, quoted, table_parts
from sqlpriv.table.follow import Read, is_same_file, read_by
from sqlpriv.table.reference import TableReference
from sqlpriv.table.sketch import portray
from sqlpriv.table.sketch_pairs import resemblances
from sqlpriv.table.source import Source


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
    if source.reference.database is None:
        raise PolicyError(
            f"there is no file {wanted!r} beside the policy, and no database that could hold such a table"
        )
    schema = source.beside or source.table.rpartition(".")[0]
    return f"{schema}.{quoted(wanted)}"


def is_private(source: Source, name: str) -> bool:
    """Whether what is named is the private table itself or reads it; an error where it shares what it reads, or rows.

    Views are followed, through any number of others. All that the private one reads counts as private, also a list of
    names that it joins: its text does not tell which of its tables holds the people. Where nothing is shared, the rows
    tell: half of the smaller one in both is a copy, and of all else nothing is claimed.
    """
    table, wanted = source.reference, name.removeprefix("table:")
    if table.is_file(wanted):
        reads: set[Read] = {(str(table.path(wanted).resolve()),)}
        if is_same_file(reads, table.file):
            return True
    else:
        if table.database is None:
            return False
        reads = read_by(source, _schema(table), wanted)
    if table.database is not None:
        own = (folded(_schema(table)), folded(table.name))
        if own in reads:
            return True
        _refuse_shared(reads, read_by(source, *own), wanted, table.name)
    _refuse_copy(source, name)
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
    """Rows of two columns or more: that a public list of values holds those of the table is what it is for."""
    named = find_named(source, name)
    secret = token_hex(16)
    try:
        theirs = portray(source.con, named, secret).sketches
    except SqlprivError:  # it cannot be read, which is said where it is
        return
    ours = portray(source.con, source.table, secret).sketches
    whole = [
        [s for s in sketches if s.kind == "less" or (s.kind != "column" and len(s.columns) > 1)]
        for sketches in (ours, theirs)
    ]
    for found in resemblances(source.con, *whole):
        raise PolicyError(
            f"{name.removeprefix('table:')!r} is taken for a copy of the private table: {found.share:.0%} of the "
            f"{whole[0][found.known].what} of the smaller one are in both; name what is public"
        )
