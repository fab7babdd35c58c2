"""The private table as tuples of numbers: each row becomes the numbers of its values in their domains.

__tuples    i0, i1, ... (numbers in the domains), copies
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.noisy.outside import refuse_outside
from sqlpriv.table.domains import OTHER, NumberedColumn
from sqlpriv.table.fingerprint import digest_of
from sqlpriv.table.source import Source

LIMB = 2**36


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


@dataclass(frozen=True)
class Digit:
    """Where one attribute stands: which limb, times what, below what."""

    limb: int
    stride: int
    size: int

    def of(self, limbs: Sequence[str]) -> str:
        """SQL for the attribute's number, from the limbs."""
        limb = limbs[self.limb]
        shifted = limb if self.stride == 1 else f"{limb} // {self.stride}"
        return f"({shifted}) % {self.size}"


@dataclass(frozen=True)
class Elements:
    """The numbering of all elements: a digit for every attribute, and a last one for the slot."""

    digits: tuple[Digit, ...]
    limbs: tuple[int, ...]

    @property
    def columns(self) -> list[str]:
        """The columns that hold an element."""
        return [f"e{i}" for i in range(len(self.limbs))]

    @property
    def count(self) -> int:
        """How many elements there are."""
        return prod(self.limbs)

    def number(self, ids: Sequence[str]) -> list[str]:
        """SQL for the limbs, from the numbers of all digits."""
        terms: list[list[str]] = [[] for _ in self.limbs]
        for digit, number in zip(self.digits, ids, strict=True):
            terms[digit.limb].append(f"({number}) * {digit.stride}")
        return [" + ".join(parts) for parts in terms]


def number_elements(sizes: Sequence[int]) -> Elements:
    """Give every digit its place; the first attribute weighs most, so numbers sort as the tuples do.

    >>> [(d.limb, d.stride) for d in number_elements([10, 2**30, 100]).digits]
    [(0, 1073741824), (0, 1), (1, 1)]
    """
    groups: list[list[int]] = [[]]
    for size in sizes:
        if prod(groups[-1]) * size > LIMB and groups[-1]:
            groups.append([])
        groups[-1].append(size)
    digits = [
        Digit(limb, prod(group[i + 1 :]), size) for limb, group in enumerate(groups) for i, size in enumerate(group)
    ]
    return Elements(tuple(digits), tuple(prod(group) for group in groups))
