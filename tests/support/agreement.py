"""Ask a macro and compare its answer with the oracle of the same name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import duckdb
import oracles
from hypothesis import strategies as st
from oracles.counting import Number, PerClass, seen

from sqlpriv.macros.catalog import macro
from support.strategies import Case

Answer = list[tuple[Any, ...]]

# When a class fails, by companion, as docs/definitions.md says.
DIRECTIONS = {
    "k_anonymity": "<",
    "alpha_k_anonymity": ">",
    "l_diversity": "<",
    "entropy_diversity": "<",
    "recursive_diversity": ">=",
    "negation_diversity": ">",
    "t_closeness": ">",
    "t_closeness_ordered": ">",
    "t_closeness_hierarchical": ">",
    "beta_likeness": ">",
    "enhanced_beta_likeness": ">",
    "delta_disclosure": ">=",
    "epsilon_class1": ">",
    "epsilon_class2": ">",
    "epsilon_class3": ">",
    "epsilon_class4": ">",
    "ck_safety": ">=",
    "k_map": "<",
    "delta_presence": ">",
    "risk": ">",
}
SORTING_KEEPS_SIGNS = duckdb.__version__ >= "2"
COMPANIONS = {"l_diversity": ("l_diversity", "entropy_diversity")}


def companions(check: str) -> tuple[str, ...]:
    """The checks, mostly one, whose `_classes` macro goes with a summary."""
    return COMPANIONS.get(check, (check,))


def macros_of(checks: Sequence[str], *others: str) -> set[str]:
    """The names of the macros that a module tests when it verifies these checks."""
    classes = {f"{companion}_classes" for check in checks for companion in companions(check)}
    return {*checks, *classes, *others}


def literal(value: object) -> str:
    """A Python value as the SQL that a user would write."""
    if value is None:
        return "NULL"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float) and math.isinf(value):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
    return repr(value)


def call(con: duckdb.DuckDBPyConnection, name: str, *arguments: object) -> Answer:
    """All rows of a table macro, or the one value of a scalar one."""
    listed = ", ".join(map(literal, arguments))
    if not macro(name).is_table:
        return con.execute(f"SELECT priv.{name}({listed})").fetchall()
    answer = con.execute(f"FROM priv.{name}({listed})")
    columns = ", ".join(column[0] for column in answer.description or [])
    assert columns == macro(name).header.columns, name
    return answer.fetchall()


def close(found: object, expected: object) -> bool:
    """Whole numbers must come back as such, fractions as the nearest double or almost."""
    if isinstance(expected, (float, Fraction)):
        return isinstance(found, float) and math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return type(found) is type(expected) and found == expected


def as_row(summary: object) -> tuple[object, ...]:
    """What an oracle returns, as the one row that its macro returns."""
    if isinstance(summary, Mapping):
        return tuple(summary.values())
    return tuple(summary) if isinstance(summary, tuple) else (summary,)


def assert_rows(found: Answer, expected: Sequence[Sequence[object]], what: object) -> None:
    """The same rows in the same order."""
    assert len(found) == len(expected), (what, found, expected)
    for left, right in zip(found, expected, strict=True):
        assert len(left) == len(right), (what, left, right)
        assert all(map(close, left, right)), (what, left, right)


def persons(case: Case) -> st.SearchStrategy[list[str]]:
    """The last arguments of a call that counts rows (none), or persons (the person column)."""
    return st.sampled_from([[], [case.person]])


@st.composite
def thresholds(draw: st.DrawFn, per_class: PerClass, direction: str) -> float:
    """The worst value exactly, or one at, just beside or a little off the value of some class."""
    values = [value for _, value in per_class.values()] or [1]
    worst = min(values) if direction == "<" else max(values)
    steps = [0.0, 1e-13, -1e-13, 1e-9, -1e-9]
    if all(isinstance(value, int) for value in values):
        steps = [0.0, 0.5, 1.0, -0.5]
    near = draw(st.just(worst) | st.sampled_from(values))
    step = draw(st.sampled_from(steps))
    return float(near) if math.isinf(near) else float(near) + step * max(1.0, abs(float(near)))


def _sorted_by_duckdb(key: object) -> object:
    """What is left of a class that DuckDB has sorted: 1.5 takes the sign off a zero, so that two classes look alike."""
    if SORTING_KEEPS_SIGNS or not isinstance(key, tuple):
        return key
    return key[:2] if key[:1] == ("signed",) else tuple(map(_sorted_by_duckdb, key))


def assert_fails(
    found: Answer,
    expected: Sequence[tuple[object, int, Number]],
    qis: Sequence[str],
    direction: str,
    what: object,
) -> None:
    """These classes and no others, worst first, then the smaller class first."""
    by_class: dict[object, list[tuple[int, Number]]] = {}
    for key, size, value in found:
        assert list(key) == list(qis), (what, key)
        by_class.setdefault(_sorted_by_duckdb(tuple(seen(key[name]) for name in qis)), []).append((size, value))
    assert len(found) == len(expected), (what, found, expected)
    for key, size, value in expected:
        measured = by_class.get(_sorted_by_duckdb(key), [])
        fitting = next((one for one in measured if all(map(close, one, (size, value)))), None)
        assert fitting is not None, (what, key, size, value, found)
        measured.remove(fitting)
    sign = 1 if direction == "<" else -1
    order = [(sign * value, size) for _, size, value in found]
    assert order == sorted(order), (what, found)


def verify(
    con: duckdb.DuckDBPyConnection,
    data: st.DataObject,
    check: str,
    asked: Sequence[object],
    told: Sequence[object],
    **options: object,
) -> None:
    """A summary and its companions, asked in SQL, against the oracles, told the same in Python.

    The quasi-identifiers are the tuple among the arguments.
    """
    qis = next(argument for argument in asked if isinstance(argument, tuple))
    expected = as_row(getattr(oracles, check)(*told, **options))
    assert_rows(call(con, check, *asked), [expected], (check, asked))
    for name in companions(check):
        direction = DIRECTIONS[name]
        per_class = getattr(oracles, f"{name}_per_class")(*told, **options)
        threshold = data.draw(thresholds(per_class, direction), label=f"threshold of {name}")
        failing = oracles.failing(per_class, direction, threshold)
        found = call(con, f"{name}_classes", *asked, threshold)
        assert_fails(found, failing, qis, direction, (name, asked, threshold))
