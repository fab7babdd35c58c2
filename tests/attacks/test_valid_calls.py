"""The calls that the attacks spoil are good ones: otherwise a refusal would prove nothing."""

import duckdb
import pytest
from support.attempts import Attempt, cases, usually


@pytest.mark.some(50)
@pytest.mark.parametrize("attempt", cases())
def test_the_unspoilt_call_is_answered(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    answer = usually(shared, attempt)
    assert attempt.name.endswith(("_classes", "_faults")) or answer[0][-1] is not None
