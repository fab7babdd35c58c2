"""What rewriting asks of the data of public relations: which columns are unique, of which type, with which values."""

from __future__ import annotations

from functools import cached_property

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.sqltext import quoted


class PublicFacts:
    """Facts about the public tables of an open release. They do not change while it is open, so each is asked once.

    Relations and domains are given as SQL text that can stand after FROM.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._unique: dict[tuple[str, frozenset[str], frozenset[str]], bool] = {}
        self._types: dict[str, dict[str, str]] = {}
        self._values: dict[tuple[str, str], bool] = {}

    @cached_property
    def _has_collations(self) -> bool:
        """A column with a collation makes texts equal that are unique in another table; by bytes it does not."""
        others = "regexp_replace(lower(sql), 'collate \"?binary\"?', '', 'g')"
        query = f"SELECT count(*) > 0 FROM duckdb_tables() WHERE contains({others}, 'collate')"
        return bool(fetch(self._con, query)[0][0])

    def is_unique(self, relation: str, columns: frozenset[str], present: frozenset[str]) -> bool:
        """Whether no two rows are equal in these columns, NULL being equal to NULL; NULL in `present` is left out."""
        key = (relation, columns, present)
        if key not in self._unique:
            self._unique[key] = not self._has_collations and self._is_unique(*key)
        return self._unique[key]

    def _is_unique(self, relation: str, columns: frozenset[str], present: frozenset[str]) -> bool:
        listed = ", ".join(quoted(c) for c in sorted(columns))
        kept = " AND ".join([f"{quoted(c)} IS NOT NULL" for c in sorted(present)] or ["true"])
        twice = f"SELECT 1 FROM {relation} WHERE {kept} GROUP BY {listed} HAVING count(*) > 1 LIMIT 1"
        try:
            return not fetch(self._con, twice)
        except SqlprivError:  # The answer itself will fail, and say why.
            return False

    def type_of(self, relation: str, column: str) -> str:
        """The type of a column, "" if it cannot be known."""
        if relation not in self._types:
            try:
                self._types[relation] = {r[0]: r[1] for r in fetch(self._con, f"DESCRIBE FROM {relation}")}
            except SqlprivError:
                self._types[relation] = {}
        return self._types[relation].get(column, "")

    def has_value(self, domain: str, value: str) -> bool:
        """Whether a domain has a value, given as SQL text; true if that cannot be known."""
        key = (domain, value)
        if key not in self._values:
            try:
                found = fetch(self._con, f'SELECT 1 FROM {domain} WHERE "value" = {value} LIMIT 1')
            except SqlprivError:  # The answer itself will fail, and say why.
                found = [(1,)]
            self._values[key] = bool(found)
        return self._values[key]

    def some_values(self, domain: str, most: int) -> list[str]:
        """The values of a domain as text, if they are so many at most."""
        query = f'SELECT CAST("value" AS VARCHAR) FROM {domain} WHERE "value" IS NOT NULL ORDER BY "value"'
        found = fetch(self._con, f"{query} LIMIT {most + 1}")
        return [text for (text,) in found] if len(found) <= most else []
