"""Estimates in plain SQL: equal to those of the rewriter on releases that Python wrote, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import duckdb
import pytest
from support.agreement import literal
from support.randomized_policies import publish_with, published, write_noise_policy
from support.sampled import people, sampled_policy, write_people

from sqlpriv.macros.catalog import inlined
from sqlpriv.publishing import open_release, publish, read_policy
from sqlpriv.release.open import OpenRelease

pytestmark = pytest.mark.slow

Con = duckdb.DuckDBPyConnection
FAMILIES = {
    "noisy_counts": ("noisy_counts", 'method = "noisy_counts"\nd = 0.02\ngamma = 0.2\np = 0.45'),
    "signed_noisy_counts": ("noisy_counts", 'method = "noisy_counts"\nd = 0.02\ngamma = 0.2'),
    "alpha_beta": ("alpha_beta", 'method = "alpha_beta"\nd = 0.02\ngamma = 0.2\nduplicates = "distinct"'),
    "frapp": ("frapp", 'method = "frapp"\nd = 0.02\ngamma = 0.2'),
}
NUMBERS = {
    "noisy_counts": ("p", "q"),
    "signed_noisy_counts": ("a",),
    "alpha_beta": ("alpha", "beta"),
    "frapp": ("stay",),
}
COLUMNS = {
    "age": published('"range:0..9"'),
    'sec "t"': published('["x", "y\'z", "w"]', null="true"),
    "gain": published("[-20, -1, 0, 3, 50]", null="true"),
}
ROWS = """
CREATE TABLE people AS SELECT (i * i) % 10 AS age,
  CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'y''z' WHEN 2 THEN 'w' ELSE 'x' END AS "sec ""t""\",
  CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN -20 WHEN 2 THEN 50 WHEN 3 THEN 3 WHEN 4 THEN -1 ELSE 0 END AS gain
FROM range(900) AS r(i)
"""
CONDITIONS = [
    "true",
    "age < 4",
    '"sec ""t""" = \'y\'\'z\' OR gain IS NULL',
    '"sec ""t""" IS NULL AND age = 3',
    "age > 50",
]
VALUES = [None, "gain", "age", "gain * age - 3"]
GROUPS = [["age"], ['sec "t"', "gain"]]


class Opened(NamedTuple):
    """A release that is open for queries, and the same rows as a table of a connection with the macros."""

    family: str
    release: OpenRelease
    con: Con
    coins: tuple[float, ...]


@pytest.fixture(scope="module", params=FAMILIES)
def opened(request: pytest.FixtureRequest, con: Con, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp(request.param)
    policy = write_noise_policy(folder, COLUMNS, FAMILIES[request.param][1], ROWS)
    publish_with(policy)
    path = folder / "people-release.duckdb"
    con.execute(f"ATTACH '{path}' AS rel (READ_ONLY)").fetchall()
    con.execute(
        'CREATE OR REPLACE TABLE possible AS SELECT a."value" AS age, s."value" AS "sec ""t""", g."value" AS gain '
        'FROM rel.domain.age AS a, rel.domain."sec ""t""" AS s, rel.domain.gain AS g'
    ).fetchall()
    con.execute(
        'CREATE OR REPLACE TABLE seen AS SELECT age, "sec ""t""", gain, "__weight" FROM rel.sqlpriv_release.published'
    ).fetchall()
    if request.param != "signed_noisy_counts":
        con.execute('ALTER TABLE seen DROP "__weight"').fetchall()
    numbers = dict(con.execute("SELECT name, value FROM rel.sqlpriv_release.parameters").fetchall())
    con.execute("DETACH rel").fetchall()
    with open_release(path) as release:
        yield Opened(request.param, release, con, tuple(numbers[name] for name in NUMBERS[request.param]))


def estimated(
    opened: Opened, condition: str, groups: Sequence[str] = (), value: str | None = None, confidence: float = 0.95
) -> list[Any]:
    """What the macros say."""
    more = [value, confidence] if (value, confidence) != (None, 0.95) else []
    by = [list(groups)] if groups else []
    arguments = ["seen", "possible", *by, condition, *opened.coins, *more]
    name = f"priv.{opened.family}_estimate{'s' if groups else ''}"
    return opened.con.execute(f"FROM {name}({', '.join(map(literal, arguments))})").fetchall()


def rewritten(
    opened: Opened, condition: str, groups: Sequence[str] = (), value: str | None = None, confidence: float = 0.95
) -> list[Any]:
    """What the rewriter says."""
    keys = ["".join(('"', g.replace('"', '""'), '"')) for g in groups]
    asked = "count(*)" if value is None else f"sum({value})"
    listed = ", ".join([*keys, f"{asked} AS n"])
    sql = f"SELECT {listed} FROM people WHERE {condition}{' GROUP BY ' + ', '.join(keys) if keys else ''}"
    return opened.release.sql(sql, confidence=confidence).fetchall()


def same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    def order(row: Sequence[Any]) -> str:
        return repr(row[:-3])

    assert len(found) == len(expected)
    for row, other in zip(sorted(found, key=order), sorted(expected, key=order), strict=True):
        assert row[:-3] == other[:-3]
        # The count of all records of frapp has no variance; the root of what rounding leaves of it is about 1e-7.
        assert row[-3:] == pytest.approx(other[-3:], rel=1e-9, abs=1e-6 if abs(row[-1] - row[-2]) < 1e-5 else 1e-9)


@pytest.mark.some(20)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_estimates_are_those_of_the_rewriter(opened: Opened, condition: str, value: str | None) -> None:
    same(estimated(opened, condition, value=value), rewritten(opened, condition, value=value))


@pytest.mark.some(8)
@pytest.mark.parametrize("value", [None, "gain"])
@pytest.mark.parametrize("condition", ["true", "age < 4 AND gain IS NOT NULL"])
@pytest.mark.parametrize("groups", GROUPS, ids=["one", "two"])
def test_groups_are_those_of_the_rewriter(opened: Opened, groups: list[str], condition: str, value: str | None) -> None:
    found = estimated(opened, condition, groups, value)
    same(found, rewritten(opened, condition, groups, value))
    whole = estimated(opened, condition, value=value)
    assert sum(row[-3] for row in found) == pytest.approx(whole[0][0], rel=1e-9, abs=1e-7)


@pytest.mark.some(7)
@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.85, 0.8501, 0.9, 0.999, 1 - 1e-12])
def test_confidences_are_those_of_the_rewriter(opened: Opened, confidence: float) -> None:
    same(
        estimated(opened, "age < 4", value="gain", confidence=confidence),
        rewritten(opened, "age < 4", value="gain", confidence=confidence),
    )


def test_the_quantile_is_pythons(con: Con) -> None:
    for confidence in [*(i / 97 for i in range(1, 97)), 1e-6, 0.9999, 1 - 1e-9, 1 - 1e-15]:
        (found,) = con.execute(f"SELECT {inlined(f'_squared_quantile({confidence!r}::DOUBLE)')}").fetchall()[0]
        assert found == pytest.approx(NormalDist().inv_cdf((1 + confidence) / 2) ** 2, rel=1e-12)
    (standard, asked) = con.execute(
        f"SELECT {inlined('_squared_quantile()')}, {inlined('_squared_quantile(0.95)')}"
    ).fetchall()[0]
    assert standard == pytest.approx(asked, rel=1e-14)


# --- sampled k-anonymity ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def sampled(con: Con, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRelease]:
    """A release by sampled k-anonymity; its rows are table sampled, the leaves of its columns table leaves."""
    folder = tmp_path_factory.mktemp("sdgs")
    write_people(folder, people(1500))
    publish(read_policy(sampled_policy(folder)), ledger_file=folder / "ledger")
    con.execute(f"ATTACH '{folder / 'out.duckdb'}' AS rel (READ_ONLY)").fetchall()
    con.execute("CREATE OR REPLACE TABLE sampled AS SELECT age, sex, ill FROM rel.sqlpriv_release.published").fetchall()
    con.execute("DETACH rel").fetchall()
    con.execute(
        "CREATE OR REPLACE TABLE leaves AS FROM (SELECT unnest(range(100)) AS age), (VALUES ('F'), ('M')) AS s(sex), "
        "(VALUES ('flu'), ('cold'), ('mumps')) AS i(ill)"
    ).fetchall()
    con.execute(
        "CREATE OR REPLACE TABLE hierarchy_age AS FROM priv.hierarchy_ranges('leaves', 'age', [10, 20], 0)"
    ).fetchall()
    with open_release(folder / "out.duckdb") as release:
        yield release


SAMPLED_CONDITIONS = [
    "true",
    "age < 33",
    "sex = 'M' AND ill = 'mumps'",
    "age BETWEEN 20 AND 39 OR sex = 'F'",
    "age > 200",
]


@pytest.mark.some(8)
@pytest.mark.parametrize("confidence", [0.95, 0.8])
@pytest.mark.parametrize("value", [None, "age", "age - 50"])
@pytest.mark.parametrize("condition", SAMPLED_CONDITIONS)
def test_a_sample_is_estimated_as_by_the_rewriter(
    sampled: OpenRelease, con: Con, condition: str, value: str | None, confidence: float
) -> None:
    asked = "count(*)" if value is None else f"sum({value})"
    expected = sampled.sql(f"SELECT {asked} AS n FROM people WHERE {condition}", confidence=confidence).fetchall()
    text = f"{literal(condition)}, 5, 0.2, 'leaves', MAP {{'age': 2}}, MAP {{}}, {literal(value)}, {confidence}"
    same(con.execute(f"FROM priv.sdgs_estimate('sampled', {text})").fetchall(), expected)


@pytest.mark.parametrize("value", [None, "age"])
@pytest.mark.parametrize("groups", [["ill"], ["age", "sex"]], ids=["one", "two"])
def test_groups_of_a_sample_are_those_of_the_rewriter(
    sampled: OpenRelease, con: Con, groups: list[str], value: str | None
) -> None:
    asked, keys = "count(*)" if value is None else f"sum({value})", ", ".join(groups)
    expected = sampled.sql(f"SELECT {keys}, {asked} AS n FROM people WHERE age < 90 GROUP BY {keys}").fetchall()
    text = f"'sampled', 'leaves', {literal(groups)}, 'age < 90', 5, 0.2, MAP {{'age': 2}}, MAP {{}}, {literal(value)}"
    same(con.execute(f"FROM priv.sdgs_estimates({text})").fetchall(), expected)


def test_without_a_domain_nothing_bounds_a_sample_from_above(sampled: OpenRelease, con: Con) -> None:
    (with_domain,) = con.execute(
        "FROM priv.sdgs_estimate('sampled', 'ill = ''flu''', 5, 0.2, 'leaves', MAP {'age': 2})"
    ).fetchall()
    (without,) = con.execute("FROM priv.sdgs_estimate('sampled', 'ill = ''flu''', 5, 0.2)").fetchall()
    assert without == (pytest.approx(with_domain[0]), pytest.approx(with_domain[1]), math.inf)
    (shown,) = con.execute("SELECT count(*) FROM sampled WHERE ill = 'flu'").fetchall()
    assert without[0] == pytest.approx(shown[0] / 0.2)
    (summed,) = con.execute("FROM priv.sdgs_estimate('sampled', 'true', 5, 0.2, NULL, NULL, NULL, '1 + 1')").fetchall()
    assert summed[1:] == (None, None)
    assert con.execute("FROM priv.sdgs_estimate('sampled', 'age = ''nothing''', 5, 0.2)").fetchall()[0][0] == 0
