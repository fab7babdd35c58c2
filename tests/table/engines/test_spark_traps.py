"""What Spark takes for equal, or for something else, than DuckDB does: none of it may overstate a class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.spark import session

import sqlpriv
from sqlpriv.core.errors import InputError
from sqlpriv.table.engines import engine_table
from sqlpriv.table.frequencies import sort_rows
from sqlpriv.table.source import open_source


@pytest.fixture(scope="module")
def spark() -> Any:
    return session()


def counted(data: Any) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """The columns with their types, and the combinations with their counts, as texts."""
    with open_source(data) as source:
        assert source.counted is not None
        found = source.con.sql(f"FROM {source.counted.name}").fetchall()
        return dict(source.types), sorted(tuple(map(str, row)) for row in found)


def k(data: Any) -> float:
    return sqlpriv.check(data, "x", require="k>=1").content["requirements"][0]["value"]


def test_texts_are_not_equal_because_a_collation_says_so(spark: Any) -> None:
    frame = spark.sql("SELECT x COLLATE UTF8_LCASE AS x FROM VALUES ('a'), ('A'), ('a'), ('b') AS t(x)")
    assert frame.groupBy("x").count().count() == 2
    assert counted(frame) == ({"x": "VARCHAR"}, [("A", "1"), ("a", "2"), ("b", "1")])
    assert k(frame) == 1


def test_zeros_and_nans_are_one_each(spark: Any) -> None:
    frame = spark.sql("SELECT CAST(x AS {kind}) AS x FROM VALUES ('0.0'), ('-0.0'), ('NaN'), ('-NaN'), (NULL) AS t(x)"
                      .format(kind="DOUBLE").replace("'-NaN'", "'NaN'"))  # fmt: skip
    for kind in ("double", "float"):
        assert counted(frame.selectExpr(f"CAST(x AS {kind}) AS x"))[1] == [("0.0", "2"), ("None", "1"), ("nan", "2")]


def test_codes_in_the_names_of_folders_keep_their_zeros(spark: Any, tmp_path: Path) -> None:
    for code in ("01305", "1305"):
        (tmp_path / "people" / f"zip={code}").mkdir(parents=True)
        duckdb.sql(f"COPY (SELECT 30 AS age) TO '{tmp_path}/people/zip={code}/part.parquet'")
    types, found = counted(engine_table("spark", "people", tmp_path, "people", None))
    assert types == {"age": "INTEGER", "zip": "VARCHAR"}
    assert found == [("30", "01305", "1"), ("30", "1305", "1")]
    assert spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled") == "true"
    with open_source(str(tmp_path / "people")) as source:
        assert dict(source.types) == types


def test_moments_with_and_without_a_zone_stay_what_they_are(spark: Any, tmp_path: Path) -> None:
    duckdb.sql(
        "COPY (SELECT TIMESTAMP '2024-03-31 02:30:00' AS local, TIMESTAMPTZ '2024-03-31 02:30:00+00' AS zoned, "
        f"DATE '0044-03-15' AS day) TO '{tmp_path}/moments.parquet'"
    )
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
    try:
        kept = counted(engine_table("spark", "moments.parquet", tmp_path, "moments", None))
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    with open_source(tmp_path / "moments.parquet") as source:
        rows = source.con.sql(f"SELECT *, 1 FROM {source.table}").fetchall()
        assert kept == (dict(source.types), [tuple(map(str, row)) for row in rows])


def test_whole_numbers_without_a_sign_and_long_ones_keep_every_digit(spark: Any, tmp_path: Path) -> None:
    numbers = (
        "SELECT 255::UTINYINT AS a, 65535::USMALLINT AS b, 4294967295::UINTEGER AS c, 18446744073709551615::UBIGINT"
    )
    duckdb.sql(
        f"COPY ({numbers} AS d, 12345678901234567890123456789012345678::DECIMAL(38, 0) AS e, 0.10::DECIMAL(9, 2) AS f) "
        f"TO '{tmp_path}/numbers.parquet'"
    )
    _, found = counted(engine_table("spark", "numbers.parquet", tmp_path, "numbers", None))
    with open_source(tmp_path / "numbers.parquet") as source:
        (row,) = source.con.sql(f"SELECT *, 1 FROM {source.table}").fetchall()
    assert found == [tuple(map(str, row))]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("INTERVAL '1' MONTH", "interval month"),
        ("make_dt_interval(1)", "interval day to second"),
        ("array(1)", "array<int>"),
        ("map(1, 2)", "map<int,int>"),
        ("named_struct('a', 1)", "struct<a:int>"),
        ("NULL", "void"),
    ],
)
def test_types_that_compare_otherwise_are_refused_by_name(spark: Any, column: str, kind: str) -> None:
    with pytest.raises(InputError, match=f"the column 'x' of the data is {kind}, which is not read"):
        sqlpriv.check(spark.sql(f"SELECT {column} AS x"), "x")


@pytest.mark.parametrize("names", [("a", "A"), ("a", "a")])
def test_columns_that_differ_only_in_case_are_refused(spark: Any, names: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"two columns called '{names[1]}'"):
        sqlpriv.check(spark.sql("SELECT 1, 2").toDF(*names), "a")


def test_bytes_that_are_no_text_are_refused_and_not_shown(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    frame = spark.sql("SELECT CAST(unhex('5365637265C3') AS STRING) AS x")
    with pytest.raises(InputError, match="the column 'x' of the data holds text that is not UTF-8") as caught:
        sqlpriv.check(frame, "x")
    shown = "".join((*capfd.readouterr(), str(caught.value)))
    assert "Secre" not in shown
    assert "5365" not in shown


def test_no_cell_is_in_what_spark_complains_of(
    spark: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    frame = spark.sql("SELECT CAST(x AS INT) AS x FROM VALUES ('Mallory'), ('1') AS t(x)")
    with pytest.raises(InputError, match="Spark cannot read the data: CAST_INVALID_INPUT") as caught:
        sqlpriv.check(frame, "x")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "Mallory" not in "".join((*capfd.readouterr(), str(caught.value), caplog.text))


def test_names_of_columns_may_hold_anything(spark: Any) -> None:
    frame = spark.sql("SELECT 1, 2, 3").toDF("a b", "`c`.d", 'e"; DROP')
    assert counted(frame) == ({"a b": "INTEGER", "`c`.d": "INTEGER", 'e"; DROP': "INTEGER"}, [("1", "2", "3", "1")])


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("nowhere.at.all", "there is no such table"),
        ("./nowhere", "there is no such path"),
        ("people.csv", "no Parquet"),
    ],
)
def test_what_spark_cannot_read_is_said_in_a_sentence(spark: Any, tmp_path: Path, source: str, why: str) -> None:
    (tmp_path / "people.csv").write_text("zip\n01305\n")
    with pytest.raises(InputError, match=why):
        counted(engine_table("spark", source, tmp_path, "people", None))


def test_what_would_not_fit_here_is_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.range(2000).selectExpr("id AS x", "id % 7 AS y")
    monkeypatch.setattr("sqlpriv.table.engines.spark.MOST_COMBINATIONS", 100)
    with pytest.raises(InputError, match="have more than 100 combinations, which would all come to this machine"):
        counted(frame)
    assert sqlpriv.check(frame, "y", require="k>=2").passed
    monkeypatch.undo()
    monkeypatch.setattr("sqlpriv.table.frequencies.MOST_SORTED", 1999)
    with open_source(frame) as source, pytest.raises(InputError, match="deals single rows, on this machine"):
        sort_rows(source, ["x"], "x")
