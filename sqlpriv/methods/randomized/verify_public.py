"""What public tables in a release are compared with: the policy's own files, and the choices that a file states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from sqlpriv.engine import fetch, open_memory
from sqlpriv.errors import SqlprivError
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.stated import combination_names
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check
from sqlpriv.sqltext import file_literal, folded, quoted
from sqlpriv.table.digest import rows_digest
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.private_table import open_table

_COPY = "__public_of_the_policy"


def same_public(file: ReleaseFile, policy: RandomizedPolicy) -> Check:
    """Whether the public tables have the columns and rows of those that the policy names, as far as they are there."""
    wrong, unread = [], []
    for name in sorted(policy.public):
        if ("public", name) not in file.tables:
            continue
        try:
            with _read_again(policy, name) as con:
                wanted = _content(con, quoted(_COPY))
        except (SqlprivError, duckdb.Error, OSError):
            unread.append(name)
            continue
        if _content(file.con, quoted(file.catalog, "public", name)) != wanted:
            wrong.append(name)
    title = "the public tables hold what those of the policy hold"
    if wrong:
        return Check(title, False, f"others: {', '.join(wrong)}")
    return Check(title, None if unread else True, f"cannot be read: {', '.join(unread)}" if unread else "")


@contextmanager
def _read_again(policy: RandomizedPolicy, name: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with a copy of the public table. A file is read by itself: who verifies may not have the private."""
    table, wanted = policy.table, policy.public[name].removeprefix("table:")
    if table.is_file(wanted):
        with open_memory() as con:
            fetch(con, f"CREATE TABLE {_COPY} AS FROM {file_literal(table.path(wanted))}")
            yield con
        return
    with open_table(table, policy.by_text) as source:
        fetch(source.con, f"CREATE TABLE {_COPY} AS FROM {find_named(source, wanted)}")
        yield source.con


def _content(con: duckdb.DuckDBPyConnection, table: str) -> tuple[list[tuple[str, str]], str]:
    columns = fetch(con, f"SELECT column_name, column_type FROM (DESCRIBE FROM {table})")
    return [(str(name), str(kind)) for name, kind in columns], rows_digest(con, table)


def most_choices(file: ReleaseFile) -> dict[str, int]:
    """How many choices each column can have at the most, by its domain and the combinations in the file.

    A file may state fewer: the attacker is then the stronger, and the more has to be covered.
    """
    attributes = {str(r["name"]): int(r["size"]) for r in file.attributes}
    most = dict(attributes)
    for table in combination_names(file):
        columns = {folded(c): c for c in file.columns("public", table)}
        together = {name: columns[folded(name)] for name in attributes if folded(name) in columns}
        for name in together:
            most[name] = min(most[name], _fewest(file, table, together, name))
    return most


def _fewest(file: ReleaseFile, table: str, together: dict[str, str], wanted: str) -> int:
    """The values of a column in the smallest slice of a table of combinations that leaves at least two."""
    places = {name: f"d{i}" for i, name in enumerate(together)}
    kinds = file.columns("public", table)
    joins = " ".join(
        f"JOIN {quoted(file.catalog, 'domain', name)} AS {places[name]} ON CAST(g.{quoted(column)} AS VARCHAR) IN "
        f"(CAST({places[name]}.value AS VARCHAR), CAST(TRY_CAST({places[name]}.value AS {kinds[column]}) AS VARCHAR))"
        for name, column in together.items()
    )
    null = f"(SELECT count(*) FROM {quoted(file.catalog, 'domain', wanted)} WHERE value IS NULL)"
    others = ", ".join(f"{places[name]}.value" for name in together if name != wanted)
    sizes = (
        f"SELECT count(DISTINCT {places[wanted]}.value) + {null} AS size "
        f"FROM {quoted(file.catalog, 'public', table)} AS g {joins}" + (f" GROUP BY {others}" if others else "")
    )
    found = fetch(file.con, f"SELECT min(size) FROM ({sizes}) WHERE size >= 2")[0][0]
    return 1 if found is None else int(found)
