"""Rows that are folded where they are have the digest and the sketches that they have here, whatever the parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.relation import Relation
from sqlpriv.table.digest import whole_digest
from sqlpriv.table.engines import task
from sqlpriv.table.engines.duck import HeldRelation
from sqlpriv.table.engines.rows import COUNT, Fold, WholeRows
from sqlpriv.table.fingerprint import Fingerprint, take_fingerprint
from sqlpriv.table.folded import FoldedTable
from sqlpriv.table.resemblance import resemblances

TABLES = {
    "unique": "SELECT i AS id, 'n' || i * 7919 % 5000 AS name, i % 50 AS age, "
    "DATE '2020-01-01' + (i % 900)::INTEGER AS d FROM range(3000) AS r(i)",
    "repeated": "SELECT i % 20 AS a, ['x', 'Y', '', NULL][1 + i % 4] AS b, i % 3 = 0 AS c FROM range(5000) AS r(i)",
    "odd": "SELECT [0.0, 'nan'::DOUBLE, NULL, 1.5, 1e300][1 + i % 5] AS x, (i % 7)::DECIMAL(9, 2) / 4 AS y, "
    "'é' || i % 11 AS z, TIMESTAMP '2020-01-01' + INTERVAL (i % 13) HOUR AS t, "
    "TIMESTAMPTZ '2020-01-01 00:00:00+00' + INTERVAL (i % 5) HOUR AS u, ('b' || i % 3)::BLOB AS v "
    "FROM range(700) AS r(i)",
    "few": "SELECT 1 AS a, NULL::VARCHAR AS b FROM range(3) AS r(i)",
    "none": "SELECT 1 AS a, 'x' AS b FROM range(0) AS r(i)",
}


class Parted(HeldRelation):
    """A relation whose rows are folded as tasks of Spark fold theirs, in so many tasks."""

    folds = True
    tasks = 3

    def fold(self, con: duckdb.DuckDBPyConnection, fold: Fold, table: str) -> Relation:
        names = list(self.types)
        rows = self._at.query(
            self.name, f"SELECT * FROM {self.name} ORDER BY hash({', '.join(names)})"
        ).to_arrow_table()
        rows = rows.rename_columns([f"c{i}" for i in range(len(names))])
        cells = ", ".join(f"CAST(c{i} AS {kind}) AS c{i}" for i, kind in enumerate(self.types.values()))
        zone = con.sql("SELECT current_setting('TimeZone')").fetchall()[0][0]
        given = (duckdb.__version__, zone, cells, fold.tables, fold.queries, fold.size)
        parts: list[pa.RecordBatch] = []
        for i in range(self.tasks):
            batches = rows.to_batches(max_chunksize=97)[i :: self.tasks]
            parts += task.merge(iter(list(task.fold(iter(batches), *given))), fold.size)
        con.register("__found", pa.Table.from_batches(parts, task._complaint("").schema))
        assert con.sql("SELECT count(*) FROM __found WHERE said IS NOT NULL").fetchall() == [(0,)]
        sums = "(SELECT part, hash, CAST(n AS HUGEINT) AS n, low, high FROM __found)"
        con.execute(f"CREATE OR REPLACE TABLE {table} AS {task.merged(sums, fold.size)}").fetchall()
        con.unregister("__found")
        return Relation(con, table)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "_ROWS_AT_ONCE", 200)


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        yield con


def folded(con: duckdb.DuckDBPyConnection, query: str, counted: Relation | None = None) -> FoldedTable:
    return FoldedTable(con, Parted(con.sql(query)), counted)


def by_columns(found: Fingerprint) -> dict[tuple[str, Sequence[str]], Any]:
    return {(s.kind, s.columns): s.cells for s in found.sketches}


@pytest.mark.parametrize("name", TABLES)
def test_the_digest_is_that_of_the_rows(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute(f"CREATE TABLE t AS {TABLES[name]}").fetchall()
    assert folded(con, "FROM t").digest == whole_digest(WholeRows(con, "t"))


@pytest.mark.some(2)
@pytest.mark.parametrize("name", TABLES)
def test_the_fingerprint_is_that_of_the_rows(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute(f"CREATE TABLE t AS {TABLES[name]}").fetchall()
    person = "name" if name == "unique" else None
    here = take_fingerprint(WholeRows(con, "t"), "a secret", person)
    there = folded(con, "FROM t").fingerprint("a secret", person)
    assert there.digest == here.digest
    assert by_columns(there) == by_columns(here)
    assert folded(con, "FROM t").fingerprint("another", person).digest != here.digest or name == "none"


def test_a_part_of_a_folded_table_is_known_again(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"CREATE TABLE t AS {TABLES['unique']}").fetchall()
    whole = folded(con, "FROM t").fingerprint("a secret", None)
    part = take_fingerprint(WholeRows(con, "(FROM t LIMIT 1200)"), "a secret")
    assert resemblances(con, whole.sketches, part.sketches)[0].share == 1


def test_a_table_that_changed_since_it_was_counted_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i % 5 AS a, i AS b FROM range(100) AS r(i)").fetchall()
    con.execute(f"CREATE TABLE counted AS SELECT a, count(*) AS {COUNT} FROM t GROUP BY a").fetchall()
    counted = Relation(con, "counted")
    assert folded(con, "FROM t", counted).digest
    for change in ("UPDATE t SET a = 9 WHERE b = 7", "INSERT INTO t VALUES (1, 1)", "DELETE FROM t WHERE b = 3"):
        con.execute("BEGIN").fetchall()
        con.execute(change).fetchall()
        with pytest.raises(ReleaseError, match="the table changed while it was read"):
            folded(con, "FROM t", counted).digest  # noqa: B018
        con.execute("ROLLBACK").fetchall()


def test_what_goes_wrong_in_a_task_is_said_without_its_cells() -> None:
    rows = pa.table({"c0": ["Mallory"]}).to_batches()
    given = (duckdb.__version__, "UTC", "CAST(c0 AS INTEGER) AS c0", (), {}, 4)
    (said,) = task.fold(iter(rows), *given)
    assert said.column("said").to_pylist() == ["ConversionException"]
    (said,) = task.merge(iter([said]), 4)
    assert "Mallory" not in str(said.to_pydict())
    (said,) = task.fold(iter(rows), "0.1", *given[1:])
    assert said.column("said").to_pylist() == [task.OTHER_DUCKDB]
