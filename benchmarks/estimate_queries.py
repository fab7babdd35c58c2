"""Queries for `benchmarks.estimate`: typical ones over a table of people, the tests' fixtures, and some of Adult."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.rewrite.bind.parse import statements
from sqlpriv.rewrite.release import Attribute, NoisyRelease, PublicFacts, PublicTable, Release, Weights

_FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures" / "rewrite"

# The table of the tests, with the public table that its queries join.
COLUMNS = {"age": "INTEGER", "nationality": "VARCHAR", "score": "INTEGER"}
REGIONS = {"country": "VARCHAR", "continent": "VARCHAR", "weight": "DOUBLE"}

TYPICAL = (
    "SELECT count(*) FROM people",
    "SELECT count(*) AS n FROM people WHERE age < 30",
    "SELECT count(*) AS n FROM people WHERE age BETWEEN 25 AND 35 AND nationality = 'AT'",
    "SELECT count(*) AS n FROM people WHERE nationality IN ('AT', 'DE') OR score > 90",
    "SELECT count(*) AS n FROM people WHERE score < 3 * age",
    "SELECT count(*) AS n FROM people WHERE nationality LIKE 'A%' AND NOT (age < 30 AND score >= 90)",
    "SELECT count(nationality) AS known FROM people",
    "SELECT sum(score) AS total FROM people WHERE age >= 30",
    "SELECT avg(score) AS mean FROM people WHERE nationality = 'US'",
    "SELECT sum(score - age) AS gap, count(*) AS n FROM people",
    "SELECT nationality, count(*) AS n FROM people GROUP BY nationality",
    "SELECT age, nationality, count(*) AS n FROM people GROUP BY age, nationality ORDER BY n DESC LIMIT 10",
    "SELECT age // 10 * 10 AS decade, avg(score) AS mean FROM people GROUP BY decade ORDER BY decade",
    "SELECT nationality, sum(score) AS total FROM people WHERE age > 25 GROUP BY nationality HAVING count(*) > 10",
    "SELECT count(*) FILTER (WHERE age < 30) AS young, count(*) AS n FROM people",
    "SELECT 100.0 * count(*) FILTER (WHERE score > 90) / count(*) AS percent FROM people",
    "SELECT sum(CASE WHEN age < 30 THEN score ELSE 0 END) AS of_young FROM people",
    "SELECT age, nationality, count(*) AS n FROM people GROUP BY ROLLUP (age, nationality)",
    "SELECT r.continent, count(*) AS n FROM people JOIN regions AS r ON nationality = r.country GROUP BY r.continent",
    "SELECT count(*) AS n FROM people WHERE nationality IN (SELECT country FROM regions WHERE continent = 'Europe')",
    "WITH young AS (SELECT * FROM people WHERE age < 30) SELECT score, count(*) AS n FROM young GROUP BY score",
    "SELECT count(*) AS n FROM (SELECT age + 1 AS next, score FROM people) AS t WHERE next < score",
)  # fmt: skip

# Answers over a view of Adult; each is run on the view itself, too.
OF_ADULT = (
    "SELECT count(*) AS n FROM adult WHERE age < 40 AND sex = 'Male' AND education = 'Bachelors'",
    "SELECT count(*) AS n FROM adult WHERE occupation LIKE 'Exec%' OR age > 60",
    "SELECT avg(age) AS mean FROM adult WHERE sex = 'Female'",
    "SELECT sex, race, count(*) AS n FROM adult GROUP BY sex, race",
    "SELECT education, avg(age) AS mean FROM adult GROUP BY education ORDER BY education",
    "SELECT age, education, occupation, count(*) AS n FROM adult GROUP BY age, education, occupation",
    "SELECT workclass, count(*) FILTER (WHERE age < 30) AS young, count(*) AS n FROM adult GROUP BY workclass",
    "SELECT age // 10 AS decade, \"marital-status\", count(*) AS n FROM adult WHERE race = 'White' GROUP BY 1, 2",
    "SELECT sum(age * (sex = 'Male')::INTEGER) AS total, count(*) AS n FROM adult WHERE \"salary-class\" = '>50K'",
)


def fixture_queries() -> list[str]:
    """The queries of the tests' fixtures; comments say what becomes of them."""
    found = []
    for file in sorted(_FIXTURES.glob("*.sql")):
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("--")]
        found += statements("\n".join(lines))
    return found


class _Facts(PublicFacts):
    """Of the public tables: a country is there once. No database is asked."""

    def __init__(self) -> None:
        pass

    def is_unique(self, relation: str, columns: frozenset[str], present: frozenset[str]) -> bool:
        return "country" in columns

    def type_of(self, relation: str, column: str) -> str:
        return REGIONS.get(column, "")

    def has_value(self, domain: str, value: str) -> bool:
        return True

    def some_values(self, domain: str, most: int) -> list[str]:
        return []


def described() -> Release:
    """The release that the queries are rewritten for: rewriting reads no file."""
    sizes = {"age": 10, "nationality": 4, "score": 10}
    attributes = tuple(
        Attribute(n, kind, sizes[n], f'"release_file"."domain"."{n}"', never_below_zero=kind != "VARCHAR")
        for n, kind in COLUMNS.items()
    )
    regions = PublicTable("regions", ("release_file", "public", "regions"), REGIONS, 4)
    return NoisyRelease(
        table="people",
        attributes=attributes,
        published="release_file.sqlpriv_release.published",
        domain_weights={0: Weights(-0.05, 0.0525, 0.0735)},
        constant=Weights(2.5, 3.5, 4.9),
        public={"regions": regions},
        facts=_Facts(),
    )
