"""The quasi-identifiers as axes on which rows are points, and boxes have sides.

An axis is ordered, where its numbers or dates may be cut anywhere: the points are the numbers themselves. Or it is a
tree, where a hierarchy, or halving a public range again and again, says how values go together (box_trees.py): its
leaves are numbered from left to right, and the way to a leaf from the top is written in bits. The bits of several trees
stand side by side in one number, a pack, so that a row is not much longer for many trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.core.relation import Relation
from sqlpriv.methods.generalized.kinds import WHOLE
from sqlpriv.methods.generalized.leaves import Known
from sqlpriv.methods.generalized.scan import ScannedTable
from sqlpriv.table.hierarchies import Given

WAY = 61
"""The bits of a way; those that a tree does not need are zeros at the end. Of its mark there is one more."""


@dataclass(frozen=True)
class Axis:
    """A quasi-identifier: its column as the table spells it, the type of its values, and what its labels are."""

    number: int
    column: str
    original: str
    labels: str
    given: Given | None = None
    """The hierarchy; None where the axis is ordered, or halves of a public range."""
    height: int | None = None
    """The level of the top; None where the axis is ordered."""
    first: float = 0.0
    last: float = 0.0
    """The ends of an ordered axis, and of one of halves."""
    has_nulls: bool = False
    """Of an ordered axis, whether some row has no value on it."""
    bits: int = 0
    """How long the way to a leaf of a tree is."""
    field: int = 0
    """The most bits that the children of one node take."""
    pack: int = 0
    offset: int = 0
    """In which pack the ways to the leaves are, and from which bit on; without the zeros at their ends."""

    @property
    def is_ordered(self) -> bool:
        """Whether it may be cut anywhere."""
        return self.height is None

    @property
    def zeros(self) -> int:
        """How many zeros are at the end of every way."""
        return WAY - self.bits

    @property
    def shortest(self) -> str:
        """The shortest type that holds the numbers of an ordered axis as they are."""
        is_whole = WHOLE.fullmatch(self.original) or self.original == "DATE"
        if is_whole and self.first >= -(2**31) and self.last < 2**31:
            return "INTEGER"
        return "FLOAT" if self.original == "FLOAT" else "DOUBLE"

    def typed(self, number: str) -> str:
        """A number of the axis as the value that it stands for, in SQL."""
        if self.original == "DATE":
            return f"(DATE '1970-01-01' + CAST({number} AS INTEGER))"
        if self.original == "TIMESTAMP":
            return f"make_timestamp(CAST({number} AS BIGINT))"
        return f"CAST({number} AS {self.original})"

    def number_of(self, value: str) -> str:
        """A value as a number, in SQL."""
        if self.original == "DATE":
            return f"CAST({value} - DATE '1970-01-01' AS DOUBLE)"
        if self.original == "TIMESTAMP":
            return f"CAST(epoch_us({value}) AS DOUBLE)"
        return f"CAST({value} AS DOUBLE)"


@dataclass(frozen=True)
class Trees:
    """The trees of all axes that have one (box_trees.py)."""

    steps: Relation
    """The leaves, one row a level: axis, labels, code, level."""
    nodes: Relation
    """axis, level, the leaves low to high, label, labels above it, leaves, width, the share of all values below it."""
    axes: Relation
    """axis, and where its ways are: `pack`, from which bit on (`skip`), as many ones (`mask`), the zeros at the end."""
    leaves: Relation
    """axis, value as text, code, way."""
    marks: Relation
    """What is found by where ways part: axis, mark, level, label (* at the top), width of the node, how eagerly it is
    cut, and the bits of its children, `field` from `start` of the pack on."""
    halves: Mapping[int, Relation]
    """Of each axis that is a public range: the ends of all nodes, label, low, high."""


@dataclass(frozen=True)
class BoxScan(ScannedTable):
    """The frequencies as points on axes."""

    points: Relation
    """Each combination: row, v<a> on every ordered axis, b<p> in every pack, s<j>, holder, n."""
    axes: tuple[Axis, ...]
    forest: Trees | None
    """None where all axes are ordered."""
    known: Known
    """What may be known of the published columns."""

    @property
    def ordered(self) -> tuple[Axis, ...]:
        """The axes that may be cut anywhere."""
        return tuple(axis for axis in self.axes if axis.is_ordered)

    @property
    def trees(self) -> tuple[Axis, ...]:
        """The axes with nodes."""
        return tuple(axis for axis in self.axes if not axis.is_ordered)

    @property
    def packs(self) -> range:
        """The packs, by number."""
        return packs_of(self.axes)


def packs_of(axes: Sequence[Axis]) -> range:
    """The packs of trees, by number."""
    return range(max((axis.pack + 1 for axis in axes if not axis.is_ordered), default=0))
