"""Anatomy: groups of different values by one sort, two tables that tell nothing of who has which."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from oracles.buckets import can_differ, groups_of
from support.bucket_policies import QI, SENSITIVE, bucket_policy_text, change, publish_apart, tables_of
from support.policies import role, write_policy
from support.titles import CONTENTS, DECLARED, DIGEST, DIGESTS, SHOWN

from sqlpriv.core.errors import PolicyError, ReleaseError, UnsupportedSQLError
from sqlpriv.methods import METHODS
from sqlpriv.methods.split.arrange import arrange, order_places
from sqlpriv.methods.split.plan import BucketPlan
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import Published, open_release, plan, planned, publish, read_policy, show, verify

COLUMNS = {"age": QI, "sex": QI, "s": SENSITIVE}
PEOPLE = (
    "CREATE TABLE people AS SELECT CASE WHEN i % 11 > 0 THEN 20 + i % 13 END AS age, ['F', 'M'][1 + i % 2] AS sex, "
    "CASE WHEN i % 7 > 0 THEN 'v' || (i % 7) END AS s FROM range(31) AS r(i)"
)


# -------------------- the groups


def test_groups_by_one_sort_differ_exactly_where_groups_can() -> None:
    """Against all ways to make groups, on every histogram of a few rows."""
    for rows in range(2, 9):
        for histogram in _histograms(rows):
            values = [v for v, n in enumerate(histogram) for _ in range(n)]
            for least in range(2, rows + 1):
                number = rows // least
                made = groups_of(number, values)
                differ = all(len(set(g)) == len(g) for g in made)
                assert differ == (max(histogram) <= number)
                assert all(len(g) >= least for g in made)
                assert differ == can_differ(values, number, least)


def _histograms(rows: int, most: int | None = None) -> list[list[int]]:
    if rows == 0:
        return [[]]
    return [[n, *rest] for n in range(1, min(rows, most or rows) + 1) for rest in _histograms(rows - n, n)]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return publish_apart(tmp_path_factory.mktemp("anatomy"), COLUMNS, PEOPLE)


def test_a_release_has_groups_of_different_values_and_loses_nothing(released: Published) -> None:
    path = released.written.output
    found = tables_of(path)
    with duckdb.connect(str(path.parent / "private.duckdb")) as con:
        rows = con.execute("SELECT age, sex, s FROM people").fetchall()
    assert Counter(r[1:] for r in found["published"]) == Counter(r[:2] for r in rows)
    assert Counter(r[1] for r in found["side_2"]) == Counter(r[2] for r in rows)
    values = {g: [v for b, v in found["side_2"] if b == g] for g, _ in found["side_2"]}
    assert sorted(values) == list(range(10))
    assert all(len(set(v)) == len(v) >= 3 for v in values.values())
    assert Counter(r[0] for r in found["published"]) == Counter(r[0] for r in found["side_2"])
    content = released.facts.content
    assert {k: content[k] for k in ("method", "rows", "suppressed_rows", "classes", "loss")} == {
        "method": "anatomy", "rows": 31, "suppressed_rows": 0, "classes": 10, "loss": None,
    }  # fmt: skip
    assert content["posterior"] == pytest.approx(1 / 3)
    assert content["numbers"]["disclosure_1"] == pytest.approx(1 / 2)
    assert verify(path, path.parent / "policy.toml").passed


@pytest.mark.slow
def test_a_row_is_in_the_group_of_its_value(tmp_path: Path) -> None:
    """Every row is alone with its quasi-identifiers, so that its group is known."""
    people = "CREATE TABLE people AS SELECT i AS age, 'F' AS sex, 'v' || (i % 5) AS s FROM range(20) AS r(i)"
    found = tables_of(publish_apart(tmp_path, COLUMNS, people).written.output)
    values: dict[int, set[str]] = {}
    for group, value in found["side_2"]:
        values.setdefault(group, set()).add(value)
    assert all(f"v{age % 5}" in values[group] for group, age, _ in found["published"])


@pytest.mark.parametrize(
    ("values", "wanted", "message"),
    [
        ("'v' || (i % 3)", 4, r"one value in 10 of 30 rows.*the largest l that works is 3\. Rows are not left out"),
        ("CASE WHEN i < 16 THEN NULL ELSE i END", 2, "one value in 16 of 30 rows.*so no l works"),
        ("i", 31, "has 30 rows, and a bucket needs 31"),
    ],
)
def test_a_table_that_is_not_eligible_is_refused(tmp_path: Path, values: str, wanted: int, message: str) -> None:
    people = f"CREATE TABLE people AS SELECT i AS age, 'F' AS sex, {values} AS s FROM range(30) AS r(i)"
    path = write_policy(tmp_path, bucket_policy_text(COLUMNS, f"distinct_l = {wanted}"), people)
    with pytest.raises(PolicyError, match=message):
        plan(path)


@pytest.mark.slow
def test_the_largest_l_works(tmp_path: Path) -> None:
    people = "CREATE TABLE people AS SELECT i AS age, 'F' AS sex, 'v' || (i % 3) AS s FROM range(30) AS r(i)"
    assert publish_apart(tmp_path, COLUMNS, people, "distinct_l = 3").facts.content["classes"] == 10


# -------------------- what tells nothing


@pytest.mark.slow
def test_the_order_of_the_table_does_not_matter(tmp_path: Path) -> None:
    ordered = [tables_of(publish_apart(tmp_path / "a", COLUMNS, PEOPLE).written.output)]
    shuffled = f"CREATE TABLE people AS FROM ({PEOPLE.partition(' AS ')[2]}) ORDER BY hash(age, sex, s)"
    ordered.append(tables_of(publish_apart(tmp_path / "b", COLUMNS, shuffled).written.output))
    assert ordered[0] == ordered[1]


@pytest.mark.slow
def test_another_key_gives_other_groups(tmp_path: Path) -> None:
    one = publish_apart(tmp_path / "a", COLUMNS, PEOPLE)
    other = publish_apart(tmp_path / "b", COLUMNS, PEOPLE, key=b"another secret, also long enough")
    assert tables_of(one.written.output) != tables_of(other.written.output)


@pytest.mark.slow
def test_numbers_of_groups_do_not_follow_the_values(tmp_path: Path) -> None:
    """By their places in the sort, group 0 would have the first value, and the next group the next."""
    people = "CREATE TABLE people AS SELECT i AS age, 'F' AS sex, i // 20 AS s FROM range(400) AS r(i)"
    found = tables_of(publish_apart(tmp_path, COLUMNS, people, "distinct_l = 5").written.output)
    least = [min(v for b, v in found["side_2"] if b == g) for g in range(80)]
    falls = sum(one > other for one, other in itertools.pairwise(least))
    assert falls > 15, "sorted numbers would fall three times"
    numbers = [sorted(b for b, v in found["side_2"] if v == value) for value in range(20)]
    assert not any(own == list(range(own[0], own[0] + 20)) for own in numbers)


def test_equal_rows_have_coins_of_their_own(tmp_path: Path) -> None:
    """With one coin for both, equal rows would be neighbours in the sort, and stand in neighbouring groups.

    Neighbours can be seen: the second value has as many rows as there are groups, and its rows are in the same order.
    Who sees equal quasi-identifiers in such groups, and nowhere else, would know that their values are equal.
    """
    people = (
        "CREATE TABLE people AS SELECT i // 2 AS age, 'F' AS sex, 0 AS s FROM range(80) AS r(i) "
        "UNION ALL SELECT 100 + i, 'F', 1 FROM range(80) AS r(i)"
    )
    path = write_policy(tmp_path, bucket_policy_text(COLUMNS, "distinct_l = 2"), people)
    with planned(read_policy(path)) as found:
        assert isinstance(found, BucketPlan)
        neighbours = 0
        for number in range(5):
            ordered, scratch = found.ordered, found.source.scratch
            order = order_places(ordered, found.layout, f"{number:064x}", scratch)
            places = f"SELECT age, p.rowid AS place FROM {order.name} AS p JOIN {ordered.name} AS o ON o.rowid = p.row"
            pairs = found.source.con.execute(
                f"SELECT max(place) - min(place) FROM ({places}) WHERE age < 100 GROUP BY age"
            ).fetchall()
            assert len(pairs) == 40
            neighbours += sum(distance == 1 for (distance,) in pairs)
    # 40 pairs at random places among 80: one in 40 is a pair of neighbours.
    assert neighbours < 20


@pytest.mark.slow
def test_every_row_of_a_group_has_each_value_equally_often(tmp_path: Path) -> None:
    """Over many keys, the person with age 0 stands first in the group as often with the one value as with the other."""
    people = "CREATE TABLE people AS SELECT i AS age, 'F' AS sex, 'v' || (i % 2) AS s FROM range(8) AS r(i)"
    path = write_policy(tmp_path, bucket_policy_text(COLUMNS, "distinct_l = 2"), people)
    with planned(read_policy(path)) as found:
        assert isinstance(found, BucketPlan)
        partners: Counter[object] = Counter()
        for number in range(200):
            arranged = arrange(found.ordered, found.layout, 4, f"{number:064x}", found.source.scratch)
            rows = found.source.con.execute(f"SELECT __bucket, age FROM {arranged.name} ORDER BY ALL").fetchall()
            group = next(b for b, age in rows if age == 0)
            partners[next(age for b, age in rows if b == group and age != 0)] += 1
            partners[f"group {group}"] += 1
    # Ages 1, 3, 5, 7 have the other value, and each is as likely beside age 0; so is each number of its group.
    expected = {1, 3, 5, 7} | {f"group {g}" for g in range(4)}
    assert set(partners) == expected
    assert all(abs(n - 50) < 25 for n in partners.values()), partners


@pytest.mark.slow
def test_rows_with_several_of_a_person_are_refused(tmp_path: Path) -> None:
    people = "CREATE TABLE people AS SELECT i // 2 AS p, i AS age, 'v' || (i % 5) AS s FROM range(20) AS r(i)"
    columns = {"p": role("person"), "age": QI, "s": SENSITIVE}
    with pytest.raises(PolicyError, match="10 rows belong to a person who has another row"):
        publish_apart(tmp_path / "a", columns, people)
    one_each = people.replace("i // 2 AS p", "i AS p")
    assert publish_apart(tmp_path / "b", columns, one_each).facts.passed


# -------------------- policies


@pytest.mark.parametrize(
    ("columns", "require", "message"),
    [
        ({"a": QI}, "k = 1", "no column is sensitive, and anatomy hides one"),
        ({"a": QI, "s": SENSITIVE, "t": SENSITIVE}, "distinct_l = 2", "2 columns are sensitive, and anatomy hides one"),
        ({"s": SENSITIVE}, "distinct_l = 2", "no column is a quasi-identifier"),
        ({"a": QI, "s": SENSITIVE}, "k = 1", r"write distinct_l = \{ s = 4 \}"),
        ({"a": QI, "s": SENSITIVE}, "distinct_l = 1", r"write distinct_l = \{ s = 4 \}"),
        ({"a": QI, "p": role("person"), "q": role("person"), "s": SENSITIVE}, "distinct_l = 2",
         "only one column can be the person"),
        ({"a": QI, "s": SENSITIVE}, 'distinct_l = 2\nt_hierarchical = { s = { at_most = 0.5, hierarchy = "h" } }',
         "anatomy cannot judge t_hierarchical"),
        ({"a": '{ role = "quasi-identifier", hierarchy = "mask:5", level = 1 }', "s": SENSITIVE}, "distinct_l = 2",
         "key 'level' is for noisy_counts"),
    ],
)  # fmt: skip
def test_policies_that_make_no_sense(columns: dict[str, str], require: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        parse_policy(bucket_policy_text(columns, require), Path(), METHODS)


@pytest.mark.slow
def test_what_else_is_required_is_judged(tmp_path: Path) -> None:
    require = "distinct_l = 3\nrecursive = { s = { c = 1, l = 2 } }\nentropy_l = 2.9"
    done = publish_apart(tmp_path / "a", COLUMNS, PEOPLE, require)
    assert [r["value"] for r in done.facts.content["requirements"]] == [3, 0.5, pytest.approx(3)]
    with pytest.raises(PolicyError, match=r"k>=2 is not met: it is 1, quasi-identifiers are published as they are"):
        publish_apart(tmp_path / "b", COLUMNS, PEOPLE, "distinct_l = 3\nk = 2")
    with pytest.raises(PolicyError, match=r"t\(s\)<=0.1 is not met: it is .*, by its buckets"):
        publish_apart(tmp_path / "c", COLUMNS, PEOPLE, "distinct_l = 3\nt = 0.1")


@pytest.mark.slow
def test_a_second_release_is_refused_and_the_same_key_gives_the_same(tmp_path: Path) -> None:
    first = publish_apart(tmp_path, COLUMNS, PEOPLE)
    before = first.written.output.read_bytes()
    again = publish_apart(tmp_path, COLUMNS, "")
    assert again.written.again
    assert again.written.output.read_bytes() == before
    with pytest.raises(ReleaseError, match=r"was released on .* with anatomy"):
        publish_apart(tmp_path, COLUMNS, "", key=b"another secret, also long enough")


@pytest.mark.slow
def test_odd_columns_are_published_as_they_are(tmp_path: Path) -> None:
    """Named like ours, with quotes, of types that nest, an ENUM, values that are equal and read apart."""
    columns = {'gr"oup': QI, "group": QI, "count": SENSITIVE, "__size": QI, "e": QI, "span": QI, "l": role("other")}
    people = (
        'CREATE TABLE people AS SELECT i % 3 AS "gr""oup", \'it\'\'s\' AS "group", i % 5 AS "count", i AS __size, '
        "CAST(['a', 'b'][1 + i % 2] AS ENUM('a', 'b', 'secret')) AS e, "
        "CASE WHEN i % 2 = 0 THEN INTERVAL 1 MONTH ELSE INTERVAL 30 DAY END AS span, [i, NULL] AS l "
        "FROM range(20) AS r(i)"
    )
    done = publish_apart(tmp_path, columns, people)
    assert verify(done.written.output).passed
    assert b"secret" not in done.written.output.read_bytes()
    with duckdb.connect(str(done.written.output)) as con:
        listed = [r[0] for r in con.execute("DESCRIBE people").fetchall()]
        assert listed == ["group_2", 'gr"oup', "group", "__size", "e", "span", "l"]
        other = [r[0] for r in con.execute("DESCRIBE people_sensitive").fetchall()]
        assert other == ["group", "count", "count_2"]
        assert con.execute("SELECT sum(count_2) FROM people_sensitive").fetchall() == [(20,)]
    with open_release(done.written.output) as release:
        asked = 'SELECT count(*) FROM people WHERE "gr""oup" = 1 AND "count" = 2 AND __size >= 0'
        estimate, low, high = release.sql(asked).fetchall()[0]
        assert 0 <= low <= estimate <= high
    with pytest.raises(PolicyError, match="'__Bucket' is called like the numbers of buckets"):
        publish_apart(tmp_path / "b", {**COLUMNS, "__Bucket": QI}, PEOPLE.replace("AS sex", "AS sex, i AS __Bucket"))


def test_bounds_hold_the_truth(released: Published) -> None:
    path, draw = released.written.output, random.Random(4)
    with open_release(path) as release, duckdb.connect(str(path.parent / "private.duckdb")) as con:
        for _ in range(6):
            joined = draw.choice(["AND", "OR"])
            condition = (
                f"(age < {draw.randint(20, 33)} OR sex = 'F') {joined} (s >= 'v{draw.randint(1, 6)}' OR s IS NULL)"
            )
            ((estimate, low, high),) = release.sql(f"SELECT count(*) FROM people WHERE {condition}").fetchall()
            ((truth,),) = con.execute(f"SELECT count(*) FROM people WHERE {condition}").fetchall()
            assert low <= truth <= high
            assert low <= estimate <= high
        # What asks of one side alone is exact.
        for sql in ("SELECT s, count(*) FROM people GROUP BY s", "SELECT avg(age) FROM people WHERE sex = 'F'"):
            truth = sorted(con.execute(sql).fetchall(), key=str)
            assert sorted((r[:-2] for r in release.sql(sql).fetchall()), key=str) == truth
            assert all(r[-3] == r[-2] == r[-1] for r in release.sql(sql).fetchall())


# -------------------- files that somebody changed


NUMBERED = "UPDATE sqlpriv_release.parameters SET value = {} WHERE name = '{}'"


@pytest.mark.slow
@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("sql", "failing"),
    [
        ("UPDATE sqlpriv_release.side_2 SET s = 'v1' WHERE rowid < 2", "all values of a group differ"),
        ("UPDATE sqlpriv_release.side_2 SET s = 'other' WHERE rowid = 3", DIGESTS),
        ("UPDATE sqlpriv_release.published SET age = 99 WHERE rowid = 0", DIGEST),
        ("UPDATE sqlpriv_release.side_2 SET __bucket = 1 WHERE rowid = 0", "as many rows on every side"),
        ("CREATE OR REPLACE TABLE sqlpriv_release.published AS FROM sqlpriv_release.published ORDER BY age DESC",
         "the order of the rows of published reveals nothing"),
        ("CREATE OR REPLACE TABLE sqlpriv_release.side_2 AS FROM sqlpriv_release.side_2 ORDER BY s",
         "the order of the rows of side_2 reveals nothing"),
        ("ALTER TABLE sqlpriv_release.side_2 ADD COLUMN name VARCHAR", CONTENTS),
        ("ALTER TABLE sqlpriv_release.published ADD COLUMN s VARCHAR", CONTENTS),
        ("CREATE TABLE main.private AS SELECT 1 AS x", CONTENTS),
        ("CREATE OR REPLACE VIEW people AS SELECT * FROM sqlpriv_release.published", SHOWN),
        ("COMMENT ON VIEW people IS 'these are rows'", CONTENTS),
        (NUMBERED.format(0.01, "disclosure_1"), "the numbers are those of the buckets"),
        (NUMBERED.format(0.1, "posterior"), "the numbers are those of the buckets"),
        (NUMBERED.format(5, "l"), "every group has 5 rows or more"),
        ("INSERT INTO sqlpriv_release.about VALUES ('guarantee', 'All is well.')", DECLARED),
        ("UPDATE sqlpriv_release.requirements SET threshold = 9", "distinct_l(s)>=9"),
        ("INSERT INTO sqlpriv_release.about VALUES ('note', 'Ann has flu')", DECLARED),
        ("UPDATE sqlpriv_release.about SET value = 'Ann has flu' WHERE name = 'groups_chosen'", DECLARED),
        ("UPDATE sqlpriv_release.attributes SET side = 3 WHERE name = 's'",
         "columns are in sides, and a sensitive one is spread"),
    ],
)  # fmt: skip
def test_a_changed_file_fails(tmp_path: Path, released: Published, sql: str, failing: str) -> None:
    path = tmp_path / "people-release.duckdb"
    path.write_bytes(released.written.output.read_bytes())
    change(path, sql)
    judged = verify(path)
    assert not judged.passed
    wrong = [c["check"] for c in judged.content["checks"] if c["passed"] is False]
    assert any(failing in check for check in wrong), wrong


def test_a_release_says_what_it_is(released: Published) -> None:
    told = show(released.written.output)
    assert "believes each value with a probability of at most 1/3" in told.content["guarantee"]
    assert told.content["parameters"]["posterior"] == pytest.approx(1 / 3)
    assert "key" not in told.content


def test_keys_that_other_methods_need_change_nothing_but_what_is_a_text(tmp_path: Path) -> None:
    """A code of a file keeps its zero, and a number that no text writes differently stays one."""
    lines = [f"{20 + i};0{1300 + i % 4};v{i % 5}" for i in range(20)]
    (tmp_path / "people.csv").write_text("age;zip;s\n" + "\n".join(lines), encoding="utf-8")
    coarse = 'role = "quasi-identifier", hierarchy = '
    columns = {
        "age": f'{{ {coarse}"suppression", domain = "range:0..99", null = true, outside = "drop" }}',
        "zip": f'{{ {coarse}"mask:5" }}',
        "s": '{ role = "sensitive", domain = ["v0", "v1", "v2", "v3", "v4"], share = [1, 1, 1, 1, 1] }',
    }
    table = 'source = "people.csv"\ndelimiter = ";"'
    path = write_policy(tmp_path, bucket_policy_text(columns, "distinct_l = 3", table=table))
    (tmp_path / "key").write_bytes(b"a secret of my own, long enough")
    output = publish(path, key_file=tmp_path / "key", ledger_file=tmp_path / "ledger").written.output
    shown = {row[1:] for row in tables_of(output)["published"]}
    assert shown == {(20 + i, f"0{1300 + i % 4}") for i in range(20)}
    assert verify(output, path).passed


@pytest.mark.parametrize("column", ["position", "side"])
def test_a_file_that_does_not_number_its_columns_is_no_release(
    tmp_path: Path, released: Published, column: str
) -> None:
    path = tmp_path / "people-release.duckdb"
    path.write_bytes(released.written.output.read_bytes())
    change(path, f"UPDATE sqlpriv_release.attributes SET {column} = NULL WHERE name = 's'")
    assert not verify(path).passed
    with pytest.raises(ReleaseError, match=r"people-release\.duckdb is no release, or was changed"):
        open_release(path)


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT DISTINCT age, s FROM people",
        "SELECT age, s FROM people GROUP BY age, s",
        "SELECT DISTINCT age FROM people WHERE s = 'v1'",
        "SELECT sex FROM people GROUP BY sex, s ORDER BY count(*)",
        "SELECT count(*) FROM (SELECT DISTINCT sex, s FROM people)",
    ],
)
def test_pairs_that_may_be_are_not_listed_as_if_they_were(released: Published, asked: str) -> None:
    with open_release(released.written.output) as opened:
        with pytest.raises(UnsupportedSQLError, match="a list of values of columns that are published apart"):
            opened.sql(asked)
        assert len(opened.sql("SELECT DISTINCT sex, age FROM people").fetchall()) > 2
        assert len(opened.sql("SELECT sex, s, count(*) AS n FROM people GROUP BY ALL").fetchall()) > 2
