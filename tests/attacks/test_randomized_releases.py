"""Ways to learn from a randomized release what it must not tell, and to make one that does not hide what it should."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.policies import role
from support.randomized_policies import KEY, publish_with, published, rows_of, write_noise_policy

from sqlpriv.core.errors import InputError, PolicyError, ReleaseError, SqlprivError

pytestmark = pytest.mark.slow

RELEASE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.3\nslots = 2000'
MARKER = "SECRET-42"
PEOPLE = (
    f"CREATE TABLE people AS SELECT '{MARKER}' || i AS ssn, i % 10 AS a, 'v' || i % 3 AS b FROM range(1234) AS r(i)"
)
COLUMNS = {"ssn": role("identifier"), "a": published('"range:0..99"'), "b": published('["v0", "v1", "v2", "v3"]')}


def everything(path: Path) -> str:
    """All that the tables of a file say, except the randomized rows."""
    with duckdb.connect(str(path), read_only=True) as con:
        tables = con.execute(
            "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE table_name <> 'published'"
        ).fetchall()
        contents = [con.execute(f'FROM "{schema}"."{name}"').fetchall() for schema, name, _ in tables]
    return f"{tables} {contents}"


def test_the_file_holds_no_key_no_path_no_identifier_and_no_number_of_rows(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, RELEASE, PEOPLE)
    result = publish_with(policy)
    content = result.written.output.read_bytes()
    for secret in (KEY, str(tmp_path).encode(), MARKER.encode(), b"ssn", b"private.duckdb"):
        assert secret not in content
    text = everything(result.written.output)
    assert "1234" not in text
    assert "1,234" not in text
    assert "1300" not in text  # d was given, so no number of rows is needed
    with_k = RELEASE.replace("d = 0.01", "k = 0.01")
    (tmp_path / "private.duckdb").unlink()
    text = everything(
        publish_with(write_noise_policy(tmp_path, COLUMNS, with_k, PEOPLE), ledger="k.json").written.output
    )
    assert "1234" not in text
    assert "1300" in text  # d = k n_public / m: this number is said to be public


def test_rows_come_in_the_order_of_their_values(tmp_path: Path) -> None:
    view = [r[:2] for r in rows_of(publish_with(write_noise_policy(tmp_path, COLUMNS, RELEASE, PEOPLE)).written.output)]
    assert view == sorted(view)
    assert len(view) > 100


def test_a_private_value_outside_the_domain_is_not_told(tmp_path: Path) -> None:
    columns = {**COLUMNS, "b": published('["v0", "v1"]')}
    with pytest.raises(PolicyError, match="411 rows have a value of 'b' outside its domain") as error:
        publish_with(write_noise_policy(tmp_path, columns, RELEASE, PEOPLE))
    assert "v2" not in str(error.value)


def test_an_enum_does_not_tell_the_values_of_dropped_rows(tmp_path: Path) -> None:
    people = f"CREATE TYPE secrets AS ENUM ('v0', '{MARKER}'); CREATE TABLE people AS SELECT 'v0'::secrets AS b, 1 AS a"
    for number, domain in enumerate(('["v0", "v9"]', '"active"')):
        (tmp_path / "private.duckdb").unlink(missing_ok=True)
        columns = {"b": published(domain), "a": published('"range:0..9"')}
        result = publish_with(write_noise_policy(tmp_path, columns, RELEASE, people), ledger=f"{number}.json")
        assert MARKER.encode() not in result.written.output.read_bytes()
        assert rows_of(result.written.output, "SELECT type FROM sqlpriv_release.attributes WHERE name = 'b'") == [
            ("VARCHAR",)
        ]


def test_texts_that_differ_by_case_are_two_values_under_any_collation(tmp_path: Path) -> None:
    people = """CREATE TABLE people (b VARCHAR COLLATE NOCASE, a INTEGER); INSERT INTO people VALUES ('x', 1), ('X', 1);
        CREATE TABLE texts (t VARCHAR COLLATE NOCASE); INSERT INTO texts VALUES ('x'), ('X'), ('y')"""
    for number, domain in enumerate(('["x", "X", "y"]', '"table:texts.t"', '"active"')):
        (tmp_path / "private.duckdb").unlink(missing_ok=True)
        columns = {"b": published(domain), "a": published('"range:0..9"')}
        result = publish_with(write_noise_policy(tmp_path, columns, RELEASE, people), ledger=f"{number}.json")
        assert result.plan.calibration.rows == 2
        assert {"x", "X"} <= {r[0] for r in rows_of(result.written.output, "SELECT value FROM domain.b")}


def test_values_that_are_written_alike_are_one(tmp_path: Path) -> None:
    people = (
        "CREATE TABLE people (b UNION(num INTEGER, str VARCHAR), a INTEGER); INSERT INTO people VALUES (1, 1), ('1', 1)"
    )
    columns = {"b": published('"active"'), "a": published('"range:0..9"')}
    result = publish_with(write_noise_policy(tmp_path, columns, RELEASE, people))
    assert result.plan.calibration.rows == 2
    assert rows_of(result.written.output, "SELECT value FROM domain.b") == [("1",)]


@pytest.mark.slow
def test_columns_named_like_ours(tmp_path: Path) -> None:
    names = ["i0", "e0", "e1", "copies", "slot", "s", "id", "value", "share", "d0", "t", "h0", "block", "copy", "bits",
             "in_view", "now", 'we"ird', "select"]  # fmt: skip
    columns = {name: published('["u", "v"]') for name in names}
    quoted = ", ".join('i0_ AS "' + name.replace('"', '""') + '"' for name in names)
    people = f"CREATE TABLE people AS SELECT {quoted} FROM (SELECT ['u', 'v'][1 + i % 2] AS i0_ FROM range(40) AS r(i))"
    for method in ("alpha_beta", "frapp"):
        (tmp_path / "private.duckdb").unlink(missing_ok=True)
        release = f'method = "{method}"\nd = 0.0001\ngamma = 0.3'
        result = publish_with(write_noise_policy(tmp_path, columns, release, people), ledger=f"{method}.json")
        with duckdb.connect(str(result.written.output), read_only=True) as con:
            found = con.sql("FROM sqlpriv_release.published").columns
        assert found[: len(names)] == names
        kept = sum(1 for r in rows_of(result.written.output) if len(set(r[: len(names)])) == 1)
        assert kept > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"b": None}, "the policy does not say what 'b' is"),
        ({"c": published('"range:0..9"')}, "people has no column 'c'"),
    ],
)
def test_misspelt_columns(tmp_path: Path, changes: dict[str, str | None], message: str) -> None:
    columns = {k: v for k, v in {**COLUMNS, **changes}.items() if v is not None}
    with pytest.raises(SqlprivError, match=message):
        publish_with(write_noise_policy(tmp_path, columns, RELEASE, PEOPLE))
    assert not (tmp_path / "people-release.duckdb").exists()


def test_the_private_database_is_not_overwritten(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, RELEASE, PEOPLE)
    with pytest.raises(ReleaseError, match="is the private database itself"):
        publish_with(policy, output="private.duckdb")
    assert rows_of(tmp_path / "private.duckdb", "SELECT count(*) FROM people") == [(1234,)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.parquet", "contain random noise, so counting them misleads"),
        ("out.CSV", "contain random noise, so counting them misleads"),
        ("out.json", r"a release is a DuckDB file, .* call it 'out\.duckdb'"),
    ],
)
def test_a_table_of_noise_or_another_kind_of_file_is_refused(tmp_path: Path, name: str, message: str) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, RELEASE, PEOPLE)
    with pytest.raises(ReleaseError, match=message):
        publish_with(policy, output=name)
    assert not (tmp_path / name).exists()
    assert not (tmp_path / "out.duckdb").exists()


def test_a_public_table_cannot_take_the_place_of_the_private_one(tmp_path: Path) -> None:
    more = '[public]\nPEOPLE = "regions.csv"'
    policy = write_noise_policy(tmp_path, COLUMNS, RELEASE, PEOPLE, {"regions.csv": "a\n1\n"}, more=more)
    with pytest.raises(PolicyError, match="'PEOPLE' is called like the private one"):
        publish_with(policy)


def test_an_empty_key_is_refused_and_a_short_one_warns_its_owner_alone(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, RELEASE, PEOPLE)
    with pytest.raises(InputError, match="the key file 'key' is empty"):
        publish_with(policy, key=b" \n")
    result = publish_with(policy, key=b"secret")
    assert "the key has fewer than 16 bytes and may be guessed" in result.written.warnings
    assert "fewer than 16" not in everything(result.written.output)


@pytest.mark.parametrize(
    ("coins", "message"),
    [
        ("alpha = 0.48\nbeta = 0.02", "not private against an adversary who knows who is in the table"),
        ('alpha = 0.9\nbeta = 0.01\nadversary = "independent"', "are not private: a prior of 0.01 can become"),
        ('alpha = 0.99\nbeta = 0.005\nadversary = "independent"', "are not private"),
    ],
)
def test_coins_that_are_not_private_are_refused(tmp_path: Path, coins: str, message: str) -> None:
    release = f'method = "alpha_beta"\nd = 0.01\ngamma = 0.2\nduplicates = "distinct"\n{coins}'
    with pytest.raises(PolicyError, match=message):
        publish_with(write_noise_policy(tmp_path, COLUMNS, release, PEOPLE))
    assert not (tmp_path / "people-release.duckdb").exists()
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.parametrize(
    ("release", "message"),
    [
        (
            'method = "alpha_beta"\nd = 1e-15\nparameters = "tight"\nadversary = "independent"',
            "every row would be published",
        ),
        (
            'method = "alpha_beta"\nd = 1e-14\nalpha = 1\nbeta = 1e-13\nadversary = "independent"',
            "kept with probability 1",
        ),
    ],
)
def test_a_coin_that_falls_on_one_side_only_is_refused(tmp_path: Path, release: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        publish_with(write_noise_policy(tmp_path, COLUMNS, f"{release}\ngamma = 0.2", PEOPLE))


def test_a_prior_as_large_as_gamma_is_refused(tmp_path: Path) -> None:
    release = 'method = "alpha_beta"\nk = 10\ngamma = 0.2'
    with pytest.raises(PolicyError, match=r"the prior bound d = 32.5 is not below gamma = 0.2"):
        publish_with(write_noise_policy(tmp_path, COLUMNS, release, PEOPLE))
