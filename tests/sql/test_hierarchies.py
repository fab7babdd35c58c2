"""Hierarchies made by macros: against their oracles, always without a fault, and what is refused."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.hierarchies import Path
from support import strategies
from support.agreement import literal
from support.strategies import Case

TESTED = {
    "hierarchy_ranges",
    "hierarchy_mask",
    "hierarchy_dates",
    "hierarchy_bins",
    "hierarchy_suppression",
    "hierarchy_tree",
    "hierarchy_faults",
}
Con = duckdb.DuckDBPyConnection
Answer = list[tuple[object, ...]]
NAMES = st.sampled_from(strategies.NAMES)


def ask(con: Con, name: str, *arguments: object) -> Answer:
    return con.execute(f"FROM priv.{name}({', '.join(map(literal, arguments))})").fetchall()


def made(con: Con, name: str, column: str, *arguments: object) -> Answer:
    """A hierarchy of the column of table t, which has no fault and names its columns by their levels."""
    call = f"priv.{name}('t', {', '.join(map(literal, [column, *arguments]))})"
    con.execute(f"CREATE OR REPLACE TABLE made AS FROM {call}").fetchall()
    assert ask(con, "hierarchy_faults", "t", column, "made") == []
    described = con.execute("DESCRIBE made").fetchall()
    assert [d[0] for d in described] == ["value", *(f"level{i}" for i in range(1, len(described)))]
    assert {d[1] for d in described} == {"VARCHAR"}
    return con.execute(f"FROM {call}").fetchall()


def create(con: Con, column: str, kind: str, values: Sequence[object]) -> None:
    other = "other" if column != "other" else "another"
    rows = [[value, number] for number, value in enumerate(values)]
    strategies.create_table(con, "t", {column: kind, other: "INTEGER"}, rows)


# --- Ranges -----------------------------------------------------------------------------------

NUMBERS: dict[str, st.SearchStrategy[object]] = {
    "INTEGER": st.integers(-200, 200),
    "UTINYINT": st.integers(0, 255),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "HUGEINT": st.integers(-(10**25), 10**25),
    "DOUBLE": st.floats(-1e15, 1e15).map(lambda x: x + 0.0) | st.integers(-50, 50).map(lambda x: x / 10),
    "DECIMAL(12,3)": st.integers(-(10**6), 10**6).map(lambda x: Decimal(x).scaleb(-3)),
}
FIRST_WIDTHS = st.sampled_from([1, 5, 10, 7, 0.5, 0.1, 2.5, 0.0625, 1e9, 0.0000000003])


@st.composite
def widths(draw: st.DrawFn) -> list[object]:
    found = [Decimal(str(draw(FIRST_WIDTHS)))]
    for _ in range(draw(st.integers(0, 2))):
        found.append(found[-1] * draw(st.integers(1, 4)))
    return [float(width) if draw(st.booleans()) else width for width in found]


@given(
    data=st.data(),
    kind=st.sampled_from(list(NUMBERS)),
    name=NAMES,
    steps=widths(),
    origin=st.sampled_from([0, 2, -3, 0.1, Decimal("1.25"), 1e-10]),
)
def test_ranges_agree(con: Con, data: st.DataObject, kind: str, name: str, steps: list[object], origin: object) -> None:
    values = data.draw(st.lists(NUMBERS[kind] | st.none(), min_size=1, max_size=12))
    create(con, name, kind, values)
    numbers = [f"CAST('{step}' AS {'DOUBLE' if isinstance(step, float) else 'DECIMAL(38, 12)'})" for step in steps]
    listed = f"[{', '.join(numbers)}]"
    call = f"priv.hierarchy_ranges('t', {literal(name)}, {listed}, {origin})"
    expected = oracles.hierarchy_ranges(values, steps, origin, "INT" in kind)
    assert con.execute(f"FROM {call}").fetchall() == expected
    con.execute(f"CREATE OR REPLACE TABLE made AS FROM {call}").fetchall()
    assert ask(con, "hierarchy_faults", "t", name, "made") == []


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("0.3", "[0.3, 0.4)"),
        ("0.1 + 0.2", "[0.3, 0.4)"),
        ("0.29999999999999", "[0.2, 0.3)"),
        ("-0.1", "[-0.1, 0)"),
        ("-1e-17", "[-0.1, 0)"),
        ("0.7", "[0.7, 0.8)"),
        ("1e-300", "[0, 0.1)"),
    ],
)
def test_a_double_is_inside_its_range_where_division_rounds(con: Con, value: str, label: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT CAST({value} AS DOUBLE) AS x").fetchall()
    assert ask(con, "hierarchy_ranges", "t", "x", [0.1], 0)[0][1] == label


def test_the_label_says_whole_numbers_only_where_they_are(con: Con) -> None:
    create(con, "x", "INTEGER", [17, -7, 0])
    assert made(con, "hierarchy_ranges", "x", [5], 2) == [
        ("-7", "[-8, -3)", "*"),
        ("0", "[-3, 2)", "*"),
        ("17", "17-21", "*"),
    ]
    assert [row[1] for row in made(con, "hierarchy_ranges", "x", [5], 0.5)] == [
        "[-9.5, -4.5)",
        "[-4.5, 0.5)",
        "[15.5, 20.5)",
    ]
    assert [row[1] for row in made(con, "hierarchy_ranges", "x", [1], 0)] == ["[-7, -6)", "0", "17"]
    create(con, "x", "DOUBLE", [17])
    assert made(con, "hierarchy_ranges", "x", [5], 2) == [("17.0", "[17, 22)", "*")]


# --- Masks, dates, bins, suppression ------------------------------------------------------------


@given(
    name=NAMES,
    values=st.lists(st.text("013*aé", max_size=5) | st.none(), min_size=1, max_size=12),
    more=st.integers(0, 3),
)
def test_masks_agree(con: Con, name: str, values: list[str | None], more: int) -> None:
    create(con, name, "VARCHAR", values)
    length = max(1, *(len(value or "") for value in values), 1) + more
    assert made(con, "hierarchy_mask", name, length) == oracles.hierarchy_mask(values, length)


UNITS = ["day", "month", "quarter", "year", "decade"]


@given(
    name=NAMES,
    kind=st.sampled_from(["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_NS"]),
    days=st.lists(st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1)) | st.none(), min_size=1, max_size=12),
    units=st.lists(st.sampled_from(UNITS), min_size=1, unique=True),
)
def test_dates_agree(con: Con, name: str, kind: str, days: list[datetime.date | None], units: list[str]) -> None:
    units = sorted(units, key=UNITS.index)
    times = days if kind == "DATE" else [d and datetime.datetime(d.year, d.month, d.day, 23, 59, 58) for d in days]
    create(con, name, kind, times)
    assert made(con, "hierarchy_dates", name, units) == oracles.hierarchy_dates(times, units)


def test_dates_before_year_1_and_infinite_ones_have_labels_that_nest(con: Con) -> None:
    days = ["0044-03-15 (BC)", "0009-12-01", "12000-01-01", "infinity", "-infinity", "5881580-07-10"]
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT CAST(unnest({days}) AS DATE) AS d").fetchall()
    found = made(con, "hierarchy_dates", "d", UNITS)
    assert [row[5] for row in found] == ["-infinity", "-050s", "0000s", "12000s", "5881580s", "infinity"]


ON_GRID: dict[str, st.SearchStrategy[Any]] = {
    "INTEGER": st.integers(-30, 30) | st.integers(-(2**31), 2**31 - 1),
    "UTINYINT": st.integers(0, 255),
    "BIGINT": st.integers(-(2**53), 2**53),
    "DOUBLE": st.integers(-99999, 99999).map(lambda n: n / 1000) | st.sampled_from([1e-9, 7e-11, 9.9e23, -9.9e23]),
    "FLOAT": st.integers(-4000, 4000).map(lambda n: n / 8),
    "DECIMAL(12,3)": st.decimals(-999999, 999999, places=3),
    "DATE": st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1)),
    "TIMESTAMP": st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)).map(
        lambda time: time.replace(microsecond=0)
    ),
}
BINS = st.sampled_from([[1], [2], [3], [4, 2], [8, 4, 2, 1], [6, 3, 3], [1000, 10]])


@strategies.fewer(2)
@given(data=st.data(), case=strategies.text_cases(), bins=BINS)
def test_bins_and_suppression_agree(con: Con, data: st.DataObject, case: Case, bins: list[int]) -> None:
    strategies.create(con, "t", case)
    values = [row[case.sensitive] for row in case.rows]
    whole = case.columns[case.sensitive] == "INTEGER"
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        with pytest.raises(duckdb.Error, match="values are infinite"):
            made(con, "hierarchy_bins", case.sensitive, bins)
    else:
        assert made(con, "hierarchy_bins", case.sensitive, bins) == oracles.hierarchy_bins(values, bins, whole)
    assert made(con, "hierarchy_suppression", case.sensitive) == oracles.hierarchy_suppression(values)


@strategies.fewer(4)
@given(values=st.lists(st.text("ab, []#*1", max_size=6) | st.none(), min_size=1, max_size=12), bins=BINS)
def test_no_two_bins_share_a_name(con: Con, values: list[str | None], bins: list[int]) -> None:
    """Texts that look like the names of bins, or like the top."""
    create(con, "x", "VARCHAR", values)
    assert made(con, "hierarchy_bins", "x", bins) == oracles.hierarchy_bins(values, bins, False)


@pytest.mark.some(2)
@strategies.fewer(2)
@pytest.mark.parametrize("kind", list(ON_GRID))
@given(data=st.data(), bins=BINS)
def test_bins_end_at_points_of_the_grid(con: Con, kind: str, data: st.DataObject, bins: list[int]) -> None:
    values = data.draw(st.lists(ON_GRID[kind] | st.none(), min_size=1, max_size=30))
    create(con, "x", kind, values)
    found = made(con, "hierarchy_bins", "x", bins)
    assert found == oracles.hierarchy_bins(values, bins, "INT" in kind)
    assert oracles.hierarchy_faults(values, found) == []


def test_bins_of_equal_frequency(con: Con) -> None:
    create(con, "x", "INTEGER", [1, 1, 1, 2, 3, 4, 10, 35000000])
    found = {row[0]: row[1:] for row in made(con, "hierarchy_bins", "x", [4, 2])}
    assert found["1"] == ("less than 2", "less than 3", "*")
    shown = ["2", "3-9", "3-9", "10 or more", "10 or more"]
    assert [found[v][0] for v in ("2", "3", "4", "10", "35000000")] == shown


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("DOUBLE", "inf"),
        ("DOUBLE", "nan"),
        ("DATE", "infinity"),
        ("DOUBLE", "1e24"),
        ("BIGINT", "9223372036854775807"),
        ("DECIMAL(38,20)", "0.99999999999999999999"),
    ],
)
def test_a_value_without_a_place_on_the_grid_has_no_bin(con: Con, kind: str, value: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT CAST('{value}' AS {kind}) AS x").fetchall()
    with pytest.raises(duckdb.Error, match="1 values are infinite, NaN or beyond 1e24, or have more digits"):
        made(con, "hierarchy_bins", "x", [2])


# --- Trees --------------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Each node but the first hangs on an earlier one; sometimes an edge is spoilt."""
    names = draw(st.lists(st.text("abcé' ", min_size=1, max_size=4), min_size=2, max_size=9, unique=True))
    edges = [(name, names[draw(st.integers(0, at))]) for at, name in enumerate(names[1:])]
    if draw(st.integers(0, 3)) == 3:
        edges[draw(st.integers(0, len(edges) - 1))] = (draw(st.sampled_from(names)), draw(st.sampled_from(names)))
    return draw(st.permutations(edges * draw(st.integers(1, 2))))


@given(edges=trees(), levels=st.integers(1, 4), name=NAMES)
def test_trees_agree(con: Con, edges: list[tuple[str, str]], levels: int, name: str) -> None:
    other = "other" if name != "other" else "another"
    strategies.create_table(con, "edges", {name: "VARCHAR", other: "VARCHAR"}, edges)
    try:
        expected: list[Path] = oracles.hierarchy_tree(edges, levels)
    except ValueError as refused:
        with pytest.raises(duckdb.Error, match=str(refused)):
            ask(con, "hierarchy_tree", "edges", levels)
    else:
        assert ask(con, "hierarchy_tree", "edges", levels) == expected


@pytest.mark.parametrize(
    ("rows", "levels", "complaint"),
    [
        ("('a', 'b')", 0, "the number of levels must be a whole number from 1 to 100"),
        ("('a', 'b')", 101, "the number of levels must be a whole number from 1 to 100"),
        ("('a', 'b'), ('b', 'c')", 1, "the tree needs 2 levels"),
        ("('a', 'b'), ('c', 'd')", 1, "the tree has 2 roots; put one above them"),
        ("('a', 'b'), ('a', 'c')", 1, "1 children of the tree have more than one parent"),
        ("('a', 'b'), ('b', 'a')", 1, "the tree has a cycle"),
        ("('a', 'a')", 1, "the tree has a cycle"),
        ("('x', 'top'), ('a', 'b'), ('b', 'a')", 1, "the tree has a cycle"),
        ("('a', 'b'), ('b', 'c'), ('c', 'b')", 1, "1 children|the tree has a cycle"),
        ("('a', 'b'), (NULL, 'b')", 1, "the tree holds a NULL"),
        ("('a', 'b'), ('b', NULL)", 1, "the tree holds a NULL"),
        ("('a', '*'), ('*', 'c')", 2, "only the root of the tree may be called"),
    ],
)
def test_what_is_no_tree_is_refused(con: Con, rows: str, levels: int, complaint: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE edges AS FROM (VALUES {rows}) AS v(child, parent)").fetchall()
    for asked in ("value", "level1", "count(*)"):
        with pytest.raises(duckdb.Error, match=f"sqlpriv: ({complaint})"):
            con.execute(f"SELECT {asked} FROM priv.hierarchy_tree('edges', {levels})").fetchall()


def test_a_tree_needs_rows_and_two_columns(con: Con) -> None:
    con.execute("CREATE OR REPLACE TABLE edges AS SELECT 'a' AS child").fetchall()
    with pytest.raises(duckdb.Error, match="the tree needs two columns"):
        ask(con, "hierarchy_tree", "edges", 1)
    con.execute("CREATE OR REPLACE TABLE edges AS SELECT 'a' AS child, 'b' AS parent WHERE false").fetchall()
    with pytest.raises(duckdb.Error, match="no rows"):
        ask(con, "hierarchy_tree", "edges", 1)


def test_a_large_tree_with_a_cycle_ends(con: Con) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE edges AS SELECT i AS child, (i + 1) % 5000 AS parent FROM range(5000) AS r(i) "
        "UNION ALL SELECT 10000 + i, 0 FROM range(5000) AS r(i) UNION ALL SELECT -1, -2"
    ).fetchall()
    with pytest.raises(duckdb.Error, match="the tree has a cycle"):
        ask(con, "hierarchy_tree", "edges", 3)


# --- Faults -------------------------------------------------------------------------------------

LABELS = st.sampled_from(["a", "b", "c", "*", None])


@given(
    values=st.lists(LABELS, min_size=1, max_size=5),
    paths=st.integers(1, 3).flatmap(
        lambda height: st.lists(st.tuples(LABELS, *[LABELS] * height), min_size=1, max_size=6)
    ),
)
def test_faults_agree(con: Con, values: list[object], paths: list[Path]) -> None:
    create(con, "x", "VARCHAR", values)
    columns = dict.fromkeys(("fault", "level", "number", "labels")[: len(paths[0])], "VARCHAR")
    strategies.create_table(con, "tree", columns, paths)
    assert ask(con, "hierarchy_faults", "t", "x", "tree") == oracles.hierarchy_faults(values, paths)


def test_null_needs_no_row_and_an_empty_hierarchy_covers_nothing(con: Con) -> None:
    create(con, "x", "INTEGER", [1, 1, 2, None])
    strategies.create_table(con, "tree", {"v": "VARCHAR", "top": "VARCHAR"}, [["1", "*"], ["2", "*"]])
    assert ask(con, "hierarchy_faults", "t", "x", "tree") == []
    strategies.create_table(con, "tree", {"v": "VARCHAR", "top": "VARCHAR"}, [])
    assert ask(con, "hierarchy_faults", "t", "x", "tree") == [("values are not in the hierarchy", 0, 2)]
    strategies.create_table(con, "tree", {"v": "VARCHAR"}, [["1"], ["2"]])
    assert ask(con, "hierarchy_faults", "t", "x", "tree") == [("there is no level above the values", 0, 2)]


# --- Refusals -----------------------------------------------------------------------------------

WIDTHS, EACH_WIDTH = "the widths must be a list of numbers", "every width must be a number greater than 0"
ORIGIN, BINS_WANTED = "the origin must be a number", "the bins must be a list of whole numbers of at least 1"
UNITS_WANTED = "the units must be a list out of day, month, quarter, year, decade, in this order"
LENGTH = "the length of a mask must be a whole number from 1 to 100"
NAN = "CAST('nan' AS DOUBLE)"


@pytest.mark.some(25)
@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        *(
            (f"hierarchy_ranges('t', 'x', {w}, 0)", WIDTHS)
            for w in ("5", "NULL", "[]", "['5']", "'5'", "[NULL]", "[[5]]")
        ),
        *(
            (f"hierarchy_ranges('t', 'x', {w}, 0)", EACH_WIDTH)
            for w in ("[0]", "[5, -5]", "[5, NULL]", f"[{NAN}]", "[1e-11]", "[1e30]", "[1.00000000001]")
        ),
        ("hierarchy_ranges('t', 'x', [5, 12], 0)", "level 2 does not nest: each width must be a whole multiple"),
        ("hierarchy_ranges('t', 'x', [5, 10, 5], 0)", "level 3 does not nest"),
        *((f"hierarchy_ranges('t', 'x', [5], {o})", ORIGIN) for o in ("NULL", NAN, "1e30", "'x'", "[1]", "1e-11")),
        ("hierarchy_ranges('t', 's', [5], 0)", "ranges need a column of numbers"),
        ("hierarchy_ranges('t', 'b', [5], 0)", "ranges need a column of numbers"),
        ("hierarchy_ranges('t', 'd', [5], 0)", "ranges need a column of numbers"),
        ("hierarchy_ranges('t', 'f', [5], 0)", "3 values are infinite, NaN or beyond 1e26: no range holds them"),
        *((f"hierarchy_mask('t', 's', {n})", LENGTH) for n in ("0", "101", "NULL", "1.5", NAN, "'x'", "[1]")),
        ("hierarchy_mask('t', 's', 3)", "2 values are longer than the mask of length 3"),
        *(
            (f"hierarchy_dates('t', 'd', {u})", UNITS_WANTED)
            for u in ("[]", "NULL", "'day'", "['year', 'day']", "['day', 'day']", "['week']", "['day', NULL]", "[1]")
        ),
        ("hierarchy_dates('t', 's', ['day'])", "dates need a column of type DATE or TIMESTAMP"),
        ("hierarchy_dates('t', 'dt', ['day'])", "dates need a column of type DATE or TIMESTAMP"),
        ("hierarchy_dates('t', 'tz', ['day'])", "dates need a column of type DATE or TIMESTAMP"),
        *(
            (f"hierarchy_bins('t', 'x', {b})", BINS_WANTED)
            for b in ("[]", "NULL", "4", "[0]", "[4, NULL]", "[1.5]", "['4']", f"[{NAN}]", "[1e10]")
        ),
        ("hierarchy_bins('t', 'x', [6, 4])", "level 2 does not nest: each number of bins must divide the one before"),
        ("hierarchy_bins('t', 'x', [2, 4])", "level 2 does not nest"),
        *((f"hierarchy_suppression('{t}', 'x')", "no rows") for t in ("nobody",)),
        ("hierarchy_mask('nobody', 'x', 3)", "no rows"),
        ("hierarchy_faults('nobody', 'x', 't')", "no rows"),
    ],
)
def test_what_makes_no_hierarchy_is_refused(con: Con, call: str, complaint: str) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE t AS FROM (VALUES "
        "(1, '2024-01-01', DATE '2024-01-01', true, CAST('inf' AS DOUBLE), TIMESTAMPTZ '2024-01-01'), "
        "(2, 'abcd', NULL, false, CAST('nan' AS DOUBLE), NULL), (2, 'abc', NULL, NULL, 1e30, NULL)) "
        "AS v(x, s, d, b, f, tz)"
    ).fetchall()
    con.execute("ALTER TABLE t ADD COLUMN dt VARCHAR; UPDATE t SET dt = '2024-01-01'").fetchall()
    con.execute("CREATE OR REPLACE TABLE nobody AS FROM t WHERE false").fetchall()
    first = "fault" if "faults" in call else "value"
    for asked in ("*", first, "count(*)"):
        with pytest.raises(duckdb.Error, match=f"sqlpriv: .*{complaint}"):
            con.execute(f"SELECT {asked} FROM priv.{call}").fetchall()
