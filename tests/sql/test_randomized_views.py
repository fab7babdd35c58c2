"""priv.alpha_beta and priv.frapp: every coin against the oracle, their frequencies, what is fresh, what is refused."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import duckdb
import oracles
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles.views import Tuple
from support import strategies
from support.agreement import literal
from support.strategies import Case, quote

TESTED = {"alpha_beta", "frapp"}
Con = duckdb.DuckDBPyConnection
KEY = "sixteen letters!"
COINS = {"alpha_beta": (0.375, 0.125), "frapp": (0.5,)}


def asked(name: str, *coins: object, tbl: str = "t", domain: str = "d", key: object = KEY, qis: object = ("a",)) -> str:
    arguments = [tbl, domain, qis, *(coins or COINS[name]), key]
    return f"FROM priv.{name}({', '.join(map(literal, arguments))})"


def cells(case: Case, rows: Sequence[strategies.Row]) -> list[Tuple]:
    return [tuple(row[name] for name in case.qis) for row in rows]


def same_bag(found: Sequence[Tuple], expected: Sequence[Tuple]) -> bool:
    """By text, which tells apart what a view tells apart: 0.0 and -0.0, NaN and NULL."""
    return Counter(map(oracles.views.written, found)) == Counter(map(oracles.views.written, expected))


@strategies.fewer(8)
@given(case=strategies.cases(), share=st.floats(0.02, 0.98), noise=st.floats(1e-6, 0.9), key=st.text(min_size=16))
def test_every_coin_is_the_one_of_the_oracle(con: Con, case: Case, share: float, noise: float, key: str) -> None:
    """Odd names and values, NULLs, equal rows; the domain is the product of what the columns may hold."""
    kinds = {name: kind for name, kind in case.columns.items() if name in case.qis}
    domain = list(itertools.product(*(case.domains[name] for name in case.qis)))
    assume(not any("STRUCT" in kind for kind in kinds.values()) and len(domain) > 1)  # their text is DuckDB's own
    assume(len(key.strip(" ")) >= 16 and "\0" not in key)
    strategies.create(con, "t", case)
    strategies.create_table(con, "d", {name: kinds[name] for name in case.qis}, domain)
    rows = cells(case, case.rows)
    beta = share * noise
    drawn = con.execute(asked("alpha_beta", share - beta, beta, key=key, qis=case.qis))
    assert [column[0] for column in drawn.description or []] == list(case.qis)
    assert same_bag(drawn.fetchall(), oracles.alpha_beta(rows, domain, share - beta, beta, key))
    stay = 1 / len(domain) + share * (1 - 1 / len(domain))
    drawn = con.execute(asked("frapp", stay, key=key, qis=case.qis))
    assert [column[0] for column in drawn.description or []] == list(case.qis)
    found = drawn.fetchall()
    assert same_bag(found, oracles.frapp(rows, domain, stay, key))
    assert len(found) == len(rows)


def many(con: Con) -> None:
    """4000 tuples, the even ones in the table, each of them three times."""
    con.execute("CREATE OR REPLACE TABLE d AS SELECT i AS a FROM range(4000) AS r(i)").fetchall()
    con.execute("CREATE OR REPLACE TABLE t AS SELECT a FROM d, range(3) AS c(x) WHERE a % 2 = 0").fetchall()


def near(count: int, trials: int, chance: float) -> bool:
    """Within five standard deviations."""
    return abs(count - trials * chance) < 5 * math.sqrt(trials * chance * (1 - chance))


@pytest.mark.parametrize(("alpha", "beta"), [(0.4, 0.1), (0.02, 0.01), (0.3, 0.65)])
def test_tuples_are_kept_and_added_as_often_as_asked_for(con: Con, alpha: float, beta: float) -> None:
    many(con)
    view = [a for (a,) in con.execute(asked("alpha_beta", alpha, beta)).fetchall()]
    assert view == sorted(set(view))
    assert near(sum(a % 2 == 0 for a in view), 2000, alpha + beta)
    assert near(sum(a % 2 == 1 for a in view), 2000, beta)


def test_records_stay_as_often_as_asked_for_and_move_anywhere(con: Con) -> None:
    """Of 6000 records of one tuple, 1/4 stay; the others are spread evenly."""
    con.execute("CREATE OR REPLACE TABLE d AS SELECT i AS a FROM range(11) AS r(i)").fetchall()
    con.execute("CREATE OR REPLACE TABLE t AS SELECT 7 AS a FROM range(6000)").fetchall()
    view = Counter(a for (a,) in con.execute(asked("frapp", 0.25)).fetchall())
    assert view.total() == 6000
    assert all(near(view[a], 6000, 0.25 if a == 7 else 0.075) for a in range(11)), view


def test_equal_records_have_coins_of_their_own_and_different_tuples_too(con: Con) -> None:
    """With 2000 tuples of three records each, all moving or all staying together would show."""
    many(con)
    view = Counter(a for (a,) in con.execute(asked("frapp", 0.5)).fetchall())
    for copies in range(4):
        chance = math.comb(3, copies) / 8
        # Few records land on a tuple from elsewhere: 3000 over 4000, most of them on none or one.
        stayed = sum(view[a] >= copies for a in range(0, 4000, 2))
        assert stayed >= 2000 * chance * 0.8
    assert near(sum(count for a, count in view.items() if a % 2 == 1), 6000, 0.5 * 2000 / 3999)


def view(con: Con, name: str, *coins: object, **given: object) -> list[Tuple]:
    return con.execute(asked(name, *coins, **given)).fetchall()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", COINS)
def test_any_change_gives_fresh_coins(con: Con, name: str) -> None:
    """The same coins for other data would show what changed; fresh ones differ for about half of what can."""
    many(con)
    first = set(view(con, name))
    other = {
        "a row less": "DELETE FROM t WHERE a = 1000",
        "a tuple more in the domain": "INSERT INTO d VALUES (-1)",
        "the key": f"SELECT '{KEY}'",
    }
    for what, change in other.items():
        many(con)
        con.execute(change).fetchall()
        changed = set(view(con, name, key=KEY + "!" if what == "the key" else KEY))
        assert len(first ^ changed) > 500, what
    many(con)
    nearly = [coin + 1e-9 for coin in COINS[name]]
    assert len(first ^ set(view(con, name, *nearly))) > 500
    assert set(view(con, name)) == first


def test_one_record_more_of_a_tuple_is_the_same_set_and_another_bag(con: Con) -> None:
    many(con)
    first = {name: view(con, name) for name in COINS}
    con.execute("INSERT INTO t VALUES (2)").fetchall()
    assert view(con, "alpha_beta") == first["alpha_beta"]
    assert len(set(view(con, "frapp")) ^ set(first["frapp"])) > 500


@pytest.mark.parametrize("name", COINS)
def test_the_order_of_rows_and_the_number_of_threads_say_nothing(con: Con, name: str) -> None:
    many(con)
    first = view(con, name)
    assert first == sorted(first)
    for table in ("t", "d"):
        con.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} ORDER BY hash(a * 7), a").fetchall()
    con.execute("SET threads = 2").fetchall()
    assert view(con, name) == first
    con.execute("SET threads = 1").fetchall()


# Tuples that some way of writing them would not tell apart.
ALIKE: list[tuple[object, object]] = [
    ("a, b", "c"), ("a", "b, c"), ("NULL", None), (None, "NULL"), ("-", None), ("", None), (None, ""), ("1:a", "-"),
    ("1:a,1:b", ""), ("", "1:a,1:b"), ("a|b", "c"), ("a", "b|c"), ("é", "e\u0301"), ("a ", "a"), ("A", "a"), ("a", "A"),
]  # fmt: skip


@pytest.mark.parametrize("collation", ["", "nocase"])
def test_no_two_tuples_are_taken_for_one(con: Con, collation: str) -> None:
    columns = {"a": "VARCHAR", "b": "VARCHAR"}
    for table in ("t", "d"):
        strategies.create_table(con, table, columns, ALIKE)
    con.execute(f"SET default_collation = '{collation}'").fetchall()
    try:
        assert Counter(view(con, "frapp", 0.999999, qis=("a", "b"))) == Counter(ALIKE)
    finally:
        con.execute("SET default_collation = ''").fetchall()


def test_whole_numbers_of_two_widths_are_the_same_and_texts_of_numbers_too(con: Con) -> None:
    con.execute("CREATE OR REPLACE TABLE d AS SELECT i AS a FROM range(9) AS r(i)").fetchall()
    expected = None
    for kind in ("BIGINT", "TINYINT", "UHUGEINT", "VARCHAR"):
        con.execute(f"CREATE OR REPLACE TABLE t AS SELECT CAST(a AS {kind}) AS a FROM d WHERE a < 4").fetchall()
        found = view(con, "frapp")
        expected = expected or found
        assert len(found) == 4
        assert found == expected
        assert all(type(a) is int for (a,) in found)


SECRET = "SECRET-42"
TYPES = ["INTEGER", "DOUBLE", "DATE", "UUID", "BOOLEAN", "INTEGER[]", "STRUCT(a INTEGER)", "BLOB", "DECIMAL(38, 37)"]


@pytest.mark.parametrize("name", COINS)
@pytest.mark.parametrize("kind", [*TYPES, f"ENUM('{SECRET}')"])
def test_columns_of_two_types_are_refused_without_a_value(con: Con, name: str, kind: str) -> None:
    """A cast from one to the other would show the cell that it fails for."""
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT '{SECRET}' || i AS a, i AS b FROM range(3) AS r(i)").fetchall()
    con.execute(
        f"CREATE OR REPLACE TABLE d (a {kind}, b INTEGER); INSERT INTO d VALUES (NULL, 1), (NULL, 2)"
    ).fetchall()
    with pytest.raises(duckdb.InvalidInputException, match="sqlpriv: 3 rows of the table are not in") as refused:
        view(con, name, qis=("a", "b"))
    assert SECRET not in str(refused.value)


def test_values_that_are_written_alike_are_refused_in_a_domain(con: Con) -> None:
    """A UNION does not say which of its members a value is."""
    union = "UNION(n INTEGER, s VARCHAR)"
    con.execute(f"CREATE OR REPLACE TABLE d (a {union}); INSERT INTO d VALUES (union_value(n := 1))").fetchall()
    con.execute("INSERT INTO d VALUES (union_value(s := '1'))").fetchall()
    con.execute("CREATE OR REPLACE TABLE t AS FROM d LIMIT 1").fetchall()
    for name in COINS:
        with pytest.raises(duckdb.Error, match="sqlpriv: 1 rows of the domain repeat a tuple"):
            view(con, name)


TEXT = ["'x'", "[1]", "CAST('nan' AS DOUBLE)", "NULL"]
KEYS = ["NULL", "CAST(NULL AS VARCHAR)", "''", "'fifteen letters'", f"'{' ' * 16}'", "1234567890123456", f"['{KEY}']"]
REFUSED = [
    ("alpha_beta", "'nobody', 'd', ['a', 'b'], .4, .1, KEY", "the table has no rows: there is nothing to publish"),
    ("alpha_beta", "'t', 'nobody', ['a', 'b'], .4, .1, KEY", "the domain must have at least two tuples"),
    ("alpha_beta", "'one', 'one', ['a', 'b'], .4, .1, KEY", "the domain must have at least two tuples"),
    ("alpha_beta", "'t', 'twice', ['a', 'b'], .4, .1, KEY", "2 rows of the domain repeat a tuple; make them distinct"),
    ("alpha_beta", "'d', 't', ['a', 'b'], .4, .1, KEY", "2 rows of the table are not in the domain"),
    *(("alpha_beta", f"'t', 'd', ['a', 'b'], {x}, .1, KEY", "alpha ") for x in (*TEXT, "0", "-.1", "1.1", ".9", ".95")),
    *(("alpha_beta", f"'t', 'd', ['a', 'b'], .4, {x}, KEY", "") for x in (*TEXT, "0", "-.1", "1", ".6", ".61")),
    *(("alpha_beta", f"'t', 'd', ['a', 'b'], .4, .1, {x}", "the key must be a text of at least 16") for x in KEYS),
    ("frapp", "'nobody', 'd', ['a', 'b'], .5, KEY", "the table has no rows: there is nothing to publish"),
    ("frapp", "'t', 'nobody', ['a', 'b'], .5, KEY", "the domain must have at least two tuples"),
    ("frapp", "'one', 'one', ['a', 'b'], .5, KEY", "the domain must have at least two tuples"),
    ("frapp", "'t', 'twice', ['a', 'b'], .5, KEY", "2 rows of the domain repeat a tuple; make them distinct"),
    ("frapp", "'d', 't', ['a', 'b'], .5, KEY", "2 rows of the table are not in the domain"),
    *(("frapp", f"'t', 'd', ['a', 'b'], {x}, KEY", "stay must be ") for x in (*TEXT, "0", "-.1", "1.1", "1", ".2")),
    *(("frapp", f"'t', 'd', ['a', 'b'], .5, {x}", "the key must be a text of at least 16") for x in KEYS),
]


@pytest.mark.some(15)
@pytest.mark.parametrize(("name", "arguments", "complaint"), REFUSED)
def test_what_cannot_be_published_is_refused_whatever_is_asked(
    con: Con, name: str, arguments: str, complaint: str
) -> None:
    """DuckDB leaves out what a query does not need, and a condition may leave no row."""
    rows: list[list[object]] = [[SECRET, 1], [SECRET, None], [None, 1], [None, None]]
    for table, held in (("d", rows), ("t", rows[:2]), ("nobody", []), ("one", rows[:1]), ("twice", rows + rows[2:])):
        strategies.create_table(con, table, {"a": "VARCHAR", "b": "INTEGER"}, held)
    call = f"FROM priv.{name}({arguments.replace('KEY', literal(KEY))})"
    for query in (f"SELECT count(*) {call}", f"SELECT b {call} WHERE a = 'x'"):
        with pytest.raises(duckdb.InvalidInputException) as refused:
            con.execute(query).fetchall()
        assert f"Invalid Input Error: sqlpriv: {complaint}" in str(refused.value)
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize("name", COINS)
def test_both_tables_need_the_columns_and_the_message_does_not_show_the_key(con: Con, name: str) -> None:
    strategies.create_table(con, "d", {"a": "INTEGER", "b": "INTEGER"}, [[1, 1], [2, 2]])
    strategies.create_table(con, "few", {"b": "INTEGER"}, [[1]])
    for tables in ({"tbl": "few"}, {"tbl": "d", "domain": "few"}):
        with pytest.raises(duckdb.BinderException, match='does not have a column named "a"') as refused:
            con.execute(asked(name, **tables).replace(literal(KEY), "$key"), {"key": KEY}).fetchall()
        assert KEY not in str(refused.value)


@pytest.mark.parametrize("name", COINS)
def test_the_names_of_the_columns_do_not_matter(con: Con, name: str) -> None:
    """Nor do other columns, nor their place, nor the case of a name; columns are called as the domain calls them."""
    odd = ['z"ip.1', "it's, 年齢", 'd"";--', " ", "tuple", "bits", "copies", "place", "labels", "prefix", "c", "e"]
    con.execute("CREATE OR REPLACE TABLE plain AS SELECT i AS a, i % 3 AS b FROM range(40) AS r(i)").fetchall()
    expected = view(con, name, tbl="plain", domain="plain", qis=("a", "b"))
    assert expected
    for first, second in zip(odd[::2], odd[1::2], strict=True):
        extra = ", ".join(f"99 AS {quote(n)}" for n in odd if n not in (first, second))
        columns = f"{extra}, b AS {quote(second)}, a AS {quote(first)}"
        con.execute(f"CREATE OR REPLACE TABLE odd AS SELECT {columns} FROM plain").fetchall()
        found = con.execute(asked(name, tbl="odd", domain="odd", qis=(first.upper(), second)))
        assert [column[0] for column in found.description or []] == [first, second]
        assert found.fetchall() == expected


def test_parameters_of_the_owner_give_the_guarantee_asked_for(con: Con) -> None:
    """As the pages say: coins from the macros of parameters, passed on as they are."""
    many(con)
    ((alpha, beta),) = con.execute("FROM priv.alpha_beta_parameters(0.01, 0.2, 'exclusive', 'default')").fetchall()
    ((stay, _),) = con.execute("FROM priv.frapp_parameters(0.01, 0.2, 4000)").fetchall()
    kept = sum(a % 2 == 0 for (a,) in view(con, "alpha_beta", alpha, beta))
    assert near(kept, 2000, 0.5)
    assert len(view(con, "frapp", stay)) == 6000
