"""Slicing: groups of columns apart, in buckets that say nothing of what goes with what."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from support.bucket_policies import QI, SENSITIVE, bucket_policy_text, change, publish_apart, tables_of
from support.policies import role, write_policy
from support.titles import DIGESTS

from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Scratch
from sqlpriv.methods import METHODS
from sqlpriv.methods.split.slicing.correlated import code_values, contingency, correlated_groups
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import Published, open_private, open_release, plan, publish, read_policy, show, verify
from sqlpriv.table.frequencies import count_combinations

pytestmark = pytest.mark.slow

SLICING = 'method = "slicing"\nbucket = 4\n'
GROUPS = 'groups = [["age", "zip"], ["sex"], ["s"]]'
COLUMNS = {"age": QI, "sex": QI, "zip": role("other"), "s": SENSITIVE}
PEOPLE = (
    "CREATE TABLE people AS SELECT CASE WHEN i % 11 > 0 THEN 20 + i % 13 END AS age, ['F', 'M'][1 + i % 2] AS sex, "
    "i % 5 AS zip, CASE WHEN i % 7 > 0 THEN 'v' || (i % 7) END AS s FROM range(31) AS r(i)"
)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return publish_apart(tmp_path_factory.mktemp("slicing"), COLUMNS, PEOPLE, "", SLICING + GROUPS)


def test_nothing_is_lost_and_neighbours_share_a_bucket(released: Published) -> None:
    path = released.written.output
    found = tables_of(path)
    with duckdb.connect(str(path.parent / "private.duckdb")) as con:
        rows = con.execute("SELECT age, zip, sex, s FROM people").fetchall()
    assert Counter(r[1:] for r in found["published"]) == Counter(r[:2] for r in rows)
    assert Counter(r[1] for r in found["side_2"]) == Counter(r[2] for r in rows)
    assert Counter(r[1] for r in found["side_3"]) == Counter(r[3] for r in rows)
    sizes = Counter(r[0] for r in found["published"])
    assert sorted(sizes) == list(range(7))
    assert set(sizes.values()) == {4, 5}
    # Runs in the order of age and zip: no two buckets overlap but at their ends.
    key = [(r[1] is None, r[1] or 0, r[2]) for r in found["published"]]
    runs = sorted(
        (min(own), max(own))
        for own in ([k for k, r in zip(key, found["published"], strict=True) if r[0] == b] for b in sizes)
    )
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(runs))
    assert verify(path, path.parent / "policy.toml").passed
    content = released.facts.content
    assert (content["method"], content["rows"], content["classes"], content["loss"]) == ("slicing", 31, 7, None)
    shares = [max(Counter(v for b, v in found["side_3"] if b == g).values()) / sizes[g] for g in sizes]
    assert content["posterior"] == pytest.approx(max(shares))
    assert f"no sensitive value more than {max(shares):.4g}" in content["guarantee"]


def test_bounds_hold_the_truth(released: Published) -> None:
    path, draw = released.written.output, random.Random(4)
    with open_release(path) as release, duckdb.connect(str(path.parent / "private.duckdb")) as con:
        for _ in range(4):
            condition = f"(age < {draw.randint(20, 33)} OR sex = 'F') AND (s >= 'v{draw.randint(1, 6)}' OR zip = 2)"
            ((estimate, low, high),) = release.sql(f"SELECT count(*) FROM people WHERE {condition}").fetchall()
            ((truth,),) = con.execute(f"SELECT count(*) FROM people WHERE {condition}").fetchall()
            assert low <= truth <= high
            assert low <= estimate <= high
        ((estimate, low, high),) = release.sql("SELECT count(*) FROM people WHERE age < 25 AND zip = 2").fetchall()
        assert (
            (estimate,)
            == (low,)
            == (high,)
            == con.execute("SELECT count(*) FROM people WHERE age < 25 AND zip = 2").fetchall()[0]
        )


def test_what_is_required_of_values_is_arranged(tmp_path: Path) -> None:
    """Sorted by age, some buckets would have two values; spread, all have four."""
    people = "CREATE TABLE people AS SELECT i AS age, 'F' AS sex, 0 AS zip, 'v' || (i // 8) AS s FROM range(64) AS r(i)"
    path = write_policy(tmp_path, bucket_policy_text(COLUMNS, "distinct_l = 4", SLICING + GROUPS), people)
    assert plan(path).content["requirements"] == [{"requirement": "distinct_l(s)>=4", "value": 4.0}]
    assert plan(path).content["posterior"] == 0.25
    path.write_text(bucket_policy_text(COLUMNS, "distinct_l = 5", SLICING + GROUPS), encoding="utf-8")
    with pytest.raises(PolicyError, match=r"distinct_l\(s\)>=5 is not met: it is 4, by its buckets"):
        plan(path)


@pytest.mark.slow
def test_a_bucket_of_one_value_says_so(tmp_path: Path) -> None:
    people = "CREATE TABLE people AS SELECT i AS age, 'F' AS sex, 0 AS zip, 'v' || (i // 8) AS s FROM range(64) AS r(i)"
    done = publish_apart(tmp_path, COLUMNS, people, "", SLICING + GROUPS)
    assert done.facts.content["posterior"] == 1
    assert "all rows that a person's may be have one sensitive value" in done.facts.content["guarantee"]


@pytest.mark.slow
def test_a_sensitive_column_with_a_quasi_identifier_is_judged_with_it(tmp_path: Path) -> None:
    """Who knows the sex looks only at rows of that sex."""
    groups = 'groups = [["age", "zip"], ["sex", "s"]]'
    done = publish_apart(tmp_path, COLUMNS, PEOPLE, "", SLICING + groups)
    found = tables_of(done.written.output)["side_2"]
    shares = [
        max(Counter(v for _, _, v in own).values()) / len(own)
        for own in ([r for r in found if r[:2] == key] for key in {r[:2] for r in found})
    ]
    assert done.facts.content["posterior"] == pytest.approx(max(shares))
    assert any("'s' is published together with 'sex'" in w for w in done.facts.content["warnings"])


def test_groups_are_chosen_by_correlation(tmp_path: Path) -> None:
    people = (
        "CREATE TABLE people AS SELECT i AS age, i // 10 AS zip, hash(i) % 2 AS sex, hash(i) % 2 = 0 AS alike, "
        "hash(i, 7) % 1000 AS s FROM range(500) AS r(i)"
    )
    columns = {"age": QI, "zip": QI, "sex": QI, "alike": role("other"), "s": SENSITIVE}
    path = write_policy(tmp_path, bucket_policy_text(columns, "", SLICING), people)
    wanted = [["age", "zip"], ["sex", "alike"], ["s"]]
    with open_private(read_policy(path)) as (source, _):
        roles = {c.name: c.role for c in read_policy(path).columns}
        assert correlated_groups(source, roles) == wanted
        # Against the definition, from the same codes.
        coded = code_values(count_combinations(source, (), columns), ["age", "zip", "sex", "alike"])
        pairs = source.con.execute(f"SELECT c2, c3 FROM (SELECT *, unnest(range(n)) FROM {coded.name})").fetchall()
    assert cramer(pairs) == pytest.approx(1, abs=0.01)
    told = plan(path)
    assert told.content["groups"] == wanted
    said = "chosen by the correlations of this table, which they tell"
    assert any(said in w for w in told.warnings)
    output = publish(path).written.output
    assert verify(output).passed
    assert any(said in w for w in show(output).warnings)
    change(output, "UPDATE sqlpriv_release.about SET value = 'no' WHERE name = 'groups_chosen'")
    assert not verify(output).passed


def cramer(pairs: list[tuple[int, int]]) -> float:
    """The mean-square contingency of two columns, by its definition."""
    n, both = len(pairs), Counter(pairs)
    ones, others = (Counter(p[i] for p in pairs) for i in (0, 1))
    phi = sum(
        (both[a, b] / n - ones[a] * others[b] / n**2) ** 2 / (ones[a] * others[b] / n**2) for a in ones for b in others
    )
    return max(phi - (len(ones) - 1) * (len(others) - 1) / (n - 1), 0) / (min(len(ones), len(others)) - 1)


@pytest.mark.parametrize("seed", range(3))
def test_contingency_is_that_of_its_definition(seed: int) -> None:
    draw = random.Random(seed)
    pairs = [
        (a, (a + draw.choice([0, 0, 1])) % 4 if draw.random() < 0.5 else draw.randrange(4))
        for a in (draw.randrange(5) for _ in range(60))
    ]
    with duckdb.connect() as con:
        rows = f"SELECT 1 AS n, * FROM (VALUES {', '.join(map(str, pairs))}) AS v(c0, c1)"
        assert contingency(Scratch(con).table(rows, "codes"), 0, 1) == pytest.approx(cramer(pairs))


@pytest.mark.parametrize(
    ("columns", "release", "require", "message"),
    [
        ({"a": QI}, "", "", "fewer than two columns are published"),
        ({"a": QI, "s": SENSITIVE}, 'groups = [["a"], ["b"]]', "", "groups names 'b', which is no column"),
        ({"a": QI, "b": QI, "s": SENSITIVE}, 'groups = [["a"], ["s"]]', "", "'b' must be in one of the groups"),
        ({"a": QI, "s": SENSITIVE}, 'groups = [["a", "s"], ["a"]]', "", "'a' must be in one of the groups"),
        ({"a": QI, "b": role("other"), "s": SENSITIVE}, 'groups = [["a", "s"], ["b"]]', "",
         "has all quasi-identifiers"),
        ({"a": QI, "b": QI, "s": SENSITIVE}, 'groups = [["a"], ["b", "s"]]', "distinct_l = 2",
         "something is required of"),
        ({"a": QI, "s": SENSITIVE, "t": SENSITIVE}, "", "distinct_l = 2",
         "something is required of 2; require it of one"),
        ({"a": QI, "n": role("identifier"), "s": SENSITIVE}, 'groups = [["a", "n"], ["s"]]', "", "groups names 'n'"),
    ],
)  # fmt: skip
def test_policies_that_make_no_sense(columns: dict[str, str], release: str, require: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        parse_policy(bucket_policy_text(columns, require, SLICING + release), Path(), METHODS)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("sql", "failing"),
    [
        ("UPDATE sqlpriv_release.side_3 SET s = 'v1' WHERE rowid < 3", DIGESTS),
        ("UPDATE sqlpriv_release.parameters SET value = 40 WHERE name = 'bucket'", "every bucket has 40 rows or more"),
        ("UPDATE sqlpriv_release.attributes SET side = 2 WHERE name = 's'", "the file holds the tables"),
        ("UPDATE sqlpriv_release.about SET value = 'yes' WHERE name = 'groups_chosen'", "columns are in sides"),
        ("UPDATE sqlpriv_release.parameters SET value = 0.1 WHERE name = 'posterior'",
         "the numbers are those of the buckets"),
    ],
)  # fmt: skip
def test_a_changed_file_fails(tmp_path: Path, released: Published, sql: str, failing: str) -> None:
    path = tmp_path / "people-release.duckdb"
    path.write_bytes(released.written.output.read_bytes())
    change(path, sql)
    wrong = [c["check"] for c in verify(path).content["checks"] if c["passed"] is False]
    assert any(failing in check for check in wrong), wrong
