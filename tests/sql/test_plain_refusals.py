"""What making and estimating in plain SQL refuses, and what odd but right arguments give."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from support.agreement import literal
from support.strategies import quote

from sqlpriv.core.engine import translate

Con = duckdb.DuckDBPyConnection
KEY = "'sixteen letters!'"
MAKERS = {
    "noisy_counts": "'{t}', '{d}', {a}, {p}, {q}, {key}",
    "signed_noisy_counts": "'{t}', '{d}', {a}, {q}, {key}",
    "sdgs": "'{t}', MAP {{'a': 0}}, MAP {{}}, {k}, {p}, {key}",
    "anatomy_rows": "'{t}', '{s}', {l}, {key}",
    "anatomy_values": "'{t}', '{s}', {l}, {key}",
    "suppress": "'{t}', {a}, {k}",
}
ESTIMATES = {
    "noisy_counts": "'{v}', '{d}', {c}, {p}, {q}, {value}, {confidence}",
    "signed_noisy_counts": "'{w}', '{d}', {c}, {q}, {value}, {confidence}",
    "alpha_beta": "'{v}', '{d}', {c}, {p}, {q}, {value}, {confidence}",
    "frapp": "'{v}', '{d}', {c}, {p}, {value}, {confidence}",
    "sdgs": "'{v}', {c}, {k}, {p}, '{d}', NULL, NULL, {value}, {confidence}",
}
GIVEN = {
    "t": "t", "d": "d", "v": "v", "w": "w", "a": "['a']", "s": "a", "p": "0.5", "q": "0.2", "k": "1", "l": "2",
    "key": KEY, "c": "'a > 1'", "value": "NULL", "confidence": "0.9",
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(con: Con) -> Con:
    """A private table, its domain, and views of it with and without signs."""
    for sql in (
        "CREATE OR REPLACE TABLE d AS SELECT i AS a FROM range(4) AS r(i)",
        "CREATE OR REPLACE TABLE t AS FROM d",
        "CREATE OR REPLACE TABLE nobody AS FROM t LIMIT 0",
        "CREATE OR REPLACE TABLE one AS FROM t LIMIT 1",
        "CREATE OR REPLACE TABLE outside AS SELECT 77 AS a",
        "CREATE OR REPLACE TABLE other AS SELECT 1 AS a, 2 AS b",
        "CREATE OR REPLACE TABLE twice AS FROM d UNION ALL FROM d",
        "CREATE OR REPLACE TABLE uneven AS SELECT 1 AS a FROM range(5) UNION ALL SELECT 2",
        "CREATE OR REPLACE TABLE v AS FROM (VALUES (1), (3)) AS v(a)",
        'CREATE OR REPLACE TABLE w AS SELECT a, 1.0 AS "__weight" FROM v',
        'CREATE OR REPLACE TABLE heavy AS SELECT a, 2.0 AS "__weight" FROM v',
        "CREATE OR REPLACE TABLE group_ids AS SELECT a, a AS group_id FROM t",
        'CREATE OR REPLACE TABLE weighted AS SELECT a AS "__weight" FROM t',
    ):
        con.execute(sql).fetchall()
    return con


def made(name: str, **instead: str) -> str:
    return f"FROM priv.{name}({MAKERS[name].format(**{**GIVEN, **instead})})"


def estimated(name: str, **instead: str) -> str:
    return f"FROM priv.{name}_estimate({ESTIMATES[name].format(**{**GIVEN, **instead})})"


def each(call: str, names: str, given: list[dict[str, str]], message: str) -> list[tuple[str, str]]:
    build = made if call == "made" else estimated
    return [(build(name, **one), message) for name in names.split() for one in given]


NUMBERS = ["0", "1", "-0.5", "1.5", "'x'", "'NaN'::DOUBLE"]
REFUSED = [
    *each("made", "noisy_counts", [{"p": p} for p in [*NUMBERS, "NULL"]], "p, the probability to keep a row, must"),
    *each("made", "noisy_counts", [{"q": q} for q in [*NUMBERS, "NULL"]], "q, the ratio of the geometric noise, must"),
    *each("made", "signed_noisy_counts", [{"q": q} for q in [*NUMBERS, "NULL"]], "a, the ratio of the geometric"),
    *each("made", "sdgs", [{"p": p} for p in [*NUMBERS, "NULL"]], "beta, the sampling probability, must"),
    *each("made", "sdgs suppress", [{"k": k} for k in ("0", "-1", "1.5", "NULL", "'x'")], "k must be a whole number"),
    *each(
        "made", "anatomy_rows anatomy_values", [{"l": x} for x in ("1", "0", "2.5", "NULL")], "l must be a whole number"
    ),
    *each("made", "anatomy_rows anatomy_values", [{"l": "5"}], "fewer rows than l"),
    *each("made", "anatomy_rows anatomy_values", [{"t": "uneven"}], "more than a share of 1 / l of the rows"),
    *each("made", "anatomy_rows anatomy_values", [{"t": "group_ids"}], "has a column called group_id"),
    *each("made", "noisy_counts signed_noisy_counts", [{"t": "outside"}], "1 rows of the table are not in the domain"),
    *each("made", "noisy_counts signed_noisy_counts", [{"d": "twice"}], "4 rows of the domain repeat a tuple"),
    *each("made", "noisy_counts signed_noisy_counts", [{"d": "one"}, {"d": "nobody"}], "at least two tuples"),
    *each("made", "noisy_counts signed_noisy_counts", [{"a": "'a'"}], "must be a list of column names"),
    *each("made", "signed_noisy_counts", [{"t": "weighted", "d": "weighted", "a": "['__weight']"}], "called __weight"),
    *each("made", " ".join(MAKERS), [{"t": "nobody"}], "the table has no rows"),
    *each(
        "made", " ".join(set(MAKERS) - {"suppress"}), [{"key": "'short'"}, {"key": "NULL"}], "the key must be a text"
    ),
    *each("made", "noisy_counts signed_noisy_counts suppress", [{"a": "['b']"}], "there is no column 'b'"),
    *each("made", "noisy_counts signed_noisy_counts suppress", [{"a": "['__priv_x']"}], "are reserved"),
    *each("estimated", "noisy_counts", [{"p": "0"}, {"p": "1.1"}], "p, the probability to keep a row"),
    *each("estimated", "noisy_counts", [{"q": "-0.1"}, {"q": "1"}], "q, the ratio of the geometric noise"),
    *each("estimated", "signed_noisy_counts", [{"q": "1"}, {"q": "'x'"}], "a, the ratio of the geometric noise"),
    *each("estimated", "alpha_beta", [{"p": "0.9"}], "alpha \\+ beta, the probability to keep a row"),
    *each("estimated", "frapp", [{"p": "0"}, {"p": "2"}, {"p": "'x'"}], "stay must be greater than 0 and at most 1"),
    *each("estimated", "frapp", [{"p": "0.2"}], "stay must be greater than move"),
    *each("estimated", "sdgs", [{"p": "0"}, {"p": "1"}, {"p": "NULL"}], "beta, the sampling probability, must"),
    *each("estimated", "sdgs", [{"k": "0"}, {"k": "NULL"}], "k must be a whole number"),
    *each("estimated", "sdgs", [{"k": "2"}], "fewer than k times"),
    *each("estimated", " ".join(ESTIMATES), [{"c": "NULL"}], "the condition must be given as text"),
    *each("estimated", " ".join(ESTIMATES), [{"c": "'a'"}], "the condition must be true or false"),
    *each("estimated", " ".join(ESTIMATES), [{"c": "'a > 1; DROP TABLE t'"}], "must be one expression"),
    *each("estimated", " ".join(ESTIMATES), [{"c": "'b > 1'"}], "there is no column 'b'"),
    *each("estimated", " ".join(ESTIMATES), [{"value": "3"}], "the value must be given as text"),
    *each("estimated", " ".join(ESTIMATES), [{"value": "'''x'''"}], "the value must be a number"),
    *each("estimated", " ".join(ESTIMATES), [{"value": "'a) + (1'"}], "parentheses of the value"),
    *each("estimated", " ".join(ESTIMATES), [{"value": "'b'"}], "there is no column 'b'"),
    *each(
        "estimated", " ".join(ESTIMATES), [{"confidence": x} for x in ("0", "1", "NULL", "95")], "the confidence must"
    ),
    *each("estimated", " ".join(ESTIMATES), [{"v": "outside", "w": "outside_signed"}], "are not in the domain"),
    *each(
        "estimated", " ".join(ESTIMATES), [{"v": "other", "w": "other_signed"}], "columns that the domain does not have"
    ),
    *each("estimated", "noisy_counts signed_noisy_counts alpha_beta", [{"d": "one"}], "at least two tuples"),
    *each("estimated", "noisy_counts signed_noisy_counts alpha_beta frapp", [{"d": "twice"}], "repeat a tuple"),
    *each("estimated", "alpha_beta", [{"v": "twice"}], "rows of the view are there twice"),
    *each("estimated", "signed_noisy_counts", [{"w": "heavy"}], "must be 1 or -1"),
]


@pytest.mark.slow
def test_what_cannot_be_right_is_refused_in_a_sentence(tables: Con) -> None:
    for name in ("outside", "other"):
        tables.execute(f'CREATE OR REPLACE TABLE {name}_signed AS SELECT *, 1.0 AS "__weight" FROM {name}').fetchall()
    for sql, message in REFUSED:
        with pytest.raises(duckdb.Error) as error:
            tables.execute(sql).fetchall()
        said = str(translate(error.value))
        assert message.replace("\\", "") in said, (sql, said, str(error.value)[:300])


@pytest.mark.parametrize("groups", ["'a'", "[]", "NULL", "['a', 'A']", "['a', NULL]", "['__priv_x']", "['b']"])
def test_groups_that_are_no_columns_are_refused(tables: Con, groups: str) -> None:
    for name, given in ESTIMATES.items():
        listed = given.replace("'{d}', ", f"'{{d}}', {groups}, ")
        if name == "sdgs":
            listed = "'{v}', '{d}', " + groups + ", {c}, {k}, {p}"
        with pytest.raises(duckdb.Error) as error:
            tables.execute(f"FROM priv.{name}_estimates({listed.format(**GIVEN)})").fetchall()
        said = str(translate(error.value))
        assert any(word in said for word in ("list of column names", "named twice", "reserved", "no column 'b'")), said


def test_one_row_is_a_table(tables: Con) -> None:
    for name in ("noisy_counts", "signed_noisy_counts", "sdgs", "suppress"):
        tables.execute(made(name, t="one")).fetchall()


def test_an_empty_view_is_an_answer(tables: Con) -> None:
    """Noise may leave nothing: that says something, too."""
    tables.execute('CREATE OR REPLACE TABLE no_signed AS SELECT *, 1.0 AS "__weight" FROM nobody').fetchall()
    for name in ESTIMATES:
        ((estimate, low, high),) = tables.execute(estimated(name, v="nobody", w="no_signed")).fetchall()
        assert estimate <= 0
        assert low <= estimate <= high


def test_no_coins_are_no_answer(tables: Con) -> None:
    for name, coin in (("noisy_counts", "p"), ("signed_noisy_counts", "q"), ("alpha_beta", "q"), ("frapp", "p")):
        assert tables.execute(estimated(name, **{coin: "NULL"})).fetchall() == [(None, None, None)]


OURS = [
    "view",
    "domain",
    "value",
    "condition",
    "groups",
    "estimate",
    "low",
    "high",
    "m",
    "zz",
    "rise",
    "p",
    "q",
    "a",
    "k",
]
OURS += [
    "class",
    "copies",
    "inside",
    "added",
    "bundle",
    "below",
    "total",
    "share",
    "tuple",
    "bits",
    "labels",
    "column_name",
]


@pytest.mark.some(1)
@pytest.mark.parametrize("name", OURS)
def test_columns_named_like_ours_are_columns(con: Con, name: str) -> None:
    """The answers are those for a table with a column of any other name."""
    for table, column in (("theirs", name), ("plain", "x")):
        con.execute(
            f'CREATE OR REPLACE TABLE {table}_d AS SELECT i AS "{column}", i % 2 AS other FROM range(6) AS r(i)'
        ).fetchall()
        con.execute(
            f"CREATE OR REPLACE TABLE {table}_t AS FROM {table}_d, range(5) AS r(j) SELECT * EXCLUDE (j)"
        ).fetchall()
    answers = []
    for table, column in (("theirs", name), ("plain", "x")):
        found = []
        made_by = {
            "alpha_beta": "0.5, 0.2", "noisy_counts": "0.5, 0.2", "signed_noisy_counts": "0.3", "frapp": "0.6",
        }  # fmt: skip
        for family, coins in made_by.items():
            con.execute(
                f"CREATE OR REPLACE TABLE made AS FROM priv.{family}('{table}_t', '{table}_d', "
                f"['{column}', 'other'], {coins}, {KEY})"
            ).fetchall()
            asked = f"'made', '{table}_d', ['{column}'], '\"{column}\" > 1', {coins}, '\"{column}\" - 3'"
            found.append(con.execute(f"FROM priv.{family}_estimates({asked})").fetchall())
        con.execute(
            f"CREATE OR REPLACE TABLE made AS FROM priv.sdgs('{table}_t', MAP {{'other': 0}}, MAP {{}}, 2, 0.7, {KEY})"
        ).fetchall()
        asked = f"'made', '{table}_d', ['{column}'], '\"{column}\" > 1', 2, 0.7"
        asked += f", MAP {{'other': 0}}, MAP {{}}, '\"{column}\"'"
        found.append(con.execute(f"FROM priv.sdgs_estimates({asked})").fetchall())
        found.append(con.execute(f"FROM priv.anatomy_rows('{table}_t', 'other', 2, {KEY})").fetchall())
        found.append(con.execute(f"FROM priv.suppress('{table}_t', ['{column}'], 2)").fetchall())
        answers.append([Counter(map(repr, rows)) for rows in found])
    assert answers[0] == answers[1]


def test_a_table_with_odd_names(con: Con) -> None:
    column, table = 'it\'s "x"', '"o\'dd d"'
    con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT i AS {quote(column)} FROM range(4) AS r(i)").fetchall()
    given = ", ".join(map(literal, [table, table, [column], 0.5, 0.2, "sixteen letters!"]))
    con.execute(f"CREATE OR REPLACE TABLE odd_v AS FROM priv.noisy_counts({given})").fetchall()
    asked = ["odd_v", table, [column], f"{quote(column)} > 1", 0.5, 0.2, quote(column)]
    found = con.execute(f"FROM priv.noisy_counts_estimates({', '.join(map(literal, asked))})").fetchall()
    assert [row[0] for row in found] == [2, 3]
