"""The coins of buckets are made by all threads, and stand in the order of their places all the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sqlpriv.core.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.split import arrange
from sqlpriv.table.source import open_source


@pytest.mark.parametrize("number", [1, 4, 7, 250_001, 300_000])
def test_coins_stand_in_the_order_of_their_places(number: int) -> None:
    with open_source(pa.table({"zip": [1]})) as source:
        con = source.con
        fetch(con, "SET threads = 4")
        fetch(con, f"CREATE TABLE {arrange.ORDERED} AS SELECT i AS zip FROM range(300_000) AS r(i)")
        arrange._write_coins(source, "coins", "key", "row", number)
        bits = inlined("_coin_bits('key', concat('row|', i))")
        by_one = (
            f"SELECT unnest({inlined('_four_coins(bits)')}) AS coin FROM (SELECT {bits} AS bits FROM "
            f"range({-(-number // 4)}) AS r(i))"
        )
        fetch(con, f"SET threads = 1; CREATE TABLE by_one AS {by_one}")
        assert fetch(con, "SELECT count(*) FROM coins")[0][0] == 4 * -(-number // 4)
        unlike = "SELECT count(*) FROM coins AS c POSITIONAL JOIN by_one AS o WHERE c.coin IS DISTINCT FROM o.coin"
        assert fetch(con, unlike)[0][0] == 0
