"""Tables that one step hands to the next, and the one place where their names are made.

A step that makes a table returns it as a `Relation`, and a step that reads one is given it: nobody reads a table by a
name that was only agreed on. Names come from a `Scratch`, and are free again when its scope ends; in a connection that
may be the user's own they come from `temporary_tables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property

import duckdb

from sqlpriv.core.engine import Runs, fetch, run
from sqlpriv.core.facts import OnProgress

_PREFIX = "__scratch_"
_GIVEN = f"{_PREFIX}given"
_TEMPORARY = "__temporary_"


@dataclass(frozen=True)
class Relation:
    """A table or view of a connection. As text it is its name, ready for FROM."""

    con: duckdb.DuckDBPyConnection
    name: str
    written: int | None = None
    """How many rows it was made with, where it was made as a table."""

    def __str__(self) -> str:
        return self.name

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """The columns with their types; the database is asked once, when they are first needed."""
        return {row[0]: row[1] for row in fetch(self.con, f"DESCRIBE FROM {self.name}")}

    def count(self) -> int:
        """How many rows it has now."""
        return int(fetch(self.con, f"SELECT count(*) FROM {self.name}")[0][0])


class Scratch:
    """Makes the temporary tables of a connection: ordinary tables of its database, so that they have row numbers.

    The tables of the outermost scope go with the connection. A table is numbered after the last one that is still
    there, so the same steps make the same names, and what is remembered of their SQL serves again.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self._own: dict[str, int] = {}
        self._used: list[int] = []
        """The numbers of all tables that are there, ascending; all scopes of the connection share the list."""

    def table(self, query: str, hint: str, on_progress: OnProgress = None) -> Relation:
        """The rows of a query as a table; `hint` is a word for its name, so that people can read the SQL."""
        number = self._used[-1] + 1 if self._used else 1
        name = f"{_PREFIX}{hint}_{number}"
        ((rows,),) = fetch(self.con, f"CREATE TABLE {name} AS {query}", on_progress=on_progress)
        self._own[name] = number
        self._used.append(number)
        return Relation(self.con, name, int(rows))

    def arrow(self, rows: object, hint: str) -> Relation:
        """An Arrow table as a table of the database."""
        self.con.register(_GIVEN, rows)
        try:
            return self.table(f"FROM {_GIVEN}", hint)
        finally:
            self.con.unregister(_GIVEN)

    def drop(self, *relations: Relation) -> None:
        """Drop tables of this scope before its end."""
        if not relations:
            return
        numbers = [self._own.pop(relation.name) for relation in relations]
        for number in numbers:
            self._used.remove(number)
        run(self.con, "; ".join(f"DROP TABLE {relation.name}" for relation in relations))

    @contextmanager
    def nested(self) -> Iterator[Scratch]:
        """A scope of its own: what is made in it is dropped at its end, however that comes about."""
        inner = Scratch(self.con)
        inner._used = self._used
        try:
            yield inner
        finally:
            with suppress(duckdb.ConnectionException):  # closed, and everything with it
                inner.drop(*(Relation(self.con, name) for name in list(inner._own)))


class TemporaryTables:
    """Makes temporary tables, for which a connection needs no right to write. Each kind of table there is once."""

    def __init__(self, con: Runs) -> None:
        self.con = con
        self._made: list[str] = []

    def table(self, query: str, hint: str) -> str:
        """The rows of a query as a table: its name. One that was made by the same `hint` is replaced."""
        name = f"{_TEMPORARY}{hint}"
        self._made.append(name)
        fetch(self.con, f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        return name


@contextmanager
def temporary_tables(con: Runs) -> Iterator[TemporaryTables]:
    """A scope for the temporary tables of a step: they are dropped at its end, however that comes about."""
    tables = TemporaryTables(con)
    try:
        yield tables
    finally:
        for name in dict.fromkeys(tables._made):
            with suppress(duckdb.Error):  # closed, or a transaction that has failed: then they are gone as well
                run(con, f"DROP TABLE IF EXISTS {name}")
