"""What one rewriting keeps while names are resolved: the query, the release, and all names that were given so far."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.errors import UnsupportedSQLError
from sqlpriv.rewrite.bind.catalog import SCHEMA
from sqlpriv.rewrite.bind.relations import Answer
from sqlpriv.rewrite.bind.scope import Ctes
from sqlpriv.rewrite.release import Release
from sqlpriv.rewrite.syntax import PREFIX
from sqlpriv.sqltext import folded, quoted

_MOST_SELECTS = 300


class Names:
    """Owns the state of one rewriting. Everything that resolves names is given this one, and keeps nothing itself."""

    def __init__(self, sql: str, release: Release) -> None:
        self.sql = sql
        """The text of the query, for the places that refusals name."""
        self.release = release
        self.scalars: list[Answer] = []
        """Answers that stand as one value in an expression over estimates."""
        self.warnings: list[str] = []
        """What the one who asks should know, beside the answer."""
        self.chosen: dict[str, list[exp.Expr]] = {}
        """Relations of groups that are chosen by estimates, with what is compared with their keys."""
        self._taken = {folded(a.name) for a in release.attributes}
        self._selects = 0
        self._defined: dict[str, str] = {}
        """Relations of public tables, as common table expressions by their names."""

    def count_select(self) -> None:
        """One more is read. A CTE is read wherever it is named: of twenty that name the last twice, a million are."""
        self._selects += 1
        if self._selects > _MOST_SELECTS:
            message = f"the query has more than {_MOST_SELECTS} SELECTs, each CTE counted wherever it is named"
            raise UnsupportedSQLError(f"{message}; ask several queries")

    def variable(self, name: str) -> str:
        """A name that no other variable has, and none of ours."""
        name = f"the {name}" if folded(name).startswith(PREFIX) else name
        made, number = name, 1
        while folded(made) in self._taken:
            number += 1
            made = f"{name} {number}"
        self._taken.add(folded(made))
        return made

    def define(self, query: str, names: list[str]) -> str:
        """Give a query over public tables a name of ours, and its columns these names."""
        name = f"__priv_public{len(self._defined)}"
        columns = ", ".join(quoted(n) for n in names)
        self._defined[name] = f"{quoted(name)}({columns}) AS MATERIALIZED ({query})"
        return name

    def with_definitions(self, sql: str) -> str:
        """The rewritten query with the relations that it reads, and those that these read, in front."""
        needed: list[str] = []
        for name, definition in reversed(self._defined.items()):
            if any(quoted(name) in text for text in (sql, *needed)):
                needed.insert(0, definition)
        return f"WITH {', '.join(needed)} {sql}" if needed else sql

    def is_public(self, node: exp.Expr) -> bool:
        """Whether all tables that a query names are public, or common table expressions of its own."""
        own = {folded(cte.alias) for cte in node.find_all(exp.CTE)}
        return not self.reads_private(node, {}) and all(
            folded(table.name) in (own if not table.args.get("db") else ())
            or folded(table.name) in self.release.public
            or folded(table.db) == SCHEMA
            for table in node.find_all(exp.Table)
        )

    def reads_private(self, node: exp.Expr, ctes: Ctes, done: set[int] | None = None) -> bool:
        """Whether a query reads the private table, perhaps by a common table expression; each is looked at once."""
        done = set() if done is None else done
        for table in node.find_all(exp.Table):
            key = folded(table.name)
            if key in ctes and not table.args.get("db"):
                cte, seen = ctes[key]
                if id(cte) in done:
                    continue
                done.add(id(cte))
                if self.reads_private(cte.this, seen, done):
                    return True
            elif key == folded(self.release.table):
                return True
        return False
