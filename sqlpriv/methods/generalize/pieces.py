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
    pieces = (
        "SELECT label, first, last, marks[i] AS a, marks[i + 1] AS b FROM (SELECT *, unnest(range(1, len(marks))) AS i "
        f"FROM ({ranges}))"
    )
    share = "(b - a) / CAST(last - first AS DOUBLE)"
    rows = [
        f"SELECT label, {middle} AS value, {share} AS weight, {middle} AS ending FROM ({pieces})",
        f"SELECT label, {middle}, 0e0, a FROM ({pieces})",
        f"SELECT label, {middle}, 0e0, b FROM ({pieces})",
        f"SELECT label, a, 0e0, a FROM ({pieces})",
        f"SELECT label, first, 1e0, first FROM ({ranges}) WHERE first = last",
    ]
    if closed:
        rows.append(f"SELECT label, last, 0e0, last FROM ({ranges}) WHERE first < last")
    value, ending = shown.format("value"), shown.format("ending")
    return f"SELECT label, {value} AS value, weight, {ending} AS ending FROM ({' UNION ALL '.join(rows)})"
