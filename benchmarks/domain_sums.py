"""Sums over Adult's domain of 648,023,040 tuples, side by side with the plain way.

    python -m benchmarks.domain_sums

(a) n_D of a predicate over three attributes at most 3x the raw count over the join of those three domain tables.
(b) Writing its SQL at most 5x sqlglot's own parse + qualify + generate of the same query.
(c) A chain over ten attributes of 1000 values, 10^30 tuples, in under a second.
"""

from __future__ import annotations

import math
import statistics
import sys

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from benchmarks.data import ADULT_COLUMNS, adult_folder
from benchmarks.timing import interleaved, stopwatch
from sqlpriv.rewrite.attributes import DomainTable
from sqlpriv.rewrite.domain_sums import domain_sums
from sqlpriv.sqltext import quoted

RUNS = 40
ONE = exp.Literal.number(1)
PREDICATES = [
    "age > 30 AND education = 'Bachelors' AND occupation <> 'Sales'",
    "sex = 'Male' AND race = 'White' AND age > 50",
    "age BETWEEN 20 AND 30 AND education IN ('Bachelors', 'Masters') AND \"native-country\" LIKE 'U%'",
    "length(education) > length(occupation) AND age > 40",
    "age + length(education) > 2 * length(occupation)",
    'age > 3 * length(education) AND length(education) < length("native-country")',
    "age > 40 OR education = 'Bachelors' OR \"native-country\" LIKE 'U%'",
    "NOT (age > 40 AND (education = 'Bachelors' OR workclass = 'Private'))",
]


def main() -> int:
    """Measure all three; the exit code says whether every bar holds."""
    with duckdb.connect() as con:
        return 0 if all([*_adult(con), _chain(con)]) else 1


def _adult(con: duckdb.DuckDBPyConnection) -> list[bool]:
    con.execute(f"CREATE TABLE adult AS FROM read_csv('{adult_folder() / 'adult.csv'}', delim = ';')").fetchall()
    domains = []
    for number, column in enumerate(ADULT_COLUMNS):
        con.execute(f"CREATE TABLE d{number} AS SELECT DISTINCT {quoted(column)} FROM adult").fetchall()
        size = con.execute(f"SELECT count(*) FROM d{number}").fetchall()[0][0]
        domains.append(DomainTable(column, f"d{number}", size))
    counting, writing = zip(*(_predicate(con, domains, predicate) for predicate in PREDICATES), strict=True)
    return [
        _bar("(a) n_D / raw count over the join, worst", max(counting), 3),
        _bar("(b) writing the SQL / sqlglot, median", statistics.median(writing), 5),
    ]


def _predicate(con: duckdb.DuckDBPyConnection, domains: list[DomainTable], predicate: str) -> tuple[float, float]:
    query = f"SELECT count(*) FROM adult WHERE {predicate}"
    condition = sqlglot.parse_one(predicate, dialect="duckdb")
    names = {column.name for column in condition.find_all(exp.Column)}
    joined = [domain for domain in domains if domain.column in names]
    raw = f"SELECT count(*) FROM {', '.join(domain.table for domain in joined)} WHERE {predicate}"
    sql = domain_sums(condition, [], [ONE], domains).sql
    others = math.prod(domain.size for domain in domains if domain not in joined)
    if con.execute(raw).fetchall()[0][0] * others != con.execute(sql).fetchall()[0][0]:
        sys.exit(f"the two ways differ for {predicate}")
    schema: dict[str, object] = {"adult": dict.fromkeys(ADULT_COLUMNS, "VARCHAR")}
    ours, theirs = interleaved(
        RUNS, lambda: con.execute(sql).fetchall(), lambda: con.execute(raw).fetchall()
    )  # fmt: skip
    written, generated = interleaved(
        RUNS,
        lambda: domain_sums(sqlglot.parse_one(predicate, dialect="duckdb"), [], [ONE], domains).sql,
        lambda: qualify(sqlglot.parse_one(query, dialect="duckdb"), schema=schema, dialect="duckdb").sql("duckdb"),
    )
    print(
        f"    n_D {ours.median * 1e3:5.2f} ms, raw {theirs.median * 1e3:5.2f} ms; "
        f"writing {written.median * 1e3:4.2f} ms, sqlglot {generated.median * 1e3:4.2f} ms: {predicate}"
    )
    return ours.median / theirs.median, written.median / generated.median


def _chain(con: duckdb.DuckDBPyConnection) -> bool:
    con.execute("CREATE TABLE thousand AS SELECT range AS n FROM range(1000)").fetchall()
    domains = [DomainTable(f"a{i}", f"(SELECT n AS a{i} FROM thousand)", 1000) for i in range(10)]
    condition = sqlglot.parse_one(" AND ".join(f"a{i} * a{i} + a{i + 1} >= {20_000 * i}" for i in range(9)))
    seconds, _ = stopwatch(lambda: con.execute(domain_sums(condition, [], [ONE], domains).sql).fetchall())
    return _bar("(c) a chain over 10^30 tuples, seconds", seconds, 1)


def _bar(name: str, value: float, bar: float) -> bool:
    print(f"{name}: {value:.2f} (bar {bar}) {'ok' if value <= bar else 'MISSED'}")
    return value <= bar


if __name__ == "__main__":
    sys.exit(main())
