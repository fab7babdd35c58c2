"""The relation of a program: its rows stay where they are, and only what is counted of them leaves.

A cursor of its connection would see neither its temporary tables nor the rows that are not committed. So SQL is run
through the relation itself: `HeldRelation` is a connection to those who ask it. What it makes there is temporary, and
gone when it is closed. A table is read in place. Anything else may be costly, or have other rows each time (a sample),
so it is computed once, into a temporary table beside it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import duckdb

from sqlpriv.core.engine import Row, Runs, fetch, run
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, quoted

COUNT = "__priv_n"
"""The column with the number of rows, wherever combinations are counted."""

_TABLE = "TABLE_RELATION"
_BATCH = 50_000
# Types with values that are equal to DuckDB and different to a reader: 1 month and 30 days, two zeros in a list.
_READS_APART = re.compile(r"\bINTERVAL\b|\b(FLOAT|DOUBLE)\b.")
# Types with values that are different to DuckDB and read alike: 1 and '1'.
_READS_ALIKE = re.compile(r"\b(UNION|VARIANT)\b")
# Arrow has no such types, or has them without their zone; their texts can be read again.
_CROSSES_AS_TEXT = re.compile(r"U?HUGEINT|UUID|BIT|JSON|TIME WITH TIME ZONE|ENUM\(.*\)", re.DOTALL)


def reads_apart(kind: str) -> bool:
    """Whether values of a type, as the private table has it, can be distinguished by their texts alone."""
    return _READS_APART.search(kind) is not None


def corrected_type(kind: str) -> str:
    """The type that a column of this type has once it is corrected."""
    return "VARCHAR" if _READS_ALIKE.search(kind) else kind


def corrected(name: str, kind: str) -> str:
    """A column, as SQL, of which two values are equal when a reader sees them as equal; `kind` is its type.

    Text compares by its bytes, whatever its collation, and of doubles there is one zero, and one NaN. Values of several
    types in one column become text.
    """
    column = quoted(name)
    if _READS_ALIKE.search(kind):
        return f'CAST({column} AS VARCHAR) COLLATE "binary" AS {column}'
    if kind == "VARCHAR":
        return f'{column} COLLATE "binary" AS {column}'
    if kind in {"FLOAT", "DOUBLE"}:
        zero, nan = f"CAST(0 AS {kind})", f"CAST('nan' AS {kind})"
        return f"CASE WHEN isnan({column}) THEN {nan} ELSE {column} + {zero} END AS {column}"
    return column


class HeldRelation:
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
        self.types: dict[str, str] = dict(described)

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

    def count_into(self, con: duckdb.DuckDBPyConnection, names: Sequence[str], table: str) -> Relation:
        """Make a table of the combinations in another database, a batch at a time; its columns keep their types."""
        texts = [c for c in names if _CROSSES_AS_TEXT.fullmatch(self.types[c])]
        sent = _replace([f"CAST({quoted(c)} AS VARCHAR) AS {quoted(c)}" for c in texts])
        read = _replace([f"CAST({quoted(c)} AS {self.types[c]}) AS {quoted(c)}" for c in texts])
        found = self._at.query(self.name, f"SELECT *{sent} FROM ({self.combinations(names)})")
        assert found is not None
        con.register("__crossing", found.to_arrow_reader(_BATCH))
        ((count,),) = fetch(con, f"CREATE TABLE {table} AS SELECT *{read} FROM __crossing")
        con.unregister("__crossing")
        return Relation(con, table, int(count))

    def spelt(self, names: Sequence[str]) -> list[str]:
        """Those of its columns that are named, in its order."""
        wanted = {folded(name) for name in names}
        return [c for c in self.types if folded(c) in wanted]

    def close(self) -> None:
        """Drop what was made; a transaction that has failed drops it itself."""
        dropped = [f"DROP VIEW IF EXISTS {self.name}", *([f"DROP TABLE IF EXISTS {self._copy}"] if self._copy else [])]
        for statement in reversed(dropped):
            with suppress(duckdb.Error):
                self.execute(statement)


def each_copy(counted: Relation) -> str:
    """The combinations, each as often as it is there, for FROM."""
    return f"{counted.name}, range({COUNT}) AS __priv_copies(__priv_copy)"


def _replace(cells: Sequence[str]) -> str:
    return f" REPLACE ({', '.join(cells)})" if cells else ""


@dataclass(frozen=True)
class WholeRows:
    """Rows with all their columns, where they are read."""

    con: Runs
    table: str
    """As SQL."""
    copies: str | None = None
    """The column that says how often each row is there, where it is no part of them."""


@contextmanager
def held(relation: Any) -> Iterator[HeldRelation]:
    """A relation, while it is read."""
    opened = HeldRelation(relation)
    try:
        yield opened
    finally:
        opened.close()
