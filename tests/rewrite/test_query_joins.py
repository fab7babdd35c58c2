"""Joins with public tables of which a row of the private table meets several rows, against sums element by element."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.estimates import Oracle, quantile, same
from support.query_releases import COLUMNS, ODD, PUBLIC, copies
from support.releases import alpha_beta, random_view, write_release
from support.strategies import fewer

from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

VISITS = "people JOIN visits ON code = nationality"


@pytest.mark.some(9)
@pytest.mark.parametrize(
    ("source", "where"),
    [
        (VISITS, "true"),
        (VISITS, "age > 24 + 2 * cost"),
        (VISITS, "cost = (SELECT max(v.cost) FROM visits AS v WHERE v.code = visits.code)"),
        (VISITS, "EXISTS (SELECT 1 FROM regions AS r WHERE r.country = visits.code AND r.weight * 2 <= visits.cost)"),
        ("people JOIN visits ON code IS NOT DISTINCT FROM nationality", "kind = 'x' OR age < 30"),
        ("people CROSS JOIN visits", "cost IS NOT NULL"),
        ("people CROSS JOIN visits", "age > 8 * cost AND score < 90"),
        (f"{VISITS} JOIN regions ON country = nationality", "continent = 'Europe' OR cost = 2"),
        (f"{VISITS} JOIN regions ON country = code", "weight IS NOT NULL"),
        ("people, visits AS visits, visits AS other", "visits.code = nationality AND other.kind = visits.kind"),
        ("people JOIN visits ON lower(code) = lower(nationality)", "score < 95"),
        (f'{VISITS} JOIN {ODD} AS o ON o."a ""b""" = age', "kind || value <> 'xp'"),
    ],
)  # fmt: skip
def test_a_row_counts_with_all_the_rows_it_meets(opened: OpenRelease, oracle: Oracle, source: str, where: str) -> None:
    summed = {
        "count(*)": "1",
        "count(*) FILTER (WHERE visits.cost > 1)": "coalesce(visits.cost > 1, false)::INT",
        "sum(visits.cost)": "visits.cost",
        "sum(visits.cost * age)": "visits.cost * age",
        "sum(age - 25)": "age - 25",
        "sum(visits.cost) - 2 * count(*)": "coalesce(visits.cost, 0) - 2",
    }
    listed = ", ".join(f"{text} AS x{i}" for i, text in enumerate(summed))
    query = f"SELECT {listed} FROM {source} WHERE {where}"
    assert copies(opened, query)
    ((*found,),) = opened.sql(query).fetchall()
    expected = [bound for text in summed.values() for bound in oracle.linear(text, where, source=source)]
    assert same(found, expected)


def test_averages_and_ratios(opened: OpenRelease, oracle: Oracle) -> None:
    where = "cost IS NOT NULL AND age < 36"
    query = f"SELECT avg(cost) AS a, 100 * count(*) FILTER (WHERE kind = 'x') / count(*) AS p FROM {VISITS}"
    ((*found,),) = opened.sql(f"{query} WHERE {where}").fetchall()
    percent = "100 * coalesce(kind = 'x', false)::INT"
    expected = [*oracle.ratio("cost", "1", where, source=VISITS), *oracle.ratio(percent, "1", where, source=VISITS)]
    assert same(found, expected)
    smooth = opened.sql(f"SELECT count(*) * sum(cost) AS x FROM {VISITS}").fetchall()[0]
    m = oracle.moments(["1", "coalesce(cost, 0)"], "true", VISITS)
    slopes = m.estimates[::-1]
    variance = sum(slopes[i] * slopes[j] * m.covariances[i][j] for i in range(2) for j in range(2))
    centre, half = math.prod(m.estimates), quantile(0.95) * math.sqrt(max(variance, 0.0))
    assert smooth == pytest.approx((centre, centre - half, centre + half), rel=1e-6)


@pytest.mark.some(6)
@pytest.mark.parametrize(
    "keys",
    [
        ("kind",),
        ("nationality",),
        ("code", "kind"),
        ("code", "kind", "cost"),
        ("coalesce(kind, 'none') || (age < 30)",),
        ("age // 10", "cost > 2"),
    ],
)
def test_groups_that_do_not_tell_the_rows_apart(opened: OpenRelease, oracle: Oracle, keys: tuple[str, ...]) -> None:
    listed = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
    query = f"SELECT {listed}, count(*) AS n, sum(cost) AS s FROM {VISITS} WHERE age < 36 GROUP BY ALL"
    assert copies(opened, query)
    check_groups(opened, oracle, query, keys, VISITS)


def check_groups(opened: OpenRelease, oracle: Oracle, query: str, keys: tuple[str, ...], source: str) -> None:
    found = opened.sql(query).fetchall()
    groups = oracle.con.execute(
        f"SELECT DISTINCT {', '.join(keys)} FROM {source} WHERE age < 36 AND __d = 1"
    ).fetchall()
    assert sorted(map(repr, groups)) == sorted(repr(row[: len(keys)]) for row in found)
    for row in found:
        held = [f"({k}) IS NOT DISTINCT FROM {oracle.literal(v)}" for k, v in zip(keys, row, strict=False)]
        where = " AND ".join(["age < 36", *held])
        expected = [*oracle.linear("1", where, source=source), *oracle.linear("cost", where, source=source)]
        assert same(row[len(keys) :], expected), row


def test_a_key_is_not_evaluated_for_rows_that_are_excluded(opened: OpenRelease, oracle: Oracle) -> None:
    """One of the texts is no number."""
    source, key = "people CROSS JOIN texts", "CAST(number AS INTEGER) // 2"
    query = (
        f"SELECT {key} AS k, count(*) AS n, sum(age) AS s FROM {source} WHERE (number <> 'x') AND age < 36 GROUP BY k"
    )
    found = opened.sql(query).fetchall()
    assert sorted(row[0] for row in found) == [10, 11]
    for k, *bounds in found:
        where = "age < 36 AND " + ("number IN ('20', '020')" if k == 10 else "number = '22'")
        assert same(bounds, [*oracle.linear("1", where, source=source), *oracle.linear("age", where, source=source)])


SOURCES = (
    VISITS,
    f"{VISITS} AND cost < age - 20",
    "people JOIN visits ON code IS NOT DISTINCT FROM nationality OR cost = age - 20",
    "people JOIN visits ON cost * 2 + 18 = age",
    f"{VISITS} JOIN regions ON country = code",
    f"{VISITS} JOIN regions ON country < code AND regions.weight < cost",
    f'{VISITS} JOIN {ODD} AS o ON o."a ""b""" + 2 >= age',
    "people CROSS JOIN visits",
)
# The oracle takes what is 0 or 1 for a count, so nothing else is.
SUMMED = (
    "1",
    "cost",
    "age - 25",
    "cost * age - score",
    "length(kind) / 2 + cost",
    "CASE WHEN kind = 'x' THEN -cost END",
)
KEYS = ("kind", "cost", "nationality", "code", "cost > 2", "age // 10", "age + cost", "coalesce(kind, code)")
WHERES = ("true", "age < 30", "kind = 'x' OR score < 90", "cost IS NOT NULL AND NOT (kind = 'y' AND age > 26)",
          "cost IN (1, 2, 3) OR nationality IS NULL", "score BETWEEN 81 + cost AND 95 - cost")  # fmt: skip


@pytest.mark.some(1)
@fewer(10)
@given(
    source=st.sampled_from(SOURCES),
    where=st.sampled_from(WHERES),
    summed=st.lists(st.sampled_from(SUMMED), min_size=1, max_size=2, unique=True),
    keys=st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
)
def test_random_joins(
    opened: OpenRelease, oracle: Oracle, source: str, where: str, summed: list[str], keys: list[str]
) -> None:
    listed = [f"{key} AS k{i}" for i, key in enumerate(keys)] + [f"sum({x}) AS s{i}" for i, x in enumerate(summed)]
    query = f"SELECT {', '.join(listed)} FROM {source} WHERE {where}" + " GROUP BY ALL" * bool(keys)
    found = opened.sql(query).fetchall()
    groups = f"SELECT DISTINCT {', '.join(keys)} FROM {source} WHERE ({where}) AND __d = 1"
    assert len(found) == (len(oracle.con.execute(groups).fetchall()) if keys else 1)
    for row in found:
        held = [f"({k}) IS NOT DISTINCT FROM {oracle.literal(v)}" for k, v in zip(keys, row, strict=False)]
        met = " AND ".join([f"({where})", *held])
        # Whether an element of a group meets several rows is known of the whole join only.
        assert any(
            same(row[len(keys) :], [b for x in summed for b in oracle.linear(x, met, source=source, apart=apart)])
            for apart in (True, False)
        )


def test_each_grouping_set_by_itself(opened: OpenRelease, oracle: Oracle) -> None:
    query = f"SELECT code, kind, count(*) AS n FROM {VISITS} WHERE cost <> 3 GROUP BY ROLLUP (code, kind)"
    found = opened.sql(query).fetchall()
    assert len(found) == 3 + 1 + 5
    for code, kind, *interval in found:
        # A kind that is NULL is a group of its own, or that of all kinds: both have one candidate or the other.
        alone = f"code = '{code}' AND cost <> 3" if code else "cost <> 3"
        wheres = [f"{alone} AND kind IS NOT DISTINCT FROM {oracle.literal(kind)}", *([alone] if kind is None else [])]
        assert any(same(interval, oracle.linear("1", where, source=VISITS)) for where in wheres)


def test_an_empty_table_joins_nothing(opened: OpenRelease) -> None:
    for join in ("JOIN empty ON code = nationality", "CROSS JOIN empty", "CROSS JOIN visits CROSS JOIN empty"):
        assert opened.sql(f"SELECT count(*) AS n, sum(empty.cost) AS s FROM people {join}").fetchall() == [(0,) * 6]
        assert opened.sql(f"SELECT age, count(*) AS n FROM people {join} GROUP BY age").fetchall() == []


def test_a_text_that_is_unique_may_be_several_numbers(opened: OpenRelease, oracle: Oracle) -> None:
    """'20' and '020' are one number, so a row meets both."""
    source = "people LEFT JOIN (SELECT DISTINCT number FROM texts WHERE number <> 'x') AS t ON t.number = 20"
    found = opened.sql(f"SELECT count(*) AS n, sum(age) AS s FROM {source}").fetchall()[0]
    assert same(found, [*oracle.linear("1", source=source), *oracle.linear("age", source=source)])


def test_rows_that_are_chosen_by_order_may_be_others_the_next_time(opened: OpenRelease) -> None:
    for clause in ("LIMIT 3", "OFFSET 1"):
        chosen = f"(SELECT country FROM regions ORDER BY continent {clause}) AS r"
        assert copies(opened, f"SELECT count(*) FROM people JOIN {chosen} ON country = nationality")


def test_estimates_alone_need_no_pairs(opened: OpenRelease) -> None:
    assert "__priv_d2" not in opened.explain(f"SELECT count(*) FROM {VISITS}", intervals=False).sql


@pytest.mark.parametrize("release", ["alpha_beta"], indirect=True)
def test_two_matches_make_an_interval_twice_as_wide(opened: OpenRelease) -> None:
    """And not 1.4 times, as if each had a coin of its own."""
    low, high = opened.sql("SELECT count(*) AS n FROM people").fetchall()[0][1:]
    both = opened.sql("SELECT count(*) AS n FROM people JOIN visits ON cost = 3").fetchall()[0]
    assert both[1:] == pytest.approx((2 * low, 2 * high))


def test_views_with_other_weights_answer_together(tmp_path: Path) -> None:
    """The rows of the view differ in their weights then, and each keeps its own."""
    weights = [alpha_beta(0.4, 0.02), alpha_beta(0.3, 0.05)]
    files = [
        write_release(
            tmp_path / f"v{i}.duckdb", COLUMNS, random_view(COLUMNS, 90 + i, i), weights[i], public=PUBLIC,
            view_number=i + 1,
        )
        for i in range(2)
    ]  # fmt: skip
    with open_release(*(f.path for f in files)) as opened:
        n, *bounds = opened.sql(f"SELECT count(*) * 1 * count(*) AS n FROM {VISITS}").fetchall()[0]
    estimate = variance = 0.0
    for file in files:
        with Oracle(file) as oracle:
            m = oracle.moments(["1"], "true", VISITS)
            estimate, variance = estimate + m.estimates[0] / 2, variance + m.covariances[0][0] / 4
    half = quantile(0.95) * 2 * estimate * math.sqrt(variance)
    assert (n, *bounds) == pytest.approx((estimate**2, estimate**2 - half, estimate**2 + half))


def test_counts_of_joined_rows_are_clamped_when_asked(opened: OpenRelease) -> None:
    query = f"SELECT age, score, count(*) AS n FROM {VISITS} GROUP BY age, score"
    assert min(row[2] for row in opened.sql(query).fetchall()) < 0
    assert min(min(row[2:]) for row in opened.sql(query, nonnegative=True).fetchall()) == 0
