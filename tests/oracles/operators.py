"""hide, gen and generalize, row by row, and what generalization loses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from .counting import Row, Rows, text
from .hierarchies import Path

Condition = Callable[[Row], bool | None]
Hierarchies = Mapping[str, Sequence[Path]]
Table = list[dict[str, object]]


def hide(rows: Rows, attribute: str, condition: Condition) -> Table:
    return [{**row, attribute: row[attribute] if condition(row) is True else None} for row in rows]


def gen(rows: Rows, id_column: str, attribute: str, generalized: Rows, condition: Condition = lambda _: False) -> Table:
    """The column becomes text, whether a label is put into it or not."""
    labels = {text(row[id_column]): text(row[attribute]) for row in generalized if row[id_column] is not None}
    if len(labels) < sum(row[id_column] is not None for row in generalized):
        raise ValueError("an id has two rows")
    found = []
    for row in rows:
        key = text(row[id_column])
        kept = key is None or key not in labels or condition(row) is True
        found.append({**row, attribute: text(row[attribute]) if kept else labels[str(key)]})
    return found


def generalize(rows: Rows, node: Mapping[str, int], hierarchies: Hierarchies) -> Table:
    found = [dict(row) for row in rows]
    for name, level in node.items():
        paths = {path[0]: path for path in hierarchies[name]} if level else {}
        top = len(hierarchies[name][0]) - 1 if level else 0
        for row in found if level else []:
            key = text(row[name])
            if key in paths:
                row[name] = paths[key][level]
            elif key is None:
                row[name] = hierarchies[name][0][top] if level == top else None
            else:
                raise ValueError("does not cover every value")
    return found


def loss(rows: Rows, node: Mapping[str, int], hierarchies: Hierarchies) -> Fraction:
    """The mean over all cells of (leaves below - 1) / (leaves of the domain - 1)."""
    costs = []
    for name, level in node.items():
        below: dict[str | None, set[str | None]] = {}
        for path in hierarchies[name]:
            below.setdefault(path[level], set()).add(path[0])
        cells = [text(row[name]) for row in rows]
        leaves = len({path[0] for path in hierarchies[name]}) + (None in cells and None not in below)
        for cell in cells:
            if leaves == 1:
                costs.append(Fraction(0))
            elif cell == "*":
                costs.append(Fraction(1))
            else:
                costs.append(Fraction(len(below.get(cell, {None})) - 1, leaves - 1))
    return sum(costs, Fraction(0)) / len(costs)
