"""Engines that keep the rows of a table. Which of them a table has, is decided here, and nowhere else."""

from __future__ import annotations

from typing import Any

import duckdb

from sqlpriv.table.engines.duck import HeldRelation
from sqlpriv.table.engines.rows import Rows


def rows_of(data: Any) -> Rows | None:
    """The rows of what a program holds, where an engine keeps them; None, where Python has them."""
    return HeldRelation(data) if isinstance(data, duckdb.DuckDBPyRelation) else None
