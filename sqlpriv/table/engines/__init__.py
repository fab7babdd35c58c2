"""Engines that keep the rows of a table. Which of them a table has, is decided here, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.table.engines.rows import Rows

ENGINES = ("duckdb", "spark")
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


def rows_of(data: Any) -> Rows | None:
    """The rows of a table, or of what a program holds, where an engine keeps them; None, where Python has them."""
    if isinstance(data, duckdb.DuckDBPyRelation):
        from sqlpriv.table.engines.duck import HeldRelation

        return HeldRelation(data)
    from sqlpriv.table.engines import spark

    if isinstance(data, EngineTable):
        return spark.read_table(data.source, data.folder, data.label)
    return spark.SparkRows(data) if spark.is_frame(data) else None
