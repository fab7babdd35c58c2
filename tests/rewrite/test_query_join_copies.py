"""When a row may meet several rows of a public table, and what it costs to sum over copies of that table."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import pytest
from support.query_releases import ODD, copies
from support.releases import Made

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

pytestmark = pytest.mark.parametrize("release", ["alpha_beta"], indirect=True)


@pytest.mark.parametrize(
    ("rest", "multiplies"),
    [
        ("JOIN regions ON country = nationality", False),
        ("JOIN regions ON (nationality) = country AND weight < age", False),
        ("JOIN regions ON country IS NOT DISTINCT FROM nationality", False),
        ("JOIN regions ON country = nationality OR country = 'CA'", True),
        ("JOIN regions ON country < nationality", True),
        ("JOIN regions ON country = nationality AND false OR true", True),
        ("CROSS JOIN regions WHERE country = 'AT'", False),
        ("CROSS JOIN regions WHERE continent = 'Europe'", True),
        ("CROSS JOIN single", False),
        ("JOIN visits ON code = nationality JOIN regions ON country = code", True),
        ("JOIN regions AS a ON a.country = nationality JOIN regions AS b ON b.country = a.country", False),
        ("JOIN regions AS b ON true JOIN regions AS a ON b.country = a.country AND a.country = nationality", False),
        ("JOIN regions AS a ON true JOIN regions AS b ON b.country = a.country", True),
        ("JOIN visits ON code = nationality AND cost = 3 WHERE kind = 'y'", True),
        ("JOIN visits ON code = nationality WHERE cost = 5 AND kind = 'x'", True),
        (f'JOIN {ODD} ON "a ""b""" = age AND "value" = \'p\'', False),
        (f'JOIN {ODD} ON "a ""b""" = age', True),
        (f'JOIN {ODD} ON "a ""b""" IS NOT DISTINCT FROM age GROUP BY "value"', False),
        # NULL is there twice.
        ("JOIN gaps ON code = nationality", False),
        ("JOIN gaps ON code IS NOT DISTINCT FROM nationality", True),
        ("JOIN gaps ON code IS NOT DISTINCT FROM nationality AND code = nationality", False),
        ("JOIN gaps ON true GROUP BY code", True),
        ("JOIN gaps ON code = nationality GROUP BY code", False),
        # The texts are unique, and two of them are the number 20.
        ("JOIN texts ON number = nationality", False),
        ("JOIN texts ON number = age", True),
        ("JOIN texts ON TRY_CAST(number AS INTEGER) = age", True),
        ("JOIN empty ON empty.cost = age", False),
        ("JOIN visits ON code = nationality GROUP BY kind, cost", True),
        ("JOIN visits ON code = nationality WHERE cost <> 3 GROUP BY kind, cost", True),
        ("JOIN regions ON true GROUP BY country", False),
        ("JOIN regions ON true GROUP BY lower(country)", True),
        ("JOIN regions ON true GROUP BY continent, weight", False),
        ("JOIN regions ON true GROUP BY continent", True),
        ("JOIN regions AS a ON true JOIN regions AS b ON a.country = b.country GROUP BY a.country", False),
        ("JOIN regions ON true GROUP BY ROLLUP (country)", True),
        ("WHERE nationality IN (SELECT code FROM visits)", False),
    ],
)  # fmt: skip
def test_what_multiplies(opened: OpenRelease, rest: str, multiplies: bool) -> None:
    assert copies(opened, f"SELECT count(*) AS n, sum(age) AS s FROM people {rest}") == multiplies


def test_a_collation_proves_nothing(release: Made, tmp_path: Path) -> None:
    """Texts that are unique in the public table may be equal to a column with a collation."""
    query = "SELECT count(*) AS n FROM people JOIN regions ON country = nationality"
    file = tmp_path / "people.duckdb"
    file.write_bytes(release.path.read_bytes())
    alter(file, 'ALTER TABLE made.sqlpriv_release.published ALTER "nationality" TYPE VARCHAR COLLATE NOCASE')
    with open_release(file) as opened:
        assert copies(opened, query)


def alter(file: Path, statement: str) -> None:
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{file}' AS made").fetchall()
        con.execute(statement).fetchall()


def test_what_nothing_connects_is_multiplied_out(release: Made) -> None:
    big = pd.DataFrame({"n": range(3000), "half": [i // 2 for i in range(3000)]})
    with open_release(release.path, public={"big": big}) as opened:
        assert opened.explain("SELECT count(*) FROM people CROSS JOIN big").cost < 10_000
        assert opened.explain("SELECT count(*) FROM people CROSS JOIN big WHERE n > 7 AND age < 30").cost < 20_000
        assert opened.explain("SELECT sum(n * age) FROM people JOIN big ON half = age").cost < 300_000
        grouped = opened.explain("SELECT n % 10 AS k, count(*) FROM people JOIN big ON half = age GROUP BY k")
        assert grouped.cost < 100_000
        assert "-- of pairs of joined rows:\n-- join" in str(grouped)
        once = opened.sql("SELECT count(*) AS n FROM people").fetchall()[0]
        many = opened.sql("SELECT count(*) AS n FROM people CROSS JOIN big").fetchall()[0]
        assert many == pytest.approx([3000 * x for x in once])


def test_a_refusal_says_that_it_is_for_the_intervals(release: Made) -> None:
    query = "SELECT age + cost AS k, count(*) AS n FROM people JOIN visits ON code = nationality GROUP BY k"
    with open_release(release.path, budget=1000) as opened:
        assert opened.explain(query, intervals=False).cost < 1000
        with pytest.raises(UnsupportedSQLError, match=r"together.*for its intervals.*join by columns that are unique"):
            opened.sql(query)
