"""Every supported construct means what it means to DuckDB.

In a release whose view and domain both have weight 1, the estimate is the exact answer over a table that holds the
view and the whole domain. So each query of fixtures/rewrite/ is asked of the release, and of DuckDB over that table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from releases import Made, Weighted, quoted, random_view, write_release
from strategies import fewer

from sqlpriv.release.open import OpenRelease, open_release

Con = duckdb.DuckDBPyConnection
FIXTURES = sorted((Path(__file__).parent / "fixtures" / "rewrite").glob("*.sql"))
COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "age": ("INTEGER", [20, 22, 24, 26, 28]),
    "nationality": ("VARCHAR", ["AT", "DE", "US", None]),
    "score": ("INTEGER", [81, 84, 87, 90]),
    "born": ("DATE", [date(1990, 1, 1), date(1990, 6, 15), date(1991, 6, 30), date(2001, 12, 31)]),
    "member": ("BOOLEAN", [True, False, None]),
}
PUBLIC: dict[str, tuple[Mapping[str, str], Sequence[tuple[Any, ...]]]] = {
    "regions": (
        {"country": "VARCHAR", "continent": "VARCHAR", "weight": "DOUBLE"},
        [("AT", "Europe", 1.5), ("DE", "Europe", 2.0), ("US", "America", None), ("CA", "America", 1.0)],
    ),
    "nations": (
        {"nationality": "VARCHAR", "label": "VARCHAR", "weight": "INTEGER"},
        [("AT", "a", 21), ("AT", "b", 27), ("US", "c", 0), (None, "d", 1)],
    ),
    "nothing": ({"nationality": "VARCHAR", "x": "INTEGER"}, []),
    'o"dd': ({"age": "INTEGER", 'a "b': "VARCHAR"}, [(20, "x"), (20, "x"), (24, None), (None, "y")]),
}
EXACT = (Weighted(1.0, 0.0, 0.0), {0: Weighted(1.0, 0.0, 0.0)})


def exact_release(path: Path, columns: Mapping[str, tuple[str, list[Any]]], **options: Any) -> Made:
    """A release that answers exactly."""
    return write_release(path, columns, random_view(columns, 50, 7), EXACT, **options)


def everything(made: Made, table: str = "people") -> Con:
    """A database with the rows of the view and the whole domain as the table, and the public tables."""
    con = duckdb.connect(config={"threads": 1})
    con.execute(f"ATTACH '{made.path}' AS made (READ_ONLY)").fetchall()
    names = ", ".join(map(quoted, made.names))
    values = ", ".join(f't{i}."value"' for i in range(len(made.names)))
    tables = ", ".join(f'made."domain".{quoted(n)} AS t{i}' for i, n in enumerate(made.names))
    con.execute(
        f"CREATE TABLE {quoted(table)} AS SELECT {names} FROM made.release.published "
        f"UNION ALL SELECT {values} FROM {tables}"
    ).fetchall()
    for name in made.public:
        con.execute(f'CREATE TABLE {quoted(name)} AS FROM made."public".{quoted(name)}').fetchall()
    return con


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return exact_release(tmp_path_factory.mktemp("exact") / "release.duckdb", COLUMNS, public=PUBLIC)


@pytest.fixture(scope="module")
def opened(made: Made) -> Iterator[OpenRelease]:
    with open_release(made.path) as found:
        yield found


@pytest.fixture(scope="module")
def exact(made: Made) -> Iterator[Con]:
    with everything(made) as con:
        yield con


def statements(file: Path) -> list[str]:
    return [s.strip() for s in file.read_text(encoding="utf-8").split(";\n") if s.strip()]


QUERIES = [pytest.param(s, id=f"{f.stem}-{i}") for f in FIXTURES for i, s in enumerate(statements(f))]


@pytest.mark.parametrize("query", QUERIES)
def test_the_answer_is_duckdbs(opened: OpenRelease, exact: Con, query: str) -> None:
    assert_same(opened, exact, query, "ORDER BY" in query.rpartition(")")[2])


@pytest.mark.parametrize("query", QUERIES[::3])
def test_bounds_come_beside_the_estimates(opened: OpenRelease, query: str) -> None:
    """With variance 0 the interval is a point, where there is one."""
    answer = opened.sql(query)
    names = answer.columns
    for row in answer.fetchall():
        found = dict(zip(names, row, strict=True))
        for name in names:
            if f"{name}_low" in found and found[f"{name}_low"] is not None:
                assert number(found[f"{name}_low"]) == pytest.approx(number(found[name]), rel=1e-9)
                assert number(found[f"{name}_high"]) == pytest.approx(number(found[name]), rel=1e-9)


def assert_same(opened: OpenRelease, exact: Con, query: str, ordered: bool) -> None:
    """The release answers as DuckDB does over all rows."""
    answer = opened.sql(query, intervals=False)
    names, left = list(answer.columns), answer.fetchall()
    expected = exact.execute(query)
    assert [c.lower() for c in names] == [c[0].lower() for c in expected.description or []]
    right = expected.fetchall()
    assert len(left) == len(right), (left, right)
    for place, one in enumerate(left):
        # In any order: a sum over no rows is 0 here and NULL there, so sorting could pair the wrong ones.
        pairs = [place] if ordered else [i for i, two in enumerate(right) if all(map(alike, one, two))]
        assert pairs, (one, right)
        nearest = min(pairs, key=lambda i: sum((x is None) != (y is None) for x, y in zip(one, right[i], strict=True)))
        two = right[nearest] if ordered else right.pop(nearest)
        assert all(map(alike, one, two)), (one, two)


def number(value: Any) -> float:
    return float(value)


def alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, bool) or expected is None or not isinstance(expected, (int, float, Decimal)):
        # A sum over no rows is 0 here: the estimate of a sum is a number.
        return bool(found == expected) or (expected is None and not isinstance(found, bool) and found == 0)
    if isinstance(found, bool) or not isinstance(found, (int, float, Decimal)):
        return False
    return math.isclose(float(found), float(expected), rel_tol=1e-9, abs_tol=1e-9)


# --- random queries -----------------------------------------------------------------------------

NUMBERS = st.sampled_from(
    ["age", "score", "year(born)", "age + score", "3 * age - 10", "length(nationality)", "25", "84"]
)
ATOMS = st.one_of(
    st.builds("{} {} {}".format, NUMBERS, st.sampled_from(["<", ">=", "=", "<>"]), NUMBERS),
    st.sampled_from(
        [
            "member",
            "nationality IS NULL",
            "nationality LIKE '%T'",
            "nationality IN ('AT', 'US')",
            "born < DATE '1991-01-01'",
        ]
    ),
    st.just("nationality IN (SELECT country FROM regions WHERE weight > 1)"),
    st.just("EXISTS (SELECT 1 FROM nations AS n WHERE n.nationality = people.nationality AND n.weight < people.age)"),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=5,
)
AGGREGATES = st.one_of(
    st.just("count(*)"),
    st.builds("sum({})".format, NUMBERS),
    st.builds("avg({})".format, NUMBERS),
    st.builds("count({})".format, st.sampled_from(["member", "nationality"])),
    st.builds("count(*) FILTER (WHERE {})".format, ATOMS),
    st.sampled_from(["sum(age) - 2 * count(*)", "sum(score - age) * 3"]),  # 0 over no rows: see alike()
    st.builds("sum(CASE WHEN {} THEN {} END) / count(*)".format, ATOMS, NUMBERS),
)
KEYS = st.sampled_from(
    ["nationality", "age // 5", "member", "year(born) % 2", "score > 3 * age", "coalesce(nationality, '?')"]
)
JOINS = [
    "",
    " JOIN regions ON country = people.nationality",
    " LEFT JOIN regions ON country = people.nationality AND regions.weight * 14 > people.age",
    " LEFT JOIN (SELECT nationality AS c, weight AS w FROM nations) ON c = people.nationality AND w < age",
    " JOIN (SELECT continent, max(country) AS c FROM regions GROUP BY continent) AS r ON r.c >= people.nationality",
    " ANTI JOIN nations AS m ON m.nationality IS NOT DISTINCT FROM people.nationality AND m.weight > people.age",
]


@fewer(5)
@given(st.data())
def test_random_queries(opened: OpenRelease, exact: Con, data: st.DataObject) -> None:
    keys = data.draw(st.lists(KEYS, max_size=2, unique=True))
    listed = [f"{k} AS k{i}" for i, k in enumerate(keys)]
    listed += [f"{a} AS a{i}" for i, a in enumerate(data.draw(st.lists(AGGREGATES, min_size=1, max_size=3)))]
    join = data.draw(st.sampled_from(JOINS))
    query = f"SELECT {', '.join(listed)} FROM people{join} WHERE {data.draw(CONDITIONS)}"
    if keys:
        sets = data.draw(st.sampled_from(["{}", "ROLLUP ({})", "CUBE ({})"]))
        query += f" GROUP BY {sets.format(', '.join(f'k{i}' for i in range(len(keys))))}"
    assert_same(opened, exact, query, False)
