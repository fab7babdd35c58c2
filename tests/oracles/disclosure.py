"""Disclosure risk: records and entries are lists of texts, one for each link, which has a hierarchy or None."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from .counting import INFINITY
from .similarity import similar

Cell = str | None
Cells = Sequence[Cell]
Tree = Sequence[Sequence[Cell]] | None
Weights = Mapping[str, float] | float


def _blank(cell: Cell, tree: Tree) -> bool:
    """A cell that tells nothing: missing, suppressed, the top, or a label above NULL alone."""
    if tree is None or cell in (None, "*"):
        return cell in (None, "*")
    return cell == tree[0][-1] or all(path[0] is None for path in tree if cell in path)


def _above(cell: Cell, tree: Tree) -> list[Cell]:
    """The cell and all that stands above it, each once, up to the top."""
    if _blank(cell, tree):
        return ["*"]
    if tree is None:
        return [cell, "*"]
    path = next(path for path in tree if cell in path)
    return list(dict.fromkeys([*path[path.index(cell) : -1], "*"]))


def consistent(one: Cell, other: Cell, tree: Tree, least: float | None = None) -> bool:
    """One is above the other, both are one, or they are at least so similar."""
    if _above(one, tree)[0] in _above(other, tree) or _above(other, tree)[0] in _above(one, tree):
        return True
    return least is not None and similar(str(one), str(other), least)


def identification(
    records: Sequence[Cells],
    entries: Sequence[Cells],
    trees: Sequence[Tree],
    similarities: Sequence[float | None] | None = None,
) -> list[int]:
    """How many entries are consistent with each record."""
    least = similarities or [None] * len(trees)
    return [
        sum(all(map(consistent, record, entry, trees, least)) for entry in entries)  # every pair, on every link
        for record in records
    ]


def _times(one: float, other: float) -> float:
    return 0.0 if one == 0 or other == 0 else one * other


def disclosure_losses(counts: Sequence[int], phi: Sequence[float], psi: Sequence[float]) -> list[float]:
    """The expected harm to each record."""
    losses = []
    for count, found, missed in zip(counts, phi, psi, strict=True):
        p = 1 / count if count else 0.0
        losses.append(_times(p, found) + _times(1 - p, missed))
    return losses


def disclosure_risk(counts: Sequence[int], phi: Sequence[float], psi: Sequence[float]) -> tuple[float, ...]:
    """records, found, prohibited, risk, median, p90, p99, worst."""
    losses = sorted(disclosure_losses(counts, phi, psi))

    def quantile(share: Fraction) -> float:
        return losses[max(math.ceil(share * len(losses)), 1) - 1]

    spread = [quantile(Fraction(share, 100)) for share in (50, 90, 99)]
    found, never = sum(count > 0 for count in counts), sum(map(math.isinf, losses))
    return (len(losses), found, never, math.fsum(losses) / len(losses), *spread, losses[-1])


def bayes_risk(losses: Sequence[Sequence[float]], priors: Sequence[float]) -> tuple[float, float, float]:
    """bayes, minimax and bound, from the losses of all records against each dictionary."""
    risks = [math.fsum(own) / len(own) for own in losses]
    worst = [max(of_record) for of_record in zip(*losses, strict=True)]
    return sum(map(_times, priors, risks)), max(risks), math.fsum(worst) / len(worst)


def dictionary_order(
    entries: Mapping[str, Cells], others: Sequence[tuple[str, Cells]], trees: Sequence[Tree]
) -> tuple[int, int, int, bool]:
    """entries, absent, sharper, precedes."""
    absent = sharper = 0
    for name, cells in entries.items():
        same = [own for other, own in others if other == name]
        covered = any(
            all(
                _above(there, tree)[0] in _above(here, tree)
                for here, there, tree in zip(cells, own, trees, strict=True)
            )
            for own in same
        )
        absent += not same
        sharper += bool(same) and not covered
    return len(entries), absent, sharper, absent + sharper == 0


def _leaves(node: Cell, values: Sequence[str], tree: Tree) -> list[str]:
    """The values below a node that are not above another value."""
    below = [value for value in values if node in _above(value, tree)]
    return [value for value in below if not any(value in _above(v, tree) for v in values if v != value)]


def node_weight(node: Cell, values: Sequence[str], weights: Weights, tree: Tree) -> tuple[int, float]:
    """The number of leaves below a node and its weight, by the mean of the weights of its children, level by level."""
    children = {_above(v, tree)[_above(v, tree).index(node) - 1] for v in values if node in _above(v, tree)[1:]}
    leaves = len(_leaves(node, values, tree))
    if node == "*":
        return leaves, 0.0
    if not children:
        return leaves, float(weights[str(node)] if isinstance(weights, Mapping) else weights)
    below = [node_weight(child, values, weights, tree)[1] for child in children]
    if 0 in below:
        return leaves, 0.0
    finite = [weight for weight in below if not math.isinf(weight)]
    return leaves, 1 / math.fsum(1 / weight for weight in finite) if finite else INFINITY


def hierarchy_weights(weights: Weights, tree: Sequence[Sequence[Cell]]) -> list[tuple[str, int, int, float]]:
    """node, depth, leaves, weight of every node."""
    values = [path[0] for path in tree if path[0] is not None]
    nodes = {node for value in values for node in _above(value, tree)}
    found = [(node, len(_above(node, tree)) - 1, *node_weight(node, values, weights, tree)) for node in nodes]
    top = str(tree[0][-1])
    return sorted(
        ((top if node == "*" else str(node), *rest) for node, *rest in found), key=lambda row: (row[1], row[0])
    )


def sensitivity(
    record: Cells,
    trees: Sequence[Tree],
    factors: Sequence[float],
    weights: Sequence[Weights],
    sets: Mapping[tuple[int, ...], float],
    form: str,
) -> float:
    """The weights of all cells and sets of cells, added up."""
    shares, total = [], 0.0
    for cell, tree, factor, own in zip(record, trees, factors, weights, strict=True):
        node = _above(cell, tree)[0]
        values = [str(node)] if tree is None else [path[0] for path in tree if path[0] is not None]
        leaves, weight = node_weight(node, values, own, tree)
        total += _times(factor, weight)
        shares.append(0.0 if node == "*" else 1 / leaves)
    total += sum(_times(factor, math.prod(shares[place] for place in places)) for places, factor in sets.items())
    return total if form == "linear" else math.exp(total) if total < 700 else INFINITY


def disclosure_utility(record: Cells, trees: Sequence[Tree]) -> int:
    """The steps of all cells below the tops."""
    return sum(len(_above(cell, tree)) - 1 for cell, tree in zip(record, trees, strict=True))
