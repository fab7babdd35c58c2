"""The private table as a set of elements: each row becomes its tuple's numbers, and takes a slot.

    __tuples    i0, i1, ... (numbers in the domains), copies
    __instance  e0, ... (limbs): the elements (tuple, slot) that are there

The guarantee is about a set, and rows repeat. Numbering the copies 1, 2, ... would break it, because a second copy
tells that there is a first one; so each row takes a random free slot, and all slots of a tuple are alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.engine import fetch
from sqlpriv.errors import InternalError, PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.randomized.elements import Elements
from sqlpriv.methods.randomized.outside import refuse_outside
from sqlpriv.sqltext import literal, quoted
from sqlpriv.table.digest import digest_of
from sqlpriv.table.domains import OTHER, NumberedColumn
from sqlpriv.table.source import Source

_DOUBLINGS = 20
"""A stream that is looked at a million times as far as is enough for most has all slots in it."""


def write_tuples(source: Source, attributes: Sequence[NumberedColumn]) -> int:
    """Table __tuples; the number of rows that take part. Values outside a domain are refused, dropped or replaced."""
    columns, joins, found = [], [], []
    for a, attribute in enumerate(attributes):
        value = attribute.text_of("t")
        declared = f"CAST(CAST(d{a}.value AS {attribute.compared}) AS VARCHAR)"
        matches = f"{declared} IS NOT DISTINCT FROM {value}"
        if attribute.mapping:
            joins.append(f"LEFT JOIN {attribute.mapping} AS m{a} ON m{a}.value IS NOT DISTINCT FROM {value}")
            # A value without a label is outside the domain, and not NULL.
            matches = f"({declared} = m{a}.label OR coalesce(d{a}.value, m{a}.label, {value}) IS NULL)"
        joins.append(f"LEFT JOIN {attribute.table} AS d{a} ON {matches}")
        other = ""
        if attribute.column.outside == "other":
            other = f", (SELECT id FROM {attribute.table} WHERE value = {literal(OTHER)})"
        columns.append(f"coalesce(d{a}.id{other}) AS i{a}" if other else f"d{a}.id AS i{a}")
        found.append(f"i{a} IS NOT NULL")
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE __tuples AS SELECT *, count(*) AS copies FROM (SELECT {', '.join(columns)} "
        f"FROM {source.table} AS t {' '.join(joins)}) GROUP BY ALL",
    )
    _refuse_rows_made(source)
    outside = ", ".join(f"coalesce(sum(copies) FILTER (i{a} IS NULL), 0)" for a in range(len(attributes)))
    for attribute, rows in zip(attributes, fetch(source.con, f"SELECT {outside} FROM __tuples")[0], strict=True):
        if rows:
            refuse_outside(source, attribute, int(rows))
    fetch(source.con, f"DELETE FROM __tuples WHERE NOT ({' AND '.join(found)})")
    return int(fetch(source.con, "SELECT coalesce(sum(copies), 0) FROM __tuples")[0][0])


def refuse_more_rows(source: Source, person: str, rows_each: int) -> None:
    """A person with more rows than is publicly said would be hidden less; rows of nobody count as one person's."""
    counts = f"SELECT count(*) AS rows FROM {source.table} GROUP BY {quoted(person)}"
    crowded, most = fetch(source.con, f"SELECT count(*), max(rows) FROM ({counts}) WHERE rows > {rows_each}")[0]
    if crowded:
        raise PolicyError(
            f"{crowded:,} persons have more than {rows_each} rows, up to {most:,}; raise rows_each to a public bound, "
            "or leave rows out before you publish"
        )


def _refuse_rows_made(source: Source) -> None:
    """A row that matched two values would be two elements, and be hidden half as well."""
    made, there = fetch(
        source.con, f"SELECT (SELECT sum(copies) FROM __tuples), (SELECT count(*) FROM {source.table})"
    )[0]
    if (made or 0) != there:
        raise PolicyError("some rows match two values of a domain; make its values distinct")


def table_digest(source: Source, attributes: Sequence[NumberedColumn]) -> str:
    """A digest of the published part of the table: sums of hashed tuples."""
    tuple_text = " || ',' || ".join([*(f"CAST(i{a} AS VARCHAR)" for a in range(len(attributes))), "''"])
    return digest_of(source.con, f"SELECT sha256({tuple_text} || '|' || CAST(copies AS VARCHAR)) AS bits FROM __tuples")


def domain_digest(source: Source, attributes: Sequence[NumberedColumn]) -> str:
    """A digest of all domains with their names, types and shares."""
    parts = [
        fetch(
            source.con,
            f"SELECT sha256({literal(f'{a.name}|{a.type}')} || string_agg(coalesce(CAST(value AS VARCHAR), '') || '|' "
            f"|| (value IS NULL) || '|' || coalesce(CAST(share AS VARCHAR), ''), chr(10) ORDER BY id)) FROM {a.table}",
        )[0][0]
        for a in attributes
    ]
    return str(fetch(source.con, f"SELECT sha256({literal('|'.join(parts))})")[0][0])


def refuse_copies(source: Source, slots: int) -> None:
    """An error where a tuple has more copies than there are slots."""
    crowded, most = fetch(source.con, f"SELECT count(*), max(copies) FROM __tuples WHERE copies > {slots}")[0]
    if crowded:
        raise PolicyError(
            f"{crowded:,} tuples have more copies than the {slots} slots, up to {most}; set slots to a public bound "
            'on the copies, or publish duplicates = "distinct"'
        )


def write_instance(source: Source, elements: Elements, prefix: str) -> None:
    """Table __instance: every row's tuple with a slot of its own, all free slots being equally likely.

    Copy number j of a tuple takes the j-th slot that is new in the tuple's stream of keyed draws (sql/slots.sql). Given
    those taken before, each other slot is the next new one with the same chance, so the copies have a uniformly random
    set of slots: exactly, where a few rounds of a keyed permutation would only look so. And a copy more or less moves
    no other copy: in a sequence of views a row has to stay where it is. How far a stream is looked at changes nothing;
    where a tuple is short of slots, it is twice as far. refuse_copies comes before, or some would always be short.
    """
    con, slots = source.con, elements.digits[-1].size
    ids = [f"i{a}" for a in range(len(elements.digits) - 1)]
    limbs = ", ".join(f"{n} AS {e}" for n, e in zip(elements.number([*ids, "slot"]), elements.columns, strict=True))
    tuple_text = " || ',' || ".join(f"CAST({i} AS VARCHAR)" for i in ids)
    bits = inlined(f"_coin_bits({literal(prefix)}, 'slot|' || {tuple_text} || '|' || CAST(block AS VARCHAR))")
    only = inlined(f"_slot_draw({bits}, 0, {slots})")
    alone = f"SELECT *, {only} AS slot FROM (SELECT *, 0 AS block FROM __tuples WHERE copies = 1)"
    fetch(con, f"CREATE OR REPLACE TABLE __instance AS SELECT {limbs} FROM ({alone})")
    waiting = inlined(f"SELECT *, row_number() OVER () AS t, _slot_blocks(copies, {slots}) AS blocks")
    fetch(con, f"CREATE OR REPLACE TABLE __waiting AS {waiting} FROM __tuples WHERE copies > 1")
    for _ in range(_DOUBLINGS):
        if not fetch(con, "FROM __waiting LIMIT 1"):
            return
        fetch(con, f"CREATE OR REPLACE TABLE __taken AS {_taken(bits, slots)}")
        fetch(con, f"INSERT INTO __instance SELECT {limbs} FROM __taken JOIN __waiting USING (t)")
        fetch(con, "DELETE FROM __waiting WHERE t IN (SELECT t FROM __taken)")
        fetch(con, "UPDATE __waiting SET blocks = 2 * blocks")
    raise InternalError("the copies of a tuple found no slots")


def _taken(bits: str, slots: int) -> str:
    """SQL for the slots of every tuple of __waiting whose `blocks` of the stream have enough of them."""
    draws = ", ".join(inlined(f"_slot_draw(bits, {place}, {slots})") for place in range(4))
    blocks = "SELECT *, unnest(range(blocks)) AS block FROM __waiting"
    stream = (
        f"SELECT t, copies, unnest(range(4 * block, 4 * block + 4)) AS turn, unnest([{draws}]) AS slot "
        f"FROM (SELECT t, copies, block, {bits} AS bits FROM ({blocks}))"
    )
    return (
        "SELECT t, slot FROM ("
        f"SELECT t, any_value(copies) AS copies, slot, min(turn) AS turn FROM ({stream}) GROUP BY t, slot) "
        "QUALIFY count(*) OVER (PARTITION BY t) >= copies "
        "AND row_number() OVER (PARTITION BY t ORDER BY turn) <= copies"
    )
