"""Possible worlds of a release: tables that would be published alike, with the values of each class dealt otherwise.

__rows    the private rows by number
__dealt   of each row its class in the release, and its sensitive values as one text
__world   one world: the rows with the values of others of their class
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from sqlpriv.attacks.matches import match_people, refuse_unmatched
from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.method import AnyMethod
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.table.source import Source

ROWS, WORLD = "__rows", "__world"
_DEALT, _DEAL = "__dealt", "__deal"
_ROW, _CLASS, _VALUES = "__row", "__class", "__values"
Dealt = tuple[int, int]
"""A row, and the row whose values it has."""


@dataclass(frozen=True)
class Worlds:
    """The worlds of a release, beside its private table."""

    source: Source
    sensitive: Sequence[str]

    def count(self, most: int) -> tuple[float, bool]:
        """The logarithm of their number, to the base 10; and whether there are no more than so many."""
        call = f"{self.source.need('possible_worlds')}({literal(_DEALT)}, {literal([_CLASS])}, {literal(_VALUES)})"
        digits, is_few = fetch(self.source.con, f"SELECT digits, digits <= log10({most}) + 1e-9 FROM {call}")[0]
        return float(digits), bool(is_few)

    def every(self) -> Iterator[str]:
        """All of them, each as a query for `row` and `from_row`, whose values it has."""
        found = fetch(self.source.con, f"SELECT {_CLASS}, {_ROW}, {_VALUES} FROM {_DEALT} ORDER BY ALL")
        classes: dict[int, dict[int, str]] = {}
        for place, row, values in found:
            classes.setdefault(place, {})[row] = values
        for world in product(*(list(_deals(list(rows), dict(rows))) for rows in classes.values())):
            listed = ", ".join(f"({row}, {origin})" for part in world for row, origin in part)
            yield f"FROM (VALUES {listed}) AS v(row, from_row)"

    def drawn(self, number: int) -> str:
        """One of them, as likely as any other; the same for the same number."""
        place = f"row_number() OVER (PARTITION BY {_CLASS} ORDER BY"
        coin = f"md5(concat_ws('|', {number}, {_ROW}))"
        ranked = f"(SELECT *, {place} {_ROW}) AS place FROM {_DEALT}) AS a"
        shuffled = f"(SELECT *, {place} {coin}, {_ROW}) AS place FROM {_DEALT}) AS b"
        return f"SELECT a.{_ROW} AS row, b.{_ROW} AS from_row FROM {ranked} JOIN {shuffled} USING ({_CLASS}, place)"

    def write(self, deal: str, kept: str) -> str:
        """Table __world; and the insertion that keeps it in a table of what is possible: row, column and value."""
        con = self.source.con
        fetch(con, f"CREATE OR REPLACE TEMP TABLE {_DEAL} AS {deal}")
        theirs = ", ".join(f"f.{quoted(s)} AS {quoted(s)}" for s in self.sensitive)
        joined = f"{ROWS} AS r JOIN {_DEAL} AS d ON r.{_ROW} = d.row JOIN {ROWS} AS f ON f.{_ROW} = d.from_row"
        fetch(con, f"CREATE OR REPLACE TEMP TABLE {WORLD} AS SELECT r.* REPLACE ({theirs}) FROM {joined}")
        parts = [
            f"SELECT {_ROW}, {i}, CAST({quoted(s)} AS VARCHAR) FROM {WORLD} SEMI JOIN {_DEALT} AS c ON "
            f"{WORLD}.{_ROW} = c.{_ROW} AND c.{_CLASS} > 0"
            for i, s in enumerate(self.sensitive)
        ]
        return f"INSERT INTO {kept} {' UNION ALL '.join(parts)}"


def write_worlds(source: Source, method: AnyMethod, policy: Policy, file: ReleaseFile) -> Worlds:
    """Number the private rows, and find the class of each; rows that were left out are classes of their own."""
    con = source.con
    numbered = f"SELECT *, row_number() OVER () AS {_ROW} FROM {source.table}"
    fetch(con, f"CREATE OR REPLACE TEMP TABLE {ROWS} AS {numbered}")
    qis = [str(row["name"]) for row in file.rows("attributes") if row["role"] == "quasi-identifier"]
    records = method.records(file, qis, source, policy)
    matches = match_people(con, "worlds", records, ROWS, open_nulls=False, people_columns=[_ROW])
    known = (
        f"SELECT p.k0 AS row, min(x.record) AS class FROM {matches.pairs} AS x JOIN {matches.people} AS p "
        "ON x.person = p.id GROUP BY 1"
    )
    values = ", ".join(f"coalesce('=' || CAST({quoted(s)} AS VARCHAR), '-')" for s in policy.sensitive)
    fetch(
        con,
        f"CREATE OR REPLACE TEMP TABLE {_DEALT} AS SELECT {_ROW}, coalesce(k.class, -{_ROW}) AS {_CLASS}, "
        f"CAST([{values}] AS VARCHAR) AS {_VALUES} FROM {ROWS} LEFT JOIN ({known}) AS k ON {_ROW} = k.row",
    )
    missing = int(fetch(con, f"SELECT count(*) FROM {_DEALT} WHERE {_CLASS} < 0")[0][0])
    refuse_unmatched(file, missing, "--policy")
    return Worlds(source, policy.sensitive)


def _deals(rows: list[int], left: dict[int, str]) -> Iterator[tuple[Dealt, ...]]:
    """All ways to give the values that are left to the rows; equal values are not told apart."""
    if not rows:
        yield ()
        return
    first_with = {values: origin for origin, values in reversed(left.items())}
    for origin in first_with.values():
        rest = {other: values for other, values in left.items() if other != origin}
        for deal in _deals(rows[1:], rest):
            yield ((rows[0], origin), *deal)
