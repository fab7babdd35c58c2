"""Calls of macros over a connection: each is created when it is first called, since all of them would take a second."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import duckdb

from sqlpriv.core.engine import Row, fetch, run
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import SCHEMA, create_statement, inlined, macro

_ANSWERED: dict[tuple[str, str], list[Row]] = {}
"""Macros of numbers alone answer the same on any connection; a plan calls many of them often."""
_MANY = 20_000


@dataclass(frozen=True)
class Calls:
    """The macros of a connection, in schema priv of its own database: macros of an attached file are never called."""

    con: duckdb.DuckDBPyConnection
    created: set[str] = field(default_factory=set)

    def need(self, name: str) -> str:
        """The macro's full name."""
        if name not in self.created:
            if not self.created:
                run(self.con, f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            run(self.con, create_statement(macro(name)))
            self.created.add(name)
        return f"{SCHEMA}.{name}"

    def rows(self, name: str, *arguments: Any) -> list[Row]:
        """What a macro answers."""
        listed = ", ".join(literal(a) for a in arguments)
        call = (create_statement(macro(name)), listed)
        if call not in _ANSWERED:
            if len(_ANSWERED) >= _MANY:
                _ANSWERED.clear()
            _ANSWERED[call] = fetch(self.con, f"FROM {self.need(name)}({listed})")
        return _ANSWERED[call]

    def value(self, expression: str) -> Any:
        """What a formula of helpers comes to."""
        return fetch(self.con, f"SELECT {inlined(expression)}")[0][0]

    def row(self, name: str, *arguments: Any) -> Row:
        """The one row of a macro."""
        return self.rows(name, *arguments)[0]
