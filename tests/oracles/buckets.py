"""Columns published apart, in buckets: every table that the release may stand for, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Row = tuple[Any, ...]
Bucket = Sequence[Sequence[Row]]
"""The rows of each side."""


def bucket_tables(bucket: Bucket) -> Iterator[list[Row]]:
    """All ways to make rows of the sides of a bucket; the first side stays as it is."""
    first, *others = bucket
    for orders in itertools.product(*(itertools.permutations(side) for side in others)):
        yield [sum(parts, ()) for parts in zip(first, *orders, strict=True)]


def bucket_sums(bucket: Bucket, added: Callable[[Row], float]) -> list[float]:
    """What a sum comes to in each of them."""
    return [sum(added(row) for row in rows) for rows in bucket_tables(bucket)]


def sum_bounds(buckets: Sequence[Bucket], added: Callable[[Row], float]) -> tuple[float, float, float]:
    """The mean of a sum over all tables, its least and its greatest: buckets are independent."""
    found = [bucket_sums(bucket, added) for bucket in buckets]
    means, lows, highs = zip(*((sum(s) / len(s), min(s), max(s)) for s in found), strict=True)
    return sum(means), sum(lows), sum(highs)


def all_tables(buckets: Sequence[Bucket]) -> Iterator[list[Row]]:
    """Every table as a whole."""
    for parts in itertools.product(*(list(bucket_tables(b)) for b in buckets)):
        yield [row for part in parts for row in part]


def groups_of(numbers: int, rows: Sequence[Any]) -> list[list[Any]]:
    """Anatomy's groups of rows that stand in an order."""
    return [[row for place, row in enumerate(rows) if place % numbers == group] for group in range(numbers)]


def can_differ(values: Sequence[Any], groups: int, least: int) -> bool:
    """Whether rows can be put into so many groups of at least so many rows, no value twice in one: tried out."""

    def placed(rest: Sequence[Any], made: list[list[Any]]) -> bool:
        if not rest:
            return all(len(group) >= least for group in made)
        for i, group in enumerate(made):
            if rest[0] not in group and placed(rest[1:], [*made[:i], [*group, rest[0]], *made[i + 1 :]]):
                return True
        return False

    return placed(list(values), [[] for _ in range(groups)])
