"""What the attacker holds, as a table of texts: disclose_entries, one row an entry, e0, e1, ... of what it knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlpriv.engine import fetch
from sqlpriv.errors import InternalError, PolicyError, SqlprivError
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.labelled.axes import Axis
from sqlpriv.risk.reading import reading
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.named import find_named
from sqlpriv.table.source import Source

ENTRIES = "disclose_entries"
_CSV = re.compile(r"\.(csv|tsv|txt)(\.gz|\.zst)?$", re.IGNORECASE)


def write_entries(
    source: Source, policy: DisclosePolicy, axes: Sequence[Axis], types: Mapping[str, str]
) -> frozenset[int]:
    """Table disclose_entries; the numbers of the attributes that the dictionary knows. `types` are of the columns."""
    name = policy.dictionary
    if name is None:
        listed = ", ".join(f"CAST({quoted(x.column)} AS VARCHAR) AS e{x.number}" for x in axes)
        fetch(source.con, f"CREATE OR REPLACE TABLE {ENTRIES} AS SELECT {listed} FROM {source.table}")
        return frozenset(x.number for x in axes)
    columns = described(source, name, "the dictionary")
    given = {folded(c.name): c.given.get("entry") for c in policy.columns}
    readings = {x.number: reading(columns, x.column, given[folded(x.column)]) for x in axes}
    known = {a: text for a, text in readings.items() if text is not None}
    if not known:
        raise PolicyError(
            f"the dictionary {name!r} shares no attribute with the table: it has {', '.join(columns)}; give a column "
            "an entry"
        )
    plain = [c for c in columns if quoted(c) in known.values()]
    rows = with_texts(source, name, plain)
    for axis in axes:
        if axis.number in known:
            _refuse_type(source, policy, axis, types[axis.column], known[axis.number], rows)
    listed = ", ".join(f"TRY_CAST({text} AS VARCHAR) AS e{a}" for a, text in known.items())
    # Where a WHERE stands DuckDB takes neither unnest nor a window nor an aggregate: an entry stays one entry.
    each = " AND ".join(f"(({text} IS NULL) IS NOT NULL)" for text in known.values())
    try:
        fetch(source.con, f"CREATE OR REPLACE TABLE {ENTRIES} AS SELECT {listed} FROM {rows} WHERE {each}")
    except SqlprivError:
        raise PolicyError(
            f"the entries of the policy do not work on the dictionary {name!r}: try them in SQL"
        ) from None
    return frozenset(known)


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
