"""Slots: the private table as a set of elements, each row's tuple with a slot of its own.

    __instance  e0, ... (limbs): the elements (tuple, slot) that are there

The guarantee is about a set, and rows repeat. Numbering the copies 1, 2, ... would break it, because a second copy
reveals that there is a first one; so each row takes a random free slot, and all slots of a tuple are alike.
"""

from __future__ import annotations

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InternalError, PolicyError
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.noisy.tuples import Elements
from sqlpriv.table.source import Source

_DOUBLINGS = 20
"""A stream that is looked at a million times as far as is enough for most has all slots in it."""


def refuse_copies(source: Source, slots: int) -> None:
    """An error where a tuple has more copies than there are slots."""
    crowded, most = fetch(source.con, f"SELECT count(*), max(copies) FROM __tuples WHERE copies > {slots}")[0]
    if crowded:
        raise PolicyError(
            f"{crowded:,} tuples have more copies than the {slots} slots, up to {most}; set slots to a public bound "
            'on the copies, or publish duplicates = "distinct", or noisy counts: method = "noisy_counts"'
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
