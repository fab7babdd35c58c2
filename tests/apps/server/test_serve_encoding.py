"""What the server writes, psycopg's own adapters read back as the value that it was, in text and in binary."""

from __future__ import annotations

import datetime
import math
import random
import struct
from decimal import Decimal
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
from psycopg.pq import Format

from sqlpriv.apps.server import decode, encode, messages
from sqlpriv.apps.server.messages import Reader
from sqlpriv.core.errors import InputError

CASES: list[tuple[str, Any, int]] = [
    ("true", True, 16),
    ("(-7)::TINYINT", -7, 21),
    ("200::UTINYINT", 200, 21),
    ("(-300)::SMALLINT", -300, 21),
    ("60000::USMALLINT", 60000, 23),
    ("(-70000)::INTEGER", -70000, 23),
    ("4000000000::UINTEGER", 4000000000, 20),
    ("9007199254740993::BIGINT", 9007199254740993, 20),
    ("18446744073709551615::UBIGINT", Decimal(18446744073709551615), 1700),
    ("(-170141183460469231731687303715884105727)::HUGEINT", Decimal("-170141183460469231731687303715884105727"), 1700),
    ("1.5::FLOAT", 1.5, 700),
    ("0.1::DOUBLE", 0.1, 701),
    ("1e300::DOUBLE", 1e300, 701),
    ("'inf'::DOUBLE", math.inf, 701),
    ("'-inf'::DOUBLE", -math.inf, 701),
    ("12.50::DECIMAL(10, 2)", Decimal("12.50"), 1700),
    ("0.00000012::DECIMAL(18, 8)", Decimal("0.00000012"), 1700),
    ("(-0.5)::DECIMAL(4, 1)", Decimal("-0.5"), 1700),
    ("''", "", 25),
    ("'ö \"quoted\" \\ back, {braces}'", 'ö "quoted" \\ back, {braces}', 25),
    ("'b'::ENUM('a', 'b')", "b", 25),
    ("DATE '1969-12-31'", datetime.date(1969, 12, 31), 1082),
    ("DATE '2024-02-29'", datetime.date(2024, 2, 29), 1082),
    ("TIME '23:59:59.123456'", datetime.time(23, 59, 59, 123456), 1083),
    ("TIMESTAMP '1999-12-31 23:59:59.000001'", datetime.datetime(1999, 12, 31, 23, 59, 59, 1), 1114),
    ("'2024-01-02 03:04:05.123456789'::TIMESTAMP_NS", datetime.datetime(2024, 1, 2, 3, 4, 5, 123456), 1114),
    ("'2024-01-02 03:04:05'::TIMESTAMP_S", datetime.datetime(2024, 1, 2, 3, 4, 5), 1114),
    ("INTERVAL 3 DAY", datetime.timedelta(days=3), 1186),
    ("'\\x00\\xFF'::BLOB", b"\x00\xff", 17),
    ("[0.5, NULL, 2.0]::DOUBLE[]", [0.5, None, 2.0], 1022),
    ("[1, 2]::BIGINT[]", [1, 2], 1016),
    ("['a,b', 'c\"d', 'NULL', '', 'e\\f', NULL]", ["a,b", 'c"d', "NULL", "", "e\\f", None], 1009),
    ("[]::INTEGER[]", [], 1007),
    ("[DATE '2024-01-01']", [datetime.date(2024, 1, 1)], 1182),
    ("{'x': 1, 'y': 'z'}", {"x": 1, "y": "z"}, 114),
    ("MAP {'k': 1.5::DOUBLE}", {"k": 1.5}, 114),
    ("[[1, 2], [3]]", [[1, 2], [3]], 114),
]


def read_back(batch: pa.RecordBatch, form: int) -> list[tuple[Any, ...]]:
    """The rows of a batch, as a client decodes them."""
    data = Reader(bytes(encode.rows(batch, [form] * batch.num_columns)))
    kinds = [encode.field(f.name, f.type).type for f in batch.schema]
    found = []
    for _ in range(batch.num_rows):
        assert data.take(1) == b"D"
        message = Reader(data.take(data.int32() - 4))
        assert message.int16() == len(kinds)
        row = []
        for kind in kinds:
            size = message.int32()
            cell = None if size == -1 else message.take(size)
            loader = psycopg.adapters.get_loader(kind, Format(form))
            assert loader is not None
            row.append(None if cell is None else loader(kind, None).load(cell))
        message.end()
        found.append(tuple(row))
    data.end()
    return found


@pytest.mark.some(30)
@pytest.mark.parametrize("form", [messages.TEXT, messages.BINARY], ids=["text", "binary"])
@pytest.mark.parametrize(("sql", "value", "kind"), CASES, ids=[sql for sql, _, _ in CASES])
def test_a_value_comes_back_as_it_was(sql: str, value: Any, kind: int, form: int) -> None:
    with duckdb.connect() as con:
        asked = f"SELECT CASE WHEN i <> 1 THEN {sql} END AS v, i FROM range(3) AS t(i) ORDER BY i"
        (batch,) = con.sql(asked).to_arrow_table().combine_chunks().to_batches()
    assert encode.field("v", batch.schema.field("v").type).type == kind
    assert read_back(batch, form) == [(value, 0), (None, 1), (value, 2)]


@pytest.mark.parametrize("form", [messages.TEXT, messages.BINARY], ids=["text", "binary"])
def test_parts_of_a_batch_and_empty_ones_are_themselves(form: int) -> None:
    chance = random.Random(3)
    values = {
        "whole": [chance.choice([None, chance.randrange(-9, 9)]) for _ in range(50)],
        "real": [chance.choice([None, chance.gauss(0, 1), math.inf]) for _ in range(50)],
        "word": [chance.choice([None, "", "x" * chance.randrange(9)]) for _ in range(50)],
    }
    batch = pa.RecordBatch.from_pydict(values)
    for start, size in ((0, 50), (7, 13), (49, 1), (50, 0)):
        part = batch.slice(start, size)
        expected = list(zip(*part.to_pydict().values(), strict=True))
        assert read_back(part, form) == expected


def test_nan_is_written_as_postgres_does() -> None:
    batch = pa.RecordBatch.from_pydict({"x": [math.nan, 1.0]})
    assert b"NaN" in bytes(encode.rows(batch, [messages.TEXT]))
    assert math.isnan(read_back(batch, messages.BINARY)[0][0])


def spell(_: bytes, __: int) -> bytes:
    raise AssertionError("the adapter reads it")


def test_a_parameter_that_is_none_of_its_type_is_not_repeated() -> None:
    endless = struct.pack("!HhHH", 30000, 0, 0, 0)  # a number that says it has more digits than it has
    infinite = struct.pack("!i", 2**31 - 1)
    for cell, kind in (
        (b"\x01", 20), (b"\xff\xfe", 25), (b"", 701), (b"\x00" * 9, 1082), (endless, 1700), (infinite, 1082),
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"^the parameter 2 is no value of its type; check how it is written$"):
            decode.decode([None, cell], [20, kind], [1, 1], spell)
    assert decode.decode([struct.pack("!q", -5), b"x"], [20, 25], [1, 0], spell) == [-5, "x"]
