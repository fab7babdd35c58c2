"""Real clients against the server: psql, asyncpg, SQLAlchemy's inspector, and JDBC."""

from __future__ import annotations

import asyncio
import datetime
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.serving import SECRET, Running, psql

pytestmark = pytest.mark.one_version

BY_REGION = "SELECT region, count(*) AS n FROM visits WHERE amount > 7 GROUP BY region ORDER BY region"


def test_psql_lists_tables_and_columns(server: Running) -> None:
    listed = psql(server, r"\dt", r"\d visits", r"\d", r"\d+ visits", r"\l", r"\dn", r"\du", r"\df", r"\conninfo")
    assert listed.stderr == ""
    assert "public|visits|table|owner" in listed.stdout
    assert "public|regions|table|owner" in listed.stdout
    assert "day|date|||" in listed.stdout


def test_psql_asks_and_is_refused(server: Running) -> None:
    asked = psql(server, BY_REGION, "SELECT max(amount) FROM visits", "SELECT 1 \\gdesc")
    assert asked.stdout.splitlines()[:4] == [
        "east|463|463|463",
        "north|475|475|475",
        "south|461|461|461",
        "|473|473|473",
    ]
    assert "ERROR:  max() at line 1, column 8 cannot be estimated\nLINE 1: SELECT max(amount)" in asked.stderr
    assert "HINT:  extremes of a release" in asked.stderr
    assert psql(server, BY_REGION, database="sqlpriv?bounds=off").stdout.splitlines()[0] == "east|463"


@pytest.mark.slow
def test_asyncpg_binds_and_decodes_in_binary(server: Running) -> None:
    asyncpg = pytest.importorskip("asyncpg")

    async def ask() -> None:
        about = {**server.about, "database": "sqlpriv"}
        con = await asyncpg.connect(**{k: v for k, v in about.items() if k != "dbname"})
        asked = (
            "SELECT region, count(*) AS n FROM visits WHERE amount > $1 AND day >= $2 GROUP BY region ORDER BY region"
        )
        rows = await con.fetch(asked, 7, datetime.date(2024, 1, 1))
        assert dict(rows[0]) == {"region": "east", "n": 384.0, "n_low": 384.0, "n_high": 384.0}
        assert await con.fetchval("SELECT count(*) AS n FROM visits WHERE paid = $1 AND region = $2", True, "north") > 0
        lists = await con.fetchrow(
            "SELECT quantile_cont(amount, [0.5, 0.9]) AS q, avg(amount)::DECIMAL(10, 3) AS d FROM visits"
        )
        assert lists["q"] == [20.0, 50.0]
        assert str(lists["d"]) == "23.099"
        async with con.transaction():
            by_two = con.cursor("SELECT amount, count(*) AS n FROM visits GROUP BY amount ORDER BY amount", prefetch=2)
            assert [row["amount"] async for row in by_two] == [5, 10, 20, 30, 50]
        with pytest.raises(asyncpg.FeatureNotSupportedError) as refused:
            await con.fetch("SELECT max(amount) FROM visits")
        assert refused.value.position == "8"
        tables = await con.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1", "public")
        assert [row["tablename"] for row in tables] == ["regions", "visits"]
        await con.reset()
        await con.close()

    asyncio.run(ask())


@pytest.mark.slow
def test_sqlalchemy_inspects_and_asks(server: Running) -> None:
    sa = pytest.importorskip("sqlalchemy")
    url = sa.URL.create("postgresql+psycopg", "analyst", SECRET, "127.0.0.1", server.server.port, "sqlpriv")
    engine = sa.create_engine(url)
    found = sa.inspect(engine)
    assert sorted(found.get_table_names()) == ["regions", "visits"]
    types = {column["name"]: str(column["type"]) for column in found.get_columns("visits")}
    assert types == {
        "region": "TEXT", "product": "TEXT", "amount": "INTEGER", "quantity": "INTEGER", "day": "DATE",
        "paid": "BOOLEAN",
    }  # fmt: skip
    assert found.get_pk_constraint("visits")["constrained_columns"] == []
    assert (found.get_view_names(), found.get_indexes("visits"), found.get_foreign_keys("visits")) == ([], [], [])
    visits = sa.Table("visits", sa.MetaData(), autoload_with=engine)
    asked: Any = sa.select(visits.c.product, sa.func.count().label("n")).where(visits.c.region.in_(["north", "south"]))
    with engine.connect() as con:
        rows = con.execute(asked.group_by(visits.c.product).order_by(visits.c.product)).all()
    assert [row[:2] for row in rows] == [("a", 385.0), ("b", 386.0), ("c", 393.0)]
    engine.dispose()


JDBC = """
import java.sql.*;
public class Probe {
  public static void main(String[] a) throws Exception {
    try (Connection c = DriverManager.getConnection(a[0], "analyst", a[1])) {
      DatabaseMetaData m = c.getMetaData();
      try (ResultSet r = m.getTables(c.getCatalog(), "public", "%", new String[] {"TABLE"})) {
        while (r.next()) System.out.println("table " + r.getString("TABLE_NAME"));
      }
      try (ResultSet r = m.getColumns(c.getCatalog(), "public", "visits", "%")) {
        while (r.next()) System.out.println("column " + r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME"));
      }
      String sql = "SELECT region, count(*) AS n FROM visits WHERE amount > ? AND day >= ? GROUP BY region ORDER BY 1";
      try (PreparedStatement p = c.prepareStatement(sql)) {
        for (int i = 0; i < 8; i++) {  // after the fifth the driver asks in binary
          p.setInt(1, 7);
          p.setDate(2, Date.valueOf("2024-01-01"));
          try (ResultSet r = p.executeQuery()) {
            r.next();
            System.out.println("row " + r.getString(1) + " " + r.getDouble("n") + " " + r.getDouble("n_high"));
          }
        }
      }
      c.setAutoCommit(false);
      try (Statement s = c.createStatement()) {
        s.setFetchSize(2);
        int rows = 0;
        try (ResultSet r = s.executeQuery("SELECT amount, count(*) FROM visits GROUP BY amount")) {
          while (r.next()) rows++;
        }
        System.out.println("fetched " + rows);
        s.executeQuery("SELECT max(amount) FROM visits");
      } catch (SQLException e) {
        System.out.println("refused " + e.getSQLState());
      }
      c.rollback();
      System.out.println("valid " + c.isValid(5));
    }
  }
}
"""


def driver() -> Path:
    places = [Path("/usr/share/java"), Path.home() / ".m2/repository/org/postgresql/postgresql"]
    found = sorted(jar for place in places for jar in place.rglob("postgresql*.jar"))
    if not found or shutil.which("java") is None:
        pytest.skip("java or the JDBC driver (Debian's libpostgresql-jdbc-java) is not installed")
    return found[-1]


@pytest.mark.slow
def test_jdbc_inspects_asks_and_fetches_bit_by_bit(server: Running, tmp_path: Path) -> None:
    jar = driver()
    (tmp_path / "Probe.java").write_text(JDBC, encoding="utf-8")
    url = f"jdbc:postgresql://127.0.0.1:{server.server.port}/sqlpriv"
    asked = ["java", "-cp", str(jar), str(tmp_path / "Probe.java"), url, SECRET]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "table regions", "table visits",
        "column region text", "column product text", "column amount int4", "column quantity int4", "column day date",
        "column paid bool",
        *["row east 384.0 384.0"] * 8,
        "fetched 5", "refused 0A000", "valid true",
    ]  # fmt: skip
