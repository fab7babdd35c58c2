"""Answers for a plan, whose rows are the true ones: what is called exact in them depends on no row.

A plan prints group keys, and of estimates their errors alone. Were an estimate, or a bound of one, taken for a group
key, or groups chosen by their estimates, it would print what the private table says. So every query of the fixtures is
asked of two releases that have the same domain and other rows: what is exact must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from support.releases import Weighted, random_view, write_release
from test_query_rewrite import COLUMNS, FIXTURES, PUBLIC, asked, statements

from sqlpriv.release.file import attach_release
from sqlpriv.release.read import describe
from sqlpriv.rewrite.clauses import Options
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import Release

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection
WEIGHTS = (Weighted(1.0, 2.0, 1.0), {0: Weighted(0.0, 0.5, 0.5)})
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
def releases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Con, list[Release]]]:
    folder = tmp_path_factory.mktemp("deviations")
    with duckdb.connect(config={"threads": 1}) as con:
        found = []
        for name, seed, rows in (("one", 5, 50), ("two", 6, 90)):
            write_release(folder / f"{name}.duckdb", COLUMNS, random_view(COLUMNS, rows, seed), WEIGHTS, public=PUBLIC)
            found.append(describe([attach_release(con, folder / f"{name}.duckdb", name)]))
        yield con, found


def exact(con: Con, release: Release, query: str) -> list[str]:
    """The rows of an answer, of which only what is exact is left, in any order."""
    answer = rewrite(query, release, Options(deviations=True))
    places, place = [], 0
    for column in answer.columns:
        places += [place] if column.exact else []
        place += 1 if column.low is None else 3
    return sorted(repr([row[p] for p in places]) for row in con.execute(answer.sql).fetchall())


@pytest.mark.parametrize("file", FIXTURES, ids=lambda f: f.stem)
def test_what_is_exact_depends_on_no_row(releases: tuple[Con, list[Release]], file: Path) -> None:
    con, (one, two) = releases
    for query in map(asked, statements(file)):
        assert exact(con, one, query) == exact(con, two, query), query


def test_nor_do_bounds_that_are_named_and_groups_that_are_chosen(releases: tuple[Con, list[Release]]) -> None:
    con, (one, two) = releases
    for query in MORE:
        found = exact(con, one, query)
        assert found
        assert found == exact(con, two, query), query


def test_bounds_reach_one_deviation_to_each_side(releases: tuple[Con, list[Release]]) -> None:
    con, (one, _) = releases
    query = "SELECT count(*) AS n, avg(age) AS m, round(avg(age)) AS r, sqrt(count(*)) AS s FROM people"
    answer = rewrite(query, one, Options(deviations=True))
    ((*found,),) = con.execute(answer.sql).fetchall()
    halves = [(high - low) / 2 for low, high in zip(found[1::3], found[2::3], strict=True)]
    rows, cells = 50, 5 * 4 * 4 * 4 * 3
    deviation = (2 * rows + 0.5 * cells) ** 0.5
    assert halves[0] == pytest.approx(deviation)
    ages = con.execute("SELECT age FROM one.sqlpriv_release.published").fetchall()
    mean = sum(age for (age,) in ages) / rows
    square = 2 * sum((age - mean) ** 2 for (age,) in ages)
    square += 0.5 * cells / 5 * sum((age - mean) ** 2 for age in COLUMNS["age"][1])
    assert halves[1] == halves[2] == pytest.approx(square**0.5 / rows)
    assert halves[3] == pytest.approx(((rows + deviation) ** 0.5 - (rows - deviation) ** 0.5) / 2)
