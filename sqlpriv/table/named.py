"""Tables that a policy names beside its own: a file in the policy's folder, or a table beside the private one."""

from __future__ import annotations

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.sqltext import file_literal, folded, quoted
from sqlpriv.table.reference import TableReference
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


def is_private(table: TableReference, name: str) -> bool:
    """Whether a name is that of the private table itself, or of the file it is in."""
    wanted = name.removeprefix("table:")
    if table.is_file(wanted):
        return table.path(wanted).samefile(table.file)
    return table.database is not None and folded(wanted) == folded(table.name)
