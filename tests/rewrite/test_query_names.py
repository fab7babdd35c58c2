"""No name of the user's is taken for one of ours: columns, tables and aliases called like what we generate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.releases import quoted
from test_query_rewrite import Con, assert_same, everything, exact_release

from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

NAMES = ["value", "share", "s0", "g0", "e0", 'we"ird', "release", "domain", "select", "estimates", "c0 h0", "Ünï"]
PUBLIC: dict[str, Any] = {
    "value": ({"value": "INTEGER", "share": "INTEGER"}, [(1, 5), (2, 6), (None, 7)]),
    "g0": ({"p0": "INTEGER", "s0": "INTEGER"}, [(1, 2), (2, 2)]),
}
TABLES = ["release", 'a b"c']


@pytest.fixture(scope="module", params=TABLES)
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OpenRelease, Con, str]]:
    table = request.param
    columns: dict[str, tuple[str, list[Any]]] = {
        n: ("INTEGER", [1, 2] if i else [1, 2, None]) for i, n in enumerate(NAMES)
    }
    public = {n: t for n, t in PUBLIC.items() if n != table}
    path = tmp_path_factory.mktemp("names") / "release.duckdb"
    made = exact_release(path, columns, table=table, public=public)
    with open_release(path) as opened, everything(made, table) as con:
        yield opened, con, quoted(table)


@pytest.mark.parametrize("name", NAMES)
def test_columns_called_like_ours(both: tuple[OpenRelease, Con, str], name: str) -> None:
    opened, con, table = both
    c = quoted(name)
    query = (
        f'SELECT {c}, count(*) AS n, avg("s0" + {c}) AS a FROM {table} WHERE {c} + "g0" > 2 GROUP BY {c} ORDER BY {c}'
    )
    assert_same(opened, con, query, True)


QUERIES = [
    'SELECT "value"."share", count(*) n FROM {t} JOIN "value" ON "value"."value" = {t}."share" GROUP BY 1 ORDER BY 1',
    'SELECT count(*) AS n FROM {t} WHERE "value" IN (SELECT "value" FROM "value" WHERE "share" > 5)',
    'SELECT count(*) AS n FROM {t} WHERE EXISTS (SELECT 1 FROM "g0" WHERE "p0" = {t}."g0" AND "g0"."s0" = {t}."s0")',
    'SELECT "e0" AS g0, sum("s0") AS e0, count(*) AS c0 FROM {t} GROUP BY "e0" ORDER BY 1',
    'WITH "__x" AS (SELECT "value" AS "share", "share" AS "value" FROM {t}) '
    'SELECT "share", sum("value") AS s FROM "__x" GROUP BY 1 ORDER BY 1',
    'WITH g AS (SELECT "value" AS v, count(*) AS estimates FROM {t} GROUP BY 1) SELECT v, estimates FROM g ORDER BY v',
    'SELECT "release" AS "domain", "domain" AS "release", count(*) AS n FROM {t} GROUP BY 1, 2 ORDER BY 1, 2',
    'SELECT count(*) AS n FROM {t} AS "value" WHERE "value"."value" = 1',
    'SELECT "value"."share" AS s, count(*) AS n FROM {t} LEFT JOIN "value" ON "value"."value" = {t}."share" GROUP BY s '
    "ORDER BY s",
    'SELECT "key of value" AS k, "branch", count(*) AS n FROM (SELECT "value" AS "branch", "s0" AS v FROM {t} UNION '
    'ALL SELECT "g0", "share" FROM {t}) AS "branch" LEFT JOIN (SELECT "p0", "s0" AS "key of value" FROM "g0") AS '
    '"value" ON "p0" = v GROUP BY ALL ORDER BY ALL',
    'SELECT "g0", sum("s0") AS e0 FROM (SELECT "value" AS "g0", "share" AS "v", count(*) AS "s0" FROM {t} GROUP BY 1, 2'
    ') AS "estimates" WHERE "v" > 1 GROUP BY "g0" ORDER BY 1',
    'SELECT "__priv_v"."__priv_c0" AS k, count(*) AS n FROM {t}, (SELECT max("s0") AS "__priv_c0" FROM "g0") '
    'AS "__priv_v" WHERE {t}."value" < "__priv_c0" GROUP BY k',
    'WITH "__priv_public0" AS (SELECT DISTINCT "s0" AS "value", "s0" AS "share" FROM "g0") '
    'SELECT count(*) AS n FROM {t} JOIN "__priv_public0" AS "s0" ON "s0"."value" = {t}."share"',
    'SELECT count(*) AS n FROM {t} AS "age", "g0" AS "share" WHERE "age"."share" = "share"."p0"',
]


@pytest.mark.parametrize("query", QUERIES)
def test_tables_and_aliases_called_like_ours(both: tuple[OpenRelease, Con, str], query: str) -> None:
    opened, con, table = both
    written = query.replace("{t}", table)
    assert_same(opened, con, written, True)
    assert opened.sql(written).fetchall()


def test_a_file_called_like_a_keyword_or_with_quotes(tmp_path: Path) -> None:
    path = tmp_path / "it's a release.duckdb"
    made = exact_release(tmp_path / "plain.duckdb", {"a": ("INTEGER", [1, 2])})
    made.path.rename(path)
    with open_release(path) as opened:
        assert opened.sql("SELECT count(*) AS n FROM people", intervals=False).fetchall() == [(52.0,)]
