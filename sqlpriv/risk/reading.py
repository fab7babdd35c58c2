"""What a dictionary knows of a column, as its owner writes it: a column of the dictionary, or an expression of it."""

from __future__ import annotations

from collections.abc import Collection

import sqlglot
from sqlglot import exp

from sqlpriv.errors import PolicyError
from sqlpriv.sqltext import folded, quoted


def reading(columns: Collection[str], column: str, given: str | None) -> str | None:
    """What the dictionary knows of a column, as SQL; None where it knows nothing."""
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
