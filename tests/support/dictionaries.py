"""Random tables, dictionaries and hierarchies for the macros of risk, with general and missing cells on both sides."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
from hypothesis import strategies as st
from oracles.disclosure import Cell, Cells, Tree

from support import strategies
from support.strategies import NAMES, quote, same_name

LEAVES = ["", "a", "A", "o'x", '"q"', "1", "é", "NULL", "a#1", "#"]
TABLES = ("t", "dictionary # 1", "dictionary # 2")


@dataclass(frozen=True)
class Risk:
    """What a test needs: the columns, their hierarchies, and the cells of three tables."""

    columns: tuple[str, ...]
    trees: tuple[Tree, ...]
    records: tuple[Cells, ...]
    entries: tuple[tuple[Cells, ...], ...]

    def hierarchy(self, place: int) -> str | None:
        """The table of a column's hierarchy."""
        return None if self.trees[place] is None else f'"tree # {place}"'

    def links(self, **more: object) -> list[dict[str, object]]:
        """Every column with itself."""
        return [
            {"record": expression(name), "entry": expression(name), "hierarchy": self.hierarchy(place), **more}
            for place, name in enumerate(self.columns)
        ]


def expression(name: str) -> str:
    """A column as a link names it: odd names are quoted."""
    return name if name.isidentifier() and name.isascii() else quote(name)


def tree(chance: random.Random, leaves: Sequence[str]) -> list[list[Cell]]:
    """A hierarchy of the leaves; a label may stand on several levels, also of paths that are shorter than others."""
    paths: list[list[Cell]] = [[leaf] for leaf in leaves]
    for level in range(chance.randint(0, 3)):
        below = dict.fromkeys(path[-1] for path in paths)
        above = {node: node if chance.random() < 0.2 else f"{level}'{chance.randint(1, 3)}" for node in below}
        paths = [[*path, above[path[-1]]] for path in paths]
    top = chance.choice(["*", "*", "any"])
    unknown = chance.choice([None, "unknown"])
    return [[*path, top] for path in paths] + chance.choice([[], [[None, *[unknown] * (len(paths[0]) - 1), top]]])


def cell(chance: random.Random, own: Tree, leaves: Sequence[str]) -> Cell:
    """A value, a label above it, or nothing."""
    if chance.random() < 0.15:
        return chance.choice([None, "*"])
    if own is None:
        return chance.choice(leaves)
    path = chance.choice(own)
    return chance.choice([path[0], chance.choice(path)])


@st.composite
def risks(draw: st.DrawFn) -> Risk:
    """A table of up to 12 records and two dictionaries of up to 20 entries."""
    columns = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique_by=same_name))
    chance = random.Random(draw(st.integers(0, 2**32)))
    leaves = [chance.sample(LEAVES, chance.randint(1, 6)) for _ in columns]
    trees: list[Tree] = [tree(chance, own) if chance.random() < 0.8 else None for own in leaves]

    def table(most: int) -> tuple[Cells, ...]:
        size = chance.randint(1, most)
        return tuple([cell(chance, t, own) for t, own in zip(trees, leaves, strict=True)] for _ in range(size))

    return Risk(tuple(columns), tuple(trees), table(12), (table(20), table(20)))


def create(con: duckdb.DuckDBPyConnection, risk: Risk) -> None:
    """The three tables with a number for every row, and the hierarchies."""
    number = "row #"
    for name, rows in zip(TABLES, (risk.records, *risk.entries), strict=True):
        numbered = [[at, *row] for at, row in enumerate(rows)]
        strategies.create_table(con, name, {number: "INTEGER", **dict.fromkeys(risk.columns, "VARCHAR")}, numbered)
    for place, own in enumerate(risk.trees):
        if own is not None:
            levels = {f"level {level}": "VARCHAR" for level in range(len(own[0]))}
            strategies.create_table(con, f"tree # {place}", levels, own)


def structs(items: Sequence[dict[str, object]]) -> str:
    """A list of structs as a user writes it."""
    return "[" + ", ".join("{" + ", ".join(f"'{k}': {_literal(v)}" for k, v in i.items()) + "}" for i in items) + "]"


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return "'" + str(value).replace("'", "''") + "'"
