"""A release of boxes: published, asked, shown and verified; and a copy that was tampered with does not hold."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copyfile
from typing import Any

import duckdb
import pytest
from support.commands import run
from support.policies import policy_text, qi, role, write_policy
from support.titles import CONTENTS, DECLARED, PUBLIC_PART, SHOWN

from sqlpriv.core.errors import PolicyError
from sqlpriv.publishing import open_release, plan, publish, verify

PEOPLE = """
CREATE TABLE people AS SELECT i AS ssn, CASE WHEN i % 17 > 0 THEN CAST(hash(i) % 80 AS INTEGER) END AS age,
  CAST(hash(i + 1000) % 200 AS DOUBLE) / 4 AS weight,
  DATE '1990-01-01' + CAST(hash(i + 2000) % 3000 AS INTEGER) AS born,
  ['Rome', 'Bari', 'Oslo', 'Bergen', NULL][1 + i % 5] AS city, ['M', 'F'][1 + i % 2] AS sex,
  'ill' || hash(i) % 4 AS ill, i % 7 AS ward FROM range(240) AS r(i)
"""
NORTH = "CASE WHEN city IN ('Oslo', 'Bergen') THEN 'north' WHEN city IS NOT NULL THEN 'south' END"
CITIES = '["Rome", "Bari", "Oslo", "Bergen", "Turin"]'
CITY = f'{{ role = "quasi-identifier", hierarchy = ["{NORTH}"], domain = {CITIES}, null = true }}'
NUMBERS = {"age": '{ role = "quasi-identifier" }', "weight": '{ role = "quasi-identifier" }'}
PUBLIC = {
    "age": '{ role = "quasi-identifier", domain = "range:0..99", null = true }',
    "weight": qi("ranges:5,20"),
    "born": '{ role = "quasi-identifier", hierarchy = "dates:month,year", domain = "range:1990-01-01..1998-12-31" }',
}
REQUIRE = "k = 4\ndistinct_l = { ill = 2 }"
QUERIES = (
    "SELECT count(*) FROM people WHERE {age}",
    "SELECT count(*) FROM people WHERE weight < 20.5 AND city = 'Rome'",
    "SELECT sum(weight) FROM people WHERE ill = 'ill1'",
    "SELECT count(*) FROM people WHERE born BETWEEN DATE '1992-02-01' AND DATE '1994-06-30' AND {age}",
    "SELECT count(*) FROM people WHERE age IS NULL",
    "SELECT count(*) FROM people WHERE city IS NULL OR city = 'Turin'",
    "SELECT sum(age) FROM people WHERE city IN ('Oslo', 'Bari')",
)
DIGEST = "the published rows are those of the digest"
LABELS = "every label of {!r} is a label of its hierarchy"
ENDS = "the ends of the ranges of {!r} are those of their labels"


def columns(cuts: str) -> dict[str, str]:
    born = {"born": '{ role = "quasi-identifier" }'}
    given = PUBLIC if cuts == "public" else {**NUMBERS, **born}
    rest = {"sex": '{ role = "quasi-identifier" }', "ill": role("sensitive"), "ward": role("other")}
    return {"ssn": role("identifier"), **given, "city": CITY, **rest}


def written_policy(folder: Path, cuts: str = "data", require: str = REQUIRE, table: str = PEOPLE, **more: str) -> Path:
    own = f'cuts = "{cuts}"\n[ledger]\npath = "ledger.db"'
    given = {name: words for name, words in {**columns(cuts), **more}.items() if words}
    return write_policy(folder, policy_text(given, require, own).replace('"generalize"', '"mondrian"'), table)


@pytest.fixture(scope="module", params=["data", pytest.param("public", marks=pytest.mark.slow)])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(f"boxes-{request.param}")
    done = publish(written_policy(folder, request.param))
    content = done.facts.content
    assert content["method"] == "mondrian"
    assert (content["rows"], content["suppressed_rows"]) == (240, 0)
    assert content["output"] == str(folder / "people-release.duckdb")
    assert 240 / 40 < content["classes"] <= 240 / 4
    assert 0 < content["loss"] < 1
    assert [r["requirement"] for r in content["requirements"]] == ["k>=4", "distinct_l(ill)>=2"]
    assert any("not safe in the sense of section 3.2" in warning for warning in content["warnings"])
    return request.param, folder


def checks(file: Path, policy: Path | None = None) -> dict[str, Any]:
    return {c["check"]: c["passed"] for c in verify(file, policy).content["checks"]}


def test_it_holds_what_it_says(made: tuple[str, Path]) -> None:
    _, folder = made
    found = checks(folder / "people-release.duckdb", folder / "policy.toml")
    assert set(found.values()) == {True}
    assert {"k>=4", "distinct_l(ill)>=2"} <= set(found)


def within(column: str) -> str:
    """Whether a value is in a range, which may be open at an end."""
    low, high = (f"coalesce(b.{column}_{end}, p.{column})" for end in ("low", "high"))
    return f"(b.{column} IS NOT NULL AND p.{column} BETWEEN {low} AND {high})"


def test_every_box_holds_its_rows_and_none_is_lost(made: tuple[str, Path]) -> None:
    cuts, folder = made
    with duckdb.connect(str(folder / "people-release.duckdb"), read_only=True) as con:
        con.execute(f"ATTACH '{folder / 'private.duckdb'}' AS private (READ_ONLY)").fetchall()
        rows = con.execute("FROM people").fetchall()
        names = [d[0] for d in con.description or []]
        boxes = con.execute(
            "SELECT p.ssn, count(*) FROM private.people AS p JOIN (SELECT DISTINCT * EXCLUDE (ill, ward) FROM people) "
            f"AS b ON ({within('age')} OR b.age = '*' OR (p.age IS NULL AND b.age IS NULL)) AND ({within('weight')} "
            f"OR b.weight = '*') AND ({within('born')} OR b.born = '*') AND (b.sex IN (p.sex, '*')) AND "
            "(b.city IS NOT DISTINCT FROM p.city OR b.city = '*' OR "
            f"b.city = {NORTH.replace('city', 'p.city')}) GROUP BY 1"
        ).fetchall()
    assert len(rows) == 240
    assert len(boxes) == 240, "a row is in no box"
    assert cuts == "public" or {n for _, n in boxes} == {1}, "boxes overlap"
    assert {"age_low", "age_high", "weight_low", "born_high"} <= set(names)
    at = names.index("age")
    assert all(r[at + 1] is None and r[at + 2] is None for r in rows if r[at] in (None, "*"))


def test_answers_are_bounded_rightly(made: tuple[str, Path]) -> None:
    cuts, folder = made
    with duckdb.connect(str(folder / "private.duckdb"), read_only=True) as con:
        asked = [q.format(age="age BETWEEN 20 AND 41") for q in QUERIES if cuts == "data" or "weight" not in q]
        truths = {q: con.execute(q).fetchall()[0][0] for q in asked}
    with open_release(folder / "people-release.duckdb") as release:
        for query, truth in truths.items():
            ((estimate, low, high),) = release.sql(query).fetchall()
            assert low - 1e-9 <= truth <= high + 1e-9, query
            assert low - 1e-9 <= estimate <= high + 1e-9, query
        ((everybody, low, high),) = release.sql("SELECT count(*) FROM people").fetchall()
    assert everybody == low == high == 240


def test_the_release_says_where_its_cuts_come_from(made: tuple[str, Path]) -> None:
    cuts, folder = made
    done = run(folder, "show", "people-release.duckdb")
    told = " ".join(done.stdout.split()) + " ".join(done.stderr.split())
    assert "not safe in the sense of section 3.2" in told
    assert ("no end of a range reveals a value" in told) == (cuts == "public")
    shown = json.loads(run(folder, "show", "people-release.duckdb", "--json").stdout)
    assert shown["cuts"] == cuts
    assert len(shown["warnings"]) == 1


@pytest.mark.slow
def test_from_the_command_line(made: tuple[str, Path]) -> None:
    _, folder = made
    done = run(folder, "plan", "policy.toml")
    assert done.returncode == 0
    assert "rows in" in done.stdout
    assert run(folder, "verify", "people-release.duckdb", "--policy", "policy.toml").returncode == 0
    asked = run(folder, "query", "people-release.duckdb", "SELECT sex, count(*) FROM people GROUP BY sex")
    assert asked.returncode == 2, "sex has no domain"
    assert "domain" in asked.stderr
    again = run(folder, "publish", "policy.toml", "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["classes"] > 5


PUBLISHED = "sqlpriv_release.published"
TAMPERED: dict[str, tuple[str, set[str]]] = {
    "a row changed so that k fails": (
        f"UPDATE {PUBLISHED} SET weight = (SELECT max(weight) FROM {PUBLISHED}), city = 'Rome' WHERE rowid = 0",
        {"k>=4", DIGEST},
    ),
    "a label that has no ends": (
        f"UPDATE {PUBLISHED} SET age = '0-99' WHERE age <> '*'", {LABELS.format("age"), DIGEST},
    ),
    "narrower ends": ("UPDATE sqlpriv_release.labels_weight SET high = high - 0.25", {ENDS.format("weight")}),
    "wider ends": ("UPDATE sqlpriv_release.labels_born SET low = low - 1", {ENDS.format("born")}),
    "ends of no label": (
        "INSERT INTO sqlpriv_release.labels_age VALUES ('7-8', 1, ['*'], 7, 8)", {LABELS.format("age")},
    ),
    "a smaller star": (
        "UPDATE sqlpriv_release.labels_age SET low = 40 WHERE label = '*'", {ENDS.format("age")},
    ),
    "a range above another": (
        "UPDATE sqlpriv_release.labels_age SET above = ['0-99', '*'] WHERE label <> '*'", {LABELS.format("age")},
    ),
    "a leaf miscounted": (
        "UPDATE sqlpriv_release.leaves_city SET leaves = leaves + 1 WHERE label = 'south'",
        {"the domain of 'city' has a value below every label"},
    ),
    "a leaf with another share": (
        "UPDATE sqlpriv_release.leaves_city SET share = 1, total = leaves WHERE label = 'south'",
        {"the domain of 'city' has a value below every label"},
    ),
    "a leaf moved": (
        "UPDATE sqlpriv_release.leaves_city SET value = 'Turin' WHERE label = 'Bari'",
        {"the domain of 'city' has a value below every label"},
    ),
    "a leaf lost below a label above it": (
        "DELETE FROM sqlpriv_release.leaves_city WHERE label = 'south' AND value = 'Bari'",
        {"the domain of 'city' has a value below every label"},
    ),
    "a value twice": (
        "INSERT INTO domain.city VALUES ('Rome', NULL)", {"the domain of 'city' has a value below every label"},
    ),
    "another level": (
        "UPDATE sqlpriv_release.labels_city SET level = 0", {LABELS.format("city")},
    ),
    "a label of no row": (
        "INSERT INTO sqlpriv_release.labels_sex VALUES ('X', 0, ['*'])", {LABELS.format("sex")},
    ),
    "a sentence": (
        "INSERT INTO sqlpriv_release.about VALUES ('warnings', '[]')",
        {DECLARED},
    ),
    "other cuts": (
        "UPDATE sqlpriv_release.about SET value = 'public' WHERE name = 'cuts'", {PUBLIC_PART},
    ),
    "suppressed rows": (
        "UPDATE sqlpriv_release.about SET value = '5' WHERE name = 'suppressed_rows'",
        {DECLARED},
    ),
    "a higher k": (
        "UPDATE sqlpriv_release.requirements SET threshold = 30 WHERE measure = 'k'",
        {"k>=30", PUBLIC_PART},
    ),
    "a table more": (
        "CREATE TABLE sqlpriv_release.notes AS SELECT 1 AS x",
        {CONTENTS},
    ),
    "another view": (
        f"CREATE OR REPLACE VIEW people AS SELECT * FROM {PUBLISHED} LIMIT 3", {SHOWN},
    ),
    "labels that are values": (
        "UPDATE sqlpriv_release.attributes SET labels = 'values' WHERE name = 'age'",
        {DECLARED},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("to-tamper")
    few_nulls = PEOPLE.replace("i % 17", "i % 120")  # too few for a class of their own, so there are stars
    publish(written_policy(folder, require="k = 4", table=few_nulls))
    return folder / "people-release.duckdb"


@pytest.mark.slow
@pytest.mark.some(2)
@pytest.mark.parametrize("what", TAMPERED)
def test_what_was_tampered_with_does_not_hold(what: str, released: Path, tmp_path: Path) -> None:
    change, expected = TAMPERED[what]
    copy = Path(copyfile(released, tmp_path / "copy.duckdb"))
    with duckdb.connect(str(copy)) as con:
        con.execute(change).fetchall()
    failed = {check for check, passed in checks(copy).items() if passed is False}
    assert expected <= failed


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "all rows as one class fail": ({"require": "k = 500"}, "even all 240 rows as one class do not meet .* k>=500"),
    "about the whole table": ({"require": "k = 2\nmarketer = 0.1"}, "about the table as a whole; require k"),
    "bins": ({"cuts": "public", "weight": qi("bins:4,2")}, "the bins of 'weight' are read from the data"),
    "no public cut points": (
        {"cuts": "public", "weight": '{ role = "quasi-identifier" }'}, "'weight' has no public cut points",
    ),
    "no number": (
        {"table": PEOPLE.replace("/ 4 AS weight", "* CAST('inf' AS DOUBLE) AS weight")},
        "'weight' holds values that are infinite or no number",
    ),
    "too many digits": (
        {"table": PEOPLE.replace("CAST(hash(i + 1000) % 200 AS DOUBLE) / 4", "9007199254740993 + 2 * i")},
        "values of 'weight' have more digits than can be cut",
    ),
    "beyond the type": (
        {"table": PEOPLE.replace("CAST(hash(i + 1000) % 200 AS DOUBLE) / 4", "9223372036854775807 - 1024 * i")},
        "values of 'weight' have more digits than can be cut",
    ),
    "the names of ends": (
        {"table": PEOPLE.replace("i % 7 AS ward", "i % 7 AS age_low"), "ward": "", "age_low": role("other")},
        "the table has a column 'age_low'",
    ),
}  # fmt: skip


@pytest.mark.some(2)
@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_cut_is_refused(what: str, tmp_path: Path) -> None:
    given, message = REFUSED[what]
    policy = written_policy(tmp_path, **given)
    with pytest.raises(PolicyError, match=message):
        plan(policy)
    assert not (tmp_path / "people-release.duckdb").exists()


def test_a_population_has_no_boxes(tmp_path: Path) -> None:
    policy = written_policy(tmp_path, require='k_map = { population = "people", at_least = 5 }')
    with pytest.raises(PolicyError, match="generalize can"):
        plan(policy)


@pytest.mark.slow
def test_persons_are_counted(tmp_path: Path) -> None:
    table = PEOPLE.replace("i AS ssn", "i // 3 AS ssn")
    done = publish(written_policy(tmp_path, table=table, ssn=role("person")))
    assert [r["value"] >= t for r, t in zip(done.facts.content["requirements"], (4, 2), strict=True)] == [True, True]
    found = checks(tmp_path / "people-release.duckdb")
    assert found["k>=4"] is None, "persons are not in the file"
    assert False not in found.values()


@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
def test_a_range_may_stop_before_0(type_: str, tmp_path: Path) -> None:
    """The number after the last negative one reads -0.0, and the label says 0.0."""
    wealth = f"CAST(least(i - 40, 0) AS {type_})"
    table = f"CREATE TABLE people AS SELECT {wealth} AS wealth, i % 3 AS ill FROM range(99) AS r(i)"
    policy = policy_text({"wealth": qi("ranges:10"), "ill": role("sensitive")}, "k = 40", "")
    publish(write_policy(tmp_path, policy.replace('"generalize"', '"mondrian"'), table))
    release = tmp_path / "people-release.duckdb"
    with duckdb.connect(str(release), read_only=True) as con:
        labels = con.execute("SELECT DISTINCT wealth FROM main.people ORDER BY ALL").fetchall()
    assert labels == [("0.0 or more",), ("less than 0.0",)]
    assert checks(release)[ENDS.format("wealth")]
