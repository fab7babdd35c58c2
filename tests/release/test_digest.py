"""The digest of a table of a release: of its rows and how often each is there, and of nothing else."""

from __future__ import annotations

import random

import duckdb
import pytest

from sqlpriv.release.digest import table_digest

_COLUMNS = {
    "i": "INTEGER", "u": "UBIGINT", "h": "HUGEINT", "b": "BOOLEAN", "f": "FLOAT", "d": "DOUBLE", "n": "DECIMAL(9,2)",
    "t": "VARCHAR", "day": "DATE", "at": "TIMESTAMP", "clock": "TIME", "kind": "ENUM('x', 'y')", "list": "VARCHAR[]",
    "id": "UUID", "blob": "BLOB", "span": "INTERVAL",
}  # fmt: skip
_CELLS = {
    "i": ["0", "1", "-1"], "u": ["0", "18446744073709551615"], "h": ["0", "-170141183460469231731687303715884105727"],
    "b": ["true", "false"], "f": ["0.0", "0.1", "'nan'", "'inf'"], "d": ["0.0", "0.1", "'nan'", "'-inf'"],
    "n": ["0", "1.25"], "t": ["''", "'a'", "'ab'", "'é'", "'A'"], "day": ["'1970-01-01'", "'infinity'", "'-infinity'"],
    "at": ["'1970-01-01'", "'2020-02-03 04:05:06.789'", "'infinity'"], "clock": ["'00:00'", "'23:59:59.5'"],
    "kind": ["'x'", "'y'"], "list": ["[]", "['a', 'b']", "['a, b']", "[NULL]"],
    "id": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "blob": ["''", "'\\x00'"], "span": ["INTERVAL '30 days'", "INTERVAL '1 month'"],
}  # fmt: skip


def digest_of(rows: list[tuple[str, ...]], names: tuple[str, ...]) -> str:
    con = duckdb.connect()
    declared = ", ".join(f'"{name}" {_COLUMNS[name]}' for name in names)
    con.execute(f"CREATE TABLE t ({declared})").fetchall()
    for row in rows:
        con.execute(f"INSERT INTO t VALUES ({', '.join(row)})").fetchall()
    return table_digest(con, "t")


@pytest.mark.parametrize("name", list(_COLUMNS))
def test_every_value_of_every_type_has_a_digest_of_its_own(name: str) -> None:
    cells = [*_CELLS[name], "NULL"]
    assert len({digest_of([(cell,)], (name,)) for cell in cells}) == len(cells)


def test_order_says_nothing_and_copies_do() -> None:
    names = ("i", "t", "d", "day")
    coin = random.Random(7)
    rows = [tuple(coin.choice([*_CELLS[n], "NULL"]) for n in names) for _ in range(60)]
    first = digest_of(rows, names)
    for _ in range(3):
        coin.shuffle(rows)
        assert digest_of(rows, names) == first
    assert digest_of(rows[1:], names) != first
    assert digest_of([*rows, rows[0]], names) != first
    assert len({digest_of([("1", "'a'", "0", "NULL")] * n, names) for n in range(4)}) == 4


def test_rows_that_read_alike_are_the_same() -> None:
    assert digest_of([("-0.0",)], ("d",)) == digest_of([("0.0",)], ("d",))
    assert digest_of([("'nan'",)], ("d",)) == digest_of([("-CAST('nan' AS DOUBLE)",)], ("d",))


def test_cells_do_not_flow_into_each_other() -> None:
    con = duckdb.connect()
    tables = ["('ab', 'c')", "('a', 'bc')", "('abc', '')", "('', 'abc')", "('abc', NULL)", "(NULL, 'abc')",
              "('ab', 'c'), ('', '')", "('a', ''), ('bc', '')", "('abc', ''), ('', '')"]  # fmt: skip
    assert len({table_digest(con, f"(FROM (VALUES {rows}) AS v(a, b))") for rows in tables}) == len(tables)
    assert table_digest(con, "(SELECT 1 AS a)") != table_digest(con, "(SELECT 1 AS b)")


def test_rows_with_a_count_are_the_rows_so_often() -> None:
    con = duckdb.connect()
    con.execute("SET default_order = 'desc'; SET default_collation = 'nocase'").fetchall()
    counted = "(FROM (VALUES ('a', 1, 2), ('A', 1, 1), (NULL, 2, 1), ('a', 1, 1)) AS v(t, i, __copies))"
    each = "(FROM (VALUES ('A', 1), ('a', 1), (NULL, 2), ('a', 1), ('a', 1)) AS v(t, i))"
    assert table_digest(con, counted, "__copies") == table_digest(duckdb.connect(), each)


def test_many_columns_and_batches() -> None:
    con = duckdb.connect()
    wide = ", ".join(f"CASE WHEN i % 130 = {c} THEN NULL ELSE 'v' END AS c{c}" for c in range(130))
    assert len({table_digest(con, f"(SELECT {wide} FROM range({n}) AS r(i))") for n in (129, 130, 131, 260)}) == 4
    long = "(SELECT i % 130000 AS i, repeat('x', CAST(i % 7 AS INTEGER)) AS t FROM range({}) AS r(i){})"
    once = table_digest(con, long.format(210_000, ""))
    assert once == table_digest(con, long.format(210_000, " ORDER BY hash(i)"))
    assert once != table_digest(con, long.format(210_001, ""))


def test_the_digest_is_the_same_on_every_duckdb_and_machine() -> None:
    cells = tuple(_CELLS)
    rows = [tuple(_CELLS[name][i % len(_CELLS[name])] for name in cells) for i in range(4)]
    assert (
        digest_of([*rows, ("NULL",) * len(cells)], cells)
        == "ff1e16492152795f-5c062a6b8499aa56-1023d21580f1fbd2-94baf873bfbb51bd"
    )
