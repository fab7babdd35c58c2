"""The view of the published rows that people read: labels, and the ends of ranges beside them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.release.file import SCHEMA
from sqlpriv.sqltext import literal, quoted
from sqlpriv.table.hierarchies import TOP

SIDES = ("low", "high")


def view_of_rows(name: str, columns: Sequence[tuple[str, tuple[str, str] | None]], *, boxes: bool = False,
                 rows: str = "published") -> str:  # fmt: skip
    """The statement that makes the view of the published rows, under the private table's own name.

    Given are the columns, each with the names of its ends, which stand beside it, where it has some. Of boxes * has
    ends, too, which say what is below it and not what the row is: they are not shown.
    """
    listed = []
    for column, ends in columns:
        listed.append(f"p.{quoted(column)}")
        # No joins: DuckDB writes several of them down in another way once the file was closed, and views are compared.
        below = f"FROM {quoted(SCHEMA, f'ends_{column}')} AS e WHERE e.label = p.{quoted(column)}"
        below += f" AND e.label <> {literal(TOP)}" if boxes else ""
        if ends is not None:
            listed += [f"(SELECT e.{side} {below}) AS {quoted(end)}" for side, end in zip(SIDES, ends, strict=True)]
    return f"CREATE VIEW {name} AS SELECT {', '.join(listed)} FROM {SCHEMA}.{rows} AS p"
