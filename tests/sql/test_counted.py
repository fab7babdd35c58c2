"""A counted table is the rows that it stands for: every macro that takes a table answers the same of both."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest
from support import strategies
from support.agreement import literal

import sqlpriv
from sqlpriv.core.errors import InputError
from sqlpriv.macros.catalog import macros
from sqlpriv.macros.language import Overload

Con = duckdb.DuckDBPyConnection
TESTED = {"counted"}
COLUMNS = {"q": "VARCHAR", "x": "DOUBLE", "s": "VARCHAR", "p": "INTEGER"}
ARGUMENTS: dict[str, object] = {
    "qis": ["q", "x"], "buckets": ["q"], "sensitive": "s", "person": "p", "id": "p", "l": 2, "k": 3, "b": 0,
    "sigma": 100, "prior": "counted_prior", "shape": "counted_shape", "hierarchy": "counted_tree",
    "predicates": "counted_sets",
    "threshold": 0.4, "population": "counted_rows", "original": "counted_rows", "weights": "counted_prior",
}  # fmt: skip
FITTED = {"prior", "shape", "hierarchy", "predicates"}
"""Tables that name the sensitive values, and NULL is none of them."""
COUNTED = "priv.counted('counted_kinds', 'a \"number')"


def overloads() -> list[Any]:
    return [
        pytest.param(name, overload, id=f"{name}({', '.join(overload.params)})")
        for name, found in macros().items()
        for overload in found.overloads
        if "tbl" in overload.params and set(overload.params) - {"tbl"} <= set(ARGUMENTS)
    ]


def write(con: Con, seed: int, values: list[str | None]) -> None:
    """Random rows, and their kinds in any order: some of them in two parts."""
    dice = random.Random(seed)
    rows = [
        [dice.choice(["1", "2", None]), dice.choice([0.0, -0.0, float("nan"), 1.5, None]), dice.choice(values), p // 2]
        for p in range(dice.choice([1, 7, 40, 90]))
    ]
    strategies.create_table(con, "counted_rows", COLUMNS, [row for row in rows for _ in range(dice.randint(1, 3))])
    parts = "q, x, s, p, CAST(x AS VARCHAR)" + (", rowid % 2" if seed % 2 else "")
    con.execute(
        'CREATE OR REPLACE TABLE counted_kinds AS SELECT count(*) AS "A ""number", any_value(q) AS q, '
        f"any_value(x) AS x, any_value(s) AS s, any_value(p) AS p FROM counted_rows GROUP BY {parts}"
    ).fetchall()
    for table, column, weights in (("prior", "sigma", (1.0, 2.0)), ("shape", "share", (0.3, 0.7))):
        own = [[v, w] for v, w in zip(("a", "b"), weights, strict=True)]
        strategies.create_table(con, f"counted_{table}", {"value": "VARCHAR", column: "DOUBLE"}, own)
    tree = {"value": "VARCHAR", "top": "VARCHAR"}
    strategies.create_table(con, "counted_tree", tree, [["a", "*"], ["b", "*"]])
    strategies.create_table(con, "counted_sets", {"name": "VARCHAR", "value": "VARCHAR"}, [["one", "a"]])


def shown(cell: object) -> object:
    """Numbers to twelve digits: sums may be added up in another order."""
    if isinstance(cell, (list, tuple)):
        return [shown(part) for part in cell]
    return f"{cell:.12g}" if isinstance(cell, float) else repr(cell)


def answer(con: Con, name: str, overload: Overload, table: str) -> object:
    """What a macro says of a table: its rows, in an order of their own, or its refusal."""
    listed = ", ".join(table if p == "tbl" else literal(ARGUMENTS[p]) for p in overload.params)
    select = "FROM" if macros()[name].is_table else "SELECT"
    try:
        return sorted(con.execute(f"{select} priv.{name}({listed})").fetchall(), key=repr)
    except duckdb.Error as error:
        return str(error).partition("\n")[0]


@pytest.mark.some(8)
@pytest.mark.parametrize(("name", "overload"), overloads())
def test_counts_are_the_rows_that_they_stand_for(con: Con, name: str, overload: Overload) -> None:
    for seed in range(4):
        write(con, seed, ["a", "b"] if FITTED & set(overload.params) else ["a", "b", None])
        rows, counts = (answer(con, name, overload, t) for t in ("'counted_rows'", COUNTED))
        assert shown(rows) == shown(counts), seed


def test_squares_of_billions_of_rows_are_counted(con: Con) -> None:
    """The square of 3 billion rows in a class is beyond 64 bits."""
    con.execute("CREATE OR REPLACE TABLE counted_many AS SELECT 1 AS q, 10000000000 AS n").fetchall()
    asked = "SELECT rows, discernibility FROM priv.utility(priv.counted('counted_many', 'n'), ['q'])"
    assert con.execute(asked).fetchall() == [(10**10, 10**20)]


@pytest.mark.parametrize("number", ["NULL", "0", "-1", "1.5", "'two'", "CAST('nan' AS DOUBLE)", "1e300"])
@pytest.mark.parametrize("call", ["k_anonymity({}, ['q'])", "suppress({}, ['q'], 2)", "report({}, ['q'], ['s'])"])
def test_what_is_no_number_of_rows_is_refused(con: Con, call: str, number: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE counted_wrong AS SELECT 1 AS q, 2 AS s, {number} AS n").fetchall()
    with pytest.raises(duckdb.Error, match="the counts of a counted table must be whole numbers of at least 1"):
        con.execute("FROM priv." + call.format("priv.counted('counted_wrong', 'n')")).fetchall()


def test_a_counted_table_stands_only_where_rows_are_checked(con: Con) -> None:
    """A hierarchy, or what somebody believes, has no copies."""
    write(con, 1, ["a", "b"])
    for check, more in (("t_closeness_hierarchical", ""), ("epsilon_class1", ", 0")):
        with pytest.raises(duckdb.Error, match="a counted table stands where rows are checked"):
            con.execute(f"FROM priv.{check}('counted_rows', ['q'], 's', {COUNTED}{more})").fetchall()
    for given in ("'counted_kinds', 3", "'counted_kinds', 'q' || chr(31)", "3, 'q'"):
        wrong = f"priv.counted({given})"
        with pytest.raises(duckdb.Error, match="must be given by its name"):
            con.execute(f"FROM priv.k_anonymity({wrong}, ['q'])").fetchall()


def test_a_column_of_counts_means_nothing_unless_it_is_named_as_one(con: Con) -> None:
    cells = "1 AS q, 50 AS __copies, 50 AS n, 50 AS copies"
    con.execute(f"CREATE OR REPLACE TABLE counted_own AS SELECT {cells}").fetchall()
    assert con.execute("FROM priv.k_anonymity('counted_own', ['q'])").fetchall() == [(1,)]
    assert con.execute("FROM priv.k_anonymity(priv.counted('counted_own', 'n'), ['q'])").fetchall() == [(50,)]


def test_check_says_the_same_of_rows_and_of_counts() -> None:
    with duckdb.connect() as con:
        write(con, 3, ["a", "b", None])
        of_rows = sqlpriv.check(con.table("counted_rows").to_arrow_table(), ["q", "x"], "s", person="p")
        for counts in (con.table("counted_kinds"), con.table("counted_kinds").to_arrow_table()):
            of_counts = sqlpriv.check(counts, ["q", "x"], "s", person="p", copies='a "NUMBER')
            assert {**of_counts.content, "data": ""} == {**of_rows.content, "data": ""}
        with pytest.raises(InputError, match="has no column 'none' to count by"):
            sqlpriv.check(con.table("counted_kinds").to_arrow_table(), ["q"], "s", copies="none")
