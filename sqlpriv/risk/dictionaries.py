"""A dictionary that an attacker may hold: where it is, how likely it is, and what it knows of a column."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.source import Source

_CSV = re.compile(r"\.(csv|tsv|txt)(\.gz|\.zst)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Dictionary:
    """A file or a table next to the private table, and the probability that an attacker holds it."""

    source: str
    prior: float | None = None
    entries: Mapping[str, str] = field(default_factory=dict)
    """By column, a column or an expression of this dictionary, where it differs from the other dictionaries."""

    def entry(self, column: str, default: str | None) -> str | None:
        """What it knows of a column, as its owner wrote it."""
        return {folded(name): entry for name, entry in self.entries.items()}.get(folded(column), default)


def entry_expression(columns: Collection[str], column: str, given: str | None) -> str | None:
    """SQL for what a dictionary with these columns knows of a column; None where it knows nothing.

    `given` is a column or an expression of the dictionary; without it, the column of the same name is meant.
    """
    spelt = {folded(c): c for c in columns}
    wanted = folded(column if given is None else given)
    if wanted in spelt:
        return quoted(spelt[wanted])
    if given is None:
        return None
    if given.isidentifier():
        raise PolicyError(f"the entry of {column!r} is {given!r}, and the dictionary has {', '.join(columns)}")
    try:
        tree = sqlglot.parse_one(given, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        raise PolicyError(f"the entry of {column!r} is not one SQL expression") from None
    if not isinstance(tree, exp.Condition) or tree.find(exp.Query, exp.AggFunc, exp.Window, exp.Star):
        raise PolicyError(
            f"the entry of {column!r} must be an expression of one entry, without subqueries and aggregates"
        )
    foreign = [c.sql() for c in tree.find_all(exp.Column) if folded(c.name) not in spelt or c.table]
    if foreign:
        raise PolicyError(f"the entry of {column!r} uses {foreign[0]}, and the dictionary has {', '.join(columns)}")
    return f"({tree.sql(dialect='duckdb')})"


def from_with_texts(source: Source, name: str, columns: Collection[str]) -> str:
    """A table that a policy names, for a FROM clause; these columns of a CSV file are read as text, as written."""
    if columns and _CSV.search(name) and source.reference.is_file(name.removeprefix("table:")):
        kinds = ", ".join(f"{literal(c)}: 'VARCHAR'" for c in columns)
        return find_named(source, name, f", types = {{{kinds}}}")
    return find_named(source, name)
