"""What the labels of a published column are, and the ends of those that name ranges."""

from __future__ import annotations

import re

from sqlpriv.core.sqltext import NUMERIC_TYPE, literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.records import SIMPLE_TYPE

VALUES, RANGES, DATES, BINS, BOXES, OTHER = "values", "ranges", "dates", "bins", "boxes", "other"
CLOSED = (BINS, BOXES)
"""Ranges that are named by their own ends, both of which are among their values."""
KINDS = (VALUES, RANGES, DATES, BINS, BOXES, OTHER)
WHOLE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
SIMPLE = SIMPLE_TYPE
NEVER_SHOWN = "__priv_suppressed"
"""In the place of the label of a bin of which no row is published."""
_TIMES = ("DATE", "TIMESTAMP")
_ENUM = re.compile(r"ENUM\('(?:[^']|'')*'(?:, '(?:[^']|'')*')*\)")


def without_enums(kind: str) -> str:
    """A type in which no ENUM tells the values that there are."""
    return _ENUM.sub("VARCHAR", kind)


def without_values(cell: str, kind: str) -> str:
    """A cell as text where its type would tell all values that there are, also those of rows that are not shown."""
    plain = without_enums(kind)
    return cell if plain == kind else f"CAST({cell} AS {plain})"


def has_ends(labels: str, original: str) -> bool:
    """Whether labels name ranges whose ends are values of the column's own type."""
    is_number = SIMPLE.fullmatch(original) is not None and NUMERIC_TYPE.fullmatch(original) is not None
    return labels in (RANGES, DATES, BINS, BOXES) and (is_number or original in _TIMES)


def named_ends(labels: str, original: str) -> tuple[str, str]:
    """The ends that labels of a typed hierarchy name, as SQL over label, level and above.

    A value is both of its own ends, and * has none.
    """
    if labels == DATES:
        ends = "_date_from(label)", "_date_to(label) - 1" if original == "DATE" else "_date_to(label)"
    elif WHOLE.fullmatch(original):
        ends = _whole("from", original), _whole("to", original)
    else:
        ends = "_range_from(label)", "_range_to(label)"
    low, high = (_exactly(inlined(text), original, labels) for text in ends)
    own = f"CASE WHEN level = 0 THEN TRY_CAST(label AS {original}) WHEN len(above) > 0 THEN"
    return f"{own} {low} END", f"{own} {high} END"


def _exactly(end: str, original: str, labels: str) -> str:
    """An end in a type; NULL where rounding would move it, past a value of the range perhaps."""
    cast = f"TRY_CAST({end} AS {original})"
    if labels == DATES or WHOLE.fullmatch(original) or original == "FLOAT":
        return cast
    return f"CASE WHEN TRY_CAST({cast} AS DECIMAL(38, 10)) = {end} THEN {cast} END"


def _whole(side: str, original: str) -> str:
    return f"_whole_{side}(_range_{side}(label), {literal(original)})"


def counted_leaves(leaves: str) -> str:
    """A query for label, value and share, with how many leaves a label has, and their shares in all.

    Without shares every leaf has 1.
    """
    same = "OVER (PARTITION BY label)"
    return (
        f"SELECT label, value, share, count(*) {same} AS leaves, sum(coalesce(share, CAST(1 AS DOUBLE))) {same} "
        f"AS total FROM ({leaves})"
    )
