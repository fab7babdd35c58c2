"""Ranges of numbers without gaps, cut at points: each piece by a value inside it, and by its ends.

Between two neighbouring points all values compare alike, so the middle stands for them in conditions; what is summed
is least and greatest at the ends, which are listed with the middle as what is compared. They weigh nothing: estimates
are those of the middle, by the length of the piece. The points themselves are values, too.
"""

from __future__ import annotations


def cut_leaves(ends: str, kind: str, cuts: list[str], closed: bool) -> str:
    """A query for label, value, weight and end; `closed`: whether ranges have their upper end, too."""
    if kind == "TIMESTAMP":
        low, high = "epoch_us(low)", "epoch_us(high)"
        points = [f"epoch_us(TRY_CAST({cut} AS TIMESTAMP))" for cut in cuts]
        shown, middle = "make_timestamp(CAST({} AS BIGINT))", "(a + b) // 2"
        number = "BIGINT"
    else:
        low, high, number = "CAST(low AS DOUBLE)", "CAST(high AS DOUBLE)", "DOUBLE"
        points = [f"TRY_CAST({cut} AS DOUBLE)" for cut in cuts]
        shown, middle = "CAST({} AS DOUBLE)", "(a / 2 + b / 2)"
    listed = f"CAST([{', '.join(points)}] AS {number}[])"
    inside = f"list_filter({listed}, lambda p: p > {low} AND p < {high})"
    marks = f"list_sort(list_distinct(list_concat([{low}, {high}], {inside})))"
    ranges = f"SELECT label, {low} AS first, {high} AS last, {marks} AS marks FROM {ends}"
    # A piece has its middle, that with both ends, and its first point.
    ranges = f"SELECT *, 4 * (len(marks) - 1) + {int(closed)} AS n FROM ({ranges})"
    numbered = f"SELECT *, unnest(range(1, len(marks))) AS i FROM ({ranges})"
    pieces = f"SELECT label, n, first, last, marks[i] AS a, marks[i + 1] AS b FROM ({numbered})"
    share = "(b - a) / CAST(last - first AS DOUBLE)"
    rows = [
        f"SELECT label, n, {middle} AS value, {share} AS weight, {middle} AS ending FROM ({pieces})",
        f"SELECT label, n, {middle}, 0e0, a FROM ({pieces})",
        f"SELECT label, n, {middle}, 0e0, b FROM ({pieces})",
        f"SELECT label, n, a, 0e0, a FROM ({pieces})",
        f"SELECT label, 1, first, 1e0, first FROM ({ranges}) WHERE first = last",
    ]
    if closed:
        rows.append(f"SELECT label, n, last, 0e0, last FROM ({ranges}) WHERE first < last")
    value, ending = shown.format("value"), shown.format("ending")
    return (
        f"SELECT label, {value} AS value, weight, n AS leaves, 1e0 AS total, {ending} AS ending "
        f"FROM ({' UNION ALL '.join(rows)})"
    )
