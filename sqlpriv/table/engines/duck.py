"""The relation of a program: its rows stay where they are, and only what is counted of them leaves.

A cursor of its connection would see neither its temporary tables nor the rows that are not committed. So SQL is run
through the relation itself: `HeldRelation` is a connection to those who ask it. What it makes there is temporary, and
gone when it is closed. A table is read in place. Anything else may be costly, or have other rows each time (a sample),
so it is computed once, into a temporary table beside it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import duckdb

from sqlpriv.core.engine import Row, fetch, run
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import quoted
from sqlpriv.table.engines.rows import COUNT, Rows, WholeRows
from sqlpriv.table.engines.types import CROSSES_AS_TEXT, corrected, reads_apart

_TABLE = "TABLE_RELATION"
_BATCH = 50_000


class HeldRelation(Rows):
    """Runs SQL on the connection of a relation, which has the name `name` there."""

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self.name = f"__sqlpriv_{secrets.token_hex(8)}"
        self._copy = ""
        self._at = relation
        if relation.type != _TABLE:
            copy = f"{self.name}_rows"
            self.execute(f"CREATE TEMP TABLE {copy} AS FROM {self.name}")
            self._copy = copy
            found = relation.query(self.name, f"FROM {copy}")
            assert found is not None
            self._at = found
        described = run(self, f"SELECT column_name, column_type FROM (DESCRIBE FROM {self.name})")
        self.types = dict(described)

    def execute(self, sql: str, parameters: object = None) -> HeldRelation:
        """Run a statement there; it takes no parameters."""
        self._found = self._at.query(self.name, sql)
        return self

    def fetchall(self) -> list[Row]:
        """The rows that the last statement found."""
        return [] if self._found is None else self._found.fetchall()

    def count(self) -> int:
        """How many rows it has."""
        return int(run(self, f"SELECT count(*) FROM {self.name}")[0][0])

    def combinations(self, names: Sequence[str]) -> str:
        """A query for the combinations of some columns, with COUNT."""
        if not names:
            return f"SELECT count(*) AS {COUNT} FROM {self.name}"
        rows = f"SELECT {', '.join(corrected(c, self.types[c]) for c in names)} FROM {self.name}"
        texts = [f"CAST({quoted(c)} AS VARCHAR)" for c in names if reads_apart(self.types[c])]
        listed = ", ".join(map(quoted, names))
        return f"SELECT {listed}, count(*) AS {COUNT} FROM ({rows}) GROUP BY {', '.join([listed, *texts])}"

    def histogram(self, con: duckdb.DuckDBPyConnection, names: Sequence[str], table: str) -> Relation:
        """The combinations cross a batch at a time."""
        texts = [c for c in names if CROSSES_AS_TEXT.fullmatch(self.types[c])]
        sent = _replace([f"CAST({quoted(c)} AS VARCHAR) AS {quoted(c)}" for c in texts])
        read = _replace([f"CAST({quoted(c)} AS {self.types[c]}) AS {quoted(c)}" for c in texts])
        found = self._at.query(self.name, f"SELECT *{sent} FROM ({self.combinations(names)})")
        assert found is not None
        con.register("__crossing", found.to_arrow_reader(_BATCH))
        ((count,),) = fetch(con, f"CREATE TABLE {table} AS SELECT *{read} FROM __crossing")
        con.unregister("__crossing")
        return Relation(con, table, int(count))

    def sample(self, rows: int) -> Any:
        """As many of its rows, in all columns, as an Arrow table; the same every time."""
        found = self._at.query(self.name, sampled(self.name, rows))
        assert found is not None
        return found.to_arrow_table()

    def everything(self, con: duckdb.DuckDBPyConnection) -> WholeRows:
        """They are read where they are."""
        cells = (corrected(name, kind) for name, kind in self.types.items())
        return WholeRows(self, f"(SELECT {', '.join(cells)} FROM {self.name})")

    def sharing(self, name: str) -> int:
        """One GROUP BY where they are."""
        values = f"SELECT {corrected(name, self.types[name])} FROM {self.name} WHERE {quoted(name)} IS NOT NULL"
        counts = f"SELECT count(*) AS n FROM ({values}) GROUP BY {quoted(name)}"
        return int(run(self, f"SELECT coalesce(sum(n) FILTER (n > 1), 0) FROM ({counts})")[0][0])

    def close(self) -> None:
        """Drop what was made; a transaction that has failed drops it itself."""
        dropped = [f"DROP VIEW IF EXISTS {self.name}", *([f"DROP TABLE IF EXISTS {self._copy}"] if self._copy else [])]
        for statement in reversed(dropped):
            with suppress(duckdb.Error):
                self.execute(statement)


def sampled(table: str, rows: int) -> str:
    """A query for so many rows of a table at random, the same every time."""
    return f"FROM {table} USING SAMPLE reservoir({rows} ROWS) REPEATABLE (1)"


def _replace(cells: Sequence[str]) -> str:
    return f" REPLACE ({', '.join(cells)})" if cells else ""


@contextmanager
def held(relation: Any) -> Iterator[HeldRelation]:
    """A relation, while it is read."""
    opened = HeldRelation(relation)
    try:
        yield opened
    finally:
        opened.close()
