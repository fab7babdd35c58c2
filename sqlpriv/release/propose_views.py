"""Which questions a release is asked first: counts by each column and each small pair, numbers by each category."""

from __future__ import annotations

import re
from itertools import combinations

from sqlpriv.core.sqltext import NUMERIC_TYPE, folded, quoted
from sqlpriv.rewrite.release import Attribute, Release

_MOST_GROUPS = 1000
"""Of a view by one column; a longer list is nothing that people read."""
_MOST_PAIRS = 400
"""Groups of a view by two columns."""
_MOST_CATEGORIES = 100
"""Groups by which numbers are summed up."""
_MOST_VIEWS = 60


def proposed(release: Release) -> dict[str, str]:
    """Questions by the names of their views, those that are asked first in front."""
    table, columns = quoted(release.table), release.attributes
    found = {"count_all": f"SELECT count(*) AS n FROM {table}"}
    for column in columns:
        if column.size <= _MOST_GROUPS:
            _count(found, table, column)
    for number in columns:
        if not NUMERIC_TYPE.fullmatch(number.type):
            continue
        for category in columns:
            if (
                category is not number
                and category.size <= _MOST_CATEGORIES
                and not NUMERIC_TYPE.fullmatch(category.type)
            ):
                _summed(found, table, number, category)
    for one, two in combinations(columns, 2):
        if one.size * two.size <= _MOST_PAIRS:
            _count(found, table, one, two)
    return dict(list(found.items())[:_MOST_VIEWS])


def _count(found: dict[str, str], table: str, *columns: Attribute) -> None:
    keys = ", ".join(quoted(c.name) for c in columns)
    question = f"SELECT {keys}, count(*) AS {_beside('n', *columns)} FROM {table} GROUP BY {keys}"
    _name(found, "count_by", "_and_".join(c.name for c in columns), question)


def _summed(found: dict[str, str], table: str, number: Attribute, category: Attribute) -> None:
    value, key = quoted(number.name), quoted(category.name)
    total, mean = (_beside(word, number, category) for word in ("total", "mean"))
    question = f"SELECT {key}, sum({value}) AS {total}, avg({value}) AS {mean} FROM {table} GROUP BY {key}"
    _name(found, number.name, f"by_{category.name}", question)


def _beside(word: str, *columns: Attribute) -> str:
    """A name for an estimate that no column of the question has."""
    while folded(word) in {folded(c.name) for c in columns}:
        word = f"{word}_estimated"
    return word


def _name(found: dict[str, str], start: str, end: str, question: str) -> None:
    """Under a name of letters, digits and underscores that is free."""
    plain = re.sub(r"\W+", "_", f"{start}_{end}").strip("_")
    plain = plain if plain.isidentifier() and not folded(plain).startswith("__priv") else f"view_{plain}"
    taken = {folded(name) for name in found}
    name, number = plain, 1
    while folded(name) in taken:
        number += 1
        name = f"{plain}_{number}"
    found[name] = question
