"""Every supported construct means what it means to DuckDB.

In a release whose view and domain both have weight 1, the estimate is the exact answer over a table that holds the
view and the whole domain. So each query of fixtures/rewrite/ is asked of the release, and of DuckDB over that table.

One thing differs: a sum over nothing is 0 in a release, and NULL in DuckDB. A sum that may be over nothing stands in
«» here, as in «sum(age)», and DuckDB is asked for coalesce(sum(age), 0). NULL is equal to nothing but NULL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import places
from support.estimate_columns import estimate_columns
from support.releases import Made, Weighted, quoted, random_view, write_release
from support.strategies import fewer

from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

Con = duckdb.DuckDBPyConnection
FIXTURES = sorted((places.FIXTURES / "rewrite").glob("*.sql"))
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
TABLES = {"people": list(COLUMNS), **{name: list(columns) for name, (columns, _) in PUBLIC.items()}}
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
        f"CREATE TABLE {quoted(table)} AS SELECT {names} FROM made.sqlpriv_release.published "
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


def test_there_are_many() -> None:
    assert len(QUERIES) >= 250


def asked(query: str) -> str:
    """What the release is asked."""
    return query.replace("«", "").replace("»", "")


def meant(query: str) -> str:
    """What DuckDB is asked."""
    return query.replace("«", "coalesce(").replace("»", ", 0)")


@pytest.mark.some(150)
@pytest.mark.parametrize("query", QUERIES)
def test_the_answer_is_duckdbs(opened: OpenRelease, exact: Con, query: str) -> None:
    assert_same(opened, exact, query, "ORDER BY" in query.rpartition(")")[2])


def commented(query: str, what: str) -> set[str]:
    """The columns that a comment above the query names, as in `-- no bounds: x, y`."""
    return {name.strip() for line in re.findall(rf"^-- {what}: (.*)$", query, re.MULTILINE) for name in line.split(",")}


@pytest.mark.some(40)
@pytest.mark.parametrize("query", QUERIES)
def test_bounds_come_beside_the_estimates(opened: OpenRelease, query: str) -> None:
    """Beside every estimate, and nothing else. With variance 0 the interval is a point.

    A quantile may lie between two values, and then has both for bounds.
    """
    without, wide, query = commented(query, "no bounds"), commented(query, "wide bounds"), asked(query)
    names = opened.sql(query, intervals=False).columns
    estimates = {n for n, estimate in zip(names, estimate_columns(query, "people", TABLES), strict=True) if estimate}
    assert without <= estimates
    answer = opened.sql(query)
    assert answer.columns == [c for n in names for c in ([n, f"{n}_low", f"{n}_high"] if n in estimates else [n])]
    for row in answer.fetchall():
        found = dict(zip(answer.columns, row, strict=True))
        for name in estimates:
            value, bounds = found[name], [found[f"{name}_low"], found[f"{name}_high"]]
            if name in without or value is None:
                assert bounds == [None, None], name
            else:
                assert None not in bounds, name
                if name in wide:
                    assert bounds[0] <= value <= bounds[1], name
                    continue
                assert list(map(float, bounds)) == pytest.approx([float(value)] * 2, rel=1e-9), name


# DuckDB 1.5 makes whole numbers of the booleans of one branch of a UNION where another has NULL, as grouping sets do.
BOOLEANS_ARE_NUMBERS = duckdb.__version__.startswith("1.")


def assert_same(opened: OpenRelease, exact: Con, query: str, ordered: bool) -> None:
    """The release answers as DuckDB does over all rows."""
    answer = opened.sql(asked(query), intervals=False)
    names, left = list(answer.columns), answer.fetchall()
    expected = exact.execute(meant(query))
    assert [c.lower() for c in names] == [c[0].lower() for c in expected.description or []]
    right = expected.fetchall()
    if BOOLEANS_ARE_NUMBERS and any(word in query for word in ("ROLLUP", "CUBE", "GROUPING SETS")):
        left, right = ([tuple(map(plain, row)) for row in rows] for rows in (left, right))
    assert len(left) == len(right), (left, right)
    if ordered:
        for one, two in zip(left, right, strict=True):
            assert all(map(alike, one, two)), (one, two)
        return
    for one in left:
        place = next((i for i, two in enumerate(right) if all(map(alike, one, two))), None)
        assert place is not None, (one, right)
        right.pop(place)


def plain(value: Any) -> Any:
    """A boolean as a number."""
    return int(value) if isinstance(value, bool) else value


def alike(found: Any, expected: Any) -> bool:
    """The same number, or almost; the same value of the same type otherwise."""
    if isinstance(expected, bool) or not isinstance(expected, (int, float, Decimal)):
        return type(found) is type(expected) and bool(found == expected)
    if isinstance(found, bool) or not isinstance(found, (int, float, Decimal)):
        return False
    return math.isclose(float(found), float(expected), rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("found", "expected"), [(0, None), (0.0, None), (None, 0), (1, True), (True, 1), (False, None)]
)
def test_what_differs_is_not_alike(found: object, expected: object) -> None:
    assert not alike(found, expected)


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
    st.builds("«sum({})»".format, NUMBERS),
    st.builds("avg({})".format, NUMBERS),
    st.builds("count({})".format, st.sampled_from(["member", "nationality"])),
    st.builds("count(*) FILTER (WHERE {})".format, ATOMS),
    st.sampled_from(["«sum(age)» - 2 * count(*)", "«sum(score - age)» * 3"]),
    # 0 / 0 is NULL in a release, and NaN in DuckDB.
    st.builds("«sum(CASE WHEN {} THEN {} END)» / nullif(count(*), 0)".format, ATOMS, NUMBERS),
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
