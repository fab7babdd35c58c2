"""What is said never to be below 0 never is: a wrong yes would leave half of an interval out."""

from __future__ import annotations

import math

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from sqlpriv.rewrite.estimate.summands import is_never_below_zero
from sqlpriv.rewrite.release import Attribute, Release

RELEASE = Release(
    table="people",
    attributes=(Attribute("n", "INTEGER", 3, "n", never_below_zero=True), Attribute("z", "DOUBLE", 5, "z")),
)
VALUES = "(SELECT * FROM (VALUES (0), (3), (NULL)) AS n(n), (VALUES (-2.5::DOUBLE), (0), (0.5), (7), (NULL)) AS z(z))"
CON = duckdb.connect(config={"threads": 1})
LEAVES = st.sampled_from(["n", "z", "0", "2", "1.5", "NULL", "-1"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.builds(lambda p, o: f"({p[0]} {o} {p[1]})", pair, st.sampled_from("+-*/")),
        st.builds(lambda p: f"({p[0]} % {p[1]})", pair),
        st.builds(lambda p, c: f"CASE WHEN z {c} THEN {p[0]} ELSE {p[1]} END", pair, st.sampled_from(["> 0", "< 0"])),
        st.builds(lambda p: f"CASE WHEN z > 0 THEN {p[0]} END", pair),
        st.builds(lambda p: f"coalesce({p[0]}, {p[1]})", pair),
        st.builds(lambda x, f: f"{f}({x})", inner, st.sampled_from(["abs", "-", "round", "exp"])),
        st.builds(lambda x, k: f"CAST({x} AS {k})", inner, st.sampled_from(["DOUBLE", "DECIMAL(18, 3)"])),
        st.builds(lambda p: f"greatest({p[0]}, {p[1]})", pair),
    )


def resolved(text: str) -> exp.Expr:
    """Columns written as the rewriter writes them, the attribute in front."""
    tree = sqlglot.parse_one(text, dialect="duckdb")
    for column in list(tree.find_all(exp.Column)):
        new = exp.column("value", table=column.name)
        if column is tree:
            return new
        column.replace(new)
    return tree


@given(st.recursive(LEAVES, larger, max_leaves=6))
def test_what_is_never_below_zero_never_is(text: str) -> None:
    if not is_never_below_zero(resolved(text), RELEASE):
        return
    try:
        least = CON.execute(f"SELECT min({text}) FROM {VALUES}").fetchall()[0][0]
    except duckdb.Error:  # out of range, and not an answer at all
        return
    assert least is None or least >= 0 or math.isnan(least), text  # 0 / 0


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("n", True), ("z", False), ("n + 2", True), ("n - 2", False), ("n * z", False), ("abs(z)", True),
        ("CASE WHEN z > 0 THEN n END", True), ("CASE WHEN z > 0 THEN n ELSE z END", False), ("-n", False),
        ("coalesce(n, 0)", True), ("coalesce(n, z)", False), ("CAST(n AS DOUBLE) / 3", True), ("'-3'", False),
        ("CAST('-3' AS INTEGER)", False), ("other", False),
    ],
)  # fmt: skip
def test_what_can_be_seen(text: str, never: bool) -> None:
    assert is_never_below_zero(resolved(text), RELEASE) is never
