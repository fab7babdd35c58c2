"""The entries against what cannot read them: the macros, the rows of priv.report, and the docs."""

from __future__ import annotations

import duckdb
import pytest
from support.places import ROOT

from sqlpriv.checks.measures import MEASURES, Measure
from sqlpriv.macros.catalog import macros

REPORTED = {(m.macro, m.reported) for m in MEASURES.values() if m.reported is not None}


@pytest.mark.slow
def test_the_report_has_the_rows_of_the_entries(example_tables: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT DISTINCT model, parameters FROM priv.report('patients', ['zip'], 'disease')"
    rows = set(example_tables.execute(query).fetchall())
    assert rows >= REPORTED
    # Nothing holds against class4, so it cannot be required.
    assert {model for model, _ in rows} - {m.macro for m in MEASURES.values()} == {"epsilon_class4"}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
def test_the_macros_give_and_take_what_the_entry_says(measure: Measure) -> None:
    assert measure.column in macros()[measure.macro].header.columns.split(", ")
    if measure.of == "class" and not measure.arguments:
        assert measure.listing_macro in macros()
    given = dict.fromkeys(measure.names, 1)
    for person in (None, "p"):
        assert measure.select(measure.macro, "t", ["q"], "s", given, person).startswith(f"SELECT {measure.column} FROM")


@pytest.mark.parametrize("name", MEASURES)
def test_the_docs_name_it(name: str) -> None:
    page = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page or f"`{name}(" in page
    policy = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    measure = MEASURES[name]
    if measure.adversary is not None:
        assert f"{measure.adversary.name}: " in policy
    elif measure.reads is not None:
        assert any(f"`{key}" in policy for key in (measure.policy_key or name, *measure.policy_names))
