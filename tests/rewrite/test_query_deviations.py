"""Answers for a plan, whose rows are the true ones: what is called exact in them depends on no row.

A plan prints group keys, and of estimates their errors alone. Were an estimate, or a bound of one, taken for a group
key, or groups chosen by their estimates, it would print what the private table says. So every query of the fixtures is
asked of two tables that have the same domain and other rows: what is exact must be the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import duckdb
import pytest
from support.releases import Weighted, random_view, write_release
from test_query_rewrite import COLUMNS, FIXTURES, PUBLIC, asked, statements

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.release.file import attach_release
from sqlpriv.release.read import describe
from sqlpriv.rewrite.clauses import Options
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import NoisyRelease

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection
ROWS = 50
WEIGHTS = (Weighted(1.0, 2.0, 1.0), {0: Weighted(0.0, 0.01, 0.01)})
BELOW = "(SELECT nationality, count(*) AS n FROM people GROUP BY nationality)"
MORE = [
    f"SELECT nationality, n, n_low, n_high AS top FROM {BELOW}",
    f"SELECT n_low FROM {BELOW}",
    f"SELECT low FROM (SELECT n_low + 1 AS low FROM {BELOW})",
    f"SELECT nationality FROM {BELOW} WHERE n > 12",
    f"SELECT nationality FROM {BELOW} WHERE n_low > 12 AND nationality <> 'AT' ORDER BY n LIMIT 1",
    f"SELECT nationality, n FROM {BELOW} UNION ALL SELECT nationality, n_high FROM {BELOW} LIMIT 3",
    "SELECT age FROM people GROUP BY age HAVING count(*) > 9 ORDER BY count(*) LIMIT 2",
]


@pytest.fixture(scope="module")
def asked_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Con, NoisyRelease]]:
    """A release whose rows are those of the view `seen`, one table or another."""
    path = tmp_path_factory.mktemp("deviations") / "release.duckdb"
    write_release(path, COLUMNS, random_view(COLUMNS, ROWS, 5), WEIGHTS, public=PUBLIC)
    with duckdb.connect(config={"threads": 1}) as con:
        release = describe([attach_release(con, path, "made")])
        con.execute(f"CREATE TABLE one AS FROM {release.published}").fetchall()
        con.execute(
            "CREATE TABLE two AS FROM one WHERE nationality <> 'US' UNION ALL FROM one WHERE age < 26"
        ).fetchall()
        yield con, replace(release, published="seen", constant=None)


def exact(asked_of: tuple[Con, NoisyRelease], query: str) -> list[list[str]]:
    """Of both tables, the rows of an answer, of which only what is exact is left, in any order."""
    con, release = asked_of
    answer = rewrite(query, release, Options(deviations=True))
    places, place = [], 0
    for column in answer.columns:
        places += [place] if column.exact else []
        place += 1 if column.low is None else 3
    found = []
    for table in ("one", "two"):
        con.execute(f"CREATE OR REPLACE VIEW seen AS FROM {table}").fetchall()
        found.append(sorted(repr([row[p] for p in places]) for row in con.execute(answer.sql).fetchall()))
    return found


@pytest.mark.some(5)
@pytest.mark.parametrize("file", [f for f in FIXTURES if f.stem != "chosen_groups"], ids=lambda f: f.stem)
def test_what_is_exact_depends_on_no_row(asked_of: tuple[Con, NoisyRelease], file: Path) -> None:
    for query in map(asked, statements(file)):
        one, two = exact(asked_of, query)
        assert one == two, query


def test_groups_that_private_rows_would_choose_are_refused(asked_of: tuple[Con, NoisyRelease]) -> None:
    for file in (f for f in FIXTURES if f.stem == "chosen_groups"):
        for query in map(asked, statements(file)):
            with pytest.raises(UnsupportedSQLError, match="a plan shows no choice that the private rows make"):
                exact(asked_of, query)


def test_nor_do_bounds_that_are_named_and_groups_that_are_chosen(asked_of: tuple[Con, NoisyRelease]) -> None:
    for query in MORE:
        one, two = exact(asked_of, query)
        assert one
        assert one == two, query


def test_conditions_on_group_keys_stay(asked_of: tuple[Con, NoisyRelease]) -> None:
    one, _ = exact(asked_of, "SELECT age, count(*) FROM people GROUP BY age HAVING age > 24 AND count(*) > 9")
    assert one == ["[26]", "[28]"]
    one, _ = exact(asked_of, f"SELECT nationality, n FROM {BELOW} WHERE n > 9 AND nationality < 'B'")
    assert one == ["['AT']"]


def test_bounds_reach_one_deviation_to_each_side(asked_of: tuple[Con, NoisyRelease]) -> None:
    con, release = asked_of
    query = "SELECT count(*) AS n, avg(age) AS m, round(avg(age)) AS r, sqrt(count(*)) AS s FROM people"
    con.execute("CREATE OR REPLACE VIEW seen AS FROM one").fetchall()
    ((*found,),) = con.execute(rewrite(query, release, Options(deviations=True)).sql).fetchall()
    halves = [(high - low) / 2 for low, high in zip(found[1::3], found[2::3], strict=True)]
    cells = math.prod(len(values) for _, values in COLUMNS.values())
    deviation = (2 * ROWS + 0.01 * cells) ** 0.5
    assert halves[0] == pytest.approx(deviation)
    ages = [age for (age,) in con.execute("SELECT age FROM one").fetchall()]
    mean = fmean(ages)
    square = 2 * sum((age - mean) ** 2 for age in ages)
    square += 0.01 * cells / 5 * sum((age - mean) ** 2 for age in COLUMNS["age"][1])
    assert halves[1] == halves[2] == pytest.approx(square**0.5 / ROWS)
    assert halves[3] == pytest.approx(((ROWS + deviation) ** 0.5 - (ROWS - deviation) ** 0.5) / 2)
