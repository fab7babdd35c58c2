"""The hierarchies checked against the table, and their labels numbered.

    counts   attribute, value as text, rows of the table with it
    paths    attribute, labels of a value from level 0 to the top; NULL gets its own path where it has none
    steps    the same, one row a level
    labels   every label: attribute, level, its number, leaves below, rows below
    leaves   every value: the list of its labels' numbers, one entry a level

What is wrong with a hierarchy shows in its labels, so one query over them both checks and measures.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlpriv.engine import Row, fetch
from sqlpriv.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP, Hierarchy
from sqlpriv.table.source import Source

_LARGEST_NUMBER = 2**100  # times the number of a node it still is a HUGEINT
_FAULTS = (
    "value(s) of the table are not in it",
    "value(s) are listed twice with different labels",
    "value(s) have no label on it",
    "label(s) have two different labels above them, so the levels do not nest",
    "labels stand on it, the top, where one label must stand for all values",
)
"""In the order of the columns of _hierarchy_levels."""


@dataclass(frozen=True)
class Labels:
    """How many labels the table has by attribute and level, and how many numbers classes need."""

    seen: tuple[tuple[int, ...], ...]
    numbers: int


def write_labels(
    source: Source, hierarchies: Sequence[Hierarchy], frequencies: str, with_null: Collection[str]
) -> Labels:
    """Write the five tables; hierarchies that do not fit the table are refused."""
    seen = check_hierarchies(source, hierarchies, frequencies, with_null)
    return Labels(seen, _write_leaves(source, seen))


def check_hierarchies(
    source: Source, hierarchies: Sequence[Hierarchy], frequencies: str, with_null: Collection[str]
) -> tuple[tuple[int, ...], ...]:
    """Write all but the leaves; how many labels the table has, by attribute and level."""
    write_paths(source, hierarchies, with_null)
    _write_counts(source, hierarchies, frequencies)
    con = source.con
    fetch(con, f"CREATE OR REPLACE TABLE steps AS {inlined('FROM _hierarchy_steps(paths, counts)')}")
    fetch(con, f"CREATE OR REPLACE TABLE labels AS {inlined('FROM _lattice_labels(steps)')}")
    levels = sorted(fetch(con, inlined("FROM _hierarchy_levels(labels, counts)")))
    _refuse_faults(hierarchies, levels)
    return tuple(tuple(int(row[2]) for row in levels if row[0] == a) for a in range(len(hierarchies)))


def write_paths(source: Source, hierarchies: Sequence[Hierarchy], with_null: Collection[str]) -> None:
    """Write paths. `with_null`: the columns, folded, that some row has no value of."""
    paths = " UNION ALL ".join(
        f"SELECT {i} AS attribute, list_value(*COLUMNS(*)) AS labels FROM {h.table}" for i, h in enumerate(hierarchies)
    )
    fetch(source.con, f"CREATE OR REPLACE TABLE paths AS {paths}")
    for i, h in enumerate(hierarchies):
        if folded(h.column) in with_null:
            own = f"list_resize(CAST([] AS VARCHAR[]), {h.height}) || [{literal(TOP)}]"
            has_none = f"NOT EXISTS (FROM paths WHERE attribute = {i} AND labels[1] IS NULL)"
            fetch(source.con, f"INSERT INTO paths SELECT {i}, {own} WHERE {has_none}")


def number_type(numbers: int) -> str:
    """The SQL type that holds the number of every class of a batch of nodes."""
    return "BIGINT" if numbers < 2**40 else "HUGEINT"


def _write_counts(source: Source, hierarchies: Sequence[Hierarchy], frequencies: str) -> None:
    counts = " UNION ALL ".join(
        f"SELECT {i} AS attribute, CAST({quoted(h.column)} AS VARCHAR) AS value, CAST(sum(__priv_n) AS BIGINT) AS rows "
        f"FROM {frequencies} GROUP BY 2"
        for i, h in enumerate(hierarchies)
    )
    fetch(source.con, f"CREATE OR REPLACE TABLE counts AS {counts}")


def _refuse_faults(hierarchies: Sequence[Hierarchy], levels: Sequence[Row]) -> None:
    """Refuse hierarchies that do not fit the table, naming the attribute, the level and how many."""
    found = sorted(
        (attribute, level, fault, number)
        for attribute, level, _, *numbers in levels
        for fault, number in zip(_FAULTS, numbers, strict=True)
        if number
    )
    if found:
        raise PolicyError(
            "; ".join(
                f"hierarchy of {hierarchies[a].column!r}, level {level}: {n} {fault}" for a, level, fault, n in found
            )
        )


def _write_leaves(source: Source, seen: Sequence[Sequence[int]]) -> int:
    """Write leaves; return how many numbers the classes of one node need."""
    radix, radices = 1, []
    for labels in seen:
        radices.append(radix)
        radix *= labels[0]
    if radix > _LARGEST_NUMBER:
        raise PolicyError("the quasi-identifiers have too many different values together; start from coarser ones")
    listed = f"CAST({radices} AS {number_type(radix)}[])"
    leaves = inlined(f"FROM _lattice_leaves(steps, labels, {listed})")
    fetch(source.con, f"CREATE OR REPLACE TABLE leaves AS {leaves}")
    return radix
