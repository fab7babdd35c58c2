"""Several files are one table: folders and patterns, with the types and values that a single file would have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.policies import policy_text, qi, role

import sqlpriv
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import parse_policy
from sqlpriv.table.files import table_name
from sqlpriv.table.named_tables import reads_private
from sqlpriv.table.private_table import open_table
from sqlpriv.table.source import Source, TableReference, open_source

ROWS = [(20 + i % 4, f"0130{i % 3}", "flu" if i % 2 else "cold") for i in range(48)]
COLUMNS = {"age": qi("ranges:5"), "zip": qi("mask:5"), "ill": role("sensitive")}


def write_csv(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_parquet(folder: Path, partitioned: bool = False) -> None:
    """The rows in four Parquet files, maybe in folders by zip, with what Spark leaves beside them."""
    folder.mkdir(parents=True)
    con = duckdb.connect()
    con.execute("CREATE TABLE t (age INTEGER, zip VARCHAR, ill VARCHAR)").fetchall()
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    if partitioned:
        con.execute(f"COPY t TO '{folder}' (FORMAT parquet, PARTITION_BY (zip), OVERWRITE true)").fetchall()
    else:
        for i in range(4):
            target = folder / f"part-{i}.snappy.parquet"
            con.execute(f"COPY (FROM t WHERE age = {20 + i}) TO '{target}' (FORMAT parquet)").fetchall()
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.crc").write_text("x")


def rows_of(source: Source) -> list[tuple[Any, ...]]:
    return sorted(source.con.execute(f"SELECT age, zip, ill FROM {source.table}").fetchall())


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("given", ["people", "people/", "people/**/*.parquet", "p?ople/**", "./people"])
def test_folders_and_patterns_are_one_table(tmp_path: Path, given: str, partitioned: bool) -> None:
    write_parquet(tmp_path / "people", partitioned)
    with open_source(given, folder=tmp_path) as source:
        assert rows_of(source) == sorted(ROWS)
        assert source.types == {"age": "INTEGER", "zip": "VARCHAR", "ill": "VARCHAR"}
    with open_source(str(tmp_path / given)) as source:
        assert rows_of(source) == sorted(ROWS)


@pytest.mark.parametrize(
    ("files", "types"),
    [
        ({"a.csv": "x,y\n1,a\n", "b.csv": "x,y\n,b\n"}, {"x": "BIGINT", "y": "VARCHAR"}),
        ({"a.csv": "x,y\n,b\n", "b.csv": "x,y\n1,a\n"}, {"x": "BIGINT", "y": "VARCHAR"}),
        ({"a.csv": "x,y\n1,2020-01-01\n", "b.csv": "y,x\n,\n"}, {"x": "BIGINT", "y": "DATE"}),
        ({"a.csv": "x,y\n1,1\n", "b.csv": "x,y\n2.5,2\n"}, {"x": "DOUBLE", "y": "BIGINT"}),
        ({"a.csv": "x,y\n1305,1\n", "b.csv": "x,y\n01305,2\n"}, {"x": "VARCHAR", "y": "BIGINT"}),
        ({"a.csv": "x,y\n13/01/2020,1\n", "b.csv": "x,y\n01/13/2020,2\n"}, {"x": "VARCHAR", "y": "BIGINT"}),
        ({"a.csv": "x;y\n1;a\n", "b.csv": "x;y\n2;b\n"}, {"x": "BIGINT", "y": "VARCHAR"}),
        ({"a.csv": "x,y\n1,a\n", "b.csv": "x,y\n", "c.csv": ""}, {"x": "BIGINT", "y": "VARCHAR"}),
        ({"a.csv": "x,y\n1,a\n", "b.csv": 'x,y\n2,"b,c"\n'}, {"x": "BIGINT", "y": "VARCHAR"}),
        ({"z=01/a.csv": "x,y\n1,a\n", "z=2/b.csv": "x,y\n1,a\n"}, {"x": "BIGINT", "y": "VARCHAR", "z": "VARCHAR"}),
    ],
)
def test_a_column_has_one_type_in_all_csv_files(
    tmp_path: Path, files: Mapping[str, str], types: Mapping[str, str]
) -> None:
    write_csv(tmp_path / "t", files)
    with open_source("t", folder=tmp_path) as source:
        assert source.types == types
        found = source.con.execute(f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM {source.table}").fetchall()
    cells = [line.strip('"') for text in files.values() for line in text.splitlines()[1:]]
    assert len(found) == len(cells)
    if types["x"] == "VARCHAR":
        assert {row[0] for row in found} == {cell.split(",")[0] for cell in cells}


def test_types_of_folders_can_be_declared(tmp_path: Path) -> None:
    write_csv(tmp_path / "t", {"z=01/a.csv": "x,y\n1,a\n", "z=__HIVE_DEFAULT_PARTITION__/b.csv": "x,y\n2,b\n"})
    with open_source("t", options={"types": {"Z": "INTEGER", "x": "VARCHAR"}}, folder=tmp_path) as source:
        assert source.types == {"x": "VARCHAR", "y": "VARCHAR", "z": "INTEGER"}
        assert source.con.execute(f"SELECT x, z FROM {source.table} ORDER BY x").fetchall() == [("1", 1), ("2", None)]
    write_parquet(tmp_path / "people", partitioned=True)
    with open_source("people", options={"types": {"zip": "BIGINT"}}, folder=tmp_path) as source:
        assert source.types["zip"] == "BIGINT"


def test_folders_above_the_table_are_no_columns(tmp_path: Path) -> None:
    write_parquet(tmp_path / "day=7" / "people", partitioned=True)
    with open_source("people/*/*.parquet", folder=tmp_path / "day=7") as source:
        assert source.columns == ("age", "ill", "zip")
        assert rows_of(source) == sorted(ROWS)
    with open_source("day=7/people/zip=01301", folder=tmp_path) as source:
        assert source.columns == ("age", "ill")
        assert source.label == "people"


@pytest.mark.parametrize(
    ("files", "given", "reason"),
    [
        ({"secret=1/a.csv": "x\n1\n", "b.csv": "x\n2\n"}, "t", "folders of different columns"),
        ({"secret=1/a.csv": "x\n1\n", "secret=2/b.parquet": "x"}, "t", "several kinds"),
        ({"a.csv": "x\n1\n", "secret.txt": "x\n"}, "t", "several kinds"),
        ({"a.csv": "x,y\n1,2\n", "b.csv": "x,secret\n1,3\n"}, "t", "same columns"),
        ({"a.csv": "x,y\n1,2\n", "b.csv": "secret,3\nsecret,4\n"}, "t", "same columns"),
        ({"a.csv": "x,y\n1,2\n", "b.csv": "x;y\n1;2\n"}, "t", "delimiter"),
        ({"secret=1/a.parquet": "no Parquet", "secret=2/b.parquet": "x"}, "t", "cannot be read"),
        ({"_delta_log/0.json": "{}", "secret=1/a.csv": "x\n1\n"}, "t", "Delta"),
        ({"_delta_log/0.json": "{}", "secret=1/a.csv": "x\n1\n"}, "t/secret=*/*.csv", "Delta"),
        ({"metadata/v1.metadata.json": "{}", "data/secret=1/a.csv": "x\n1\n"}, "t/data", "Iceberg"),
        ({"a=secret/t/a=secret/a.csv": "x\n1\n"}, "t/a=secret/t", "above"),
        ({"_hidden.csv": "x\n1\n"}, "t", "no Parquet or CSV file"),
        ({"secret=1/a.csv": "", "secret=2/a.csv": ""}, "t", "empty"),
    ],
)
def test_files_that_are_no_one_table_are_refused_without_values(
    tmp_path: Path, files: Mapping[str, str], given: str, reason: str
) -> None:
    write_csv(tmp_path / "t", files)
    with pytest.raises(InputError, match=reason) as error, open_source(given, folder=tmp_path):
        pass
    assert "secret" not in str(error.value).replace(given, "")


def test_values_in_names_of_folders_stay_out_of_messages(tmp_path: Path) -> None:
    write_csv(tmp_path / "t", {"z=secret/a.csv": "x\n1\n", "z=secret2/b.csv": "x\n" + "1\n" * 30000 + "no\n"})
    with open_source("t", folder=tmp_path) as source, pytest.raises(SqlprivError) as error:
        sqlpriv.check(str(tmp_path / "t"), ["x"])
    assert "secret" not in str(error.value)
    assert source.label == "t"


def test_a_table_is_called_by_its_folder(tmp_path: Path) -> None:
    names = {"people/*.parquet": "people", "people/": "people", "people.parquet": "people", "a/zip=1": "a",
             "people/year=*/**": "people", "x.y.csv": "x", "*.parquet": tmp_path.name, "a/zip=1.csv": "a"}  # fmt: skip
    assert {given: table_name(given, tmp_path) for given in names} == names


def publish_people(folder: Path, source: str, more: str = "", **options: Any) -> Path:
    table = f'source = "{source}"\n{more}'
    (folder / "policy.toml").write_text(policy_text(COLUMNS, "k = 2", table=table), encoding="utf-8")
    sqlpriv.publish(folder / "policy.toml", **options)
    return folder / "people-release.duckdb"


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_pattern_publishes_what_its_rows_in_one_file_do(tmp_path: Path, partitioned: bool) -> None:
    write_parquet(tmp_path / "many" / "people", partitioned)
    (tmp_path / "one").mkdir()
    lines = ["age,zip,ill", *(",".join(map(str, row)) for row in ROWS)]
    (tmp_path / "one" / "rows.csv").write_text("\n".join(lines), encoding="utf-8")
    made = [
        publish_people(tmp_path / "many", "people/**/*.parquet", 'name = "people"', ledger_file=tmp_path / "a.ledger"),
        publish_people(tmp_path / "one", "rows.csv", 'name = "people"', ledger_file=tmp_path / "b.ledger"),
    ]
    asked = "SELECT age, zip, ill FROM main.people"
    found = [duckdb.connect(str(path), read_only=True).execute(asked).fetchall() for path in made]
    assert sorted(found[0]) == sorted(found[1])
    assert len(found[0]) == len(ROWS)
    assert sqlpriv.verify(made[0], policy=tmp_path / "many" / "policy.toml").passed


def test_another_name_makes_no_other_table(tmp_path: Path) -> None:
    """The ledger knows a renamed table again by its place, after all of its rows have changed."""
    (tmp_path / "p.csv").write_text("age,zip,ill\n" + "20,01301,flu\n" * 9, encoding="utf-8")
    publish_people(tmp_path, "p.csv", 'name = "people"', ledger_file=tmp_path / "l")
    (tmp_path / "p.csv").write_text("age,zip,ill\n" + "70,99999,cold\n" * 40, encoding="utf-8")
    with pytest.raises(SqlprivError, match="was released on"):
        publish_people(tmp_path, "p.csv", 'name = "persons"', ledger_file=tmp_path / "l", output=tmp_path / "o.duckdb")


def test_no_file_of_a_private_folder_passes_as_public(tmp_path: Path) -> None:
    write_parquet(tmp_path / "people")
    (tmp_path / "other.parquet").hardlink_to(tmp_path / "people" / "part-2.snappy.parquet")
    write_csv(tmp_path, {"public.csv": "zip\n01301\n"})
    reference = TableReference(tmp_path, "people", None, {}, given_name="persons")
    with open_table(reference, ()) as source:
        files = ["people/part-2.snappy.parquet", "other.parquet", "public.csv"]
        assert [reads_private(source, name, set()) for name in files] == [True, True, False]


def test_a_release_does_not_go_among_the_files_of_the_table(tmp_path: Path) -> None:
    write_parquet(tmp_path / "people")
    with pytest.raises(SqlprivError, match="among the files"):
        publish_people(tmp_path, "people", output=tmp_path / "people" / "r.duckdb", ledger_file=tmp_path / "l")


def test_a_policy_names_a_table_of_a_database(tmp_path: Path) -> None:
    text = policy_text(COLUMNS, table='source = "main.t"\ndatabase = "d.duckdb"\nname = "people"')
    table = parse_policy(text, tmp_path, METHODS).table
    assert (table.name, table.own_name) == ("people", "t")


def test_init_and_attack_take_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parquet(tmp_path / "people", partitioned=True)
    monkeypatch.chdir(tmp_path)
    sqlpriv.init("people/**/*.parquet", "policy.toml", method="generalize")
    assert 'source = "people/**/*.parquet"' in Path("policy.toml").read_text(encoding="utf-8")
    found = sqlpriv.attack("people", qis=["age", "zip"], sensitive="ill")
    assert found.content == sqlpriv.attack("people/*/*.parquet", qis=["age", "zip"], sensitive="ill").content
    assert sqlpriv.check("people", ["age", "zip"], "ill").content["rows"] == len(ROWS)
