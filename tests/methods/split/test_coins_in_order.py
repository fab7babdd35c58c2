"""The coins of buckets are made by all threads, and stand in the order of their places all the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sqlpriv.core.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.split.arrange import random_numbers
from sqlpriv.table.source import open_source


@pytest.mark.parametrize("number", [1, 4, 7, 250_001, 300_000])
def test_coins_stand_in_the_order_of_their_places(number: int) -> None:
    with open_source(pa.table({"zip": [1]})) as source:
        con = source.con
        fetch(con, "SET threads = 4")
        ordered = source.scratch.table("SELECT i AS zip FROM range(300_000) AS r(i)", "ordered")
        coins = random_numbers(ordered, "key", "row", number, source.scratch)
        bits = inlined("_coin_bits('key', concat('row|', i))")
        by_one = (
            f"SELECT unnest({inlined('_four_coins(bits)')}) AS coin FROM (SELECT {bits} AS bits FROM "
            f"range({-(-number // 4)}) AS r(i))"
        )
        fetch(con, f"SET threads = 1; CREATE TABLE by_one AS {by_one}")
        assert coins.written == 4 * -(-number // 4)
        both = f"{coins.name} AS c POSITIONAL JOIN by_one AS o"
        assert fetch(con, f"SELECT count(*) FROM {both} WHERE c.coin IS DISTINCT FROM o.coin")[0][0] == 0
