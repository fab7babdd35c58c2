"""Sums over the domain, against the raw join of the domain tables: `python -m benchmarks.domain_sums`.

The domain is Adult's, 648,023,040 elements from the active domains of its nine columns. Each predicate uses three of
them; its raw peer counts the join of just those three tables, which is what anybody would write by hand. The bar is 3x.
Then chains of comparisons over 10^30 and 10^40 elements, which nobody can join, and what building the SQL takes next
to parsing and writing the same predicate with sqlglot.
"""

from __future__ import annotations

import duckdb
import sqlglot
from rich.console import Console
from rich.table import Table
from sqlglot import exp

from benchmarks.data import adult_folder
from benchmarks.timing import interleaved
from sqlpriv.core.sqltext import file_literal, quoted
from sqlpriv.rewrite.domain.sums import Value, Variable, domain_sums

BUDGET = 1e9
RUNS = 60
BAR = 3.0
COUNT = Value(exp.Literal.number(1))

# Three columns each, and a predicate over them.
PREDICATES = {
    "three conditions": ("age", "sex", "education", "age.v < 40 AND sex.v = 'Male' AND education.v LIKE 'B%'"),
    "larger domains": ("age", "native-country", "occupation", 'age.v > 30 AND "native-country".v <> occupation.v'),
    "one factor": ("age", "education", "occupation", "age.v > 2 * length(education.v) + length(occupation.v)"),
    "chain": ("age", "education", "race", "age.v > 4 * length(education.v) AND education.v < race.v"),
    "OR": ("age", "education", "native-country", 'age.v < 30 OR education.v < "native-country".v'),
    "NOT and NULL": ("age", "education", "race", "NOT (age.v < 30 AND education.v = 'HS-grad') OR race.v IS NULL"),
}
GROUPED = ("age", "education", "native-country")

screen = Console()


def adult_domain(con: duckdb.DuckDBPyConnection) -> dict[str, Variable]:
    """One table an attribute, with the values that occur."""
    source = f"read_csv({file_literal(adult_folder() / 'adult.csv')}, delim = ';', header = true)"
    con.execute(f"CREATE TABLE adult AS SELECT * FROM {source}").fetchall()
    con.execute("CREATE SCHEMA domain").fetchall()
    described = con.execute("DESCRIBE adult").fetchall()
    variables = {}
    for name, kind, *_ in described:
        table = quoted("domain", name)
        con.execute(f"CREATE TABLE {table} AS SELECT DISTINCT {quoted(name)} AS v FROM adult ORDER BY 1").fetchall()
        size = con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        variables[name] = Variable(name, table, {"v": kind}, size)
    return variables


def measure_predicates(con: duckdb.DuckDBPyConnection, variables: dict[str, Variable]) -> list[float]:
    """The ratios of the predicates to their raw joins."""
    table = Table("predicate", "raw ms", "n_D ms", "ratio", "build ms", "of sqlglot's", title="Adult, three attributes")
    ratios = []
    for name, (a, b, c, predicate) in PREDICATES.items():
        used = [variables[x] for x in (a, b, c)]
        others = [variable for variable in variables.values() if variable not in used]
        raw = f"SELECT count(*) FROM {', '.join(f'{v.table} AS {quoted(v.name)}' for v in used)} WHERE {predicate}"
        tree = sqlglot.parse_one(predicate, dialect="duckdb")

        def build(tree: exp.Expr = tree) -> str:
            return domain_sums(tree, [], [COUNT], list(variables.values()), BUDGET).sql

        sql = build()
        scale = 1
        for variable in others:
            scale *= variable.size
        assert con.execute(raw).fetchall()[0][0] * scale == con.execute(sql).fetchall()[0][0], name
        slow, fast = interleaved(RUNS, lambda: con.execute(sql).fetchall(), lambda: con.execute(raw).fetchall())  # noqa: B023
        building, parsing = interleaved(RUNS, build, lambda: sqlglot.parse_one(raw, dialect="duckdb").sql("duckdb"))  # noqa: B023
        ratio = slow.median / fast.median
        ratios.append(ratio)
        table.add_row(
            name,
            f"{1e3 * fast.median:.2f}",
            f"{1e3 * slow.median:.2f}",
            f"{ratio:.2f}",
            f"{1e3 * building.median:.2f}",
            f"{building.median / parsing.median:.2f}",
        )
    screen.print(table)
    return ratios


def measure_groups(con: duckdb.DuckDBPyConnection, variables: dict[str, Variable]) -> None:
    """All queries of one attribute triple in one GROUP BY: a cross join of three tables."""
    keys = [exp.column("v", table=name, quoted=True) for name in GROUPED]
    sql = domain_sums(None, keys, [COUNT], list(variables.values()), BUDGET).sql
    raw = "SELECT *, 1 FROM " + ", ".join(variables[name].table for name in GROUPED)
    slow, fast = interleaved(
        RUNS // 3,
        lambda: con.execute(f"CREATE OR REPLACE TEMP TABLE into_sums AS {sql}").fetchall(),
        lambda: con.execute(f"CREATE OR REPLACE TEMP TABLE into_raw AS {raw.replace('*', 'COLUMNS(*)')}").fetchall(),
    )
    rows = con.execute("SELECT count(*) FROM into_sums").fetchall()[0][0]
    screen.print(f"GROUP BY three attributes, {rows:,} groups: {slow.median / fast.median:.2f} of the raw cross join")


def measure_chains(con: duckdb.DuckDBPyConnection) -> None:
    for length in (30, 40):
        variables = []
        for number in range(length):
            table = quoted("domain", f"x{number}")
            con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT range AS v FROM range(10)").fetchall()
            variables.append(Variable(f"x{number}", table, {"v": "BIGINT"}, 10))
        pairs = [f"x{n}.v <= x{n + 1}.v" for n in range(length - 1)]
        for word in ("AND", "OR"):
            tree = sqlglot.parse_one(f" {word} ".join(pairs), dialect="duckdb")

            def build(tree: exp.Expr = tree, variables: list[Variable] = variables) -> str:
                return domain_sums(tree, [], [COUNT], variables, BUDGET).sql

            sql = build()
            built, ran = interleaved(10, build, lambda: con.execute(sql).fetchall())  # noqa: B023
            screen.print(
                f"chain of {length} attributes by {word}: built in {1e3 * built.median:.1f} ms, "
                f"answered in {1e3 * ran.median:.1f} ms"
            )


def main() -> None:
    with duckdb.connect(config={"threads": 2}) as con:
        variables = adult_domain(con)
        worst = max(measure_predicates(con, variables))
        measure_groups(con, variables)
        measure_chains(con)
    screen.print(f"worst ratio to the raw join-count: {worst:.2f} (bar: {BAR})")
    raise SystemExit(worst > BAR)


if __name__ == "__main__":
    main()
