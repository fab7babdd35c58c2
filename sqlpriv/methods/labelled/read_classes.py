"""Each class of rows of a generalized release with the leaves below its labels, of the columns mentioned alone.

A suppressed row stands for any value of a public domain. Without one, it is estimated as if it were spread like the
published rows, and bounded as if it could have any value: Attribute.unlisted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.methods.labelled.read_columns import Known, Leaves, PublishedColumn, counted
from sqlpriv.rewrite.release import Cuts, end_of
from sqlpriv.sqltext import quoted

_ONE = "1e0"


@dataclass(frozen=True)
class ClassRows:
    """The relation of classes and leaves."""

    published: str
    columns: list[PublishedColumn]
    known: dict[str, Known]
    gone: str | None
    """How many suppressed rows are left out, as SQL; None where none are."""
    starred: str
    """Which published rows are suppressed ones, kept with stars."""
    copies: str | None = None
    """The column that says for how many rows of the table a published row stands, where it is not one."""

    def relation(self, mentioned: frozenset[str], cuts: Cuts, every: bool) -> str:
        """As RowsOf: classes of published rows, those of rows with stars, and that of rows which are left out."""
        columns = [c for c in self.columns if c.name in mentioned]
        if not columns:
            rows = counted(self.copies)
            copies = f"(SELECT {rows} + {self.gone or 0} FROM {self.published})"
            one = f"1 AS __leaves, {_ONE} AS __weight, {_ONE} AS __total, false AS __hidden"
            return f"SELECT 0 AS __unit, {copies} AS __copies, {one}"
        kept = self.starred != "false"
        below = [None if c.shows_values else c.below(list(cuts.get(c.name, ()))) for c in columns]
        parts = [self._part(columns, below, f"NOT ({self.starred})" if kept else "", "row_number() OVER ()", "false")]
        if kept or self.gone or every:
            hidden = [c.hidden(list(cuts.get(c.name, ())), self.starred, self.known[c.name]) for c in columns]
            stars = [h if c.is_generalized_at_all else None for c, h in zip(columns, hidden, strict=True)]
            parts += [self._part(columns, stars, self.starred, "-row_number() OVER ()", "true")] if kept else []
            # Where no row is left out, these leaves show which groups there could be.
            parts += [self._part(columns, hidden, None, "0", "true")] if self.gone or every else []
        return " UNION ALL ".join(parts)

    def _part(
        self, columns: list[PublishedColumn], leaves: Sequence[Leaves | None], where: str | None, unit: str, hidden: str
    ) -> str:
        """Classes by the cells of the columns, each with its leaves; a column without leaves shows its values.

        `where` says which published rows; None is for one class of all rows that are left out.
        """
        read = [found and found.read_as(f"d{i}") for i, found in enumerate(leaves)]
        listed = []
        for i, (column, own) in enumerate(zip(columns, read, strict=True)):
            listed.append(f"{own.value if own else f'c.l{i}'} AS {quoted(column.name)}")
            if column.is_cut:
                listed.append(f"{(own.ending if own else None) or f'c.l{i}'} AS {quoted(end_of(column.name))}")
        there = [own for own in read if own is not None]
        products = [
            f"{' * '.join([first, *map(text, there)])} AS __{name}"
            for name, first, text in (
                ("leaves", "1", _leaves), ("weight", _ONE, _weight), ("total", _ONE, _total),
            )
        ]  # fmt: skip
        of_class = ("c.unit", "c.copies") if where is not None else (unit, self.gone or "0")
        listed += [f"{of_class[0]} AS __unit", f"{of_class[1]} AS __copies", f"{hidden} AS __hidden", *products]
        sources = [f"{found.relation} AS d{i}" for i, found in enumerate(leaves) if found is not None]
        if where is None:
            return f"SELECT {', '.join(listed)} FROM {', '.join(sources)}"
        cells = ", ".join([*(f"{c.cell} AS l{i}" for i, c in enumerate(columns)), *filter(None, [self.copies])])
        shown = [i for i, found in enumerate(read) if found is None or found.label is not None]
        by = ", ".join(f"l{i}" for i in shown)
        classes = f"SELECT {unit} AS unit, {by + ', ' if by else ''}{counted(self.copies)} AS copies "
        classes += f"FROM (SELECT {cells} FROM {self.published}{f' WHERE {where}' if where else ''})"
        classes += f" GROUP BY {by}" if by else ""
        joins = "".join(
            f" JOIN {found.relation} AS d{i} ON c.l{i} IS NOT DISTINCT FROM {own.label}" if own.label else
            f" CROSS JOIN {found.relation} AS d{i}"
            for i, (found, own) in enumerate(zip(leaves, read, strict=True)) if found is not None and own is not None
        )  # fmt: skip
        return f"SELECT {', '.join(listed)} FROM ({classes}) AS c{joins}"


def _leaves(found: Leaves) -> str:
    return found.leaves


def _weight(found: Leaves) -> str:
    return found.weight


def _total(found: Leaves) -> str:
    return found.total
