"""Rows into buckets, in the database: one sort by what buckets go by and a keyed random number.

`sort_for` returns the published columns in an order that depends on their values alone: the row at place i has random
number i. `arrange` returns the same rows with their buckets, whose numbers say nothing.

Random numbers are functions of the key, the digest of the table and the place of a row among all rows sorted by all
their columns. So the same key and table give the same release, and equal rows have numbers of their own. Were they the
same, equal rows would always be neighbours, and an attacker who sees equal quasi-identifiers in neighbouring groups
would know that their values are equal, too.
"""

from __future__ import annotations

from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.layout import without_enums
from sqlpriv.methods.split.layout import BUCKET, BucketLayout
from sqlpriv.release.write import in_order
from sqlpriv.table.frequencies import sort_rows
from sqlpriv.table.source import Source


def sort_for(source: Source, layout: BucketLayout) -> Relation:
    """The published columns of all rows, sorted by what buckets go by and then by all other columns."""
    first = layout.order
    columns = (*first, *(c for c in layout.columns if c not in first))
    # The type of an ENUM would reveal values that no row has.
    plain = {c: without_enums(source.types[c]) for c in layout.columns}
    cells = [
        quoted(c) if plain[c] == source.types[c] else f"CAST({quoted(c)} AS {plain[c]}) AS {quoted(c)}"
        for c in layout.columns
    ]
    return sort_rows(source, cells, in_order(columns, plain))


def compose(ordered: Relation, spread: str, buckets: int, scratch: Scratch) -> Relation:
    """Which values of a spread column are together in a bucket, as no random number can change it.

    The numbers of the buckets are others in the release.
    """
    bucket = inlined(f"_group_of(rowid, {buckets})")
    return scratch.table(f"SELECT {bucket} AS {quoted(BUCKET)}, {quoted(spread)} FROM {ordered.name}", "composed")


def arrange(ordered: Relation, layout: BucketLayout, buckets: int, prefix: str, scratch: Scratch) -> Relation:
    """The rows with their buckets."""
    with scratch.nested() as inner:
        places = order_places(ordered, layout, prefix, inner)
        coins = random_numbers(ordered, prefix, "bucket", buckets, inner)
        names = inner.table(
            "SELECT place, row_number() OVER (ORDER BY coin, place) - 1 AS name "
            f"FROM (SELECT rowid AS place, coin FROM {coins.name}) WHERE place < {buckets}",
            "bucket_names",
        )
        of_place = (
            f"_group_of(p.rowid, {buckets})" if layout.spread else f"_run_of(p.rowid, {ordered.written}, {buckets})"
        )
        return scratch.table(
            f"SELECT n.name AS {quoted(BUCKET)}, o.* FROM {places.name} AS p "
            f"JOIN {names.name} AS n ON n.place = {inlined(of_place)} JOIN {ordered.name} AS o ON o.rowid = p.row",
            "arranged",
        )


def order_places(ordered: Relation, layout: BucketLayout, prefix: str, scratch: Scratch) -> Relation:
    """The places of the rows, as `row`, sorted by what buckets go by and a random number."""
    coins = random_numbers(ordered, prefix, "row", ordered.written or 0, scratch)
    order = ", ".join(f"o.{quoted(c)}" for c in layout.order)
    # Only the places of rows are sorted here: they are carried along faster than the rows.
    return scratch.table(
        f"SELECT o.rowid AS row FROM {ordered.name} AS o POSITIONAL JOIN {coins.name} AS c "
        f"WHERE o.rowid IS NOT NULL ORDER BY {order}, c.coin, o.rowid",
        "places",
    )


def random_numbers(ordered: Relation, prefix: str, purpose: str, number: int, scratch: Scratch) -> Relation:
    """So many random numbers, as `coin`, the first of them for place 0, and so on; up to three more.

    Their places are counted off the rows, which are as many or more: a table is read by all threads, and in
    its order, but range() by one.
    """
    bits = inlined(f"_coin_bits({literal(prefix)}, concat({literal(purpose + '|')}, i))")
    fours = f"SELECT rowid // 4 AS i FROM {ordered.name} WHERE rowid % 4 = 0 AND rowid < {number}"
    return scratch.table(
        f"SELECT unnest({inlined('_four_coins(bits)')}) AS coin FROM (SELECT {bits} AS bits FROM ({fours}))", "coins"
    )
