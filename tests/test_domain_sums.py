"""Sums over the domain equal those over the enumerated product, for any condition, group and value."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence

import duckdb
import predicates
import pytest
import sqlglot
from hypothesis import given, settings
from predicates import Question
from sqlglot import exp

from sqlpriv.rewrite.domain_sums import DomainSums, Value, Variable, domain_sums

BUDGET = 1e9
COUNT = Value(exp.Literal.number(1))
Rows = list[tuple[object, ...]]


@pytest.fixture(scope="module")
def tables() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        predicates.create_relations(connection)
        yield connection


def parsed(sql: str | None) -> exp.Expr | None:
    return None if sql is None else sqlglot.parse_one(sql, dialect="duckdb")


def some(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect="duckdb")


def sums_of(question: Question, together: int) -> DomainSums:
    variables = [
        Variable(
            relation.name,
            f'"{predicates.SCHEMA}"."{relation.name}"',
            relation.own,
            len(relation.rows),
            "share" if relation.weighted else None,
        )
        for relation in question.relations
    ]
    values = [Value(some(v.expression), parsed(v.filter), v.power) for v in question.values]
    groups = [some(group) for group in question.groups]
    return domain_sums(parsed(question.condition), groups, values, variables, BUDGET, together=together)


def enumerated(question: Question) -> str:
    """The definition: one row for every element of the product. Two columns a value, its sum and that of the sizes."""
    weights = [f'"{relation.name}"."share"' for relation in question.relations if relation.weighted]
    selected = [f"({group})" for group in question.groups]
    for value in question.values:
        factors = [f"coalesce(CAST(({value.expression}) AS DOUBLE), 0)", *(f"{w} ** {value.power}" for w in weights)]
        product = f"CASE WHEN ({value.filter or 'TRUE'}) THEN {' * '.join(factors)} ELSE 0 END"
        selected += [f"coalesce(sum({product}), 0)", f"coalesce(sum(abs({product})), 0)"]
    tables = ", ".join(f'"{relation.name}"' for relation in question.relations)
    grouped = f" GROUP BY {', '.join(map(str, range(1, len(question.groups) + 1)))}" if question.groups else ""
    return f"SELECT {', '.join(selected)} FROM {tables} WHERE ({question.condition or 'TRUE'}){grouped}"


def agree(question: Question, answer: Rows, expected: Rows) -> bool:
    keys = len(question.groups)
    found = {repr(row[:keys]): row[keys:] for row in answer}
    if len(found) != len(answer) or len(answer) != len(expected):
        return False
    for row in expected:
        own = found.get(repr(row[:keys]))
        if own is None:
            return False
        for at, value in enumerate(own):
            right, size = row[keys + 2 * at], row[keys + 2 * at + 1]
            assert isinstance(value, int | float)
            assert isinstance(right, float)
            assert isinstance(size, float)
            if not math.isclose(value, right, rel_tol=1e-9, abs_tol=1e-9 * max(size, 1)):
                return False
    return True


def compare(con: duckdb.DuckDBPyConnection, question: Question, together: Sequence[int] = (1_000_000, 1)) -> None:
    expected = con.execute(enumerated(question)).fetchall()
    for limit in together:
        sums = sums_of(question, limit)
        answer = con.execute(sums.sql).fetchall()
        assert agree(question, answer, expected), (question, limit, sums.sql, answer, expected)
        assert all(isinstance(row[len(question.groups)], int) for row in answer)


@given(question=predicates.questions())
def test_sums_equal_those_over_the_enumerated_product(tables: duckdb.DuckDBPyConnection, question: Question) -> None:
    compare(tables, question)


@given(question=predicates.linked_questions())
def test_sums_over_many_linked_attributes_equal_those_over_the_product(
    tables: duckdb.DuckDBPyConnection, question: Question
) -> None:
    compare(tables, question)


@pytest.mark.deep
@settings(max_examples=int(os.environ.get("SQLPRIV_PREDICATES", "5000")))
@given(question=predicates.questions() | predicates.linked_questions())
def test_five_thousand_sums_equal_those_over_the_product(tables: duckdb.DuckDBPyConnection, question: Question) -> None:
    compare(tables, question)
