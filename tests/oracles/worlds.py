"""Beliefs by listing every possible world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from math import comb, log10

Statement = Mapping[str, str | None]
Implication = Mapping[str, Sequence[Statement]]


def belief(
    classes: Sequence[Sequence[str | None]],
    people: Mapping[str, int],
    known: Sequence[Statement],
    implications: Sequence[Implication] = (),
) -> dict[str | None, Fraction] | None:
    """What is believed of the person called "", by all ways to hand out the values of each class to its people.

    `people` says in which class each named person is; None when no world agrees with what is known.
    """
    worlds: list[dict[str, str | None]] = [{}]
    for place, values in enumerate(classes):
        named = [name for name, own in people.items() if own == place]
        ways = list(permutations(values, len(named)))
        worlds = [{**world, **dict(zip(named, way, strict=True))} for world in worlds for way in ways]
    agreeing = [world for world in worlds if all(_holds(statement, world) for statement in known)]
    agreeing = [world for world in agreeing if all(_follows(implication, world) for implication in implications)]
    if not agreeing:
        return None
    counts = Counter(world[""] for world in agreeing)
    return {value: Fraction(counts[value], len(agreeing)) for value in classes[people[""]]}


def _holds(statement: Statement, world: Mapping[str, str | None]) -> bool:
    """Whether a statement is true; the parts that `null` lists name NULL."""
    missing = (statement.get("null") or "").split()
    said = {part for part in ("not", "has", "then") if part in missing or statement.get(part) is not None}
    own = world[statement.get("person") or ""]
    if "not" in said:
        return own != statement.get("not")
    if "then" in said:
        return own != statement.get("has") or world[statement.get("other") or ""] == statement.get("then")
    return "has" not in said or own == statement.get("has")


def _follows(implication: Implication, world: Mapping[str, str | None]) -> bool:
    """Whether one statement on the right is true if all on the left are."""
    if all(_holds(statement, world) for statement in implication["if"]):
        return any(_holds(statement, world) for statement in implication["then"])
    return True


def possible_worlds(classes: Sequence[Sequence[str | None]]) -> tuple[int, float]:
    """The classes, and the digits of the number of ways to hand out the values of each to its people."""
    ways = 1
    for values in classes:
        ways *= len(set(permutations(values)))
    return len(classes), log10(ways)


def minimality_bound(belief: Fraction, excluded: int, worlds: int) -> tuple[Fraction, Fraction]:
    """The first thousandth at which so few would be seen once in twenty times at most, and what a belief becomes."""
    for thousandth in range(1, 1000):
        p = Fraction(thousandth, 1000)
        chance = sum(comb(worlds, j) * p**j * (1 - p) ** (worlds - j) for j in range(excluded + 1))
        if chance <= Fraction(1, 20):
            return p, min(belief / (1 - p), Fraction(1))
    return Fraction(1), Fraction(1)
