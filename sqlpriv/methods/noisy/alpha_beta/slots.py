"""Slots: the private table as a set of elements, each row's tuple with a slot of its own.

The guarantee is about a set, and rows repeat. Numbering the copies 1, 2, ... would break it, because a second copy
reveals that there is a first one; so each row takes a random free slot, and all slots of a tuple are alike.
"""

from __future__ import annotations

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InternalError, PolicyError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.noisy.tuples import Elements

_DOUBLINGS = 20
"""A stream that is looked at a million times as far as is enough for most has all slots in it."""


def refuse_copies(tuples: Relation, slots: int) -> None:
    """An error where a tuple has more copies than there are slots."""
    crowded, most = fetch(tuples.con, f"SELECT count(*), max(copies) FROM {tuples.name} WHERE copies > {slots}")[0]
    if crowded:
        raise PolicyError(
            f"{crowded:,} tuples have more copies than the {slots} slots, up to {most}; set slots to a public bound "
            'on the copies, or publish duplicates = "distinct", or noisy counts: method = "noisy_counts"'
        )


def take_slots(scratch: Scratch, tuples: Relation, elements: Elements, prefix: str) -> Relation:
    """The elements of a table with these tuples: every copy has a slot of its own, all free ones being equally likely.

    Copy number j of a tuple takes the j-th slot that is new in the tuple's stream of keyed draws, as
    sql/operators/slots.sql has it. Given those taken before, each other slot is the next new one with the same chance.
    So the copies have a uniformly random set of slots: exactly, where a few rounds of a keyed permutation would only
    look so. And a copy more or less moves no other copy: in a sequence of views a row has to stay where it is. How far
    a stream is looked at changes nothing; where a tuple is short of slots, it is twice as far. refuse_copies comes
    before, or some would always be short.
    """
    con, slots = scratch.con, elements.digits[-1].size
    ids = [f"i{a}" for a in range(len(elements.digits) - 1)]
    limbs = elements.select([*ids, "slot"])
    tuple_text = " || ',' || ".join(f"CAST({i} AS VARCHAR)" for i in ids)
    bits = inlined(f"_coin_bits({literal(prefix)}, 'slot|' || {tuple_text} || '|' || CAST(block AS VARCHAR))")
    only = inlined(f"_slot_draw({bits}, 0, {slots})")
    alone = f"SELECT *, {only} AS slot FROM (SELECT *, 0 AS block FROM {tuples.name} WHERE copies = 1)"
    instance = scratch.table(f"SELECT {limbs} FROM ({alone})", "instance")
    with scratch.nested() as inner:
        several = inlined(f"SELECT *, row_number() OVER () AS t, _slot_blocks(copies, {slots}) AS blocks")
        waiting = inner.table(f"{several} FROM {tuples.name} WHERE copies > 1", "waiting")
        for _ in range(_DOUBLINGS):
            if not waiting.count():
                return instance
            taken = inner.table(_taken(waiting, bits, slots), "taken")
            fetch(con, f"INSERT INTO {instance.name} SELECT {limbs} FROM {taken.name} JOIN {waiting.name} USING (t)")
            fetch(con, f"DELETE FROM {waiting.name} WHERE t IN (SELECT t FROM {taken.name})")
            fetch(con, f"UPDATE {waiting.name} SET blocks = 2 * blocks")
            inner.drop(taken)
    raise InternalError("the copies of a tuple found no slots")


def _taken(waiting: Relation, bits: str, slots: int) -> str:
    """SQL for the slots of every tuple that waits and whose `blocks` of the stream have enough of them."""
    draws = ", ".join(inlined(f"_slot_draw(bits, {place}, {slots})") for place in range(4))
    blocks = f"SELECT *, unnest(range(blocks)) AS block FROM {waiting.name}"
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
