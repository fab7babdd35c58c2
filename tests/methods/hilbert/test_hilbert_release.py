"""Releases along a Hilbert curve: the best classes of the line, no row lost, what is required met."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support import line_releases
from support.boxes import check_boxes, random_case
from support.line_releases import some_rows, sql_of
from support.strategies import EXAMPLES

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.methods.generalized.hilbert import curve
from sqlpriv.methods.generalized.plan import BoxPlan
from sqlpriv.publishing import open_release, plan, planned, publish, read_policy, show, verify

PUBLIC = {
    **line_releases.COLUMNS,
    "age": '{ role = "quasi-identifier", hierarchy = "ranges:5,10,50" }',
    "born": '{ role = "quasi-identifier", hierarchy = "dates:month,year" }',
}


@pytest.mark.slow
@pytest.mark.some(6)
@pytest.mark.parametrize("seed", range(40))
def test_the_classes_are_the_best_of_the_line(tmp_path: Path, seed: int) -> None:
    k = 2 + seed % 4
    path = line_releases.write(tmp_path, sql_of(some_rows(seed, 60 - seed % 45)), f"k = {k}")
    with planned(read_policy(path)) as found:
        assert isinstance(found, BoxPlan)
        assert found.divided.facts == {"optimal": True, "merged": 0}
        own, least = line_releases.losses(found, k)
        assert own == pytest.approx(least)
        assert found.boxed.loss >= own - 1e-9, "labels only widen"
        held = fetch(found.source.con, f"SELECT min(rows), sum(rows) FROM {found.boxed.relation}")
        assert held[0][0] >= k
        assert held[0][1] == found.scan.rows == 60 - seed % 45


@pytest.mark.slow
@pytest.mark.parametrize("cuts", ["data", "public"])
def test_large_trees_are_measured_like_small_ones(tmp_path: Path, cuts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Widths are looked up in a table for few leaves, and level by level for many."""
    path = line_releases.write(tmp_path, sql_of(some_rows(7, 90)), "k = 3", PUBLIC, f'cuts = "{cuts}"')
    small = plan(path).content
    monkeypatch.setattr(curve, "_TABLE_OF_WIDTHS", 0)
    large = plan(path).content
    assert large["classes"] == small["classes"]
    assert large["loss"] == pytest.approx(small["loss"])


@pytest.mark.slow
def test_more_columns_than_the_key_has_bits(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(70)]
    rows = [tuple((i * (j + 3)) % 11 for j in range(70)) for i in range(60)]
    columns = dict.fromkeys(names, '{ role = "quasi-identifier" }')
    path = line_releases.write(tmp_path, sql_of(rows, ", ".join(f"{n} INTEGER" for n in names)), "k = 4", columns)
    found = plan(path).content
    assert found["requirements"][0]["value"] >= 4
    assert found["classes"] > 5


@pytest.mark.slow
@pytest.mark.parametrize("cuts", ["data", "public"])
def test_random_tables_lose_no_row_and_meet_what_is_required(cuts: str) -> None:
    """Also with persons, NULLs, texts without a hierarchy, and up to four quasi-identifiers."""
    found = [check_boxes(random_case(seed, cuts), finest=False, method="hilbert") for seed in range(EXAMPLES // 4)]
    assert sum(found) > len(found) / 3


def published(path: Path) -> list[tuple[object, ...]]:
    """The rows of the release, as they stand in the file."""
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute("FROM sqlpriv_release.published").fetchall()


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("require", "release"),
    [
        ("k = 3\ndistinct_l = 3", 'cuts = "public"'),
        ("k = 2\nt = 0.4", ""),
        ('epsilon = { column = "illness", adversary = "class2", sigma = 20, at_most = 2 }', 'cuts = "public"'),
        ("k = 2\nrecursive = { illness = { c = 2, l = 2 } }\nbeta = 2", ""),
    ],
)
def test_what_is_required_beyond_k_holds(tmp_path: Path, require: str, release: str) -> None:
    rows = some_rows(3, 80)
    path = line_releases.write(tmp_path, sql_of(rows), require, PUBLIC, release)
    done = publish(path)
    told = done.facts.content
    assert told["merged"] > 0
    assert not told["optimal"]
    assert told["classes"] > 1
    assert told["rows"] == 80 == len(published(done.written.output))
    assert told["suppressed_rows"] == 0
    assert verify(done.written.output, path).passed
    assert "section 3.2" in told["warnings"][0]
    assert "section 3.2" in show(done.written.output).warnings[0]


@pytest.mark.slow
def test_the_order_of_the_rows_and_threads_do_not_matter(tmp_path: Path) -> None:
    rows = some_rows(5, 120)
    found = []
    for name, order in (("a", rows), ("b", sorted(rows, key=str)), ("c", rows[::-1])):
        (tmp_path / name).mkdir()
        done = publish(line_releases.write(tmp_path / name, sql_of(order), "k = 3\ndistinct_l = 2"))
        found.append(published(done.written.output))
    assert found[0] == found[1] == found[2]
    # Rows stand sorted by what they show, with nothing of the line in their order.
    with duckdb.connect() as con:
        con.execute("CREATE TABLE shown (a VARCHAR, z VARCHAR, b VARCHAR, i VARCHAR)").fetchall()
        con.executemany("INSERT INTO shown VALUES (?, ?, ?, ?)", found[0])
        assert con.execute("FROM shown ORDER BY ALL").fetchall() == found[0]


def test_equal_people_are_in_one_class(tmp_path: Path) -> None:
    """Four with the same quasi-identifiers, and neighbours on both sides that need one of them each: none is lent."""
    rows = [(20 + i // 2, "130", None, "a") for i in range(2)] + [(50, "130", None, "b")] * 4
    rows += [(80, "130", None, "c")] * 2
    path = line_releases.write(tmp_path, sql_of(rows), "k = 3")
    with planned(read_policy(path)) as found:
        assert isinstance(found, BoxPlan)
        classes = fetch(
            found.source.con,
            f"SELECT f.age, count(DISTINCT c.class) FROM {found.boxed.classed} AS c "
            f"JOIN {found.scan.frequencies} AS f ON c.row = f.rowid "
            "GROUP BY f.age",
        )
    assert all(number == 1 for _, number in classes)


@pytest.mark.slow
def test_public_cuts_tell_no_value(tmp_path: Path) -> None:
    """Labels are nodes of hierarchies, or halves of the declared range: the same whatever values rows have in them."""
    columns = {"age": '{ role = "quasi-identifier", domain = "range:0..127" }', "illness": '{ role = "sensitive" }'}
    rows = [(age, "abc"[age % 3]) for age in (*range(17, 60, 2), 101, 102, 103)]
    path = line_releases.write(
        tmp_path, sql_of(rows, "age INTEGER, illness VARCHAR"), "k = 3", columns, 'cuts = "public"'
    )
    done = publish(path)
    assert verify(done.written.output, path).passed
    labels = {row[0] for row in published(done.written.output)}
    assert labels - {"*"}
    for label in labels - {"*"}:
        low, high = (int(end) for end in str(label).split("-")) if "-" in str(label) else (int(label), int(label))
        width = high - low + 1
        assert width & (width - 1) == 0
        assert low % width == 0


@pytest.mark.slow
def test_answers_have_bounds_that_hold_the_truth(tmp_path: Path) -> None:
    rows = some_rows(8, 90)
    sql = sql_of(rows)
    path = line_releases.write(tmp_path, sql, "k = 3")
    with open_release(publish(path).written.output) as release, duckdb.connect() as con:
        con.execute(sql).fetchall()
        for condition in (
            "age < 30",
            "age BETWEEN 22 AND 40 AND illness = 'd'",
            "born >= DATE '1990-01-15'",
            "age IS NULL",
        ):
            question = f"SELECT count(*) AS n FROM people WHERE {condition}"
            truth = con.execute(question).fetchall()[0][0]
            ((estimate, low, high),) = release.sql(question).fetchall()
            assert low <= truth <= high
            assert low <= estimate <= high


def test_what_cannot_be_met_is_refused(tmp_path: Path) -> None:
    path = line_releases.write(tmp_path, sql_of(some_rows(1, 6)), "k = 7")
    with pytest.raises(PolicyError, match="even all 6 rows as one class do not meet the requirements: k>=7"):
        plan(path)
    assert not (tmp_path / "people-release.duckdb").exists()


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    path = line_releases.write(tmp_path, f"CREATE TABLE people ({line_releases.TYPES})")
    with pytest.raises(InputError, match="has no rows"):
        publish(path)


@pytest.mark.slow
def test_one_row_is_one_class(tmp_path: Path) -> None:
    path = line_releases.write(tmp_path, sql_of([(None, "130", None, "a")]), "k = 1")
    done = publish(path)
    assert done.facts.content["classes"] == 1
    assert done.facts.content["loss"] == 0
    assert published(done.written.output) == [(None, "130", None, "a")]


@pytest.mark.slow
def test_persons_are_counted(tmp_path: Path) -> None:
    """Rows of one person are no crowd: classes of two rows of theirs are merged on."""
    rows = [(*row[:3], str(i // 2)) for i, row in enumerate(sorted(some_rows(2, 60), key=str))]
    columns = {**line_releases.COLUMNS, "illness": '{ role = "person" }'}
    path = line_releases.write(tmp_path, sql_of(rows), "k = 2", columns)
    done = publish(path)
    assert done.facts.content["merged"] > 0
    with planned(read_policy(path)) as found:
        assert isinstance(found, BoxPlan)
        persons = fetch(
            found.source.con,
            f"SELECT b.box, count(DISTINCT p.holder) FROM {found.scan.points} AS p "
            f"JOIN {found.boxed.classed} AS c ON p.row = c.row JOIN {found.boxed.relation} AS b "
            "ON b.class = c.class GROUP BY 1",
        )
    assert min(number for _, number in persons) >= 2


NAMES = ('o"clock', "row", "place", "class", "v0", "n", "key", "box", "it's")


@pytest.mark.slow
def test_columns_named_like_ours_or_with_quotes(tmp_path: Path) -> None:
    types = ", ".join('"' + name.replace('"', '""') + '" INTEGER' for name in NAMES) + ", __groups VARCHAR"
    rows = [(*((i * (j + 3)) % 7 for j in range(len(NAMES))), "ab"[i % 2]) for i in range(40)]
    columns = dict.fromkeys(NAMES, '{ role = "quasi-identifier" }') | {"__groups": '{ role = "sensitive" }'}
    path = line_releases.write(tmp_path, sql_of(rows, types), "k = 3\ndistinct_l = 2", columns)
    done = publish(path)
    assert verify(done.written.output, path).passed
    assert len(published(done.written.output)) == 40


@pytest.mark.slow
def test_an_enum_tells_no_value_that_no_row_has(tmp_path: Path) -> None:
    sql = (
        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'secretly glad'); CREATE TABLE people (age INTEGER, m mood, s mood); "
        "INSERT INTO people SELECT i % 20, CASE WHEN i % 3 = 0 THEN 'sad' ELSE 'ok' END, 'ok' FROM range(60) AS r(i)"
    )
    columns = dict.fromkeys(("age", "m"), '{ role = "quasi-identifier" }') | {"s": '{ role = "sensitive" }'}
    done = publish(line_releases.write(tmp_path, sql, "k = 4", columns))
    assert b"secretly glad" not in done.written.output.read_bytes()
    assert verify(done.written.output).passed
