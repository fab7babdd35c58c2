"""Rows into buckets, in the database: one sort by what buckets go by and a keyed coin.

    __ordered    the published columns, in an order that depends on their values alone: row i has coin i
    __arranged   the rows with their buckets, whose numbers say nothing

Coins are functions of the key, the digest of the table and the place of a row among all rows sorted by all their
columns. So the same key and table give the same release, and equal rows have coins of their own: were they the same,
equal rows would always be neighbours, and who sees equal quasi-identifiers in neighbouring groups would know that
their values are equal, too.
"""

from __future__ import annotations

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.layout import without_enums
from sqlpriv.methods.split.layout import BUCKET, Layout
from sqlpriv.release.write import in_order
from sqlpriv.table.private_table import settle_types
from sqlpriv.table.source import Source

ORDERED = "__ordered"
ARRANGED = "__arranged"
COMPOSED = "__composed"
_TEXTS = "__texts"


def settle_texts(source: Source) -> None:
    """Columns of a file that were read as texts get their type back, where no value is written differently by it."""
    if not source.texts:
        return
    listed = ", ".join(map(quoted, source.texts))
    fetch(source.con, f"CREATE OR REPLACE TABLE {_TEXTS} AS SELECT DISTINCT {listed} FROM {source.table}")
    settle_types(source, _TEXTS)
    fetch(source.con, f"DROP TABLE {_TEXTS}")


def write_ordered(source: Source, layout: Layout) -> int:
    """Table __ordered; the number of its rows."""
    first = layout.order
    columns = (*first, *(c for c in layout.columns if c not in first))
    # The type of an ENUM would tell values that no row has.
    plain = {c: without_enums(source.types[c]) for c in layout.columns}
    cells = [
        quoted(c) if plain[c] == source.types[c] else f"CAST({quoted(c)} AS {plain[c]}) AS {quoted(c)}"
        for c in layout.columns
    ]
    made = fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {ORDERED} AS FROM (SELECT {', '.join(cells)} FROM {source.table}) "
        f"ORDER BY {in_order(columns, plain)}",
    )
    rows = int(made[0][0])
    if rows == 0:
        raise InputError(f"{source.label} has no rows: there is nothing to publish")
    return rows


def refuse_persons(source: Source, person: str | None, rows: int) -> None:
    """A person with two rows may be twice in a bucket, or be found by both: one row a person, then."""
    if person is None:
        return
    persons = fetch(source.con, f"SELECT count(DISTINCT {quoted(person)}) FROM {source.table}")[0][0]
    if persons != rows:
        raise PolicyError(
            f"{rows - persons:,} rows are of a person who has another row, or of nobody; buckets hide one row a "
            "person: make one row of each person's rows before, or drop the column if rows are what is to be hidden"
        )


def buckets_for(source: Source, layout: Layout, rows: int) -> int:
    """How many buckets there are."""
    return int(source.calls.value(f"_bucket_count({rows}, {layout.least})"))


def write_composed(source: Source, layout: Layout, buckets: int) -> None:
    """Table __composed: which values are together in a bucket, as coins cannot change it; bucket numbers are others."""
    assert layout.spread is not None
    bucket = inlined(f"_group_of(rowid, {buckets})")
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {COMPOSED} AS SELECT {bucket} AS {quoted(BUCKET)}, {quoted(layout.spread)} "
        f"FROM {ORDERED}",
    )


def write_arranged(source: Source, layout: Layout, rows: int, buckets: int, prefix: str) -> None:
    """Table __arranged."""
    con = source.con
    _write_coins(source, "__row_coins", prefix, "row", rows)
    _write_coins(source, "__bucket_coins", prefix, "bucket", buckets)
    order = ", ".join(f"o.{quoted(c)}" for c in layout.order)
    # Only the places of rows are sorted here: they are carried along faster than the rows.
    fetch(
        con,
        f"CREATE OR REPLACE TABLE __places AS SELECT o.rowid AS row FROM {ORDERED} AS o "
        f"POSITIONAL JOIN __row_coins AS c WHERE o.rowid IS NOT NULL ORDER BY {order}, c.coin, o.rowid",
    )
    fetch(
        con,
        "CREATE OR REPLACE TABLE __names AS SELECT place, row_number() OVER (ORDER BY coin, place) - 1 AS name "
        f"FROM (SELECT rowid AS place, coin FROM __bucket_coins) WHERE place < {buckets}",
    )
    of_place = f"_group_of(p.rowid, {buckets})" if layout.spread else f"_run_of(p.rowid, {rows}, {buckets})"
    fetch(
        con,
        f"CREATE OR REPLACE TABLE {ARRANGED} AS SELECT n.name AS {quoted(BUCKET)}, o.* FROM __places AS p "
        f"JOIN __names AS n ON n.place = {inlined(of_place)} JOIN {ORDERED} AS o ON o.rowid = p.row",
    )


def _write_coins(source: Source, table: str, prefix: str, purpose: str, number: int) -> None:
    """A table of coins, the first of them for place 0, and so on; up to three more than are asked for.

    Their places are counted off the rows, of which there are as many or more: a table is read by all threads, and in
    its order, but range() by one.
    """
    bits = inlined(f"_coin_bits({literal(prefix)}, concat({literal(purpose + '|')}, i))")
    fours = f"SELECT rowid // 4 AS i FROM {ORDERED} WHERE rowid % 4 = 0 AND rowid < {number}"
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {table} AS SELECT unnest({inlined('_four_coins(bits)')}) AS coin "
        f"FROM (SELECT {bits} AS bits FROM ({fours}))",
    )
