"""Domains as a policy declares them: which values they have, in which type, and what happens to values outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.randomized_policies import publish_with, published, rows_of, write_noise_policy

from sqlpriv.core.errors import PolicyError

pytestmark = pytest.mark.slow

RELEASE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.3\nslots = 200'
OTHER = published('"range:0..9"')


def domain_of(
    folder: Path, domain: str, values: str, files: dict[str, str] | None = None, **more: str
) -> tuple[list[Any], str, Any]:
    """Publish a table with a column x of these values and this domain; its values, its type, and the release."""
    sql = f"CREATE TABLE people AS SELECT x, 1 AS z FROM (VALUES {values}) AS v(x)"
    columns = {"x": published(domain, **more), "z": OTHER}
    result = publish_with(write_noise_policy(folder, columns, RELEASE, sql, files))
    found = [r[0] for r in rows_of(result.written.output, "SELECT value FROM domain.x")]
    ((kind, size),) = rows_of(
        result.written.output, "SELECT type, size FROM sqlpriv_release.attributes WHERE name = 'x'"
    )
    assert size == len(found)
    return found, kind, result


def test_a_list_of_texts(tmp_path: Path) -> None:
    assert domain_of(tmp_path, '["b", "a", "it\'s"]', "('a'), ('it''s')")[:2] == (["a", "b", "it's"], "VARCHAR")


def test_a_list_takes_the_type_of_the_column_where_it_can(tmp_path: Path) -> None:
    assert domain_of(tmp_path, "[1, 2, 30]", "(1), (30)")[:2] == ([1, 2, 30], "INTEGER")


def test_texts_of_numbers_become_numbers_only_if_nothing_is_lost(tmp_path: Path) -> None:
    assert domain_of(tmp_path, '["1", "30"]', "(1), (30)")[:2] == ([1, 30], "INTEGER")


def test_codes_keep_their_zeros(tmp_path: Path) -> None:
    file = "x,z\n" + "".join(f"{zip},1\n" for zip in ("13053", "1305", "01305"))
    columns = {"x": published('["01305", "1305", "13053"]'), "z": OTHER}
    policy = write_noise_policy(tmp_path, columns, RELEASE, files={"p.csv": file}, table='source = "p.csv"')
    result = publish_with(policy)
    assert result.plan.calibration.rows == 3
    assert rows_of(result.written.output, "SELECT value FROM domain.x") == [("01305",), ("1305",), ("13053",)]


def test_ranges(tmp_path: Path) -> None:
    assert domain_of(tmp_path, '"range:-2..2"', "(0)")[:2] == ([-2, -1, 0, 1, 2], "INTEGER")


def test_a_range_for_a_column_of_doubles(tmp_path: Path) -> None:
    assert domain_of(tmp_path, '"range:1..3"', "(1.0::DOUBLE), (3.0::DOUBLE)")[:2] == ([1.0, 2.0, 3.0], "DOUBLE")


def test_days(tmp_path: Path) -> None:
    found, kind, _ = domain_of(tmp_path, '"range:2024-02-28..2024-03-01"', "(DATE '2024-02-29')")
    assert [str(d) for d in found] == ["2024-02-28", "2024-02-29", "2024-03-01"]
    assert kind == "DATE"


def test_a_table(tmp_path: Path) -> None:
    files = {"cities.csv": "name,share\nBonn,0.25\nKiel,0.75\n"}
    found, kind, result = domain_of(tmp_path, '"table:cities.csv.name"', "('Kiel')", files)
    assert (found, kind) == (["Bonn", "Kiel"], "VARCHAR")
    assert rows_of(result.written.output, "SELECT share FROM domain.x") == [(None,), (None,)]


def test_shares_of_a_table(tmp_path: Path) -> None:
    release = f'{RELEASE}\nadversary = "independent"'
    sql = "CREATE TABLE people AS SELECT 'Kiel' AS x, 1 AS z"
    columns = {"x": published('"table:cities.csv.name"', share='"share"'), "z": OTHER}
    policy = write_noise_policy(tmp_path, columns, release, sql, {"cities.csv": "name,share\nBonn,1\nKiel,3\n"})
    result = publish_with(policy)
    assert rows_of(result.written.output, "SELECT value, round(share, 9) FROM domain.x") == [
        ("Bonn", 0.25),
        ("Kiel", 0.75),
    ]
    assert rows_of(result.written.output, "SELECT DISTINCT round(share, 9) FROM domain.z") == [(0.1,)]


def test_a_level_of_a_hierarchy(tmp_path: Path) -> None:
    files = {"ages.csv": "".join(f"{a};{a // 10 * 10}s;*\n" for a in range(20, 40))}
    found, kind, result = domain_of(tmp_path, '"level:ages:1"', "(21), (39), (39)", files)
    assert (found, kind) == (["20s", "30s"], "VARCHAR")
    assert result.plan.calibration.rows == 3


def test_a_value_without_a_label_is_outside_and_not_null(tmp_path: Path) -> None:
    files = {"ages.csv": "20;20s;*\n30;30s;*\n"}
    with pytest.raises(PolicyError, match="1 rows have a value of 'x' outside its domain"):
        domain_of(tmp_path, '"level:ages:1"', "(20), (77), (NULL)", files, null="true")
    (tmp_path / "private.duckdb").unlink()
    _, _, result = domain_of(tmp_path, '"level:ages:1"', "(20), (77), (NULL)", files, null="true", outside='"drop"')
    assert result.plan.calibration.rows == 2


@pytest.mark.parametrize(
    ("domain", "hierarchy", "level", "values", "labels"),
    [
        ('"range:17..40"', '"ranges:10,20"', "1", "(17), (40)", ["10-19", "20-29", "30-39", "40-49"]),
        ('"range:17..40"', '"ranges:10,20"', "2", "(17.0::DOUBLE)", ["0-19", "20-39", "40-59"]),
        (
            '"range:2024-01-30..2024-04-01"',
            '"dates:month,quarter"',
            "1",
            "(DATE '2024-02-29')",
            ["2024-01", "2024-02", "2024-03", "2024-04"],
        ),
        ('"range:2024-01-30..2024-04-01"', '"dates:month,quarter"', "2", "(DATE '2024-02-29')", ["2024-Q1", "2024-Q2"]),
        ('["13053", "13068", "14850"]', '"mask:5"', "3", "('13068'), ('14850')", ["13***", "14***"]),
        ('["it\'s", "on"]', "['left(x, 1)']", "1", "('it''s')", ["i", "o"]),
        ('["a", "b"]', '"kinds.csv"', "1", "('a'), ('b')", ["first", "second"]),
        ('["a", "b"]', '"tree:tree.csv"', "1", "('a'), ('b')", ["first", "second"]),
    ],
)
def test_labels_of_the_values_of_a_domain(
    tmp_path: Path, domain: str, hierarchy: str, level: str, values: str, labels: list[str]
) -> None:
    files = {
        "kinds.csv": "a;first;*\nb;second;*\nc;third;*\n",
        "tree.csv": "a;first\nb;second\nfirst;*\nsecond;*\n",
    }
    found, kind, result = domain_of(tmp_path, domain, values, files, hierarchy=hierarchy, level=level)
    assert (found, kind) == (labels, "VARCHAR")
    assert result.plan.calibration.rows == values.count("(") - values.count("::(")
    assert rows_of(
        result.written.output, "SELECT declared LIKE 'level of %' FROM sqlpriv_release.attributes WHERE name = 'x'"
    ) == [(True,)]


def test_null_beside_labels(tmp_path: Path) -> None:
    found, _, result = domain_of(tmp_path, '"range:0..9"', "(3), (NULL)", hierarchy='"ranges:5"', null="true")
    assert found == ["0-4", "5-9", None]
    assert result.plan.calibration.rows == 2
    (tmp_path / "private.duckdb").unlink()
    (tmp_path / "ledger.json").unlink()
    with pytest.raises(PolicyError, match="1 rows have a value of 'x' outside its domain"):
        domain_of(tmp_path, '"range:0..9"', "(3), (12)", hierarchy='"ranges:5"', null="true")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"hierarchy": '"ranges:5"', "level": "3"}, "the hierarchy ends at level 2"),
        ({"hierarchy": '"bins:4"'}, "bins of equal frequency would be read from the private table; write ranges:5,10"),
        ({"level": "1"}, "'x' has a level, but no hierarchy"),
        ({"hierarchy": '"kinds.csv"'}, "10 values of the domain have no label in its hierarchy"),
        ({"hierarchy": '"nothing"'}, "'nothing' is neither a file nor a kind of hierarchy"),
        ({"hierarchy": '"table:people"'}, "its labels would be read from the private table"),
        ({"hierarchy": "3"}, "the hierarchy of 'x' must be text, or a list of SQL expressions"),
    ],
)
def test_faults_of_labels(tmp_path: Path, more: dict[str, str], message: str) -> None:
    with pytest.raises(PolicyError) as error:
        domain_of(tmp_path, '"range:0..9"', "(3)", {"kinds.csv": "a;first;*\n"}, **more)
    assert message in str(error.value)


@pytest.mark.parametrize("cell", ["abc", "3.5", ""])
def test_what_a_dropped_row_holds_does_not_show_in_the_labels(tmp_path: Path, cell: str) -> None:
    file = "x,z\n" + "1,1\n" * 5 + f"{cell},1\n"
    columns = {"x": published('"range:0..9"', outside='"drop"', hierarchy='"ranges:5"'), "z": OTHER}
    policy = write_noise_policy(tmp_path, columns, RELEASE, files={"p.csv": file}, table='source = "p.csv"')
    result = publish_with(policy)
    assert rows_of(result.written.output, "SELECT value FROM domain.x") == [("0-4",), ("5-9",)]
    assert result.plan.calibration.rows == 5


def test_labels_of_what_occurs_are_declared_as_such(tmp_path: Path) -> None:
    _, _, result = domain_of(tmp_path, '"active"', "(3), (12)", hierarchy='"ranges:5"')
    assert rows_of(result.written.output, "SELECT declared FROM sqlpriv_release.attributes LIMIT 1") == [
        ("level of active",)
    ]
    assert "the domains of 'x' are what occurs in the table" in result.plan.calibration.warnings[0]


def test_labels_have_no_shares(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="the labels of a hierarchy have no share"):
        domain_of(tmp_path, '["a", "b"]', "('a')", hierarchy='"suppression"', share="[1, 2]")


def test_active_warns(tmp_path: Path) -> None:
    found, _, result = domain_of(tmp_path, '"active"', "('a'), ('c'), (NULL)", null="true")
    assert found == ["a", "c", None]
    assert "the domains of 'x' are what occurs in the table" in result.plan.calibration.warnings[0]


def test_null_is_a_value_only_where_declared(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="1 rows have a value of 'x' outside its domain"):
        domain_of(tmp_path, '["a"]', "('a'), (NULL)")
    (tmp_path / "private.duckdb").unlink()
    assert domain_of(tmp_path, '["a"]', "('a'), (NULL)", null="true")[0] == ["a", None]


def test_values_outside_are_counted_and_refused_dropped_or_replaced(tmp_path: Path) -> None:
    values = "('a'), ('b'), ('b'), (NULL)"
    with pytest.raises(PolicyError, match=r"3 rows have a value of 'x' outside its domain; widen the domain") as error:
        domain_of(tmp_path, '["a", "c"]', values)
    assert "'b'" not in str(error.value)
    assert not list(tmp_path.glob("*release*"))
    (tmp_path / "private.duckdb").unlink()
    found, _, result = domain_of(tmp_path, '["a", "c"]', values, outside='"drop"')
    assert (found, result.plan.calibration.rows) == (["a", "c"], 1)
    (tmp_path / "private.duckdb").unlink()
    sql = f"CREATE TABLE people AS SELECT x, 1 AS z FROM (VALUES {values}) AS v(x)"
    columns = {"x": published('["a", "c"]', outside='"other"'), "z": OTHER}
    result = publish_with(write_noise_policy(tmp_path, columns, RELEASE, sql), ledger="other.json")
    assert [r[0] for r in rows_of(result.written.output, "SELECT value FROM domain.x")] == ["a", "c", "other"]
    assert result.plan.calibration.rows == 4


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ('["a", "a"]', "domain of 'x': 1 values are listed twice"),
        ('"range:5..4"', "'range:5..4' has 0 values; a domain has from 1 to"),
        ('"range:0..999999999999"', "has 1,000,000,000,000 values; a domain has from 1 to"),
        ('"range:2024-02-30..2024-03-01"', "has a day that no calendar has"),
        ('"range:a..b"', "'range:a..b' is no domain; there are a list"),
        ('"table:nothing.csv.name"', "domain of 'x': there is no such file"),
        ('"table:cities"', "must name a table and its column"),
        ('"table:cities.csv.nothing"', "domain of 'x': there is no column 'nothing'"),
        ('"level:ages:7"', "the hierarchy ends at level 2"),
        ('"level:ages"', "must name a hierarchy and a level of it"),
        ('"level:twice:1"', "1 values have two labels"),
        ('"table:empty.csv.name"', "domain of 'x': it is empty"),
    ],
)
def test_faults(tmp_path: Path, domain: str, message: str) -> None:
    files = {
        "cities.csv": "name\nBonn\n",
        "ages.csv": "20;20s;*\n",
        "twice.csv": "20;20s;*\n20;30s;*\n",
        "empty.csv": "name\n",
    }
    with pytest.raises(PolicyError) as error:
        domain_of(tmp_path, domain, "('a')", files)
    assert message in str(error.value)
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.parametrize("cell", ["abc", "3.5", ""])
def test_what_a_dropped_row_holds_does_not_show_in_the_type(tmp_path: Path, cell: str) -> None:
    file = "x,z\n" + "1,1\n" * 5 + f"{cell},1\n"
    columns = {"x": published('"range:0..9"', outside='"drop"'), "z": OTHER}
    policy = write_noise_policy(tmp_path, columns, RELEASE, files={"p.csv": file}, table='source = "p.csv"')
    result = publish_with(policy)
    assert rows_of(result.written.output, "SELECT type FROM sqlpriv_release.attributes") == [("BIGINT",), ("BIGINT",)]
    assert result.plan.calibration.rows == 5


def test_the_numbers_of_a_file_of_values_are_numbers_if_they_are_written_so(tmp_path: Path) -> None:
    file = "x,z\n" + "7,1\n" * 5
    for number, (values, kind) in enumerate((("7\n8\n", "BIGINT"), ("7\n08\n", "VARCHAR"))):
        columns = {"x": published('"table:v.csv.v"'), "z": OTHER}
        files = {"p.csv": file, "v.csv": f"v\n{values}"}
        policy = write_noise_policy(tmp_path, columns, RELEASE, files=files, table='source = "p.csv"')
        result = publish_with(policy, ledger=f"{number}.json")
        assert rows_of(result.written.output, "SELECT type FROM sqlpriv_release.attributes WHERE name = 'x'") == [
            (kind,)
        ]
        assert result.plan.calibration.rows == 5


def test_every_column_has_to_be_named(tmp_path: Path) -> None:
    sql = "CREATE TABLE people AS SELECT 1 AS x, 1 AS z, 'new' AS added"
    policy = write_noise_policy(tmp_path, {"x": OTHER, "z": OTHER}, RELEASE, sql)
    with pytest.raises(PolicyError, match="the policy does not say what 'added' is"):
        publish_with(policy)


def test_a_hierarchy_that_gives_null_two_labels(tmp_path: Path) -> None:
    files = {"h.csv": ";low\n;high\n1;low\n2;high\n"}
    with pytest.raises(PolicyError, match="1 values have two labels"):
        domain_of(tmp_path, '"level:h.csv:1"', "('1'), (NULL)", files)


def test_no_row_becomes_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong with a domain: a row in two places is not protected as promised."""
    monkeypatch.setattr("sqlpriv.table.domains._complete", lambda *_: None)
    with pytest.raises(PolicyError, match="match two values"):
        domain_of(tmp_path, '["a", "a", "b"]', "('a'), ('b')")
