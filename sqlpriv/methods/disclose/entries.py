"""The dictionaries as tables of texts: disclose_entries, one row an entry, with e0, e1, ... of the known attributes.

Several dictionaries have a table each: disclose_entries_1, disclose_entries_2, ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InternalError, PolicyError, SqlprivError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.risk.dictionaries import Dictionary, entry_expression, from_with_texts
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.source import Source

ENTRIES = "disclose_entries"


@dataclass(frozen=True)
class Entries:
    """A table of each dictionary, and the attributes that at least one of them knows."""

    tables: tuple[str, ...]
    known: frozenset[int]


def write_entries(source: Source, policy: DisclosePolicy, axes: Sequence[Axis], types: Mapping[str, str]) -> Entries:
    """Write a table of each dictionary; `types` are of the columns. What only another one knows is NULL."""
    if not policy.dictionaries:
        listed = ", ".join(f"CAST({quoted(x.column)} AS VARCHAR) AS e{x.number}" for x in axes)
        fetch(source.con, f"CREATE OR REPLACE TABLE {ENTRIES} AS SELECT {listed} FROM {source.table}")
        return Entries((ENTRIES,), frozenset(x.number for x in axes))
    expressions = [_expressions(source, policy, dictionary, axes) for dictionary in policy.dictionaries]
    known = frozenset(a for own in expressions for a in own)
    tables = entry_tables(policy)
    for table, dictionary, own in zip(tables, policy.dictionaries, expressions, strict=True):
        rows = from_with_texts(source, dictionary.source, _plain(source, dictionary, own))
        for axis in axes:
            if axis.number in own:
                _refuse_type(source, policy, axis, types[axis.column], own[axis.number], rows)
        _write_entries(source, dictionary, {a: own.get(a, "CAST(NULL AS VARCHAR)") for a in sorted(known)}, rows, table)
    return Entries(tables, known)


def entry_tables(policy: DisclosePolicy) -> tuple[str, ...]:
    """The names of the tables of the dictionaries."""
    several = len(policy.dictionaries) > 1
    return tuple(f"{ENTRIES}_{n}" for n in range(1, len(policy.dictionaries) + 1)) if several else (ENTRIES,)


def dictionaries_argument(policy: DisclosePolicy) -> str:
    """The dictionaries as `disclosure_offers` needs them: one by name, several with their priors."""
    tables = entry_tables(policy)
    if len(tables) == 1:
        return literal(ENTRIES)
    shares = (f"{literal(table)}: {prior!r}" for table, prior in zip(tables, priors(policy), strict=True))
    return f"MAP {{{', '.join(shares)}}}"


def priors(policy: DisclosePolicy) -> tuple[float, ...]:
    """The prior of each dictionary; equal ones where the policy has none."""
    return tuple(
        1 / len(policy.dictionaries) if dictionary.prior is None else dictionary.prior
        for dictionary in policy.dictionaries
    ) or (1.0,)


def _expressions(
    source: Source, policy: DisclosePolicy, dictionary: Dictionary, axes: Sequence[Axis]
) -> dict[int, str]:
    """SQL for what a dictionary knows of each attribute."""
    columns = described(source, dictionary.source, "the dictionary")
    given = {folded(c.name): c.given.get("entry") for c in policy.columns}
    found = {
        x.number: entry_expression(columns, x.column, dictionary.entry(x.column, given[folded(x.column)])) for x in axes
    }
    known = {a: text for a, text in found.items() if text is not None}
    if not known:
        raise PolicyError(
            f"the dictionary {dictionary.source!r} shares no attribute with the table: it has {', '.join(columns)}; "
            "give a column an entry"
        )
    return known


def _plain(source: Source, dictionary: Dictionary, known: Mapping[int, str]) -> list[str]:
    """The columns of a dictionary that are compared without an expression."""
    return [c for c in described(source, dictionary.source, "the dictionary") if quoted(c) in known.values()]


def _write_entries(source: Source, dictionary: Dictionary, known: Mapping[int, str], rows: str, table: str) -> None:
    listed = ", ".join(f"TRY_CAST({text} AS VARCHAR) AS e{a}" for a, text in known.items())
    # DuckDB refuses unnest, windows and aggregates in a WHERE clause: so one entry stays one entry.
    each = " AND ".join(f"(({text} IS NULL) IS NOT NULL)" for text in known.values())
    try:
        fetch(source.con, f"CREATE OR REPLACE TABLE {table} AS SELECT {listed} FROM {rows} WHERE {each}")
    except SqlprivError:
        raise PolicyError(
            f"the entries of the policy do not work on the dictionary {dictionary.source!r}: try them in SQL"
        ) from None


def described(source: Source, name: str, what: str) -> dict[str, str]:
    """The columns of a table that the policy names, with their types."""
    try:
        return {str(c): str(kind) for c, kind, *_ in fetch(source.con, f"DESCRIBE FROM {find_named(source, name)}")}
    except PolicyError:
        raise
    except SqlprivError as error:
        why = "" if isinstance(error, InternalError) else f": {error}"
        raise PolicyError(f"{what} {name!r} cannot be read{why}") from None


def _refuse_type(source: Source, policy: DisclosePolicy, axis: Axis, own: str, entry: str, rows: str) -> None:
    """Refuse values of two types that are never equal as texts; a hierarchy compares by its own labels."""
    con = source.con
    if policy.hierarchies[policy.qis[axis.number]] != "suppression":
        return
    try:
        other = str(fetch(con, f"SELECT column_type FROM (DESCRIBE SELECT {entry} AS e FROM {rows})")[0][0])
    except SqlprivError:
        raise PolicyError(f"the entry of {axis.column!r} does not work on the dictionary: try it in SQL") from None
    alike = source.calls.value(f"_alike({literal(literal(own))}, {literal(literal(other))})")
    if not fetch(con, f"SELECT {alike}")[0][0]:
        raise PolicyError(
            f"{axis.column!r} is {own}, and what the dictionary knows of it is {other}: these are never equal as "
            "texts; write an entry that casts it, or give the column a hierarchy that has both"
        )
