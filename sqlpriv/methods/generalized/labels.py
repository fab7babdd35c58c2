"""The hierarchies checked against the table, and their labels numbered.

What is wrong with a hierarchy shows in its labels, so one query over them both checks and measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import Row, fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.lattice import Node
from sqlpriv.table.frequencies import COUNT, Frequencies
from sqlpriv.table.hierarchies import TOP, Hierarchy

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
class CheckedLabels:
    """The labels of hierarchies that fit the table."""

    paths: Relation
    """attribute, labels of a value from level 0 to the top; NULL gets its own path where it has none"""
    steps: Relation
    """The same, one row a level."""
    relation: Relation
    """Every label: attribute, level, its number, leaves below, rows below."""
    seen: tuple[tuple[int, ...], ...]
    """How many labels the table has, by attribute and level."""


@dataclass(frozen=True)
class Labels(CheckedLabels):
    """Labels whose numbers name classes."""

    leaves: Relation
    """Every value: attribute, value as text, rows, the list of its labels' numbers, one entry a level."""
    numbers: int
    """How many numbers the classes of one node need."""


@dataclass(frozen=True)
class NodeLabels:
    """What a node shows."""

    node: Node
    labels: Relation
    """Each value's label and number under the node, and the labels above it: attribute, value, number, label, above."""
    suppressed: Relation | None = None
    """The numbers of the classes that fail (class); None where it is known that there are none."""

    def is_hidden(self, number: str) -> str:
        """Whether the class of a number is suppressed, as SQL."""
        return "false" if self.suppressed is None else f"({number}) IN (FROM {self.suppressed})"


def number_labels(found: Frequencies, hierarchies: Sequence[Hierarchy]) -> Labels:
    """Check the hierarchies and number their labels; hierarchies that do not fit the table are refused."""
    checked = check_hierarchies(found, hierarchies)
    leaves, numbers = _leaves(found.source.scratch, checked)
    return Labels(checked.paths, checked.steps, checked.relation, checked.seen, leaves, numbers)


def check_hierarchies(found: Frequencies, hierarchies: Sequence[Hierarchy]) -> CheckedLabels:
    """The labels of hierarchies; those that do not fit the table are refused."""
    con, scratch = found.source.con, found.source.scratch
    paths = paths_of(found, hierarchies)
    counts = scratch.table(_counts(found, hierarchies), "counts")
    steps = scratch.table(inlined(f"FROM _hierarchy_steps({paths}, {counts})"), "steps")
    labels = scratch.table(inlined(f"FROM _lattice_labels({steps})"), "labels")
    levels = sorted(fetch(con, inlined(f"FROM _hierarchy_levels({labels}, {counts})")))
    _refuse_faults(hierarchies, levels)
    seen = tuple(tuple(int(row[2]) for row in levels if row[0] == a) for a in range(len(hierarchies)))
    return CheckedLabels(paths, steps, labels, seen)


def paths_of(found: Frequencies, hierarchies: Sequence[Hierarchy]) -> Relation:
    """The labels of each value, from level 0 to the top: attribute, labels."""
    con = found.source.con
    listed = " UNION ALL ".join(
        f"SELECT {i} AS attribute, list_value(*COLUMNS(*)) AS labels FROM {h.table}" for i, h in enumerate(hierarchies)
    )
    paths = found.source.scratch.table(listed, "paths")
    for i, h in enumerate(hierarchies):
        if folded(h.column) in found.with_null:
            own = f"list_resize(CAST([] AS VARCHAR[]), {h.height}) || [{literal(TOP)}]"
            has_none = f"NOT EXISTS (FROM {paths} WHERE attribute = {i} AND labels[1] IS NULL)"
            fetch(con, f"INSERT INTO {paths} SELECT {i}, {own} WHERE {has_none}")
    return paths


def number_type(numbers: int) -> str:
    """The SQL type that holds the number of every class of a batch of nodes."""
    return "BIGINT" if numbers < 2**40 else "HUGEINT"


def _counts(found: Frequencies, hierarchies: Sequence[Hierarchy]) -> str:
    """A query for attribute, value as text, rows of the table with it."""
    return " UNION ALL ".join(
        f"SELECT {i} AS attribute, CAST({quoted(h.column)} AS VARCHAR) AS value, CAST(sum({COUNT}) AS BIGINT) AS rows "
        f"FROM {found.relation} GROUP BY 2"
        for i, h in enumerate(hierarchies)
    )


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


def _leaves(scratch: Scratch, checked: CheckedLabels) -> tuple[Relation, int]:
    """The leaves, and how many numbers the classes of one node need."""
    radix, radices = 1, []
    for labels in checked.seen:
        radices.append(radix)
        radix *= labels[0]
    if radix > _LARGEST_NUMBER:
        raise PolicyError("the quasi-identifiers have too many different values together; start from coarser ones")
    listed = f"CAST({radices} AS {number_type(radix)}[])"
    leaves = inlined(f"FROM _lattice_leaves({checked.steps}, {checked.relation}, {listed})")
    return scratch.table(leaves, "leaves"), radix
