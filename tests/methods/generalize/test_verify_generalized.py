"""Verifying a generalized release: it holds as it was written, and a copy that was tampered with does not."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copyfile
from typing import Any

import duckdb
import pytest
from support.commands import run
from support.policies import generalize, policy_text, qi, role, write_policy
from support.titles import OF_POLICY

from sqlpriv.core.errors import ReleaseError
from sqlpriv.publishing import show, verify

PEOPLE = """
CREATE TABLE people AS SELECT i AS ssn, 20 + i // 6 AS age, printf('1305%d', i // 12) AS zip, 'ill' || i % 3 AS ill,
  i % 2 AS ward FROM range(24) AS r(i)
"""
WITH_A_STRANGER = f"{PEOPLE}; INSERT INTO people VALUES (99, 70, '99999', 'ill0', 1)"
WITH_STRANGERS = f"{WITH_A_STRANGER}, (98, 90, '11111', 'ill1', 2)"
COLUMNS = {
    "ssn": role("identifier"),
    "age": qi("ranges:5,10"),
    "zip": qi("mask:5"),
    "ill": role("sensitive"),
    "ward": role("other"),
}
ONE_MORE = (
    "ALTER TABLE sqlpriv_release.published ADD COLUMN ssn INTEGER DEFAULT 7; "
    "ALTER TABLE sqlpriv_release.published ALTER COLUMN ssn DROP DEFAULT"
)
REQUIRE = "k = 5\ndistinct_l = { ill = 3 }"
SHOWN = "the views in main show the published rows"
FIXED = "the tables that describe the release have the columns of their kind"
COUNTED = "the file holds the tables of its method and nothing else"
DECLARED = COUNTED
NAMED = "the published rows are those of the digest"
TOLD = "the public part of the policy fits the release"
LEVELS = "every quasi-identifier stands on the level of the node"
UNREAD = "every name, word and number is one that the method declares"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a private table, its policy and its release."""
    made = tmp_path_factory.mktemp("released")
    generalize(write_policy(made, policy_text(COLUMNS, REQUIRE), PEOPLE))
    return made


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(copyfile(folder / "people-release.duckdb", tmp_path / "copy.duckdb"))


def change(file: Path, sql: str) -> None:
    with duckdb.connect(str(file)) as con:
        con.execute(sql).fetchall()


def failing(file: Path, policy: Path | None = None) -> list[str]:
    """The checks that fail; with them the command exits with 1, without them with 0."""
    facts = verify(file, policy)
    found = [str(c["check"]) for c in facts.content["checks"] if c["passed"] is False]
    assert facts.passed == facts.content["passed"] == (not found)
    named = [] if policy is None else ["--policy", str(policy)]
    done = run(file.parent, "verify", file.name, *named, "--json")
    assert done.returncode == (1 if found else 0), done.stderr
    assert json.loads(done.stdout)["checks"] == json.loads(facts.to_json())["checks"]
    return found


def passed(file: Path) -> dict[str, Any]:
    return {c["check"]: c["passed"] for c in verify(file).content["checks"]}


def test_a_release_holds_what_it_says(folder: Path) -> None:
    file = folder / "people-release.duckdb"
    assert failing(file) == []
    assert failing(file, folder / "policy.toml") == []
    found = passed(file)
    assert set(found.values()) == {True}
    assert {"k>=5", "distinct_l(ill)>=3"} <= set(found)


def test_for_people(folder: Path) -> None:
    done = run(folder, "verify", "people-release.duckdb")
    assert done.returncode == 0
    assert "people-release.duckdb: holds what it says, as far as the file alone can tell" in done.stdout
    assert "verified  k>=5 (is 6)" in done.stdout


LABELS = "every label of 'age' is a label of its hierarchy"
REPLACED = "CREATE OR REPLACE VIEW people AS "
TAMPERED: dict[str, tuple[str, set[str]]] = {
    "a row changed so that k fails": (
        "UPDATE sqlpriv_release.published SET age = 21 WHERE rowid IN (0, 1)",
        {"k>=5", NAMED},
    ),
    "a row that leaves its class with two illnesses": (
        "UPDATE sqlpriv_release.published SET ill = 'ill0' WHERE age = 20 AND ill = 'ill1'",
        {"distinct_l(ill)>=3", NAMED},
    ),
    "a row added that nobody would miss": (
        "INSERT INTO sqlpriv_release.published FROM sqlpriv_release.published LIMIT 1",
        {NAMED},
    ),
    "a row taken away that nobody would miss": (
        "DELETE FROM sqlpriv_release.published WHERE rowid = 0",
        {NAMED},
    ),
    "all rows taken away": ("DELETE FROM sqlpriv_release.published", {NAMED}),
    "a column added": (ONE_MORE, {DECLARED}),
    "a column added and declared": (
        f"{ONE_MORE}; INSERT INTO sqlpriv_release.attributes "
        "VALUES (4, 'ssn', 'INTEGER', 'other', NULL, NULL, 'INTEGER', 'values', false)",
        {NAMED},
    ),
    "a column taken away": ("ALTER TABLE sqlpriv_release.published DROP COLUMN ward", {DECLARED}),
    "a macro in its own schema": ("CREATE MACRO sqlpriv_release.notes() AS 'Mrs Smith is ill'", {COUNTED}),
    "a macro called like one of ours": (
        "CREATE SCHEMA priv; CREATE MACRO priv.k_anonymity(t, qis) AS TABLE SELECT 999 AS k", {COUNTED},
    ),
    "words on a table": ("COMMENT ON TABLE sqlpriv_release.published IS 'Mrs Smith is ill'", {COUNTED}),
    "words on a view": ("COMMENT ON VIEW people IS 'Mrs Smith is ill'", {COUNTED}),
    "a table in its own schema": ("CREATE TABLE sqlpriv_release.more AS SELECT 7 AS ssn", {COUNTED}),
    "a table in main": ("CREATE TABLE more AS SELECT 7 AS ssn", {COUNTED}),
    "a table in a new schema": ("CREATE SCHEMA s; CREATE TABLE s.more AS SELECT 7 AS ssn", {COUNTED}),
    "a table in the schema of macros": ("CREATE SCHEMA priv; CREATE TABLE priv.more AS SELECT 7 AS ssn", {COUNTED}),
    "a table as a domain": ("CREATE TABLE domain.more AS SELECT 7 AS ssn", {COUNTED}),
    "a public table": ("CREATE TABLE public.more AS SELECT 7 AS ssn", {COUNTED}),
    "an empty schema": ("CREATE SCHEMA s", {COUNTED}),
    "a view": ("CREATE VIEW more AS SELECT 7 AS ssn", {COUNTED}),
    "a macro that holds a value": ("CREATE MACRO ssn() AS 7", {COUNTED}),
    "a type that holds values": ("CREATE TYPE ssn AS ENUM ('7', '8')", {COUNTED}),
    "a sequence": ("CREATE SEQUENCE ssn START 7", {COUNTED}),
    "a value outside its hierarchy": (
        "UPDATE sqlpriv_release.published SET age = 99 WHERE age = 20",
        {"every label of 'age' is a label of its hierarchy", NAMED},
    ),
    "a label taken from its hierarchy": (
        "DELETE FROM sqlpriv_release.labels_age WHERE label = '20'",
        {"every label of 'age' is a label of its hierarchy"},
    ),
    "a hierarchy with another level": ("ALTER TABLE sqlpriv_release.labels_age ADD COLUMN level4 VARCHAR", {COUNTED}),
    "a label on another level": (
        "UPDATE sqlpriv_release.labels_age SET level = 1, above = above[2:]", {LABELS},
    ),
    "a label with less above it": ("UPDATE sqlpriv_release.labels_age SET above = ['*']", {LABELS}),
    "a label twice": ("INSERT INTO sqlpriv_release.labels_age FROM sqlpriv_release.labels_age LIMIT 1", {LABELS}),
    "a label of no row": (
        "INSERT INTO sqlpriv_release.labels_age SELECT '99', level, above FROM sqlpriv_release.labels_age LIMIT 1",
        {LABELS},
    ),
    "a hierarchy taken away": ("DROP TABLE sqlpriv_release.labels_age", {COUNTED}),
    "a requirement raised": (
        "UPDATE sqlpriv_release.requirements SET threshold = 50 WHERE measure = 'k'",
        {"k>=50", TOLD},
    ),
    "a requirement of a column that is not sensitive": (
        "UPDATE sqlpriv_release.requirements SET sensitive = 'ward' "
        "WHERE measure = 'distinct_l'",
        {"distinct_l(ward)>=3"},
    ),
    "a requirement that nobody knows": (
        "UPDATE sqlpriv_release.requirements SET measure = 'beauty' WHERE measure = 'k'",
        {"beauty"},
    ),
    "a requirement that cannot be read": (
        "UPDATE sqlpriv_release.requirements SET arguments = 'x' WHERE measure = 'k'",
        {"k"},
    ),
    "a threshold that is none": (
        "UPDATE sqlpriv_release.requirements SET threshold = NULL WHERE measure = 'k'",
        {"k"},
    ),
    "a guarantee that says more": (
        "ALTER TABLE sqlpriv_release.requirements ADD COLUMN guarantee VARCHAR",
        {FIXED},
    ),
    "all requirements deleted": ("DELETE FROM sqlpriv_release.requirements", {"something is required"}),
    "no requirements at all": ("DROP TABLE sqlpriv_release.requirements", {FIXED}),
    "requirements of another form": ("ALTER TABLE sqlpriv_release.requirements DROP COLUMN threshold", {FIXED}),
    "another view of other rows": (REPLACED + "SELECT 7 AS ssn", {SHOWN}),
    "a view of some of the rows": (
        REPLACED + "FROM sqlpriv_release.published WHERE age > 20",
        {SHOWN},
    ),
    "a view that reads a file": (
        REPLACED + "SELECT * FROM read_text('/etc/hostname')",
        {SHOWN},
    ),
    "a table in the place of the view": (
        "DROP VIEW people; CREATE TABLE people AS FROM sqlpriv_release.published",
        {COUNTED},
    ),
    "no view at all": ("DROP VIEW people", {COUNTED}),
    "the type of an attribute": (
        "UPDATE sqlpriv_release.attributes SET type = 'VARCHAR' WHERE name = 'age'",
        {DECLARED},
    ),
    "the name of an attribute": (
        "UPDATE sqlpriv_release.attributes SET name = 'street' WHERE name = 'ward'",
        {DECLARED},
    ),
    "the order of the attributes": (
        "UPDATE sqlpriv_release.attributes SET position = 3 - position",
        {DECLARED},
    ),
    "an attribute taken away": ("DELETE FROM sqlpriv_release.attributes WHERE name = 'ward'", {DECLARED}),
    "an attribute without a position": ("UPDATE sqlpriv_release.attributes SET position = NULL", {UNREAD}),
    "the level of an attribute": (
        "UPDATE sqlpriv_release.attributes SET level = 1 WHERE name = 'age'",
        {"every name, word and number is one that the method declares"},
    ),
    "the levels of an attribute": (
        "UPDATE sqlpriv_release.attributes SET levels = 9 WHERE name = 'age'",
        {LABELS},
    ),
    "a quasi-identifier that is none any more": (
        "UPDATE sqlpriv_release.attributes SET role = 'other', level = NULL, levels = NULL WHERE name = 'age'",
        {COUNTED},
    ),
    "a sensitive column that is none any more": (
        "UPDATE sqlpriv_release.attributes SET role = 'other' WHERE name = 'ill'",
        {"distinct_l(ill)>=3"},
    ),
    "no attributes at all": ("DROP TABLE sqlpriv_release.attributes", {FIXED}),
    "another table": ("UPDATE sqlpriv_release.about SET value = 'patients' WHERE name = 'table'", {COUNTED}),
    "another node": (
        "UPDATE sqlpriv_release.about SET value = '{\"age\": 2, \"zip\": 0}' WHERE name = 'node'",
        {LEVELS},
    ),
    "a node that is none": ("UPDATE sqlpriv_release.about SET value = '0, 0' WHERE name = 'node'", {UNREAD}),
    "no node": ("DELETE FROM sqlpriv_release.about WHERE name = 'node'", {UNREAD}),
    "suppressed rows that are kept, though none is there": (
        "UPDATE sqlpriv_release.about SET value = 'yes' WHERE name = 'kept_suppressed'; "
        "UPDATE sqlpriv_release.about SET value = '3' WHERE name = 'suppressed_rows'",
        {"3 suppressed rows are kept, with stars"},
    ),
}  # fmt: skip


@pytest.mark.some(3)
@pytest.mark.parametrize("how", TAMPERED)
def test_a_copy_that_was_tampered_with_fails(copy: Path, how: str) -> None:
    sql, expected = TAMPERED[how]
    change(copy, sql)
    assert expected <= set(failing(copy))


def test_a_view_in_the_place_of_the_rows_does_not_run(copy: Path) -> None:
    change(
        copy,
        "ALTER TABLE sqlpriv_release.labels_age RENAME TO h; DROP TABLE sqlpriv_release.published; "
        "CREATE VIEW sqlpriv_release.published AS SELECT 1 AS age",
    )
    with pytest.raises(ReleaseError, match="published is a view, which would run when it is read"):
        verify(copy)


def test_tampering_that_only_the_policy_tells(copy: Path, folder: Path) -> None:
    """From the file alone nobody can know what else was required; with the policy it fails."""
    policy = folder / "policy.toml"
    change(copy, "DELETE FROM sqlpriv_release.requirements WHERE measure = 'distinct_l'")
    assert failing(copy) == [TOLD]
    change(copy, told(', "distinct_l(ill)>=3"', ""))
    assert failing(copy) == []
    assert failing(copy, policy) == [OF_POLICY, TOLD]


def told(was: str, now: str) -> str:
    """SQL that changes what the file tells of the policy."""
    return f"UPDATE sqlpriv_release.about SET value = replace(value, '{was}', '{now}') WHERE name = 'policy'"


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("sql", "check"),
    [
        ("UPDATE sqlpriv_release.attributes SET role = 'sensitive' WHERE name = 'ward'; "
         + told('"role": "other"', '"role": "sensitive"'),
         OF_POLICY),
        ("UPDATE sqlpriv_release.requirements SET threshold = 4 WHERE measure = 'k'; "
         + told("k>=5", "k>=4"), OF_POLICY),
        ("UPDATE sqlpriv_release.requirements SET threshold = 6 WHERE measure = 'k'; "
         + told("k>=5", "k>=6"), OF_POLICY),
        ("UPDATE sqlpriv_release.about SET value = 'persons' WHERE name = 'counts'",
         OF_POLICY),
        ("UPDATE sqlpriv_release.about SET value = '1' WHERE name = 'suppressed_rows'",
         OF_POLICY),
    ],
)  # fmt: skip
def test_what_is_no_fault_by_itself_is_compared_with_the_policy(copy: Path, folder: Path, sql: str, check: str) -> None:
    change(copy, sql)
    assert failing(copy) == []
    assert check in failing(copy, folder / "policy.toml")


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("columns", "check"),
    [
        ({"ward": role("drop")}, OF_POLICY),
        ({"ward": role("sensitive")}, OF_POLICY),
        ({"zip": role("other")}, OF_POLICY),
        ({"ssn": role("other")}, OF_POLICY),
        ({"ssn": role("person")}, OF_POLICY),
    ],
)
def test_a_release_of_another_policy(folder: Path, tmp_path: Path, columns: dict[str, str], check: str) -> None:
    policy = write_policy(tmp_path, policy_text(COLUMNS | columns, REQUIRE))
    copyfile(folder / "people-release.duckdb", tmp_path / "copy.duckdb")
    assert check in failing(tmp_path / "copy.duckdb", policy)


def test_a_file_that_is_no_release(tmp_path: Path) -> None:
    change(tmp_path / "no.duckdb", "CREATE TABLE people AS SELECT 1 AS q")
    with pytest.raises(ReleaseError, match=r"no.duckdb is no release: it has no table sqlpriv_release.about"):
        verify(tmp_path / "no.duckdb")
    done = run(tmp_path, "verify", "no.duckdb")
    assert (done.returncode, done.stdout) == (2, "")


# --- claims -------------------------------------------------------------------------------------


def claims(folder: Path, columns: dict[str, str], require: str, release: str, sql: str) -> dict[str, bool | None]:
    release += f'\ncoexists_because = "one of several in a test, {folder.name}"'
    output = generalize(write_policy(folder, policy_text(columns, require, release), sql)).output
    found = {str(c["check"]): c["passed"] for c in verify(output, folder / "policy.toml").content["checks"]}
    assert verify(output).passed
    return found


def test_persons_are_claimed(tmp_path: Path) -> None:
    found = claims(tmp_path, COLUMNS | {"ssn": role("person")}, REQUIRE, "", PEOPLE)
    assert (found["k>=5"], found["distinct_l(ill)>=3"]) == (None, None)
    assert "claimed  k>=5 (it counts persons" in run(tmp_path, "verify", "people-release.duckdb").stdout


def test_a_population_is_claimed(tmp_path: Path) -> None:
    (tmp_path / "town.csv").write_text("age,zip\n" + "\n".join(f"{20 + i // 6},1305{i // 12}" for i in range(24)))
    require = "k = 2\nk_map = { population = 'town.csv', at_least = 2 }"
    found = claims(tmp_path, COLUMNS, require, "", PEOPLE)
    assert (found["k>=2"], found["k_map(population=town.csv)>=2"]) == (True, None)


OF_THE_TABLE = {
    "t(ill)<=1": "t = 1",
    "t_ordered(ward)<=1": "t_ordered = { ward = 1 }",
    "beta(ill)<=99": "beta = { ill = 99 }",
    "delta(ill)<99": "delta = { ill = 99 }",
    "epsilon_class2(ill, sigma=100, b=0)<=1000":
        'epsilon = { column = "ill", adversary = "class2", sigma = 100, at_most = 1000 }',
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", OF_THE_TABLE)
def test_what_is_about_the_whole_table_is_claimed_where_rows_were_suppressed(tmp_path: Path, text: str) -> None:
    columns = COLUMNS | {"ward": role("sensitive")}
    require = f"k = 2\n{OF_THE_TABLE[text]}"
    (tmp_path / "whole").mkdir()
    assert claims(tmp_path / "whole", columns, require, "", PEOPLE)[text] is True
    suppressed = claims(tmp_path, columns, require, "suppression = 0.1", WITH_A_STRANGER)
    assert (suppressed["k>=2"], suppressed[text]) == (True, None)


def test_beliefs_of_a_shape_are_claimed(tmp_path: Path) -> None:
    """A release that the owner's own shapes and priors judged is not refused because the file does not have them."""
    require = "\n".join(
        f'[[require.epsilon]]\ncolumn = "ill"\nadversary = "{kind}"\nshape = "{shape}"\nat_most = 1000\n{sigma}'
        for kind, shape, sigma in (("class1", "uniform", "sigma = 100"), ("class3", "table", ""))
    )
    found = claims(tmp_path, COLUMNS, f"k = 2\n{require}", "", PEOPLE)
    assert [found[text] for text in found if text.startswith("epsilon_")] == [None, None]


def test_the_order_of_an_enum_is_claimed(tmp_path: Path) -> None:
    """Its type would tell values that nobody has, so it is published as text, and text has another order."""
    sql = (
        "CREATE TYPE size AS ENUM ('small', 'medium', 'large'); CREATE TABLE people AS SELECT i // 6 AS q, "
        "(['small', 'medium', 'large'])[1 + i % 6 // 2]::size AS s FROM range(24) AS r(i)"
    )
    found = claims(tmp_path, {"q": qi(), "s": role("sensitive")}, "k = 2\nt_ordered = 0.3", "", sql)
    assert found["t_ordered(s)<=0.3"] is None


# --- odd releases hold, too ---------------------------------------------------------------------


@pytest.mark.slow
def test_kept_rows_are_counted_and_judged(tmp_path: Path) -> None:
    starred = "2 suppressed rows are kept, with stars"
    found = claims(tmp_path, COLUMNS, "k = 2", "suppression = 0.1\nkeep_suppressed = true", WITH_STRANGERS)
    assert (found[starred], found["k>=2"]) == (True, True)
    output = tmp_path / "people-release.duckdb"
    change(output, "INSERT INTO sqlpriv_release.published FROM sqlpriv_release.published WHERE age = '*'")
    assert starred in failing(output)
    change(output, "DELETE FROM sqlpriv_release.published WHERE age = '*'")
    change(output, "INSERT INTO sqlpriv_release.published FROM sqlpriv_release.published LIMIT 1")
    last = "(SELECT max(rowid) FROM sqlpriv_release.published)"
    change(output, f"UPDATE sqlpriv_release.published SET age = '*', zip = '*' WHERE rowid = {last}")
    change(output, "UPDATE sqlpriv_release.about SET value = '1' WHERE name = 'suppressed_rows'")
    assert "k>=2" in failing(output)


def test_the_case_of_names_is_no_difference(tmp_path: Path) -> None:
    columns = {"SSN": role("identifier"), "Age": qi("ranges:5"), "ZIP": qi(), "Ill": role("sensitive")}
    columns |= {"WARD": role("other")}
    found = claims(tmp_path, columns, "k = 2\ndistinct_l = { ILL = 2 }", "", PEOPLE)
    assert set(found.values()) == {True}


def test_the_top_of_a_hierarchy_is_a_star_and_nothing_else(tmp_path: Path) -> None:
    sql = "CREATE TABLE people AS SELECT i AS q, i // 2 AS z FROM range(8) AS r(i)"
    output = generalize(write_policy(tmp_path, policy_text({"q": qi(), "z": qi()}, "k = 2"), sql)).output
    change(output, "UPDATE sqlpriv_release.published SET q = NULL WHERE z = 0")
    assert "every label of 'q' is a label of its hierarchy" in failing(output)


def test_times_are_not_compared_across_time_zones(tmp_path: Path) -> None:
    sql = "CREATE TABLE people AS SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00' AS q FROM range(4)"
    found = claims(tmp_path, {"q": qi()}, "k = 2", "", sql)
    assert (found[NAMED], found["every label of 'q' is a label of its hierarchy"], found["k>=2"]) == (None, None, True)


def test_show_says_what_is_claimed(folder: Path) -> None:
    facts = show(folder / "people-release.duckdb")
    assert [r["requirement"] for r in facts.content["requirements"]] == ["k>=5", "distinct_l(ill)>=3"]
    assert {getattr(part, "mark", "") for part in facts.parts} >= {"claimed"}
