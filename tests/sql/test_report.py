"""The report: every row is what its own macro and its oracle say, for every combination of columns."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.counting import Number, PerClass, Rows
from support import strategies
from support.agreement import assert_rows, call, close, literal, macros_of, persons
from support.strategies import Case

TESTED = macros_of([], "report")
Con = duckdb.DuckDBPyConnection


class Line(NamedTuple):
    """A row of the report: the macro that gives the same value, and the oracle of every class."""

    model: str
    parameters: str
    column: str
    per_class: str = ""
    arguments: tuple[object, ...] = ()


UNIFORM = "uniform"
LINES = (
    Line("k_anonymity", "", "k"),
    Line("alpha_k_anonymity", "", "alpha"),
    Line("l_diversity", "distinct", "distinct_l"),
    Line("l_diversity", "entropy", "entropy_l", "entropy_diversity"),
    Line("recursive_diversity", "l = 2", "c", arguments=(2,)),
    Line("recursive_diversity", "l = 3", "c", arguments=(3,)),
    Line("negation_diversity", "l = 2", "posterior", arguments=(2,)),
    Line("negation_diversity", "l = 3", "posterior", arguments=(3,)),
    Line("t_closeness", "", "t"),
    Line("t_closeness_ordered", "", "t"),
    Line("beta_likeness", "", "beta"),
    Line("enhanced_beta_likeness", "", "beta"),
    Line("delta_disclosure", "", "delta"),
    Line("epsilon_class2", "sigma = 1000000, b = 0", "epsilon", arguments=(10**6, 0)),
    Line("epsilon_class3", "shape = uniform, b = 0", "epsilon", arguments=(UNIFORM, 0)),
    Line("epsilon_class4", "", "epsilon", arguments=(0,)),
    Line("ck_safety", "k = 1", "disclosure", arguments=(1,)),
    Line("risk", "prosecutor", "prosecutor"),
    Line("risk", "marketer", "marketer"),
    Line("risk", "uniques", "uniques"),
)
WITHOUT_SENSITIVE = ("k_anonymity", "risk")


def expected_values(rows: Rows, qis: Sequence[str], sensitive: str, person: Sequence[str]) -> list[tuple[Number, int]]:
    """The value of each line and the size of its worst class, by the oracles."""
    texts = list(dict.fromkeys(oracles.text(row[sensitive]) for row in rows))
    shape = dict.fromkeys(texts, Fraction(1, len(texts)))
    whose: dict[str, Any] = {"person": person[0]} if person else {}
    found = []
    for line in LINES:
        secret = [] if line.model in WITHOUT_SENSITIVE else [sensitive]
        told = [shape if argument == UNIFORM else argument for argument in line.arguments]
        per_class = getattr(oracles, f"{line.per_class or line.model}_per_class")(rows, qis, *secret, *told, **whose)
        value, size = worst(per_class, least=line.column in ("k", "distinct_l", "entropy_l"))
        if line.model == "risk":
            value = oracles.risk(rows, qis, **whose)[line.column]
        found.append((value, size))
    return found


def worst(per_class: PerClass, least: bool) -> tuple[Number, int]:
    """The worst value, and the size of the smallest class that attains it up to rounding."""
    value = (min if least else max)(found for _, found in per_class.values())
    return value, min(size for size, found in per_class.values() if math.isclose(found, value, rel_tol=1e-12))


def assert_report(
    con: Con, rows: Rows, lists: Sequence[Sequence[str]], secrets: Sequence[str], person: Sequence[str]
) -> None:
    """The report over these combinations, whichever way a single one is written."""
    qis = [list(names) for names in lists]
    asked = ["t", qis if len(qis) > 1 else qis[0], secrets if len(secrets) > 1 else secrets[0], *person]
    found = call(con, "report", *asked)
    combinations = [(names, secret) for names in qis for secret in secrets]
    assert len(found) == len(LINES) * len(combinations)
    for number, (names, secret) in enumerate(combinations):
        values = expected_values(rows, names, secret, person)
        for line, row, (value, size) in zip(LINES, found[number * len(LINES) :], values, strict=False):
            assert row[:4] == (names, secret, line.model, line.parameters)
            assert close(row[4], float(value)), (asked, row, value)
            assert row[6] == size, (asked, row, size)
            assert row[5].endswith("."), row


@given(data=st.data(), case=strategies.cases())
def test_every_row_is_its_oracles(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    assert_report(con, case.rows, [case.qis], [case.sensitive], data.draw(persons(case)))


@strategies.fewer(2, deep=1)
@given(data=st.data(), case=strategies.cases())
def test_every_combination_is_its_oracles(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    some = st.lists(st.sampled_from(case.qis), min_size=1, unique=True)
    lists = data.draw(st.lists(some, min_size=1, max_size=3))
    others = [name for name in case.columns if name not in (*case.qis, case.sensitive)]
    secrets = data.draw(st.permutations([case.sensitive, *others]))[: data.draw(st.integers(1, 2))]
    person = [name for name in data.draw(persons(case)) if name not in secrets]
    assert_report(con, case.rows, lists, secrets, person)


@strategies.fewer(4)
@given(data=st.data(), case=strategies.text_cases())
def test_every_row_is_its_macros(con: Con, data: st.DataObject, case: Case) -> None:
    """Some rows of a report against the macros that they name, asked the same."""
    strategies.create(con, "t", case)
    arguments = ", ".join(map(literal, ["t", case.sensitive]))
    con.execute(f"CREATE OR REPLACE TABLE {UNIFORM} AS FROM priv.uniform_shape({arguments})").fetchall()
    person = data.draw(persons(case))
    report = call(con, "report", "t", case.qis, case.sensitive, *person)
    for place in data.draw(st.sets(st.integers(0, len(LINES) - 1), min_size=3, max_size=3)):
        assert close(report[place][4], by_macro(con, LINES[place], case, person)), report[place]


def by_macro(con: Con, line: Line, case: Case, person: Sequence[str]) -> float:
    secret = [] if line.model in WITHOUT_SENSITIVE else [case.sensitive]
    single_values = [None] if person and line.model.startswith("epsilon") else []
    asked = ["t", case.qis, *secret, *line.arguments, *single_values, *person]
    arguments = ", ".join(map(literal, asked))
    ((value,),) = con.execute(f"SELECT {line.column} FROM priv.{line.model}({arguments})").fetchall()
    return float(value)


def test_two_sensitive_columns(con: Con) -> None:
    rows = [["a", "flu", 1], ["a", "flu", 2], ["b", "flu", 1], ["b", None, 1]]
    strategies.create_table(con, "t", {"q": "VARCHAR", "ill": "VARCHAR", "pay": "INTEGER"}, rows)
    report = call(con, "report", "t", ["q"], ["ill", "pay"])
    distinct = {(row[1], row[3]): row[4] for row in report if row[2] == "l_diversity"}
    assert distinct["ill", "distinct"] == distinct["pay", "distinct"] == 1
    sizes = {row[1]: row[6] for row in report if row[3] == "distinct"}
    assert sizes == {"ill": 2, "pay": 2}
    t = {row[1]: row[4] for row in report if row[2] == "t_closeness"}
    assert t == {"ill": pytest.approx(0.25), "pay": pytest.approx(0.25)}


def test_qis_are_reported_as_asked(con: Con) -> None:
    strategies.create_table(con, "t", {"Zip": "VARCHAR", "Age": "INTEGER", "s": "INTEGER"}, [["a", 1, 1]])
    report = call(con, "report", "t", [["ZIP", "age"], ["Age"]], "S")
    assert list(dict.fromkeys((tuple(row[0]), row[1]) for row in report)) == [(("ZIP", "age"), "S"), (("Age",), "S")]
    assert_rows([(row[4],) for row in report if row[2] == "k_anonymity"], [(1.0,), (1.0,)], report)
