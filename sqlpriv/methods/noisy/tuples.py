"""The private table as tuples of numbers: each row becomes the numbers of its values in their domains.

Given are the open table and its published columns with their numbered domains. Returned is a relation of i0, i1, ...
(numbers in the domains) and copies. Rows outside a domain are dropped or replaced where the policy says so, and else
refused with why: the domain is too narrow, or the column and its domain are of different types.

For noise tuples become elements: numbers of their own, in few columns (limbs), each below 2^36.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import NUMERIC_TYPE, literal, quoted, rows_of
from sqlpriv.table.domains import OTHER, NumberedColumn
from sqlpriv.table.profile import kind_of
from sqlpriv.table.source import Source

LIMB = 2**36
_FRACTIONS = re.compile(r"FLOAT|DOUBLE|DECIMAL.*")
_CSV = re.compile(r"\.[ct]sv(\.\w+)?$", re.IGNORECASE)
_DAYS = "as days: 2024-01-31 without quotes, or range:2024-01-01..2024-12-31"
_HOW_TO_WRITE = {
    "text": "as texts in quotes, as the column writes them",
    "number": "as numbers without quotes",
    "date": _DAYS,
    "timestamp": _DAYS,
    "flag": "as [true, false]",
}
"""How a policy writes a domain for a column of each kind."""


def count_tuples(source: Source, columns: Sequence[NumberedColumn], *, is_distinct: bool) -> Relation:
    """The tuples of the table with their copies; where equal rows count as one, each has one copy."""
    ids, joins = [], []
    for a, column in enumerate(columns):
        value = column.text_of("t")
        declared = f"CAST(CAST(d{a}.value AS {column.compared}) AS VARCHAR)"
        matches = f"{declared} IS NOT DISTINCT FROM {value}"
        if column.mapping:
            joins.append(f"LEFT JOIN {column.mapping.name} AS m{a} ON m{a}.value IS NOT DISTINCT FROM {value}")
            # A value without a label is outside the domain, and not NULL.
            matches = f"({declared} = m{a}.label OR coalesce(d{a}.value, m{a}.label, {value}) IS NULL)"
        joins.append(f"LEFT JOIN {column.table.name} AS d{a} ON {matches}")
        other = "NULL"
        if column.column.outside == "other":
            other = f"(SELECT id FROM {column.table.name} WHERE value = {literal(OTHER)})"
        ids.append(f"coalesce(d{a}.id, {other}) AS i{a}")
    with source.scratch.nested() as scratch:
        rows, number = rows_of(source.checked)
        copies = ", ".join([*(f"i{a}" for a in range(len(columns))), f"{number} AS copies"])
        numbered = f"SELECT {', '.join(ids)}{source.repeated[1]} FROM {rows} AS t {' '.join(joins)}"
        counted = scratch.table(f"SELECT {copies} FROM ({numbered}) GROUP BY ALL", "counted")
        outside = ", ".join(f"coalesce(sum(copies) FILTER (i{a} IS NULL), 0)" for a in range(len(columns)))
        there = int(fetch(source.con, f"SELECT {number} FROM {rows}")[0][0] or 0)
        made, *lost = fetch(source.con, f"SELECT coalesce(sum(copies), 0), {outside} FROM {counted.name}")[0]
        # A row that matched two values would be two elements, and be hidden half as well.
        if made != there:
            raise PolicyError("some rows match two values of a domain; make its values distinct")
        for column, outside_it in zip(columns, lost, strict=True):
            if outside_it:
                _refuse_outside(source, column, int(outside_it))
        inside = " AND ".join(f"i{a} IS NOT NULL" for a in range(len(columns)))
        copies = "* REPLACE (CAST(1 AS BIGINT) AS copies)" if is_distinct else "*"
        return source.scratch.table(f"SELECT {copies} FROM {counted.name} WHERE {inside}", "tuples")


def _refuse_outside(source: Source, column: NumberedColumn, rows: int) -> None:
    """Refuse rows outside a domain, unless the policy says what becomes of them.

    That they are dropped or replaced is meant for a few odd values: where the whole column is outside its domain,
    because the two are of different types, they are refused all the same.
    """
    # The values of the rows and of the domain as they are compared, those that are not NULL.
    values = (
        f"SELECT x FROM (SELECT {column.text_of('t')} AS x FROM {rows_of(source.checked)[0]} AS t) WHERE x IS NOT NULL"
    )
    domain = f"SELECT CAST(CAST(value AS {column.compared}) AS VARCHAR) AS value FROM {column.table.name}"
    if column.mapping:
        domain = f"SELECT value FROM {column.mapping.name}"
    domain = f"{domain} WHERE value IS NOT NULL"
    is_lost = not fetch(source.con, f"SELECT count(*) FROM ({values}) WHERE x IN ({domain})")[0][0]
    if column.column.outside != "refuse" and not is_lost:
        return
    what = f"{rows:,} rows have a value of {column.name!r} outside its domain"
    if why := _different_types(source, column, values, domain, is_lost=is_lost):
        raise PolicyError(f"{what}: {why}")
    if column.column.outside == "refuse":
        raise PolicyError(
            f'{what}; widen the domain, or set outside = "drop" or "other" (or null = true, if it is NULL)'
        )


def _different_types(source: Source, column: NumberedColumn, values: str, domain: str, *, is_lost: bool) -> str | None:
    """What to write where rows are outside because the types of column and domain differ; else None.

    `values` and `domain` are SQL for the values of the rows and of the domain, as texts.
    """
    own, given = "VARCHAR" if column.name in source.texts else source.types[column.name], column.given
    if given is None:
        return None
    both = f"the column is {_shown(own)}, its domain {_shown(given)}"
    if _FRACTIONS.fullmatch(own) and NUMERIC_TYPE.fullmatch(given) and not _FRACTIONS.fullmatch(given):
        value = f"CAST({quoted(column.name)} AS DOUBLE)"
        is_broken = f"isfinite({value}) AND {value} <> floor({value})"
        there, number = rows_of(source.checked)
        broken = int(fetch(source.con, f"SELECT {number} FROM {there} WHERE {is_broken}")[0][0] or 0)
        whole = f"{both}, and {broken:,} rows have no whole number; round the column, in a view of a database"
        return whole if broken else None
    kind = kind_of(own)
    if kind == kind_of(given):
        return None
    # Whether a row is outside that would be inside if column and domain were of the same type.
    would_match = " OR ".join(
        f"TRY_CAST(x AS {t}) IN (SELECT TRY_CAST(value AS {t}) FROM ({domain}))" for t in (given, own)
    )
    outside = f"SELECT x FROM ({values}) WHERE x NOT IN ({domain})"
    if not is_lost and not fetch(source.con, f"SELECT count(*) FROM ({outside}) WHERE {would_match}")[0][0]:
        return None
    advice = f"write the domain {_HOW_TO_WRITE.get(kind, _HOW_TO_WRITE['text'])}"
    if kind == "text":
        # A CSV file's column gets another type by the policy, all else in a view.
        is_csv = source.reference.is_in_file and _CSV.search(source.reference.file_name)
        where = f'by types = {{ {column.name} = "{given}" }} in [table]' if is_csv else "in a view of a database"
        advice = f"make the column {_shown(given)}, {where}, or {advice}"
    return f"{both}, and what is written differently is different; {advice}"


def _shown(kind: str) -> str:
    """A type by its name: what follows may hold the values of an ENUM."""
    return kind if kind.startswith("TIMESTAMP") else re.split(r"[ (]", kind, maxsplit=1)[0]


def refuse_more_rows(source: Source, person: str, rows_each: int) -> None:
    """A person with more rows than is publicly said would be hidden less; rows of nobody count as one person's."""
    there, number = rows_of(source.checked)
    counts = f"SELECT {number} AS rows FROM {there} GROUP BY {quoted(person)}"
    crowded, most = fetch(source.con, f"SELECT count(*), max(rows) FROM ({counts}) WHERE rows > {rows_each}")[0]
    if crowded:
        raise PolicyError(
            f"{crowded:,} persons have more than {rows_each} rows, up to {most:,}; raise rows_each to a public bound, "
            "or leave rows out before you publish"
        )


@dataclass(frozen=True)
class Digit:
    """Where one attribute stands: which limb, times what, below what."""

    limb: int
    stride: int
    size: int


@dataclass(frozen=True)
class Elements:
    """The numbering of all elements: a digit for every attribute, and a last one for the slot."""

    digits: tuple[Digit, ...]
    limbs: tuple[int, ...]

    @cached_property
    def columns(self) -> list[str]:
        """The columns that hold an element."""
        return [f"e{i}" for i in range(len(self.limbs))]

    @cached_property
    def listed(self) -> str:
        """SQL for these columns, one after the other."""
        return ", ".join(self.columns)

    @cached_property
    def text(self) -> str:
        """SQL for an element as text: what is drawn at random for it is drawn by this."""
        return " || ',' || ".join(f"CAST({e} AS VARCHAR)" for e in self.columns)

    @property
    def count(self) -> int:
        """How many elements there are."""
        return prod(self.limbs)

    def digit(self, place: int) -> str:
        """SQL for the number of an attribute (or with place -1 of the slot), from the limbs."""
        digit = self.digits[place]
        limb = self.columns[digit.limb]
        shifted = limb if digit.stride == 1 else f"{limb} // {digit.stride}"
        return f"({shifted}) % {digit.size}"

    def numbers(self, ids: Sequence[str]) -> list[str]:
        """SQL for each limb, from that for the numbers of all digits."""
        terms: list[list[str]] = [[] for _ in self.limbs]
        for digit, number in zip(self.digits, ids, strict=True):
            terms[digit.limb].append(f"({number}) * {digit.stride}")
        return [" + ".join(parts) for parts in terms]

    def select(self, ids: Sequence[str]) -> str:
        """SQL for all limbs under their names, from that for the numbers of all digits."""
        return ", ".join(f"{n} AS {e}" for n, e in zip(self.numbers(ids), self.columns, strict=True))


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
