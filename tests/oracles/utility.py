"""What a generalized table is still good for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from .counting import Row, Rows, canon, group, total


def average_class_size(rows: Rows, qis: Sequence[str], person: str | None = None) -> Fraction:
    groups = group(rows, qis, person=person)
    return Fraction(total(groups), len(groups))


def discernibility(rows: Rows, qis: Sequence[str], person: str | None = None) -> int:
    return sum(found.n**2 for found in group(rows, qis, person=person).values())


def _partners(rows: Rows, original: Rows, id_column: str) -> list[tuple[Row, Row]]:
    by_id = {canon(row[id_column]): row for row in original}
    ids = [canon(row[id_column]) for row in rows]
    if len(set(ids)) != len(rows) or len(by_id) != len(original) or set(ids) != set(by_id):
        raise ValueError("both tables need the same ids, each once")
    return [(row, by_id[canon(row[id_column])]) for row in rows]


def _tuple_of(row: Row, qis: Sequence[str]) -> tuple[object, ...]:
    """What is equal to the engine is one value: utility is measured as it compares."""
    return tuple(canon(row[name]) for name in qis)


def kl_divergence(rows: Rows, original: Rows, qis: Sequence[str], id_column: str) -> float:
    """From the original to what the generalized rows say, spread evenly over their leaves."""
    pairs = _partners(rows, original, id_column)
    sizes = Counter(_tuple_of(row, qis) for row in rows)
    shares = {key: Fraction(n, len(original)) for key, n in Counter(_tuple_of(row, qis) for row in original).items()}
    leaves: dict[tuple[str, object], set[object]] = {}
    for general, special in pairs:
        for name in qis:
            leaves.setdefault((name, canon(general[name])), set()).add(canon(special[name]))
    terms = []
    for general, special in pairs:
        volume = math.prod(len(leaves[name, canon(general[name])]) for name in qis)
        spread = Fraction(sizes[_tuple_of(general, qis)], len(rows) * volume)
        terms.append(math.log(shares[_tuple_of(special, qis)] / spread) / len(rows))
    return math.fsum(terms)
