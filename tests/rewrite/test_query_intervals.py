"""The intervals of all forms, and what options do to them."""

from __future__ import annotations

import math

import pytest
from support.estimates import Oracle, quantile, same

from sqlpriv.core.errors import InputError
from sqlpriv.release.open import OpenRelease

Z = quantile(0.95)


def one(opened: OpenRelease, expression: str, where: str = "true", **options: object) -> tuple[float, ...]:
    rows = opened.sql(f"SELECT {expression} AS x FROM people WHERE {where}", **options).fetchall()  # type: ignore[arg-type]
    assert len(rows) == 1
    return tuple(rows[0])


@pytest.mark.some(14)
@pytest.mark.parametrize("where", ["true", "age < 26 AND nationality IS NOT NULL"])
@pytest.mark.parametrize(
    ("expression", "summed"),
    [
        ("sum(age) - 2 * count(*)", "age - 2"),
        ("count(*) FILTER (WHERE age > 24)", "(age > 24)::INT"),
        ("sum(score) FILTER (WHERE age > 24) - sum(age)", "CASE WHEN age > 24 THEN score ELSE 0 END - age"),
        ("-sum(age)", "-age"),
        ("3 * count(*)", "3"),
        ("sum(age) / 2", "age / 2"),
        ("sum(CASE WHEN nationality = 'AT' THEN score END)", "CASE WHEN nationality = 'AT' THEN score END"),
    ],
)
def test_a_combination_of_sums_is_one_sum(
    opened: OpenRelease, oracle: Oracle, expression: str, summed: str, where: str
) -> None:
    assert same(one(opened, expression, where), oracle.linear(summed, where))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_confidence_widens_the_interval(opened: OpenRelease, oracle: Oracle, confidence: float) -> None:
    found = one(opened, "count(*)", "age > 30", confidence=confidence)
    assert same(found, oracle.linear("1", "age > 30", confidence))
    found = one(opened, "avg(score)", "age > 30", confidence=confidence)
    assert same(found, oracle.average("score", "age > 30", confidence))


@pytest.mark.parametrize(
    ("expression", "upper", "lower"),
    [
        ("100.0 * count(*) FILTER (WHERE age > 26) / count(*)", "100 * (age > 26)::INT", "1"),
        ("sum(score) / nullif(sum(age), 0)", "score", "age"),
        ("(sum(score) + sum(age)) / (2 * count(*))", "score + age", "2"),
        ("avg(score) / 2", "score / 2", "1"),
        ("count(*) FILTER (WHERE age > 26)::DOUBLE / count(*)", "(age > 26)::INT", "1"),
        ("coalesce(sum(score), 0) / CAST(count(*) AS DOUBLE)", "score", "1"),
    ],
)
def test_a_ratio_has_fiellers_interval(
    opened: OpenRelease, oracle: Oracle, expression: str, upper: str, lower: str
) -> None:
    assert same(one(opened, expression), oracle.ratio(upper, lower))


def test_a_shift_moves_and_a_rising_function_takes_the_bounds_along(opened: OpenRelease) -> None:
    low, high = one(opened, "avg(score)")[1:]
    assert one(opened, "avg(score) + 5")[1:] == pytest.approx((low + 5, high + 5))
    assert one(opened, "5 - avg(score)")[1:] == pytest.approx((5 - high, 5 - low))
    assert one(opened, "round(avg(score), 1)")[1:] == pytest.approx((round(low, 1), round(high, 1)))
    assert one(opened, "CAST(avg(score) AS INTEGER)")[1:] == (round(low), round(high))


@pytest.mark.parametrize(
    ("expression", "value", "slopes"),
    [
        ("count(*) * sum(age)", lambda n, a: n * a, lambda n, a: (a, n)),
        ("sum(age) / count(*) * sum(age)", lambda n, a: a * a / n, lambda n, a: (-a * a / n**2, 2 * a / n)),
        ("avg(age) - sum(age) / 50", lambda n, a: a / n - a / 50, lambda n, a: (-a / n**2, 1 / n - 1 / 50)),
        ("avg(age) * avg(age)", lambda n, a: (a / n) ** 2, lambda n, a: (-2 * a * a / n**3, 2 * a / n**2)),
    ],
)
def test_smooth_arithmetic_has_the_delta_methods_interval(
    opened: OpenRelease, oracle: Oracle, expression: str, value: object, slopes: object
) -> None:
    m = oracle.moments(["1", "age"], "true")
    d = slopes(*m.estimates)  # type: ignore[operator]
    variance = sum(d[i] * d[j] * m.covariances[i][j] for i in range(2) for j in range(2))
    centre, half = value(*m.estimates), Z * math.sqrt(max(variance, 0.0))  # type: ignore[operator]
    assert one(opened, expression) == pytest.approx((centre, centre - half, centre + half), rel=1e-6)


def test_what_has_no_sound_bounds_has_none(opened: OpenRelease) -> None:
    for expression in (
        "abs(count(*))",
        "count(*) > 3",
        "CASE WHEN count(*) > 3 THEN 1 ELSE 2 END",
        "round(avg(age)) * count(*)",
    ):
        assert one(opened, expression)[1:] == (None, None)


FEW = "age = 20 AND score = 81 AND nationality = 'US'"


def test_a_ratio_whose_count_may_be_0_has_no_bounds(opened: OpenRelease) -> None:
    assert one(opened, "avg(score + 0)", FEW)[1:] == (None, None)


@pytest.mark.some(1)
def test_an_average_of_a_column_is_bounded_by_its_domain(opened: OpenRelease, oracle: Oracle) -> None:
    scores = [row[oracle.made.names.index("score")] for row in oracle.made.domain]
    assert one(opened, "avg(score)", FEW)[1:] == (min(scores), max(scores))
    assert one(opened, "round(avg((score)))", FEW)[1:] == (min(scores), max(scores))
    for where in ("true", "age > 30", "age IN (21, 22)"):
        for expression in ("avg(score)", "avg(score) FILTER (WHERE true)"):
            assert same(one(opened, expression, where), oracle.average("score", where))
    by_group = "SELECT nationality, age, avg(score) AS s FROM people GROUP BY ALL ORDER BY ALL"
    rows = opened.sql(by_group).fetchall()
    assert all(min(scores) <= row[3] <= row[4] <= max(scores) for row in rows if row[2] is not None)
    assert [row[:3] for row in rows] == opened.sql(by_group, intervals=False).fetchall()
    assert all(min(scores) <= row[2] <= max(scores) for row in rows if row[2] is not None)


SHARES = {
    "count(*) FILTER (WHERE age > 26) / count(*)": 1,
    "100.0 * count_if(age > 26) / nullif(count(*), 0)": 100,
    "avg(CASE WHEN age > 26 THEN 1.0 ELSE 0 END)": 1,
    "avg((age > 26)::INT)": 1,
    "round(100.0 * count_if(age > 26) / count(*), 1)": 100,
    "count(*) / sum(count(*)) OVER (PARTITION BY nationality)": 1,
}


@pytest.mark.some(3)
@pytest.mark.parametrize(("share", "most"), SHARES.items())
def test_a_share_lies_between_0_and_its_whole(opened: OpenRelease, share: str, most: float) -> None:
    """As sums they are as they are: a share of noise alone may be anything."""
    by_group = f"SELECT nationality, score, {share} AS s FROM people GROUP BY ALL ORDER BY ALL"
    rows = [row for row in opened.sql(by_group).fetchall() if row[2] is not None]
    assert all(0 <= row[2] <= most for row in rows)
    assert all(0 <= row[3] <= row[2] + 1e-9 <= row[4] + 2e-9 <= most + 3e-9 for row in rows if row[3] is not None)


# --- options ------------------------------------------------------------------------------------


def test_counts_are_clamped_only_when_asked(opened: OpenRelease) -> None:
    totals = "count(*) AS n, sum(age) AS s, sum(age - 40) AS signed"
    query = f"SELECT age, score, {totals} FROM people WHERE nationality = 'US' GROUP BY age, score"
    free, clamped = opened.sql(query).fetchall(), opened.sql(query, nonnegative=True).fetchall()
    assert any(row[2] < 0 for row in free)
    assert all(min(row[2:8]) >= 0 for row in clamped)
    assert any(row[8] < 0 for row in clamped)
    assert sorted((max(r[2], 0), r[8]) for r in free) == sorted((r[2], r[8]) for r in clamped)


def test_intervals_can_be_left_out(opened: OpenRelease) -> None:
    assert opened.sql("SELECT count(*) AS n, avg(age) AS a FROM people", intervals=False).columns == ["n", "a"]


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan])
def test_a_confidence_lies_between_0_and_1(opened: OpenRelease, confidence: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        opened.sql("SELECT count(*) FROM people", confidence=confidence)


def test_estimates_over_answers_keep_their_bounds(opened: OpenRelease) -> None:
    inner = "SELECT nationality AS c, count(*) AS n FROM people GROUP BY c"
    plain = sorted(opened.sql(inner).fetchall(), key=repr)
    assert sorted(opened.sql(f"SELECT * FROM ({inner})").fetchall(), key=repr) == plain
    assert sorted(opened.sql(f"SELECT c, n FROM ({inner})").fetchall(), key=repr) == plain
    assert opened.sql(f"SELECT n, n_high, c FROM ({inner})").columns == ["n", "n_high", "c"]
    doubled = opened.sql(f"SELECT c, -n AS m FROM ({inner})").fetchall()
    assert sorted([(c, -n, -high, -low) for c, n, low, high in plain], key=repr) == sorted(doubled, key=repr)


@pytest.mark.parametrize("function", ["sqrt", "ln", "log", "log10", "log2"])
def test_a_function_that_is_not_defined_there_is_null(opened: OpenRelease, function: str) -> None:
    """An estimate, or its lower bound, may be below 0 where the true number cannot be."""
    below = one(opened, f"{function}(count(*) - 100000)")
    assert below[0] is None
    value, low, high = one(opened, f"{function}(count(*) FILTER (WHERE age = 20 AND score = 81))")
    assert all(v is None or math.isfinite(v) for v in (value, low, high))


def test_mean_is_avg(opened: OpenRelease) -> None:
    assert one(opened, "mean(age)") == one(opened, "avg(age)")
