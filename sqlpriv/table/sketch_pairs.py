"""Which sketches of two tables are alike (sql/sketch.sql says when)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.sketch import SIZE, Sketch


@dataclass(frozen=True)
class Resemblance:
    """Two sketches that are alike: their places in the lists, and how much of the smaller one is in both."""

    known: int
    given: int
    share: float


def resemblances(con: duckdb.DuckDBPyConnection, known: Sequence[Sketch], given: Sequence[Sketch]) -> list[Resemblance]:
    """The pairs of sketches that are alike, the most alike first."""
    if not known or not given:
        return []
    for name, sketches in (("__sketches_known", known), ("__sketches_given", given)):
        _write_sketches(con, name, sketches)
    both = inlined(f"FROM _copies_of_both(__sketches_known, __sketches_given, {SIZE})")
    fetch(con, f"CREATE OR REPLACE TEMP TABLE __sketches_both AS {both}")
    alike = inlined("FROM _resemblances(__sketches_both)")
    found = fetch(
        con,
        f"SELECT first, second, shared / CAST(smaller AS DOUBLE) AS share FROM ({alike}) WHERE alike "
        "ORDER BY share DESC, second, first",
    )
    fetch(con, "DROP TABLE __sketches_known; DROP TABLE __sketches_given; DROP TABLE __sketches_both")
    return [Resemblance(int(k), int(g), float(share)) for k, g, share in found]


def _write_sketches(con: duckdb.DuckDBPyConnection, name: str, sketches: Sequence[Sketch]) -> None:
    fetch(con, f"CREATE OR REPLACE TEMP TABLE {name} (sketch BIGINT, hash BIGINT, copies BIGINT)")
    for number, sketch in enumerate(sketches):
        hashes, copies = ([cell[i] for cell in sketch.cells] for i in (0, 1))
        fetch(con, f"INSERT INTO {name} SELECT {number}, unnest(?::BIGINT[]), unnest(?::BIGINT[])", [hashes, copies])
