"""The best disclosure of a record, by trying every rule."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from .counting import INFINITY
from .disclosure import (
    Cell,
    Cells,
    Tree,
    _above,
    _times,
    disclosure_losses,
    disclosure_utility,
    identification,
)

Harms = tuple[Callable[[Cells], float], Callable[[Cells], float]]


@dataclass(frozen=True)
class Choice:
    """What could be disclosed of a record, and what comes of it."""

    labels: tuple[Cell, ...]
    entries: int
    loss: float
    utility: int


def choices(
    record: Cells,
    entries: Sequence[Cells],
    trees: Sequence[Tree],
    known: Sequence[bool],
    sensitivity: Callable[[Cells], float],
) -> Iterator[Choice]:
    """Every cell, or anything above it, with every other; `known` says what the dictionary knows."""
    blind = [[cell if know else None for cell, know in zip(entry, known, strict=True)] for entry in entries]
    for labels in product(*(_above(cell, tree) for cell, tree in zip(record, trees, strict=True))):
        [count] = identification([labels], blind, trees)
        weight = sensitivity(labels)
        loss = 0.0 if count == 0 or weight == 0 else weight / count
        yield Choice(labels, count, loss, disclosure_utility(labels, trees))


def optimal_disclosure(offered: Sequence[Choice], goal: str, c: float) -> tuple[float, float] | None:
    """What the best choice is worth: what the goal looks at first, and then. None: no choice keeps c."""
    if goal == "utility":
        kept = [choice for choice in offered if choice.loss <= c + 1e-12 * max(c, 1)]
        return min(((-choice.utility, choice.loss) for choice in kept), default=None)
    if goal == "risk":
        kept = [choice for choice in offered if choice.utility >= c]
        return min(((choice.loss, -choice.utility) for choice in kept), default=None)
    return min((INFINITY if choice.loss == INFINITY else choice.loss - c * choice.utility, 0.0) for choice in offered)


def disclosure_offers(
    record: Cells,
    dictionaries: Sequence[Sequence[Cells]],
    trees: Sequence[Tree],
    known: Sequence[bool],
    harms: Harms,
    priors: Sequence[float] | None,
    similarities: Sequence[float | None] | None = None,
) -> dict[int, float]:
    """The least loss for every utility, by trying each choice against each dictionary.

    `harms` are phi and psi of what is told. Without priors it is the worst of the dictionaries that counts.
    """
    found: dict[int, float] = {}
    for losses, utility in disclosure_choices(record, dictionaries, trees, known, harms, similarities):
        loss = max(losses) if priors is None else sum(map(_times, priors, losses))
        found[utility] = min(loss, found.get(utility, INFINITY))
    return found


def disclosure_choices(
    record: Cells,
    dictionaries: Sequence[Sequence[Cells]],
    trees: Sequence[Tree],
    known: Sequence[bool],
    harms: Harms,
    similarities: Sequence[float | None] | None = None,
) -> list[tuple[tuple[float, ...], int]]:
    """The losses against each dictionary, and the utility, of each choice."""
    phi, psi = harms
    found = []
    for labels in product(*(_above(cell, tree) for cell, tree in zip(record, trees, strict=True))):
        losses: list[float] = []
        for entries in dictionaries:
            blind = [[cell if know else None for cell, know in zip(entry, known, strict=True)] for entry in entries]
            losses += disclosure_losses(
                identification([labels], blind, trees, similarities), [phi(labels)], [psi(labels)]
            )
        found.append((tuple(losses), disclosure_utility(labels, trees)))
    return found


def minimax_cost(records: Sequence[tuple[int, Sequence[Sequence[float]]]]) -> float:
    """The least of the largest mean costs, by trying all rules: of each record its copies and the costs of its choices.

    A choice that costs no less than another one against every attacker is left out first.
    """
    people = sum(copies for copies, _ in records)
    sums = [(0.0,) * len(records[0][1][0])]
    for copies, choices in records:
        rest = set(map(tuple, choices))
        best = [one for one in rest if not any(o != one and all(map(operator.le, o, one)) for o in rest)]
        sums = [tuple(s + copies * x for s, x in zip(own, one, strict=True)) for own in sums for one in best]
    return min(map(max, sums)) / people


def independent_disclosure(
    record: Cells,
    entries: Sequence[Cells],
    trees: Sequence[Tree],
    known: Sequence[bool],
    sensitivity: Callable[[Cells], float],
    clusters: Sequence[Sequence[int]],
    k: int,
) -> float | None:
    """The least loss of k cells, if the entries that fit them were a product over the clusters; None: too few cells."""
    blind = [[cell if know else None for cell, know in zip(entry, known, strict=True)] for entry in entries]

    def factor(places: Sequence[int]) -> float:
        told = [cell if place in places else None for place, cell in enumerate(record)]
        [fitting] = identification([told], blind, trees)
        return sensitivity(told) * len(entries) / fitting if fitting else 0.0

    found = []
    for told in combinations(
        [i for i, (c, t) in enumerate(zip(record, trees, strict=True)) if _above(c, t)[0] != "*"], k
    ):
        factors = [factor([place for place in cluster if place in told]) for cluster in clusters]
        found.append(0.0 if 0 in factors else math.prod(factors) / len(entries))
    return min(found, default=None)


def average_disclosure(
    offers: Sequence[tuple[int, Sequence[tuple[float, float]]]], goal: str, c: float
) -> tuple[float, float] | None:
    """The mean loss and utility of the best of all rules, by trying each; None: none keeps c.

    Offers are copies of a record, and pairs of loss and utility that it may have.
    """
    people = sum(copies for copies, _ in offers)
    found = []
    for rule in product(*(own for _, own in offers)):
        pairs = list(zip(offers, rule, strict=True))
        loss, utility = (sum(copies * chosen[i] for (copies, _), chosen in pairs) / people for i in (0, 1))
        kept = utility >= c - 1e-12 * max(c, 1) if goal == "risk" else loss <= c + 1e-12 * max(c, 1)
        if kept and loss < INFINITY:
            found.append((loss, utility))
    return min(found, key=lambda pair: pair[0] if goal == "risk" else -pair[1], default=None)
