"""The digest of private rows in their columns as they are, whatever their order: noise is drawn from it.

Every row is hashed as text, and the words of the hashes are added up; the digest of a release is another one
(release/digest.py). Of private rows it is private data as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlpriv.core.engine import Runs, fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.engines.rows import WholeRows

WHOLE_TYPE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
WRITTEN_ONE_WAY = re.compile(
    rf"{WHOLE_TYPE.pattern}|DECIMAL\([^)]*\)|FLOAT|DOUBLE|BOOLEAN|DATE|TIME|TIMESTAMP|VARCHAR|UUID|ENUM\(.*\)"
)
"""Types of which equal values are written alike."""


def rows_digest(con: Runs, table: str) -> str:
    """A digest of all columns of a table, given as SQL. Where rows repeat, each is hashed once and counts for all."""
    rows, kinds = (int(n) for n in fetch(con, f"SELECT {count_and_kinds('__priv_row')} FROM {table} AS __priv_row")[0])
    if not repeats_rows(rows, kinds):
        return digest_of(con, f"SELECT sha256(CAST(__priv_row AS VARCHAR)) AS bits FROM {table} AS __priv_row")
    types = fetch(con, f"SELECT column_type FROM (DESCRIBE FROM {table})")
    # Values that are equal but written differently, such as intervals, are compared by their texts.
    by_value = all(WRITTEN_ONE_WAY.fullmatch(str(kind)) for (kind,) in types)
    row = "__priv_row" if by_value else "CAST(__priv_row AS VARCHAR)"
    return digest_of(
        con,
        "SELECT sha256(CAST(row AS VARCHAR)) AS bits, n FROM "
        f"(SELECT {row} AS row, count(*) AS n FROM {table} AS __priv_row GROUP BY ALL)",
        copies="n",
    )


def count_and_kinds(row: str, copies: str | None = None) -> str:
    """SQL for how many rows there are, and about how many kinds of them."""
    return f"{f'sum({copies})' if copies else 'count(*)'}, approx_count_distinct({row})"


def repeats_rows(rows: int, kinds: int) -> bool:
    """Whether it pays to group equal rows before they are hashed."""
    return 2 * kinds < rows


def whole_digest(whole: WholeRows) -> str:
    """The same digest of rows of which it may be said how often each is there."""
    if whole.copies is None:
        return rows_digest(whole.con, whole.table)
    _, row = row_of(whole)
    rows = f"SELECT sha256(CAST({row} AS VARCHAR)) AS bits, {whole.copies} AS n FROM {whole.table}"
    return digest_of(whole.con, rows, copies="n")


def digest_of(con: Runs, rows: str, copies: str = "1") -> str:
    """A digest of rows given by a query for their hashes, `bits`: summed up, word by word, as often as each is."""
    words = ", ".join(inlined(f"sum(_coin_word(bits, {i}) * CAST({copies} AS HUGEINT))") for i in range(4))
    return joined(fetch(con, f"SELECT {words} FROM ({rows})")[0])


def joined(sums: Sequence[int | None]) -> str:
    """Sums of words as one text."""
    return "-".join(f"{int(s or 0) % 2**64:016x}" for s in sums)


def row_of(whole: WholeRows) -> tuple[dict[str, str], str]:
    """The columns with their types, and a whole row __priv_row of them, as SQL."""
    found = fetch(whole.con, f"SELECT column_name, column_type FROM (DESCRIBE FROM {whole.table})")
    types: dict[str, str] = {name: kind for name, kind in found if name != whole.copies}
    packed = ", ".join(f"{quoted(c)} := {quoted(c)}" for c in types)
    return types, f"struct_pack({packed})" if whole.copies else "__priv_row"
