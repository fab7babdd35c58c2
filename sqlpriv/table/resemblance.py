"""Tables that are alike: which of two lists of sketches share rows (sql/operators/sketch.sql defines how many)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import TemporaryTables, temporary_tables
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.fingerprint import SIZE, Sketch


@dataclass(frozen=True)
class Resemblance:
    """Two sketches that are alike: their places in the lists, and which share of the smaller one is in both."""

    known: int
    given: int
    share: float
    listed: bool
    """Whether all rows of the given one are equally often there, as in a list of what is possible."""
    rare: bool
    """Whether most of these are the only ones of their kind in the known one."""
    held: bool
    """Whether the given one, each of its rows taken once, holds half of the known one."""


def resemblances(con: duckdb.DuckDBPyConnection, known: Sequence[Sketch], given: Sequence[Sketch]) -> list[Resemblance]:
    """The pairs of sketches that are alike, the most alike first (sql/operators/sketch.sql defines alike)."""
    if not known or not given:
        return []
    with temporary_tables(con) as tables:
        one, other = _hashes(tables, known, "known_sketches"), _hashes(tables, given, "given_sketches")
        both = tables.table(inlined(f"FROM _copies_of_both({one}, {other}, {SIZE})"), "both_sketches")
        alike, listed = (inlined(f"FROM {macro}({both})") for macro in ("_resemblances", "_listed_rows"))
        found = fetch(
            con,
            "SELECT first, second, shared / CAST(smaller AS DOUBLE) AS share, listed, rare, held "
            f"FROM ({alike}) JOIN ({listed}) USING (first, second) WHERE alike ORDER BY share DESC, second, first",
        )
    return [Resemblance(int(k), int(g), float(share), *map(bool, flags)) for k, g, share, *flags in found]


def _hashes(tables: TemporaryTables, sketches: Sequence[Sketch], hint: str) -> str:
    """A table of the hashes of sketches, with their places in the list."""
    name = tables.table("SELECT 0::BIGINT AS sketch, 0::BIGINT AS hash, 0::BIGINT AS copies LIMIT 0", hint)
    for number, sketch in enumerate(sketches):
        cells: list[object] = [[cell[i] for cell in sketch.cells] for i in (0, 1)]
        fetch(tables.con, f"INSERT INTO {name} SELECT {number}, unnest(?::BIGINT[]), unnest(?::BIGINT[])", cells)
    return name
