"""Each aggregate is one entry of a table: everything that goes by aggregates knows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot import exp

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.rewrite.aggregates import AGGREGATES, BY_VALUE, FAMILIES, ROOT, STATISTIC, Aggregate, aggregate_of
from sqlpriv.rewrite.bind.parse import parsed
from sqlpriv.rewrite.estimate.statistics import Moments
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import Attribute, GeneralizedRelease, NoisyRelease, Release, Weights

pytestmark = pytest.mark.one_version

ATTRIBUTES = tuple(Attribute(name, "INTEGER", 3, f"domain_{name}") for name in ("x", "y"))
NOISY = NoisyRelease(table="t", attributes=ATTRIBUTES, published="rows", domain_weights={0: Weights(-0.1, 0.1, 0.1)})
GENERALIZED = GeneralizedRelease(
    table="t", attributes=ATTRIBUTES, rows=lambda columns, cuts, every: "SELECT * FROM rows"
)
QUANTILES = {"quantile_cont", "quantile_disc", "quantile", "approx_quantile"}


def query(entry: Aggregate) -> str:
    arguments = "y, x" if entry.of_two else "x, 0.5" if entry.name in QUANTILES else "x"
    return f"SELECT {entry.name}({arguments}) AS a FROM t"


def has_bounds(release: Release, entry: Aggregate) -> bool:
    sql = rewrite(query(entry), release).sql
    return 'CAST(NULL AS DOUBLE) AS "a_low"' not in sql


@pytest.mark.parametrize("entry", AGGREGATES, ids=lambda entry: f"{entry.name}-{entry.node.__name__}")
def test_what_is_declared_is_read_and_estimated(entry: Aggregate) -> None:
    select = parsed(query(entry))
    assert isinstance(select, exp.Select)
    assert aggregate_of(select.expressions[0].this) in {entry, *(e for e in AGGREGATES if e.name == entry.name)}
    assert has_bounds(NOISY, entry)
    assert has_bounds(GENERALIZED, entry) == entry.bounded_by_classes


@pytest.mark.parametrize("entry", AGGREGATES, ids=lambda entry: f"{entry.name}-{entry.node.__name__}")
def test_what_is_declared_fits_its_estimator(entry: Aggregate) -> None:
    assert bool(entry.statistic) == (entry.estimated_by == STATISTIC)
    assert not entry.statistic or callable(getattr(Moments, entry.statistic))
    assert (entry.square is None) == (entry.estimated_by != ROOT)
    assert not entry.is_continuous or entry.estimated_by == BY_VALUE


def test_other_names_of_an_aggregate_are_the_same() -> None:
    assert rewrite("SELECT mean(x) AS a FROM t", NOISY).sql == rewrite("SELECT avg(x) AS a FROM t", NOISY).sql


def test_a_refusal_names_what_can_be_asked() -> None:
    with pytest.raises(UnsupportedSQLError) as refused:
        rewrite("SELECT kurtosis(x) FROM t", NOISY)
    assert all(family in str(refused.value) for family in FAMILIES)


def test_docs_name_every_aggregate() -> None:
    docs = (Path(__file__).resolve().parents[2] / "docs" / "query.md").read_text(encoding="utf-8")
    listed = docs.partition("## What you can write")[2].partition("\n- window functions")[0]
    missing = [
        entry.name for entry in AGGREGATES if f"`{entry.name}`" not in listed and f"`{entry.name}(" not in listed
    ]
    assert missing == []
