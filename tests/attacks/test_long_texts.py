"""A question whose texts outgrow the machine is refused before it runs; DuckDB's limits do not count them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from support.bi_corpus import exact_release

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

GROWING = (
    "repeat({x}, {n})",
    "lpad({x}, {n}, 'y')",
    "rpad({x}, {n}, {x})",
    "format('{{:>{n}}}', {x})",
    "printf('%{n}s', {x})",
    "repeat({x}, amount * {n})",
    "lpad({x}, amount, {x})",
    "format(repeat('x', 9) || '{{}}', {x})",
    "printf(region, {x})",
    "format('{{:>{{}}}}', {x}, {n})",
    "bar(amount, 0, 1, {n})",
    "repeat({x}, CAST({n} AS BIGINT))",
    "list_value({x}, repeat({x}, {n}))[1]",
    "repeat(repeat(repeat({x}, 2000), 2000), 2000)",
    "replace(replace(replace({x}, '', '{y}'), 'y', '{y}'), 'y', '{y}')",
    "regexp_replace(regexp_replace({x}, 'o|', '{y}', 'g'), 'y', '{y}', 'g')",
    "concat_ws(repeat({x}, {n}), {x}, {x})",
    "repeat(upper({x}), (SELECT {n}))",
    "coalesce(repeat({x}, {n}), 'a')",
    "CASE WHEN paid THEN repeat({x}, {n}) ELSE '' END",
    "levenshtein(repeat({x}, 90), repeat('x', 90000)) || levenshtein(repeat('x', 90000), repeat('y', 90000))",
    "damerau_levenshtein(repeat('x', 9000) || {x}, repeat('y', 9000) || {x}) || ''",
    "strftime(day, repeat('%A', {n}))",
)
PLACES = (
    "SELECT count(*) FROM visits WHERE length({}) > 5",
    "SELECT count(*) FROM visits GROUP BY {}",
    "SELECT sum(length({})) FROM visits",
    "SELECT region, count(*) AS n FROM visits GROUP BY region HAVING length({}) > count(*)",
    "WITH t AS (SELECT {} AS x FROM visits) SELECT count(*) FROM t WHERE x > 'a'",
    "SELECT count(*) FROM visits WHERE EXISTS (SELECT 1 FROM regions r WHERE r.region = {})",
)


def attacks(number: int, seed: int = 7) -> list[str]:
    """Generated questions: a function that grows, of a column or a text, in some place of a query."""
    found, made = random.Random(seed), set[str]()
    while len(made) < number:
        x, n = found.choice(["region", "product", "'x'", "region || product"]), found.randrange(200_000, 2_000_000_000)
        made.add(found.choice(PLACES).format(found.choice(GROWING).format(x=x, n=n, y="y" * 5000)))
    return sorted(made)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRelease]:
    with open_release(exact_release(tmp_path_factory.mktemp("long") / "visits-release.duckdb").path) as found:
        yield found


def test_three_hundred_attacks_are_refused_before_they_run(opened: OpenRelease) -> None:
    for asked in attacks(300):
        with pytest.raises(UnsupportedSQLError):
            opened.explain(asked)


def test_doubling_through_subqueries_is_counted(opened: OpenRelease) -> None:
    steps = ", ".join(f"t{i} AS (SELECT x || x AS x FROM t{i - 1})" for i in range(1, 30))
    for first in ("SELECT region AS x FROM regions", "SELECT region AS x FROM visits"):
        with pytest.raises(UnsupportedSQLError, match="more than 100,000 signs"):
            opened.explain(f"WITH t0 AS ({first}), {steps} SELECT count(*) FROM t29 WHERE x > 'a'")
    nested = "SELECT region AS x FROM regions"
    for _ in range(30):
        nested = f"SELECT concat(x, x) AS x FROM ({nested})"
    with pytest.raises(UnsupportedSQLError, match="more than 100,000 signs"):
        opened.explain(f"SELECT count(*) FROM visits WHERE region IN ({nested})")


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT repeat(region, 20), count(*) FROM visits GROUP BY 1",
        "SELECT lpad(region, 40, '-'), count(*) FROM visits GROUP BY 1",
        "SELECT format('{}-{:03d}', region, amount), count(*) FROM visits GROUP BY 1",
        "SELECT concat_ws(', ', region, product, amount, quantity, day, paid), count(*) FROM visits GROUP BY 1",
        "SELECT replace(region, 'o', 'oo'), count(*) FROM visits GROUP BY 1",
        "SELECT regexp_replace(region, '(o)', '<\\1>', 'g'), count(*) FROM visits GROUP BY 1",
        "SELECT count(*) FROM visits WHERE " + " AND ".join(f"region <> '{i}'" for i in range(400)),
        "SELECT count(*) FROM visits WHERE region IN (" + ", ".join(f"'{'x' * 500}{i}'" for i in range(400)) + ")",
    ],
)
def test_what_people_write_is_answered(opened: OpenRelease, asked: str) -> None:
    assert opened.sql(asked).fetchall()
