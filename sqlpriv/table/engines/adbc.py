"""Tables that a warehouse keeps: it runs one GROUP BY, and Arrow brings the counts to DuckDB.

The statements are the same for all of them; sqlglot quotes and writes them for each. PostgreSQL is run by the tests,
the others are not. What is equal to a warehouse may be written in several ways, so DuckDB groups once more what
arrives. The connection is in a variable of the environment, and in no message, policy or release.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import literal, quoted, table_parts
from sqlpriv.table.engines.rows import COUNT, Rows, WholeRows, refuse_columns
from sqlpriv.table.engines.types import Crossing, arrow_type, corrected, postgres_type

_EVERYTHING = "__everything"
_CROSSING = "__crossing"


@dataclass(frozen=True)
class Warehouse:
    """How a warehouse is reached: a Python module with `connect`, and the package that has it."""

    module: str
    package: str
    snapshot: str | None = None
    """A statement after which all that is read is of one moment."""


WAREHOUSES = {
    "postgres": Warehouse("adbc_driver_postgresql.dbapi", "adbc-driver-postgresql",
                          "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
    "snowflake": Warehouse("adbc_driver_snowflake.dbapi", "adbc-driver-snowflake"),
    "bigquery": Warehouse("adbc_driver_bigquery.dbapi", "adbc-driver-bigquery"),
    "databricks": Warehouse("databricks.sql", "databricks-sql-connector"),
    "trino": Warehouse("trino.dbapi", "trino"),
    "clickhouse": Warehouse("clickhouse_connect.dbapi", "clickhouse-connect"),
}  # fmt: skip


class WarehouseRows(Rows):
    """The rows of a table of a warehouse."""

    def __init__(self, engine: str, source: str, connection: str, label: str) -> None:
        self.label, self._engine = label, engine
        self._parts = table_parts(source)
        self._con = _connect(engine, connection)
        try:
            if (snapshot := WAREHOUSES[engine].snapshot) is not None:
                self._run(snapshot)
            found = self._postgres_columns() if engine == "postgres" else self._arrow_columns()
            refuse_columns(label, [n for n, _, _ in found], ((n, kind) for n, kind, read in found if read is None))
        except BaseException:
            self.close()
            raise
        self._crossings = {name: read for name, _, read in found if read is not None}
        self.types = {name: read.type for name, read in self._crossings.items()}

    def count(self) -> int:
        """The warehouse counts them."""
        return int(self._run(f"SELECT count(*) AS n FROM {self._table}").to_pylist()[0]["n"])

    def histogram(self, con: duckdb.DuckDBPyConnection, names: Sequence[str], table: str) -> Relation:
        """One GROUP BY there, and one here of what arrived."""
        crossings = {name: (f"c{i}", f"s{i}", self._crossings[name]) for i, name in enumerate(names)}
        cells = [f"{self._sent(name)} AS {cell}" for name, (cell, _, _) in crossings.items()]
        grouped = f"SELECT {', '.join([*cells, 'count(*) AS n'])} FROM {self._table}"
        if names:
            grouped += f" GROUP BY {', '.join(str(i + 1) for i in range(len(names)))}"
        sent = ["n"]
        for cell, sign, crossing in crossings.values():
            if crossing.endless:
                sent.append(f"CASE WHEN isfinite({cell}) THEN {cell} END AS {cell}")
                ends = f"WHEN {cell} = 'infinity' THEN 1 WHEN {cell} = '-infinity' THEN -1"
                sent.append(f"CASE {ends} ELSE 0 END AS {sign}")
            else:
                sent.append(cell)
        arrived = [f"{c.arrived(cell, sign, name)} AS {quoted(name)}" for name, (cell, sign, c) in crossings.items()]
        alike = [corrected(name, c.type) for name, (_, _, c) in crossings.items()]
        values = f"SELECT {', '.join([*arrived, 'n'])} FROM {_CROSSING}"
        counted = f"SELECT {', '.join([*alike, f'CAST(sum(n) AS BIGINT) AS {COUNT}'])} FROM ({values}) GROUP BY ALL"
        with self._reading(f"SELECT {', '.join(sent)} FROM ({grouped}) AS t") as found:
            con.register(_CROSSING, found)
            try:
                ((made,),) = fetch(con, f"CREATE TABLE {table} AS {counted}")
            finally:
                con.unregister(_CROSSING)
        return Relation(con, table, int(made))

    def everything(self, con: duckdb.DuckDBPyConnection) -> WholeRows:
        """All combinations of all columns, on the disk of this machine where they are many."""
        return WholeRows(con, self.histogram(con, list(self.types), _EVERYTHING).name, COUNT)

    def sharing(self, name: str) -> int:
        """One GROUP BY there. What is equal but sent in two ways counts as two values."""
        there = exp.column(exp.to_identifier(name, quoted=True)).sql(dialect=self._engine)
        counts = f"SELECT count(*) AS n FROM {self._table} WHERE {there} IS NOT NULL GROUP BY {self._sent(name)}"
        return int(self._run(f"SELECT coalesce(sum(n), 0) AS n FROM ({counts}) AS t WHERE n > 1").to_pylist()[0]["n"])

    def close(self) -> None:
        """End the transaction and the connection."""
        with suppress(Exception):
            self._con.close()

    @property
    def _table(self) -> str:
        return ".".join(map(self._quoted, self._parts))

    def _quoted(self, name: str) -> str:
        return exp.to_identifier(name, quoted=True).sql(dialect=self._engine)

    def _sent(self, name: str) -> str:
        """What is grouped by, as SQL of the warehouse; a text by its bytes."""
        crossing, column = self._crossings[name], exp.column(exp.to_identifier(name, quoted=True))
        if crossing.type == "VARCHAR" and self._engine != "postgres":
            return exp.cast(column, "TEXT").sql(dialect=self._engine)
        return crossing.sent.format(column.sql(dialect=self._engine))

    def _postgres_columns(self) -> list[_Found]:
        """From the catalog: what a driver sends does not say what PostgreSQL takes for equal."""
        found = self._run(
            "SELECT a.attname AS name, CASE WHEN t.typtype = 'e' THEN 'text' "
            "ELSE format_type(a.atttypid, a.atttypmod) END AS kind "
            "FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid "
            f"WHERE a.attrelid = to_regclass({literal(self._table)}) AND a.attnum > 0 AND NOT a.attisdropped "
            "ORDER BY a.attnum"
        ).to_pylist()
        if not found:
            raise InputError(f"there is no table {self.label!r} for this user of postgres; name it with its schema")
        return [(row["name"], row["kind"], postgres_type(row["kind"])) for row in found]

    def _arrow_columns(self) -> list[_Found]:
        """As they arrive: a result without rows has types, too."""
        schema = self._run(f"SELECT * FROM {self._table} WHERE 1 = 0").schema
        return [(field.name, str(field.type), arrow_type(str(field.type))) for field in schema]

    def _run(self, sql: str) -> pa.Table:
        with self._reading(sql) as found:
            return found if isinstance(found, pa.Table) else found.read_all()

    @contextmanager
    def _reading(self, sql: str) -> Iterator[Any]:
        """What a statement finds, as Arrow: a stream, where the driver has one."""
        with _quietly(self._engine, self.label):
            cursor = self._con.cursor()
            try:
                cursor.execute(sql)
                yield _arrow(cursor)
            finally:
                cursor.close()


_Found = tuple[str, str, Crossing | None]
"""A column with its type there, and how it gets here."""


def _arrow(cursor: Any) -> Any:
    """The result of a cursor as Arrow: by ADBC, by the connector's own fetch, or made of rows."""
    for fetches in ("fetch_record_batch", "fetchall_arrow", "fetch_arrow_all"):
        if hasattr(cursor, fetches):
            return getattr(cursor, fetches)()
    names = [column[0] for column in cursor.description or ()]
    return pa.table(
        {name: list(cells) for name, cells in zip(names, zip(*cursor.fetchall(), strict=True), strict=False)}
    )


def _connect(engine: str, connection: str) -> Any:
    """A connection by the address in a variable: what `connect` takes first, or its arguments as JSON."""
    warehouse, variable = WAREHOUSES[engine], connection.removeprefix("env:")
    address = os.environ.get(variable)
    if not address:
        raise InputError(f"the variable {variable} is not set: it holds the address of {engine}")
    try:
        module = importlib.import_module(warehouse.module)
    except ImportError:
        raise InputError(f"{engine} is reached by {warehouse.package}: pip install {warehouse.package}") from None
    with _quietly(engine, f"the address in {variable}"):
        return module.connect(**json.loads(address)) if address.startswith("{") else module.connect(address)


@contextmanager
def _quietly(engine: str, label: str) -> Iterator[None]:
    """Say in a sentence of ours what a driver ran into; its own words may hold cells, or the password."""
    try:
        yield
    except SqlprivError:
        raise
    except Exception as error:
        state = getattr(error, "sqlstate", None)
        known = f"{type(error).__name__}, {state}" if state else type(error).__name__
        raise InputError(f"{engine} cannot read {label} ({known})") from None
