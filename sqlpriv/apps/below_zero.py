"""Estimates below 0 of what cannot be: they add up without bias, so they stay, with a warning."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc


class BelowZero:
    """Counts such estimates in the columns that are counts, or sums of what is never below 0."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = [*columns]
        self._found = dict.fromkeys(columns, 0)

    def look_at(self, rows: pa.RecordBatch | pa.Table) -> BelowZero:
        """Count those of some rows."""
        for name in self._columns:
            column = rows.column(rows.schema.names.index(name))
            if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
                self._found[name] += pc.sum(pc.less(column, 0)).as_py() or 0
        return self

    def warnings(self, instead: str) -> tuple[str, ...]:
        """A sentence for each column that has some, with what to write where only a picture is wanted."""
        return tuple(
            f"{name!r} is below 0 in {number:,} row{'s' * (number > 1)}, which the true value cannot be: there are few "
            f"rows for the noise. Sums over them stay right; {instead}"
            for name, number in self._found.items() if number
        )  # fmt: skip
