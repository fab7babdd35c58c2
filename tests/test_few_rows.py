"""What is set for work on few rows is as it was afterwards, also where that work fails."""

from __future__ import annotations

import duckdb
import pytest

from sqlpriv.core.engine import Row, fetch, few_rows


def _settings(con: duckdb.DuckDBPyConnection) -> list[Row]:
    return fetch(con, "SELECT current_setting('threads'), current_setting('disabled_optimizers')")


@pytest.mark.parametrize("disabled", ["", "top_n"])
def test_settings_are_as_before_after_work_on_few_rows(disabled: str) -> None:
    with duckdb.connect(config={"threads": 3}) as con:
        fetch(con, f"SET disabled_optimizers = '{disabled}'")
        before = _settings(con)
        with few_rows(con):
            assert _settings(con)[0][0] == 1
        assert _settings(con) == before
        with pytest.raises(ZeroDivisionError), few_rows(con):
            raise ZeroDivisionError
        assert _settings(con) == before
