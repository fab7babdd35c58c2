"""What readers see of each column: an example before and after, and in words how much of it is left.

An example is a cell that many rows of the release have, and what stands before it is made up below its label: a page
shows the cell of nobody in particular. Level 0 is always the value itself, and the last level is no value at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.method import AnyMethod
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.reports.html import Cards
from sqlpriv.table.hierarchies import TOP

FREQUENT = 20
"""So many rows have a cell that is shown as an example. A convention."""
_HIDDEN = "(rare: not shown)"
_LONGEST = 40
_UNSEEN = ("identifier", "person", "drop")


def readers_see(method: AnyMethod, file: ReleaseFile, policy: Policy | None = None) -> Cards:
    """A line for each column; with the policy also for those that are left out."""
    tables = method.column_tables(file)
    rows = [_line(file, dict(row), tables) for row in file.attributes]
    if policy is not None:
        unseen = [c.name for c in policy.columns if c.role in _UNSEEN]
        rows += [(", ".join(unseen), "values", "nothing", "left out")] if unseen else []
    title = f"Cells before and after: made up, or those of {FREQUENT} rows or more."
    if method.bounds_beliefs:
        title += " Chance decides which rows are there, so no cell is certain to be anybody's."
    return Cards(("column", "in the table", "readers see", "that is"), tuple(rows), title)


def _line(file: ReleaseFile, row: Mapping[str, Any], tables: Mapping[str, str]) -> tuple[str, str, str, str]:
    name = str(row["name"])
    cells = _cells(file, tables[name], name)
    label = next((cell for cell, rows in cells if cell is not None and rows >= FREQUENT), None)
    shows_values = row.get("labels", "values") == "values" and not (cells and all(c == TOP for c, _ in cells))
    words = "; ".join([*_left(row, [c for c, _ in cells], shows_values), *_apart(name, tables)])
    if label is None:
        return name, _HIDDEN, _HIDDEN, words
    before = label if shows_values else _below(file, name, label)
    return name, _short(before), "nothing" if label == TOP else _short(label), words


def _cells(file: ReleaseFile, table: str, name: str) -> list[tuple[str | None, int]]:
    """The cells of a column with their rows, the most frequent first."""
    column = quoted(name)
    asked = (
        f"SELECT CAST({column} AS VARCHAR) AS cell, count(*) AS n FROM {table} GROUP BY {column} ORDER BY n DESC, cell"
    )
    return [(cell, int(n)) for cell, n in fetch(file.con, asked)]


def _left(row: Mapping[str, Any], cells: list[str | None], shows_values: bool) -> Iterator[str]:
    """How much of a column is left."""
    level, levels = row.get("level"), row.get("levels")
    if cells and all(cell == TOP for cell in cells):
        yield "gone: every row shows *"
        return
    if shows_values:
        yield "as it is" if level is None or not levels else f"as it is (level 0 of {levels})"
        return
    labels = len({cell for cell in cells if cell not in {TOP, None}})
    shown = f"{labels:,} label{'s' if labels != 1 else ''}"
    yield f"{shown} in place of values" + (f" (level {level} of {levels})" if level is not None and levels else "")
    if TOP in cells:
        yield "some rows show * only"


def _apart(name: str, tables: Mapping[str, str]) -> Iterator[str]:
    """Whether it stands apart from other columns."""
    apart = [other for other, table in tables.items() if table != tables[name]]
    if apart:
        yield f"apart from {', '.join(apart[:3])}{' and more' if len(apart) > 3 else ''}"


def _below(file: ReleaseFile, name: str, label: str) -> str:
    """A value below a label: in the middle of its range or of its values, or made up where stars stand for letters."""
    if label == TOP:
        return "a value"
    tables = {table for schema, table in file.tables if schema == SCHEMA}
    at = f"WHERE label = {literal(label)}"
    if f"leaves_{name}" in tables:
        leaves = f"{file.table(f'leaves_{name}')} {at} AND value IS NOT NULL"
        middle = f"(SELECT count(*) // 2 FROM {leaves})"
        found = fetch(file.con, f"SELECT CAST(value AS VARCHAR) FROM {leaves} ORDER BY value LIMIT 1 OFFSET {middle}")
        if found:
            return str(found[0][0])
    if f"labels_{name}" in tables and {"low", "high"} <= set(file.columns(SCHEMA, f"labels_{name}")):
        ends = fetch(file.con, f"SELECT low, high FROM {file.table(f'labels_{name}')} {at} LIMIT 1")
        known = [end for end in ends[0] if end is not None] if ends else []
        if len(known) == 2:
            return _middle(*known)
        if known:
            return str(known[0])
    return label.replace("*", "5") if "*" in label else "a value below it"


def _middle(low: Any, high: Any) -> str:
    """Between two ends: a number between numbers, a day between days."""
    if isinstance(low, int) and isinstance(high, int):
        return str((low + high) // 2)
    try:
        return str(low + (high - low) / 2)
    except TypeError:
        return str(low)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
