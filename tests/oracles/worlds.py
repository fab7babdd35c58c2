"""Beliefs by listing every possible world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations

Statement = Mapping[str, str | None]


def belief(
    classes: Sequence[Sequence[str | None]], people: Mapping[str, int], known: Sequence[Statement]
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
    if not agreeing:
        return None
    counts = Counter(world[""] for world in agreeing)
    return {value: Fraction(counts[value], len(agreeing)) for value in classes[people[""]]}


def _holds(statement: Statement, world: Mapping[str, str | None]) -> bool:
    own = world[statement.get("person") or ""]
    if statement.get("not") is not None:
        return own != statement["not"]
    if statement.get("then") is not None:
        return own != statement["has"] or world[statement.get("other") or ""] == statement["then"]
    return statement.get("has") is None or own == statement["has"]
