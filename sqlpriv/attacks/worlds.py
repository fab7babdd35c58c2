"""Possible worlds of a release: tables that would be published alike, with the values of each class dealt otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from sqlpriv.attacks.matches import match_people, refuse_unmatched
from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.methods.method import AnyMethod
from sqlpriv.methods.records import OwnedRelease
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.table.source import Source

_ROW, _CLASS, _VALUES = "__row", "__class", "__values"
Dealt = tuple[int, int]
"""A row, and the row whose values it has."""


@dataclass(frozen=True)
class Worlds:
    """The worlds of a release and its private table. A deal is a query for `row` and `from_row`: who has whose."""

    source: Source
    sensitive: Sequence[str]
    rows: Relation
    """The private rows by number."""
    dealt: Relation
    """Of each row its class in the release, and its sensitive values as one text."""

    def count(self, most: int) -> tuple[float, bool]:
        """The logarithm of their number, to the base 10; and whether there are no more than so many."""
        given = f"{literal(self.dealt.name)}, {literal([_CLASS])}, {literal(_VALUES)}"
        call = f"{self.source.need('possible_worlds')}({given})"
        digits, is_few = fetch(self.source.con, f"SELECT digits, digits <= log10({most}) + 1e-9 FROM {call}")[0]
        return float(digits), bool(is_few)

    def every(self) -> Iterator[str]:
        """The deals of all of them."""
        found = fetch(self.source.con, f"SELECT {_CLASS}, {_ROW}, {_VALUES} FROM {self.dealt.name} ORDER BY ALL")
        classes: dict[int, dict[int, str]] = {}
        for place, row, values in found:
            classes.setdefault(place, {})[row] = values
        for world in product(*(list(_deals(list(rows), dict(rows))) for rows in classes.values())):
            listed = ", ".join(f"({row}, {origin})" for part in world for row, origin in part)
            yield f"FROM (VALUES {listed}) AS v(row, from_row)"

    def drawn(self, number: int) -> str:
        """The deal of one of them, as likely as any other; the same for the same number."""
        noise = f"md5(concat_ws('|', {number}, {_ROW}))"
        shuffled = f"(SELECT {_ROW}, {_CLASS}, {_place(f'{noise}, {_ROW}')} FROM {self.dealt.name}) AS b"
        return (
            f"SELECT a.{_ROW} AS row, b.{_ROW} AS from_row FROM {self._places.name} AS a "
            f"JOIN {shuffled} USING ({_CLASS}, place)"
        )

    @cached_property
    def _places(self) -> Relation:
        """The rows by their places in their classes."""
        return self.source.scratch.table(f"SELECT {_ROW}, {_CLASS}, {_place(_ROW)} FROM {self.dealt.name}", "places")

    def table(self, deal: Relation | None) -> str:
        """A query for the private table in the world of a deal; without one as it is."""
        columns = ", ".join(quoted(c) for c in self.source.columns)
        if deal is None:
            return f"SELECT {columns} FROM {self.rows.name}"
        theirs = {folded(s) for s in self.sensitive}
        columns = ", ".join(f"{'f' if folded(c) in theirs else 'r'}.{quoted(c)}" for c in self.source.columns)
        return (
            f"SELECT {columns} FROM {self.rows.name} AS r JOIN {deal.name} AS d ON r.{_ROW} = d.row "
            f"JOIN {self.rows.name} AS f ON f.{_ROW} = d.from_row"
        )

    def values(self, deal: Relation) -> str:
        """A query for the values of published rows in the world of a deal: row, place of the column, value."""
        parts = [
            f"SELECT d.row, {i} AS place, CAST(f.{quoted(s)} AS VARCHAR) AS value FROM {deal.name} AS d "
            f"JOIN {self.rows.name} AS f ON f.{_ROW} = d.from_row "
            f"SEMI JOIN {self.dealt.name} AS c ON d.row = c.{_ROW} AND c.{_CLASS} > 0"
            for i, s in enumerate(self.sensitive)
        ]
        return " UNION ALL ".join(parts)


def find_worlds(source: Source, method: AnyMethod, policy: Policy, file: ReleaseFile) -> Worlds:
    """Number the private rows, and find the class of each; rows that were left out are classes of their own."""
    scratch = source.scratch
    rows = scratch.table(f"SELECT *, row_number() OVER () AS {_ROW} FROM {source.private.name}", "rows")
    qis = [str(row["name"]) for row in file.rows("attributes") if row["role"] == "quasi-identifier"]
    records = method.records(OwnedRelease(file, source, policy), qis)
    matches = match_people(scratch, records, rows.name, open_nulls=False, people_columns=[_ROW])
    known = (
        f"SELECT p.k0 AS row, min(x.record) AS class FROM {matches.pairs.name} AS x "
        f"JOIN {matches.people.name} AS p ON x.person = p.id GROUP BY 1"
    )
    values = ", ".join(f"coalesce('=' || CAST({quoted(s)} AS VARCHAR), '-')" for s in policy.sensitive)
    dealt = scratch.table(
        f"SELECT {_ROW}, coalesce(k.class, -{_ROW}) AS {_CLASS}, CAST([{values}] AS VARCHAR) AS {_VALUES} "
        f"FROM {rows.name} LEFT JOIN ({known}) AS k ON {_ROW} = k.row",
        "dealt",
    )
    missing = int(fetch(source.con, f"SELECT count(*) FROM {dealt.name} WHERE {_CLASS} < 0")[0][0])
    refuse_unmatched(file, missing, "--policy")
    return Worlds(source, policy.sensitive, rows, dealt)


def _place(order: str) -> str:
    return f"row_number() OVER (PARTITION BY {_CLASS} ORDER BY {order}) AS place"


def _deals(rows: list[int], left: dict[int, str]) -> Iterator[tuple[Dealt, ...]]:
    """All ways to give the values that are left to the rows; equal values are not distinguished."""
    if not rows:
        yield ()
        return
    first_with = {values: origin for origin, values in reversed(left.items())}
    for origin in first_with.values():
        rest = {other: values for other, values in left.items() if other != origin}
        for deal in _deals(rows[1:], rest):
            yield ((rows[0], origin), *deal)
