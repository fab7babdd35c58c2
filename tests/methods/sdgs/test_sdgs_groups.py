"""Vertical groups: each a sample of its own, private together, and asked one by one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import copyfile

import duckdb
import pytest
from scipy.stats import binom
from support.sampled import people, plan_of, sampled_policy, write_people
from support.sampled_outcomes import Distribution, slipped, thrown
from support.titles import OF_POLICY

import sqlpriv
from sqlpriv.core.errors import PolicyError, SqlprivError, UnsupportedSQLError
from sqlpriv.methods.sdgs.write import draw
from sqlpriv.publishing import open_release, plan, publish, read_policy, show, verify
from sqlpriv.release.open import OpenRelease

pytestmark = pytest.mark.slow
OUT = "sqlpriv_release"
GROUPS = 'groups = [["AGE", "sex"], ["ill"]]'
K, BETA, EPSILON = 2, 0.3, 0.8
TINY = f"epsilon = {EPSILON}\nk = {K}\nbeta = {BETA}"
Rows = list[tuple[int, int, str, str]]


# -------------------- privacy


def outcomes(folder: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> tuple[Distribution, float, float]:
    """The exact distribution of all groups together, and the guarantee that the plan states."""
    write_people(folder, rows)
    with plan_of(sampled_policy(folder, GROUPS, numbers=TINY)) as made:
        (one, coins), (two, others) = (thrown(made, group, monkeypatch) for group in made.groups)
        # Coins by other names are independent, and so are the groups.
        assert not coins & others
        both = {(a, b): p * q for (a, p), (b, q) in itertools.product(one.items(), two.items())}
        return both, made.terms.total_epsilon, made.terms.total_delta


TABLE: Rows = [(1, 31, "F", "flu"), (2, 33, "F", "flu"), (3, 38, "F", "cold"), (4, 72, "M", "flu")]


@pytest.mark.parametrize("rows", [pytest.param(TABLE[:3], id="3"), pytest.param(TABLE, id="4", marks=pytest.mark.slow)])
def test_all_groups_together_are_as_private_as_is_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: Rows
) -> None:
    whole, epsilon, delta = outcomes(tmp_path, rows, monkeypatch)
    assert sum(whole.values()) == pytest.approx(1)
    assert epsilon == pytest.approx(2 * EPSILON)
    one = plan(sampled_policy(tmp_path, numbers=TINY)).content["guarantee"]
    assert delta == pytest.approx(2 * one["delta"])
    # Rows that are alike to the release need not be left out twice.
    alike = {(age // 20, sex, ill): i for i, (_, age, sex, ill) in enumerate(rows)}
    fewer = [outcomes(tmp_path, rows[:i] + rows[i + 1 :], monkeypatch)[0] for i in alike.values()]
    assert 0 < max(slipped(whole, other, epsilon) for other in fewer) <= delta * (1 + 1e-9)


def test_one_sample_for_all_groups_would_not_be_private() -> None:
    """All are alike in both groups but one, who is alike in the first: the counts differ if that one was sampled."""
    n, k, beta, epsilon = 60, 5, 0.2, 2.0

    def shown(is_there: bool) -> Distribution:
        found: Distribution = {}
        for others, own in itertools.product(range(n + 1), (0, 1) if is_there else (0,)):
            counts = tuple(seen if seen >= k else 0 for seen in (others + own, others))
            chance = float(binom.pmf(others, n, beta)) * ((beta if own else 1 - beta) if is_there else 1)
            found[counts] = found.get(counts, 0) + chance
        return found

    assert slipped(shown(True), shown(False), epsilon) > 0.9 * beta
    assert slipped(shown(True), shown(False), 100.0) > 0.9 * beta  # whatever is added up


def test_groups_are_sampled_apart(tmp_path: Path) -> None:
    """Where every row is the same, a sample is a number: the groups have different ones."""
    write_people(tmp_path, [(i, 30, "F", "flu") for i in range(2000)])
    with plan_of(sampled_policy(tmp_path, 'groups = [["age"], ["sex"], ["ill"]]')) as made:
        numbers = [sampled.seen for sampled in draw(made, "a prefix")[1]]
        assert made.terms.total_epsilon == pytest.approx(3.0)
    assert len(set(numbers)) == 3
    assert all(abs(n - 400) < 6 * 18 for n in numbers)


def test_persons_and_replaced_rows_add_up_by_group(tmp_path: Path) -> None:
    write_people(tmp_path, [(i // 2, 30 + i % 9, "F", "flu") for i in range(200)])
    columns = '\nssn = { role = "person" }\nage = { role = "quasi-identifier", hierarchy = "ranges:10,20" }\n'
    columns += 'sex = { role = "other" }\nill = { role = "other" }\n'
    given = {"columns": columns, "node": "node = { age = 1 }"}
    one = plan(sampled_policy(tmp_path, "rows_each = 2", **given)).content
    two = plan(sampled_policy(tmp_path, f"rows_each = 2\n{GROUPS}", **given)).content
    for kind, name in itertools.product(("guarantee", "replaced"), ("epsilon", "delta")):
        assert two[kind][name] == pytest.approx(min(2 * one[kind][name], 1 if name == "delta" else 99)), (kind, name)


# -------------------- the release


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("grouped")
    write_people(made, people(1500))
    (made / "key").write_bytes(b"a key for tests, long enough")
    publish(read_policy(sampled_policy(made, GROUPS)), key_file=made / "key", ledger_file=made / "ledger")
    return made


@pytest.fixture(scope="module")
def release(folder: Path) -> Iterator[OpenRelease]:
    with open_release(folder / "out.duckdb") as opened:
        yield opened


def failing(file: Path, policy: Path | None = None) -> list[str]:
    return [str(c["check"]) for c in verify(file, policy).content["checks"] if c["passed"] is False]


def test_it_holds_what_it_says_and_is_there_when_it_is_published_again(folder: Path) -> None:
    out = folder / "out.duckdb"
    assert failing(out, folder / "policy.toml") == []
    shown = show(out)
    assert shown.content["groups"] == [["age", "sex"], ["ill"]]
    told = " ".join(str(getattr(part, "text", "")) for part in shown.parts)
    assert "published in 2 groups, each from an independent random sample" in told
    assert "A question is about columns of one group: age, sex; ill." in told
    with duckdb.connect(str(out), read_only=True) as con:
        rows = [con.execute(f"SELECT count(*) FROM {view}").fetchall()[0][0] for view in ("people", "people_2")]
        assert [d[0] for d in con.execute("FROM people_2").description] == ["ill"]
    again = publish(read_policy(folder / "policy.toml"), key_file=folder / "key", ledger_file=folder / "ledger")
    assert again.written.again
    assert [group["published_rows"] for group in again.facts.content["groups"]] == rows
    assert again.facts.content["published_rows"] == sum(rows)
    json.dumps(again.facts.content)


def test_a_question_about_one_group_is_answered_by_its_sample(folder: Path, release: OpenRelease) -> None:
    with duckdb.connect(str(folder / "out.duckdb"), read_only=True) as con:
        flu = con.execute("SELECT count(*) FROM people_2 WHERE ill = 'flu'").fetchall()[0][0]
        young = con.execute("SELECT count(*) FROM people WHERE age_high < 40 AND sex = 'F'").fetchall()[0][0]
        total = con.execute("SELECT count(*) FROM people_2").fetchall()[0][0]
    for asked, seen in (("ill = 'flu'", flu), ("age < 40 AND sex = 'F'", young), ("true", total)):
        ((estimate, low, high),) = release.sql(f"SELECT count(*) AS x FROM people WHERE {asked}").fetchall()
        assert estimate == pytest.approx(seen / 0.2), asked
        assert low < estimate < high
    truth = [row[3] for row in people(1500)].count("flu")
    ((_, low, high),) = release.sql("SELECT count(*) AS x FROM people WHERE ill = 'flu'").fetchall()
    assert low <= truth <= high


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT count(*) FROM people WHERE age < 40 AND ill = 'flu'",
        "SELECT ill, sex, count(*) FROM people GROUP BY ALL",
        "SELECT DISTINCT sex, ill FROM people",
        "SELECT count(*) FILTER (sex = 'F'), count(*) FILTER (ill = 'flu') FROM people",
        "SELECT avg(age) FROM people WHERE ill = 'flu'",
        "SELECT sum(CASE WHEN ill = 'flu' THEN age ELSE 0 END) FROM people",
    ],
)
def test_a_question_about_two_groups_is_refused(release: OpenRelease, asked: str) -> None:
    with pytest.raises(UnsupportedSQLError, match=r"'ill' together with .* in groups of their own.*: age, sex; ill"):
        release.sql(asked)


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "change",
    [
        f"INSERT INTO {OUT}.group_2 FROM {OUT}.group_2 LIMIT 1",
        f"UPDATE {OUT}.parameters SET value = value / 2 WHERE name LIKE 'total_%' OR name LIKE 'replaced_%'",
        f"CREATE TABLE {OUT}.t AS FROM {OUT}.group_2 ORDER BY hash(rowid); DELETE FROM {OUT}.group_2; "
        f"INSERT INTO {OUT}.group_2 FROM {OUT}.t; DROP TABLE {OUT}.t",
        f"""UPDATE {OUT}.about SET value = '[["age"], ["sex", "ill"]]' WHERE name = 'groups'""",
        f"""UPDATE {OUT}.about SET value = '[["age", "sex", "ill"]]' WHERE name = 'groups'""",
        f"""UPDATE {OUT}.about SET value = '[["age", "sex"], [5]]' WHERE name = 'groups'""",
        f"UPDATE {OUT}.about SET value = '{{' WHERE name = 'groups'",
        f"DELETE FROM {OUT}.about WHERE name = 'groups'",
        f"DELETE FROM {OUT}.digests WHERE name = 'sqlpriv_release.group_2'",
        f"DELETE FROM {OUT}.group_2 WHERE ill = 'mumps' AND rowid % 2 = 0",
        "COMMENT ON VIEW people_2 IS 'joins with people by its row number'",
        f"CREATE OR REPLACE VIEW people_2 AS SELECT ill, rowid FROM {OUT}.group_2",
        f"DROP VIEW people_2; DROP TABLE {OUT}.group_2",
        f"ALTER TABLE {OUT}.group_2 ADD COLUMN age INTEGER",
    ],
)
def test_a_tampered_copy_with_groups_does_not_hold(folder: Path, tmp_path: Path, change: str) -> None:
    copy = Path(copyfile(folder / "out.duckdb", tmp_path / "copy.duckdb"))
    with duckdb.connect(str(copy)) as con:
        con.execute(change).fetchall()
    with suppress(SqlprivError):  # refused altogether
        assert failing(copy)
    with suppress(SqlprivError):  # shown or refused, and nothing else
        show(copy)
    with suppress(SqlprivError):
        open_release(copy).close()


def test_another_division_is_noticed(folder: Path, tmp_path: Path) -> None:
    for groups in ("", 'groups = [["age"], ["ill", "sex"]]'):
        found = failing(folder / "out.duckdb", sampled_policy(tmp_path, groups))
        assert OF_POLICY in found


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ('groups = [["age", "sex"], ["ill", "ssn"]]', "groups names 'ssn', which is no column that is published"),
        ('groups = [["age"], ["ill"]]', "'sex' must be in one of the groups, and in one only"),
        ('groups = [["age", "sex"], ["ill", "Sex"]]', "'sex' must be in one of the groups, and in one only"),
        ('groups = [["age", "sex", "ill"]]', "groups must be two lists of columns or more"),
    ],
)
def test_groups_that_are_none_are_refused(tmp_path: Path, given: str, complaint: str) -> None:
    with pytest.raises(PolicyError, match=complaint):
        read_policy(sampled_policy(tmp_path, given))


def test_groups_take_one_node(tmp_path: Path) -> None:
    nodes = "nodes = [{ age = 1, sex = 0 }, { age = 2, sex = 1 }]\nnode_epsilon = 0.25"
    with pytest.raises(PolicyError, match="groups and nodes do not go together: the levels of"):
        read_policy(sampled_policy(tmp_path, GROUPS, node=nodes))


@pytest.mark.one_version
def test_groups_are_compared_with_other_methods(tmp_path: Path) -> None:
    write_people(tmp_path, people(600))
    workload = tmp_path / "queries.sql"
    asked = "SELECT count(*) FROM people WHERE age < 30; SELECT count(*) FROM people WHERE age < 30 AND ill = 'flu';"
    workload.write_text(asked, encoding="utf-8")
    told = sqlpriv.compare(sampled_policy(tmp_path, GROUPS), workload, methods=["sdgs"], tune=False)
    (row,) = (r for r in json.loads(told.to_json())["methods"] if r["method"] == "sdgs")
    assert row["median_error"] is not None
    assert [refused["statement"] for refused in row["refused_questions"]] == [2]
    # The numbers are of one group, so it is said how many there are.
    assert row["protection"] == "epsilon = 1, k = 5, beta = 0.2, 2 groups"
