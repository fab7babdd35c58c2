"""Combinations that were counted before they came here, with a column that says how many rows each stands for."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import counted_table, folded, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.macros.expand import constant_value
from sqlpriv.table.engines.rows import COUNT, each_copy

_COUNTS, REPEATED = "__given_counts", "__repeated"


def counted_by(con: duckdb.DuckDBPyConnection, table: str, label: str, columns: Sequence[str], copies: str) -> Relation:
    """Combinations that were counted before, and a view that has each as often as its count says."""
    spelt = next((c for c in columns if folded(c) == folded(copies)), None)
    if spelt is None:
        raise InputError(f"{label} has no column {copies!r} to count by; it has {', '.join(columns)}")
    if len(columns) < 2:
        raise InputError(f"{label} has no column but the counts")
    listed = ", ".join(f"__priv_c.{quoted(c)}" for c in columns if c != spelt)
    number = constant_value(inlined(f"_copies_of({literal(counted_table(table, spelt))})"))
    fetch(con, f"CREATE VIEW {_COUNTS} AS SELECT {listed}, {number} AS {COUNT} FROM {table} AS __priv_c")
    counted = Relation(con, _COUNTS)
    fetch(con, f"CREATE VIEW {REPEATED} AS SELECT * EXCLUDE ({COUNT}, __priv_copy) FROM {each_copy(counted)}")
    return counted
