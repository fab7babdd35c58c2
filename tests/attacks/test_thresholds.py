"""An empty list of failing classes means that all pass, so a threshold that decides nothing is refused."""

import math

import duckdb
import pytest
from support.attempts import Attempt, cases, refused_by_us, share

pytestmark = pytest.mark.one_version

OTHERS = ("CAST(NULL AS DOUBLE)", "CAST(NULL AS INTEGER)", "'many'", "[5]", "''", "'nan'")
NUMBER = "the threshold must be a number"
# A class fails below these, above all others.
BELOW = {"k_anonymity_classes", "l_diversity_classes", "entropy_diversity_classes", "k_map_classes"}


@pytest.mark.some(7)
@pytest.mark.parametrize("attempt", cases("threshold"))
def test_what_decides_nothing_is_refused(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    for given in ("NULL", "CAST('nan' AS DOUBLE)", *share(attempt, OTHERS, len(OTHERS))):
        sql = attempt.sql(threshold="<bar>").replace("'<bar>'", given)
        assert refused_by_us(shared, sql) == NUMBER, given


@pytest.mark.some(7)
@pytest.mark.parametrize("attempt", cases("threshold"))
def test_infinity_is_a_number(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    """Nothing is large enough for infinity and nothing small enough for minus infinity; the other way all pass."""
    every = len(attempt.ask(shared, threshold=1e300 if attempt.name in BELOW else -1e300))
    strict, lax = (math.inf, -math.inf) if attempt.name in BELOW else (-math.inf, math.inf)
    assert len(attempt.ask(shared, threshold=strict)) == every > 0
    lenient = attempt.ask(shared, threshold=lax)
    # Recursive diversity and delta-disclosure fail at their threshold: an infinite value is not below infinity.
    assert all(row[2] == math.inf for row in lenient)
    assert not lenient or attempt.name in {"recursive_diversity_classes", "delta_disclosure_classes"}


@pytest.mark.parametrize("attempt", cases("threshold"))
def test_a_number_may_come_as_text_or_decimal(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    expected = attempt.ask(shared, threshold=1.25)
    for given in share(attempt, ("'1.25'", "1.25::DECIMAL(9, 3)", "1.25::FLOAT", "5/4"), 4):
        sql = attempt.sql(threshold="<bar>").replace("'<bar>'", given)
        assert shared.execute(sql).fetchall() == expected
