"""The ends of ranges, read off labels: they hold every value with the label, and no other."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.label_ends import bin_ends, date_ends, range_ends
from support.strategies import fewer

from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.grid import named_ends

Con = duckdb.DuckDBPyConnection


def ends(con: Con, kind: str, label: str) -> tuple[object, ...]:
    ((low, high),) = con.execute(
        inlined(f"SELECT _{kind}_from({literal(label)}), _{kind}_to({literal(label)})")
    ).fetchall()
    return low, high


@fewer(4)
@given(value=st.integers(-50, 50), width=st.integers(1, 9), origin=st.integers(-4, 4))
def test_ends_of_ranges_hold_the_values_of_the_label(con: Con, value: int, width: int, origin: int) -> None:
    con.execute(f"CREATE OR REPLACE TABLE numbers AS SELECT {value} + i AS x FROM range(-12, 13) AS r(i)").fetchall()
    rows = con.execute(f"FROM priv.hierarchy_ranges('numbers', 'x', [{width}], {origin})").fetchall()
    label = next(r[1] for r in rows if r[0] == str(value))
    low, high = ends(con, "range", label)
    assert (low, high) == range_ends(label)
    assert {int(r[0]) for r in rows if r[1] == label} == {x for x in range(value - 12, value + 13) if low <= x < high}


@fewer(8)
@given(value=st.floats(-1e6, 1e6, allow_nan=False), width=st.sampled_from(["0.1", "2.5", "10", "0.0625"]))
def test_ends_of_ranges_of_doubles(con: Con, value: float, width: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE numbers AS SELECT CAST('{value!r}' AS DOUBLE) AS x").fetchall()
    ((_, label, _),) = con.execute(f"FROM priv.hierarchy_ranges('numbers', 'x', [{width}], 0)").fetchall()
    low, high = ends(con, "range", label)
    assert (low, high) == range_ends(label)
    assert low <= value < high


@fewer(4)
@given(
    value=st.dates(datetime.date(1000, 1, 1), datetime.date(9980, 1, 1)),
    unit=st.sampled_from(["day", "month", "quarter", "year", "decade"]),
)
def test_ends_of_parts_of_dates(con: Con, value: datetime.date, unit: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE days AS SELECT CAST('{value} 10:00:00' AS TIMESTAMP) AS x").fetchall()
    ((_, label, _),) = con.execute(f"FROM priv.hierarchy_dates('days', 'x', ['{unit}'])").fetchall()
    low, high = ends(con, "date", label)
    assert (low, high) == date_ends(label)
    assert low <= value < high


BINNED = {
    "INTEGER": st.integers(-3000, 3000) | st.integers(0, 30),
    "DECIMAL(9,2)": st.integers(-99999, 99999).map(lambda n: Decimal(n) / 100),
    "DOUBLE": st.integers(-99999, 99999).map(lambda n: n / 1000),
    "DATE": st.dates(datetime.date(1000, 1, 1), datetime.date(9980, 1, 1)),
    "TIMESTAMP": st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(9980, 1, 1)),
}


@pytest.mark.some(2)
@fewer(4)
@pytest.mark.parametrize("kind", list(BINNED))
@given(data=st.data(), bins=st.integers(1, 6))
def test_ends_of_bins_hold_the_values_of_the_label(con: Con, kind: str, data: st.DataObject, bins: int) -> None:
    values = data.draw(st.lists(BINNED[kind], min_size=1, max_size=20))
    con.execute(f"CREATE OR REPLACE TABLE binned AS SELECT unnest(?::{kind}[]) AS x", [values]).fetchall()
    con.execute(f"CREATE OR REPLACE TABLE bins AS FROM priv.hierarchy_bins('binned', 'x', [{bins}])").fetchall()
    for (label,) in con.execute("SELECT DISTINCT level1 FROM bins WHERE level1 <> '*'").fetchall():
        told = ", ".join(inlined(f"_bin_{end}({literal(label)})") for end in ("from", "before", "to"))
        assert con.execute(f"SELECT {told}").fetchall() == [bin_ends(label)]
    low, high = named_ends("bins", kind)
    ends = f"SELECT label, {low} AS low, {high} AS high FROM (SELECT DISTINCT level1 AS label FROM bins)"
    within = "x BETWEEN coalesce(e.low, x) AND coalesce(e.high, x)"
    unlike = f"SELECT count(*) FROM bins AS b JOIN binned ON CAST(x AS VARCHAR) = b.value, ({ends}) AS e WHERE "
    assert con.execute(f"{unlike} ({within}) <> (e.label = b.level1)").fetchall() == [(0,)]


@pytest.mark.parametrize("label", ["*", "", "x", "15-", "-5", "[1, 2]", "[a, b)", "2024-Q5", "infinity", "20s"])
def test_what_names_no_range_has_no_ends(con: Con, label: str) -> None:
    for kind in ("range", "date"):
        assert ends(con, kind, label) == (None, None)


@pytest.mark.parametrize(
    ("kind", "low", "high", "wanted"),
    [
        ("TINYINT", "-130", "-120", (-128, -121)),
        ("UTINYINT", "250", "260", (250, 255)),
        ("INTEGER", "0", "2.5", (0, 2)),
        ("BIGINT", "2.5", "5", (3, 4)),
        ("HUGEINT", "-7", "9", (-7, 8)),
    ],
)
def test_whole_numbers_of_a_range_fit_their_type(
    con: Con, kind: str, low: str, high: str, wanted: tuple[int, int]
) -> None:
    of = ", ".join(
        f"_whole_{side}(CAST({end} AS DECIMAL(38, 10)), '{kind}')" for side, end in (("from", low), ("to", high))
    )
    assert con.execute(inlined(f"SELECT {of}")).fetchall() == [wanted]


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("_class_low(3, 2, 4)", 0), ("_class_low(-3, 2, 4)", -3), ("_class_low(3, 4, 4)", 3),
        ("_class_high(3, 2, 4)", 3), ("_class_high(-3, 2, 4)", 0), ("_class_high(-3, 4, 4)", -3),
        ("_spread(6, 1, 4)", 1.5), ("_mean_with(6, 2, 4, 3)", 2), ("_mean_with(0, 0, 0, 0)", None),
        ("_quotient_low(-6, 8, 2, 4)", -3), ("_quotient_high(-6, 8, 2, 4)", 4), ("_quotient_low(6, 8, 2, 4)", 1.5),
        ("_quotient_high(-8, -6, 2, 4)", -1.5), ("_quotient_low(1, 2, 0, 4)", None),
    ],
)  # fmt: skip
def test_formulas_of_bounds(con: Con, call: str, wanted: float | None) -> None:
    assert con.execute(inlined(f"SELECT {call}")).fetchall() == [(wanted,)]
