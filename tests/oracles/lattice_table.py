"""A table and its hierarchies, as the oracle of the lattice search reads them.

The rows are gathered by their quasi-identifiers once, so that a node only has to gather these few groups again.
That is the one thing done for speed here: without it the Adult data set would take minutes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .counting import Class, Group, canon

Node = tuple[int, ...]
Labels = tuple[object, ...]
Hierarchy = Mapping[Any, Sequence[object]]


def check_nesting(qi: str, hierarchy: Hierarchy) -> None:
    """Refuse what is not a hierarchy: the oracle's answer would mean nothing."""
    if len({len(path) for path in hierarchy.values()}) != 1 or len({path[-1] for path in hierarchy.values()}) != 1:
        raise ValueError(f"{qi}: all paths need the same length and the same top")
    parents: dict[tuple[int, object], object] = {}
    for value, path in hierarchy.items():
        if canon(path[0]) != canon(value):
            raise ValueError(f"{qi}: level 0 is the value itself")
        for level, (child, parent) in enumerate(itertools.pairwise(path)):
            if parents.setdefault((level, canon(child)), parent) != parent:
                raise ValueError(f"{qi}: the hierarchy does not nest")


@dataclass(frozen=True)
class Table:
    """A table before anything is generalized or suppressed."""

    size: int
    columns: Mapping[str, Sequence[object]]
    canonical: Mapping[str, Sequence[object]]
    """The same columns, in values that are equal exactly when they count as equal."""
    qis: tuple[str, ...]
    paths: Mapping[str, Mapping[object, Labels]]
    """For every quasi-identifier the labels of each (canonical) value, from level 0 to the top."""
    members: Mapping[Class, Sequence[int]]
    """The row numbers by the (canonical) original values of the quasi-identifiers."""

    @classmethod
    def read(
        cls,
        rows: Sequence[Sequence[object]],
        columns: Sequence[str],
        qis: Sequence[str],
        hierarchies: Mapping[str, Hierarchy],
    ) -> Table:
        if not rows:
            raise ValueError("the table has no rows")
        paths = {}
        for qi in qis:
            check_nesting(qi, hierarchies[qi])
            paths[qi] = {canon(value): tuple(map(canon, path)) for value, path in hierarchies[qi].items()}
        by_name = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
        canonical = {name: list(map(canon, cells)) for name, cells in by_name.items()}
        members: dict[Class, list[int]] = {}
        for number, values in enumerate(zip(*(canonical[qi] for qi in qis), strict=True)):
            members.setdefault(values, []).append(number)
        return cls(len(rows), by_name, canonical, tuple(qis), paths, members)

    def height(self, qi: str) -> int:
        """The highest level of a quasi-identifier."""
        return len(next(iter(self.paths[qi].values()))) - 1

    def nodes(self) -> Iterator[Node]:
        """Every node of the lattice, in lexicographic order."""
        return itertools.product(*(range(self.height(qi) + 1) for qi in self.qis))

    def labels(self, values: Class, node: Node) -> Class:
        """The class that original (canonical) values are in; a value without a path is a KeyError."""
        levels = zip(self.qis, values, node, strict=True)
        return tuple(self.paths[qi][value][level] for qi, value, level in levels)

    def classes(self, node: Node, sensitive: str | None = None) -> dict[Class, Group]:
        """All classes of a node, before suppression, with the units of each sensitive value."""
        found: dict[Class, Group] = {}
        for values, numbers in self.members.items():
            group = found.setdefault(self.labels(values, node), Group())
            group.units.update(numbers)
            for number in numbers if sensitive is not None else ():
                group.by_value.setdefault(self.canonical[sensitive][number], set()).add(number)
        return found

    def population_sizes(self, population: Sequence[Sequence[object]], node: Node) -> Counter[Class]:
        """How many of the population, rows of the quasi-identifiers in order, are in each class."""
        return Counter(self.labels(tuple(map(canon, person)), node) for person in population)

    def leaves(self, qi: str, level: int) -> Counter[object]:
        """How many values of the hierarchy, present in the table or not, are below each label."""
        return Counter(path[level] for path in self.paths[qi].values())

    def seen_leaves(self, qi: str, level: int) -> Counter[object]:
        """How many different values of the whole table are below each label."""
        return Counter(self.paths[qi][value][level] for value in set(self.canonical[qi]))

    def rows_with(self, qi: str, level: int) -> Counter[object]:
        """How many rows of the whole table have each label."""
        found: Counter[object] = Counter()
        for value, count in Counter(self.canonical[qi]).items():
            found[self.paths[qi][value][level]] += count
        return found
