"""The file of a generalized release: rows of labels, and for each column the values that its labels stand for.

    published     the rows; of many rows each kind once, with its number, __copies
    attributes    each published column: type, role, its level and the number of levels; the type of its values, the
                  kind of its labels (KINDS), and whether its domain is public. Where the labels of a column are on many
                  levels, as those of boxes, it has no level
    requirements  the requirements of the policy
    labels_<c>    of a column with a hierarchy, or in ranges: label, level, above, and where they are ranges low, high.
                  The labels that rows have, and no other; above are those above it, up to *, which stands for anything
    domain.<c>    the public domain of c, if there is one: value, share
    leaves_<c>    of labels with a domain: label, value, share, and of all leaves of the label their number and their
                  shares in all. Of one level, every value of the domain has its one label, which perhaps no row has; of
                  many levels, a value is below several, and only labels that rows have are listed

There is a table for each column, since low, high and value have the type of its values: one table would hold texts,
which every answer would have to cast. Number and shares of the leaves are stored since an answer takes 1.5 times as
long without them. Ranges that rows made (BOXES) may have very many values below them, and name their ends: these are
level 1, * is level 2, and leaves are worked out on reading. Where low or high is NULL the range is open: only a domain
has ends. Of labels that show values each value is its own leaf.

Schema main holds a view of the rows under the private table's own name, with the ends of ranges next to their labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from sqlpriv.core.sqltext import NUMERIC_TYPE, literal, quoted
from sqlpriv.methods.records import SIMPLE_TYPE
from sqlpriv.release.file import COPIES, SCHEMA, ReleaseFile
from sqlpriv.release.layout import Allowed, Contents, Layout, NumberNames, ShownAs, Stored, one_of
from sqlpriv.rewrite.release import UNBOUNDED
from sqlpriv.table.hierarchies import TOP

VALUES, RANGES, DATES, BINS, BOXES, OTHER = "values", "ranges", "dates", "bins", "boxes", "other"
CLOSED = (BINS, BOXES)
"""Ranges that rows made: both ends are among their values, or one is open."""
KINDS = (VALUES, RANGES, DATES, BINS, BOXES, OTHER)
WHOLE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
NEVER_SHOWN = "__priv_suppressed"
"""In the place of the label of a bin of which no row is published."""
_TIMES = ("DATE", "TIMESTAMP")
_SUMMED = {kind: kind for kind in _TIMES}
"""Types that are not summed: nothing needs to stand for the ends that they have not."""
_ENUM = re.compile(r"ENUM\('(?:[^']|'')*'(?:, '(?:[^']|'')*')*\)")
ATTRIBUTES: Mapping[str, str] = {
    "position": "INTEGER",
    "name": "VARCHAR",
    "type": "VARCHAR",
    "role": "VARCHAR",
    "level": "INTEGER",
    "levels": "INTEGER",
    "original": "VARCHAR",
    "labels": "VARCHAR",
    "has_domain": "BOOLEAN",
}
"""The columns of table attributes."""
BOX_LEVELS = 2
"""The level of * above ranges that rows made; theirs is 1, as if their values were on level 0."""
COUNTED = one_of("rows", "persons")
QI = "quasi-identifier"
NO_NUMBERS = NumberNames()
_ROLES = (QI, "sensitive", "other", "person")
Attribute = Mapping[str, Any]
"""A row of table attributes."""


def without_enums(kind: str) -> str:
    """A type without ENUM, which would reveal all values that there are."""
    return _ENUM.sub("VARCHAR", kind)


def without_values(cell: str, kind: str) -> str:
    """A cell as text where its type would reveal all values that there are, also those of suppressed rows."""
    plain = without_enums(kind)
    return cell if plain == kind else f"CAST({cell} AS {plain})"


def has_ends(labels: str, original: str) -> bool:
    """Whether labels name ranges whose ends are values of the column's own type."""
    is_number = SIMPLE_TYPE.fullmatch(original) is not None and NUMERIC_TYPE.fullmatch(original) is not None
    return labels in (RANGES, DATES, BINS, BOXES) and (is_number or original in _TIMES)


def counted_leaves(leaves: str) -> str:
    """A query for label, value and share, with how many leaves a label has, and their shares in all.

    Without shares every leaf has 1.
    """
    same = "OVER (PARTITION BY label)"
    return (
        f"SELECT label, value, share, count(*) {same} AS leaves, sum(coalesce(share, CAST(1 AS DOUBLE))) {same} "
        f"AS total FROM ({leaves})"
    )


def cut_leaves(ends: str, kind: str, cuts: list[str], closed: bool) -> str:
    """Ranges of numbers without gaps, cut at points: each piece by a value inside it, and by its ends.

    Between two neighbouring points all values compare alike, so the middle stands for them in conditions. What is
    summed is least and greatest at the ends, which are listed with the middle as what is compared. They weigh nothing:
    estimates are those of the middle, by the length of the piece. The points themselves are values, too.

    A query for label, value, weight and end; `closed`: whether ranges have their upper end, too.
    """
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


def open_leaves(ends: str, kind: str, cuts: list[str]) -> str:
    """Ranges that are open at an end, cut at points as those of `cut_leaves`, and at their closed end, or else at 0.

    What is beyond the last point stands for anything there: conditions compare a value beyond it. What is summed there
    is estimated as the last point itself, and bounded by UNBOUNDED, which stands for no bound at all. All pieces have
    the same weight.

    A query for label, value, weight, leaves, total and ending.
    """
    number, of_value, of_number = _as_numbers(kind)
    whole = number != "DOUBLE"
    # Between a number and the next whole one there is none.
    points = [f"{of_value(cut)}{more}" for cut in cuts for more in (("", " + 1") if whole else ("",))]
    low, high = of_value("low"), of_value("high")
    listed = f"CAST([{', '.join([low, high, *points])}] AS {number}[])"
    inside = f"list_filter({listed}, lambda p: p >= coalesce({low}, p) AND p <= coalesce({high}, p))"
    ranges = f"SELECT label, low IS NULL AS from_below, high IS NULL AS to_above, {inside} AS marks FROM {ends} "
    ranges += "WHERE low IS NULL OR high IS NULL"
    # There is always a point: a closed end, or where both are open one that stands for nothing.
    marked = (
        f"SELECT label, from_below, to_above, CASE WHEN len(marks) = 0 THEN CAST([0] AS {number}[]) "
        f"ELSE list_sort(list_distinct(marks)) END AS marks FROM ({ranges})"
    )
    numbered = f"SELECT *, unnest(range(1, len(marks))) AS i FROM ({marked})"
    pieces = f"SELECT label, marks[i] AS a, marks[i + 1] AS b FROM ({numbered})"
    middle, beyond = ("(a + b) // 2", "1") if whole else ("(a / 2 + b / 2)", "1 + abs(marks[{}])")
    below, above = f"marks[1] - ({beyond.format(1)})", f"marks[-1] + ({beyond.format(-1)})"
    rows = [
        f"SELECT label, {middle} AS number, 1e0 AS weight, {middle} AS ending FROM ({pieces})",
        f"SELECT label, {middle}, 0e0, a FROM ({pieces})",
        f"SELECT label, {middle}, 0e0, b FROM ({pieces})",
        f"SELECT label, unnest(marks) AS number, 0e0, unnest(marks) FROM ({marked})",
        f"SELECT label, {below}, 1e0, marks[1] FROM ({marked}) WHERE from_below",
        f"SELECT label, {above}, 1e0, marks[-1] FROM ({marked}) WHERE to_above",
    ]
    value, ending = of_number("number"), f"CAST({of_number('ending')} AS {_SUMMED.get(kind, 'DOUBLE')})"
    found = f"SELECT label, {value} AS value, weight, {ending} AS ending FROM ({' UNION ALL '.join(rows)})"
    if _SUMMED.get(kind) is None:
        for side, far, sign in (("from_below", below, "-"), ("to_above", above, "")):
            end = f"CAST({sign}{UNBOUNDED} AS DOUBLE)"
            found += f" UNION ALL SELECT label, {of_number(far)}, 0e0, {end} FROM ({marked}) WHERE {side}"
    same = "OVER (PARTITION BY label)"
    return (
        f"SELECT label, value, weight, count(*) {same} AS leaves, sum(weight) {same} AS total, ending "
        f"FROM ({found}) WHERE value IS NOT NULL"
    )


def _as_numbers(kind: str) -> tuple[str, Callable[[str], str], Callable[[str], str]]:
    """Of a type: the type of its numbers, and SQL for the number of a value, and for the value of a number."""
    if kind == "TIMESTAMP":
        micros = "TRY(make_timestamp(CAST({} AS BIGINT)))"
        return "BIGINT", "epoch_us(TRY_CAST({} AS TIMESTAMP))".format, micros.format
    if kind == "DATE":
        day = "(DATE '1970-01-01' + TRY_CAST({} AS INTEGER))"
        return "BIGINT", "CAST(TRY_CAST({} AS DATE) - DATE '1970-01-01' AS BIGINT)".format, day.format
    if WHOLE.fullmatch(kind):
        down = "TRY_CAST(floor(TRY_CAST({} AS DECIMAL(38, 4))) AS HUGEINT)"
        return "HUGEINT", down.format, f"TRY_CAST({{}} AS {kind})".format
    return "DOUBLE", "TRY_CAST({} AS DOUBLE)".format, "CAST({} AS DOUBLE)".format


def labels_layout(
    about: Mapping[str, Allowed],
    numbers: NumberNames = NO_NUMBERS,
    *,
    may: Mapping[str, Allowed] | None = None,
    tables: Mapping[str, Mapping[str, str]] | None = None,
    requires: bool = True,
    from_policy: tuple[str, ...] = (),
) -> Layout:
    """The layout of files whose columns are each on one level."""
    return Layout(ATTRIBUTES, about, may or {}, numbers, tables or {}, _is_on_one_level, requires, from_policy)


def boxes_layout(
    about: Mapping[str, Allowed],
    numbers: NumberNames = NO_NUMBERS,
    *,
    roles: Collection[str] = (QI,),
    requires: bool = True,
    from_policy: tuple[str, ...] = (),
) -> Layout:
    """The layout of files whose labels are on many levels, in columns of these roles."""
    return Layout(
        ATTRIBUTES, about, {}, numbers, {}, lambda column: _is_on_many_levels(column, roles), requires, from_policy
    )


def _is_described(column: Attribute) -> bool:
    described = isinstance(column["has_domain"], bool) and bool(column["original"]) and bool(column["type"])
    return column["role"] in _ROLES and column["labels"] in KINDS and described


def _is_on_one_level(column: Attribute) -> bool:
    """A column that is not generalized shows its values, and what shows values is not generalized."""
    if not _is_described(column) or column["labels"] == BOXES:
        return False
    levels = (column["level"], column["levels"])
    if (column["role"] == QI) != all(isinstance(n, int) for n in levels) or (column["role"] != QI and any(levels)):
        return False
    is_generalized = column["level"] is not None and column["level"] > 0
    is_typed = is_generalized or column["type"] in (column["original"], "VARCHAR")
    return is_typed and (column["labels"] == VALUES) == (not is_generalized)


def _is_on_many_levels(column: Attribute, roles: Collection[str]) -> bool:
    """Columns of these roles are labels, of any level, and all else is values."""
    if not _is_described(column) or column["level"] is not None:
        return False
    if column["role"] not in roles:
        return column["labels"] == VALUES and column["levels"] is None and column["type"] == column["original"]
    if column["type"] != "VARCHAR" or column["labels"] not in (BOXES, RANGES, DATES, OTHER):
        return False
    if column["labels"] == BOXES:
        return column["levels"] is None and has_ends(BOXES, str(column["original"]))
    return isinstance(column["levels"], int) and column["levels"] > 0


def column_has_labels(column: Attribute) -> bool:
    """Whether a column has a table of labels: one that has a level, or shows labels."""
    return column["level"] is not None or column["labels"] != VALUES


def column_has_ends(column: Attribute) -> bool:
    """Whether the labels of a column are ranges."""
    return has_ends(str(column["labels"]), str(column["original"]))


def has_leaves(labels: str, has_domain: bool) -> bool:
    """Whether a column has a table of leaves, given what its labels are."""
    return has_domain and labels not in (VALUES, BOXES)


def file_contents(file: ReleaseFile) -> Contents:
    """The file of a method that publishes one table of rows."""
    columns, is_counted = file.attributes, file.copies is not None
    rows = rows_stored(columns, is_counted=is_counted)
    shown = rows_shown_as(file.about["table"], columns, is_counted=is_counted)
    return Contents((rows,), tuple(label_tables(columns)), (shown,))


def rows_stored(columns: Sequence[Attribute], table: str = "published", *, is_counted: bool = False) -> Stored:
    """A table of rows."""
    copies = {COPIES: "BIGINT"} if is_counted else {}
    return Stored(SCHEMA, table, {**{str(c["name"]): str(c["type"]) for c in columns}, **copies})


def rows_shown_as(
    name: str, columns: Sequence[Attribute], rows: str = "published", *, is_counted: bool = False
) -> ShownAs:
    """The view of a table of rows."""
    shown = [(str(c["name"]), column_has_ends(c)) for c in columns]
    return ShownAs(name, lambda full: view_of_rows(full, shown, rows, is_counted=is_counted))


def label_tables(columns: Sequence[Attribute]) -> list[Stored]:
    """The tables of labels, domains and leaves of these columns."""
    found = []
    for column in columns:
        name, kind = str(column["name"]), str(column["original"])
        if column_has_labels(column):
            ends = {"low": kind, "high": kind} if column_has_ends(column) else {}
            found.append(
                Stored(SCHEMA, f"labels_{name}", {"label": "VARCHAR", "level": "INTEGER", "above": "VARCHAR[]", **ends})
            )
        if column["has_domain"]:
            found.append(Stored("domain", name, {"value": kind, "share": "DOUBLE"}))
        if has_leaves(str(column["labels"]), bool(column["has_domain"])):
            counted = {"share": "DOUBLE", "leaves": "BIGINT", "total": "DOUBLE"}
            found.append(
                Stored(SCHEMA, f"leaves_{name}", {"label": "VARCHAR", "value": kind, **counted}, has_digest=True)
            )
    return found


def end_names(column: str) -> tuple[str, str]:
    """The names of the two columns with the ends of a column's ranges."""
    return f"{column}_low", f"{column}_high"


def view_of_rows(
    name: str, columns: Sequence[tuple[str, bool]], rows: str = "published", *, is_counted: bool = False
) -> str:
    """The statement that makes the view of the published rows, given the columns and whether they are ranges.

    * has no ends there, also where the file says what is below it: that is not what the row is. Of counted rows each is
    there as often as its number says.
    """
    listed, names = [], []
    for column, is_range in columns:
        listed.append(f"p.{quoted(column)}")
        names += [column, *(end_names(column) if is_range else ())]
        # No joins: DuckDB writes several of them down in another way once the file was closed, and views are compared.
        below = f"FROM {quoted(SCHEMA, f'labels_{column}')} AS e WHERE e.label = p.{quoted(column)}"
        below += f" AND e.label <> {literal(TOP)}"
        if is_range:  # a label may be on two levels, with the same ends
            ends = zip(("min(e.low)", "max(e.high)"), end_names(column), strict=True)
            listed += [f"(SELECT {end} {below}) AS {quoted(shown)}" for end, shown in ends]
    if is_counted:
        listed.append(f"unnest(range(p.{COPIES})) AS {COPIES}")
    of_rows = f"SELECT {', '.join(listed)} FROM {SCHEMA}.{rows} AS p"
    if is_counted:
        of_rows = f"SELECT {', '.join(map(quoted, names))} FROM ({of_rows})"
    return f"CREATE VIEW {name} AS {of_rows}"
