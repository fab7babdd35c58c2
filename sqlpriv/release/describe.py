"""What an analyst should know of an open release: what the table is, what its columns may hold, what bounds mean.

Agents get it from describe, tools of PostgreSQL by comments on tables and columns, and Python by the repr.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import duckdb
from sqlglot.dialects.duckdb import DuckDB

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import NUMERIC_TYPE, quoted
from sqlpriv.rewrite.release import Attribute, NoisyRelease, Release, SampledRelease

_FEW = 8
"""So many values are listed; of numbers and dates the ends say more."""
_MOST = 200
_LONGEST = 40
_ORDERED = ("DATE", "TIMESTAMP", "TIME")


@dataclass(frozen=True)
class DescribedColumn:
    """A column of the private table as questions name it."""

    name: str
    type: str
    values: str
    """What it may hold, in a few words."""


class Description:
    """An open release in words."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, release: Release, method: str, guarantee: Callable[[], str]
    ) -> None:
        self._con, self._release, self.method, self._guarantee = con, release, method, guarantee

    def __str__(self) -> str:
        """All of it, a line each."""
        columns = [f"  {c.name} {c.type}: {c.values}" for c in self.columns]
        public = [f"  {name} ({', '.join(columns)}), a public table" for name, columns in self.public.items()]
        return "\n".join([f"{self.what}; {self.bounds}", *columns, *public, self.guarantee])

    @property
    def what(self) -> str:
        """What the table is, in a few words."""
        return f"{self._release.table}: estimates of a private table, from a release by {self.method}"

    @cached_property
    def guarantee(self) -> str:
        """What it guarantees, in a few sentences."""
        return self._guarantee()

    @property
    def bounds(self) -> str:
        """What x_low and x_high mean."""
        if isinstance(self._release, NoisyRelease):
            return "x_low and x_high are a 95% interval for the true x; estimates are noisy, and a count may be below 0"
        if isinstance(self._release, SampledRelease):
            return "x_low and x_high are limits for the true x at 95%; NULL or infinity says that nothing is known"
        return "the true x lies between x_low and x_high for certain; NULL says that nothing is known"

    @cached_property
    def columns(self) -> tuple[DescribedColumn, ...]:
        """The columns, with what they may hold."""
        return tuple(DescribedColumn(a.name, a.type, self._values(a)) for a in self._release.attributes)

    @property
    def public(self) -> dict[str, list[str]]:
        """The public tables that may be joined, with their columns."""
        return {table.name: list(table.columns) for table in self._release.public.values()}

    @property
    def examples(self) -> tuple[str, ...]:
        """Three questions that may be asked."""
        table = _written(self._release.table)
        asked = [f"SELECT count(*) AS n FROM {table}"]
        usable = [a for a in self._release.attributes if a.why_not is None and not a.labels]
        few = next((a for a in usable if a.size <= _LONGEST and not a.is_cut), None)
        number = next((a for a in usable if NUMERIC_TYPE.fullmatch(a.type) and a is not few), None)
        if few is not None:
            name = _written(few.name)
            asked.append(f"SELECT {name}, count(*) AS n FROM {table} GROUP BY {name} ORDER BY n DESC")
        if number is not None:
            asked.append(f"SELECT avg({_written(number.name)}) AS mean FROM {table}")
        asked += [f"SELECT count(*) AS n FROM {table} WHERE {_written(a.name)} IS NOT NULL" for a in usable]
        return tuple(asked[:3])

    def column(self, name: str) -> Attribute | None:
        """The column of that name."""
        return self._release.attribute(name)

    def values_of(self, attribute: Attribute) -> list[str]:
        """The values of a column's public domain as texts, the first of them where there are many."""
        order = f'SELECT CAST("value" AS VARCHAR) FROM {attribute.domain} WHERE "value" IS NOT NULL ORDER BY "value"'
        return [str(text) for (text,) in fetch(self._con, f"{order} LIMIT {_MOST}")]

    def _values(self, attribute: Attribute) -> str:
        if attribute.labels:
            return f"published as {attribute.labels}"
        if attribute.why_not is not None:
            return "cannot be asked for: the values below its labels are not public"
        null = ", or NULL" if attribute.has_null else ""
        if attribute.is_cut:
            return f"published in ranges: compare it with constants{null}"
        if attribute.size > _FEW and (NUMERIC_TYPE.fullmatch(attribute.type) or attribute.type in _ORDERED):
            ends = f'SELECT CAST(min("value") AS VARCHAR), CAST(max("value") AS VARCHAR) FROM {attribute.domain}'
            low, high = fetch(self._con, ends)[0]
            return f"{low} to {high}{null}"
        found = self.values_of(attribute)
        listed = ", ".join(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..." for text in found[:_FEW])
        more = f" and others, {len(found)}{'' if len(found) < _MOST else ' or more'} in all" if found[_FEW:] else ""
        return f"{listed}{more}{null}"


def _written(name: str) -> str:
    """A name as it is written in a query: in quotes only where it needs them."""
    is_plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name.upper() not in DuckDB.Tokenizer.KEYWORDS
    return name if is_plain else quoted(name)
