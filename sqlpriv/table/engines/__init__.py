"""Engines that keep the rows of a table. Which of them a table has, is decided here, and nowhere else.

rows     what every engine does: the base class
types    which types of another engine are read, and as what
duck     a relation of a program
adbc     a warehouse
spark    Spark; task: what runs in its tasks
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.core.errors import InputError
from sqlpriv.table.engines.rows import Rows

ENGINES = ("duckdb", "spark", "postgres", "snowflake", "bigquery", "databricks", "trino", "clickhouse")
"""The words of [table] engine."""


@dataclass(frozen=True)
class EngineTable:
    """A table that an engine keeps, as a policy or a command names it."""

    engine: str
    source: str
    folder: Path
    label: str
    connection: str | None = None
    """Where the engine is, as in env:NAME: a variable of the environment holds it, and nothing else does."""


def engine_table(
    engine: str | None, source: str, folder: Path, name: str | None, connection: str | None
) -> EngineTable | None:
    """A table by its engine; None, if that is DuckDB. Refused where engine and connection do not go together."""
    if engine is not None and engine not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}")
    if engine in (None, "duckdb", "spark"):
        if connection is not None:
            raise InputError("connection is for a warehouse that engine names; leave it out")
    elif connection is None or not re.fullmatch(r"env:\w+", connection):
        raise InputError(f'{engine} needs a connection, as in "env:NAME": the variable NAME holds its address')
    if engine in (None, "duckdb"):
        return None
    return EngineTable(engine, source, folder, name or source, connection)


def rows_of(data: Any) -> Rows | None:
    """The rows of a table, or of what a program holds, where an engine keeps them; None, where Python has them."""
    if isinstance(data, duckdb.DuckDBPyRelation):
        from sqlpriv.table.engines.duck import HeldRelation

        return HeldRelation(data)
    from sqlpriv.table.engines import spark

    if isinstance(data, EngineTable):
        if data.connection is not None:
            from sqlpriv.table.engines.adbc import WarehouseRows

            return WarehouseRows(data.engine, data.source, data.connection, data.label)
        return spark.read_table(data.source, data.folder, data.label)
    return spark.SparkRows(data) if spark.is_frame(data) else None
