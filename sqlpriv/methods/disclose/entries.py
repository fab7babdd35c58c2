"""What the attacker holds, as a table of texts: disclose_entries, one row an entry, e0, e1, ... of what it knows.

Of several dictionaries each has a table, disclose_entries_1, ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.engine import fetch
from sqlpriv.errors import InternalError, PolicyError, SqlprivError
from sqlpriv.methods.disclose.keys import Held
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.labelled.axes import Axis
from sqlpriv.risk.reading import reading
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.source import Source

ENTRIES = "disclose_entries"
_CSV = re.compile(r"\.(csv|tsv|txt)(\.gz|\.zst)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Entries:
    """What the attacker may hold: a table of each dictionary, and the attributes that one of them knows."""

    tables: tuple[str, ...]
    known: frozenset[int]


def write_entries(source: Source, policy: DisclosePolicy, axes: Sequence[Axis], types: Mapping[str, str]) -> Entries:
    """A table of each dictionary; `types` are of the columns. What only another one knows could be anything."""
    if not policy.held:
        listed = ", ".join(f"CAST({quoted(x.column)} AS VARCHAR) AS e{x.number}" for x in axes)
        fetch(source.con, f"CREATE OR REPLACE TABLE {ENTRIES} AS SELECT {listed} FROM {source.table}")
        return Entries((ENTRIES,), frozenset(x.number for x in axes))
    readings = [_readings(source, policy, held, axes) for held in policy.held]
    known = frozenset(a for own in readings for a in own)
    tables = entry_tables(policy)
    for table, held, own in zip(tables, policy.held, readings, strict=True):
        rows = with_texts(source, held.source, _plain(source, held, own))
        for axis in axes:
            if axis.number in own:
                _refuse_type(source, policy, axis, types[axis.column], own[axis.number], rows)
        _write_entries(source, held, {a: own.get(a, "CAST(NULL AS VARCHAR)") for a in sorted(known)}, rows, table)
    return Entries(tables, known)


def entry_tables(policy: DisclosePolicy) -> tuple[str, ...]:
    """The names of the tables of the dictionaries."""
    several = len(policy.held) > 1
    return tuple(f"{ENTRIES}_{n}" for n in range(1, len(policy.held) + 1)) if several else (ENTRIES,)


def holders(policy: DisclosePolicy) -> str:
    """The dictionaries as `disclosure_offers` has them. Where the worst counts, priors do not."""
    tables = entry_tables(policy)
    if len(tables) == 1:
        return literal(ENTRIES)
    shares = (f"{literal(table)}: {prior!r}" for table, prior in zip(tables, priors(policy), strict=True))
    return f"MAP {{{', '.join(shares)}}}"


def priors(policy: DisclosePolicy) -> tuple[float, ...]:
    """Of each dictionary; without a word all are alike."""
    return tuple(1 / len(policy.held) if held.prior is None else held.prior for held in policy.held) or (1.0,)


def _readings(source: Source, policy: DisclosePolicy, held: Held, axes: Sequence[Axis]) -> dict[int, str]:
    """What a dictionary knows of each attribute, as SQL."""
    columns = described(source, held.source, "the dictionary")
    given = {folded(c.name): c.given.get("entry") for c in policy.columns}
    given |= {folded(name): entry for name, entry in held.entries.items()}
    readings = {x.number: reading(columns, x.column, given[folded(x.column)]) for x in axes}
    known = {a: text for a, text in readings.items() if text is not None}
    if not known:
        raise PolicyError(
            f"the dictionary {held.source!r} shares no attribute with the table: it has {', '.join(columns)}; give a "
            "column an entry"
        )
    return known


def _plain(source: Source, held: Held, known: Mapping[int, str]) -> list[str]:
    """The columns of a dictionary that are compared as they are."""
    return [c for c in described(source, held.source, "the dictionary") if quoted(c) in known.values()]


def _write_entries(source: Source, held: Held, known: Mapping[int, str], rows: str, table: str) -> None:
    listed = ", ".join(f"TRY_CAST({text} AS VARCHAR) AS e{a}" for a, text in known.items())
    # Where a WHERE stands DuckDB takes neither unnest nor a window nor an aggregate: an entry stays one entry.
    each = " AND ".join(f"(({text} IS NULL) IS NOT NULL)" for text in known.values())
    try:
        fetch(source.con, f"CREATE OR REPLACE TABLE {table} AS SELECT {listed} FROM {rows} WHERE {each}")
    except SqlprivError:
        raise PolicyError(
            f"the entries of the policy do not work on the dictionary {held.source!r}: try them in SQL"
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


def with_texts(source: Source, name: str, columns: Sequence[str]) -> str:
    """A table that the policy names, to stand after FROM; of a CSV file these columns as they are written there."""
    if columns and _CSV.search(name) and source.reference.is_file(name.removeprefix("table:")):
        kinds = ", ".join(f"{literal(c)}: 'VARCHAR'" for c in columns)
        return find_named(source, name, f", types = {{{kinds}}}")
    return find_named(source, name)


def _refuse_type(source: Source, policy: DisclosePolicy, axis: Axis, own: str, entry: str, rows: str) -> None:
    """Without a hierarchy, values of two types may never be equal as texts; a hierarchy is asked for its labels."""
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
