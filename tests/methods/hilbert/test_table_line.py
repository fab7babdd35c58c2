"""A line whose points stay in a table is the line of these points, however it is read."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from sqlpriv.udfs import line as lines
from sqlpriv.udfs.line import Dimension, Line, group_line

from sqlpriv.core.relation import Scratch
from sqlpriv.methods.generalized.hilbert import curve
from sqlpriv.methods.generalized.hilbert.curve import TableDimension, TableLine
from sqlpriv.methods.generalized.hilbert.grouping import added_losses


def width(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.asarray(high - low, dtype=float)


def both(con: duckdb.DuckDBPyConnection, count: int, k: int) -> tuple[TableLine, Line]:
    scratch = Scratch(con)
    drawn = "SELECT i AS place, 1 + hash(i) % 3 AS n, hash(3 * i) % 97 / 97 AS v0, hash(3 * i + 1) % 9 AS v1"
    typed = "SELECT place, CAST(n AS BIGINT) AS n, CAST(v0 AS DOUBLE) AS v0, CAST(v1 AS BIGINT) AS v1"
    table = scratch.table(f"{typed} FROM ({drawn} FROM range({count}) AS r(i)) ORDER BY place", "line")
    found = con.execute(f"FROM {table.name} ORDER BY place").fetchnumpy()
    held = Line([Dimension(found[v], found[v], width) for v in ("v0", "v1")], found["n"], k)
    return TableLine(table, scratch, tuple(TableDimension(v, v, width) for v in ("v0", "v1")), k), held


@pytest.mark.parametrize("work", [10**9, 4000])
def test_a_line_in_a_table_is_grouped_as_one_in_memory(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its points are bundled first."""
    monkeypatch.setattr(curve, "BATCH", 60)
    monkeypatch.setattr(lines, "_WORK", work)
    with duckdb.connect() as con:
        in_table, held = both(con, 1001, 4)
        assert (len(in_table), in_table.sizes) == (len(held), held.sizes)
        found, expected = group_line(in_table), group_line(held)
        assert found.bundle == expected.bundle == (1 if work == 10**9 else 2)
        assert found.groups.tolist() == expected.groups.tolist()
        assert found.loss == pytest.approx(expected.loss)
        assert added_losses(in_table, found.groups) == pytest.approx(added_losses(held, found.groups))
