"""How many rows a program holds: known only where it can be said without reading them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sqlpriv.table.source import open_source

TABLE = pa.table({"zip": ["a", "b", "b"]})


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (TABLE, 3),
        (pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()), 3),
        ({"zip": np.array([1, 2, 3]), "age": np.array([1, 2, 3])}, None),  # its length is that of its columns
    ],
    ids=["table", "stream", "arrays by name"],
)
def test_rows_that_a_program_holds(data: Any, rows: int | None) -> None:
    with open_source(data) as source:
        assert source.held_rows == rows


def test_rows_of_a_relation_and_of_a_file(tmp_path: Path) -> None:
    with duckdb.connect() as con, open_source(con.sql("FROM range(5)")) as source:
        assert source.held_rows == 5
    (tmp_path / "people.csv").write_text("zip\na\n", encoding="utf-8")
    with open_source(tmp_path / "people.csv") as source:
        assert source.held_rows is None
