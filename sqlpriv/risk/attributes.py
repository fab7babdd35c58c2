"""The attributes that may be disclosed: their cells and hierarchies, and every node as one number.

A node is the path of digits from the top of its hierarchy down to it, each digit a few bits wide, 0 where the path has
ended. All attributes stand side by side in one number, the key of a record. So what is disclosed at given depths is the
key with the lower digits of each attribute masked out, and two cells are equal at a depth when their masked keys are:
roll-ups and joins of all attributes at any depths compare one number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import duckdb

from sqlpriv.engine import fetch
from sqlpriv.errors import InputError
from sqlpriv.macros.calls import Calls
from sqlpriv.sqltext import literal

Depths = tuple[int, ...]
_NUMBER_BITS, _MOST_BITS = 63, 126
_SIDES = (("record", "table"), ("entry", "dictionary"))


@dataclass(frozen=True)
class Question:
    """What is asked: which table may be disclosed to whom, what its cells weigh."""

    table: str
    dictionary: str
    weights: Sequence[Mapping[str, Any]]
    form: str

    @property
    def listed(self) -> str:
        """The weights as an argument of a macro: every entry a map of texts, since not all have the same keys."""
        maps = [
            f"MAP {{{', '.join(f'{literal(k)}: {literal(str(v))}' for k, v in own.items() if v is not None)}}}"
            for own in self.weights
        ]
        return f"[{', '.join(maps)}]"


@dataclass
class Desk:
    """Tables of our own in the working database, dropped at the end."""

    con: duckdb.DuckDBPyConnection
    calls: Calls
    prefix: str = field(default_factory=lambda: f"__priv_risk_{token_hex(4)}_")
    made: list[str] = field(default_factory=list)
    steps: int = 0

    def make(self, name: str, select: str) -> str:
        """A temporary table of the rows of a query; its full name."""
        full = f"{self.prefix}{name}"
        fetch(self.con, f"CREATE OR REPLACE TEMP TABLE {full} AS {select}")
        self.made.append(full)
        return full

    def rows(self, name: str) -> int:
        """How many rows a table has."""
        return int(fetch(self.con, f"SELECT count(*) FROM {name}")[0][0])

    def drop(self, *names: str) -> None:
        """Drop some tables."""
        for name in names:
            fetch(self.con, f"DROP TABLE IF EXISTS {name}")

    def clear(self) -> None:
        """Drop all."""
        self.drop(*self.made)


@dataclass(frozen=True)
class Attribute:
    """One attribute: its place in the list (from 1), whether the dictionary knows it, and its digits in the key."""

    place: int
    known: bool
    shifts: tuple[int, ...]
    widths: tuple[int, ...]
    sizes: tuple[int, ...]
    """How many nodes there are at each depth."""

    def mask(self, depth: int) -> int:
        """The bits of the digits down to a depth."""
        pairs = zip(self.shifts[:depth], self.widths[:depth], strict=True)
        return sum(((1 << width) - 1) << shift for shift, width in pairs)

    @property
    def whole(self) -> int:
        """The bits of all digits."""
        return self.mask(len(self.shifts))


@dataclass(frozen=True)
class Coded:
    """The attributes of a question, with the tables that say what their cells are."""

    desk: Desk
    question: Question
    attributes: tuple[Attribute, ...]
    nodes: str
    """place, node, depth, ids, price, share, code."""
    number: str
    """The type of keys."""

    def mask(self, depths: Mapping[int, int]) -> str:
        """The mask of depths by place, as SQL text."""
        return self.constant(sum(a.mask(depths[a.place]) for a in self.attributes if a.place in depths))

    def constant(self, value: int) -> str:
        """A number of the type of keys."""
        return f"CAST('{value}' AS {self.number})"

    def cells(self, side: str, place: int) -> str:
        """The table of the cells of an attribute: raw, code, depth."""
        return f"{self.desk.prefix}{side}_{place}"


def code(desk: Desk, question: Question) -> Coded:
    """Read the cells and hierarchies of all attributes, refuse what cannot be compared, and number all nodes."""
    listed = question.listed
    known = [single["entry"] != "(NULL)" for single in desk.calls.value(f"_chosen_from({listed})")]
    _sound(desk, question)
    for place, is_known in enumerate(known, start=1):
        for side, table in (("record", question.table), ("entry", question.dictionary)):
            if side == "record" or is_known:
                text = _text(desk, f"_choice_cells({literal(table)}, {listed}, '{side}', {place})")
                desk.make(f"found_{side}_{place}", text)
    nodes = desk.make("trees", _text(desk, f"_choice_nodes({listed}, {literal(_all(desk, 'record', known))}, "
                                          f"{literal(_all(desk, 'entry', known))})"))  # fmt: skip
    digits = desk.make(
        "digits",
        "SELECT place, depth, ids[-1] AS id, row_number() OVER (PARTITION BY place, ids[-2] ORDER BY ids[-1]) AS digit "
        f"FROM {nodes} WHERE depth > 0",
    )
    attributes = _attributes(desk, digits, known)
    bits = sum(sum(a.widths) for a in attributes)
    if bits > _MOST_BITS:
        raise InputError(f"the attributes have too many values together ({bits} bits of {_MOST_BITS}); choose fewer")
    coded = Coded(desk, question, attributes, f"{desk.prefix}nodes", "BIGINT" if bits <= _NUMBER_BITS else "HUGEINT")
    _number_nodes(coded, nodes, digits)
    for place, is_known in enumerate(known, start=1):
        for side, what in _SIDES:
            if side == "record" or is_known:
                _number_cells(coded, side, place, what)
    return coded


def _text(desk: Desk, expression: str) -> str:
    """The text that a helper makes."""
    return str(desk.calls.value(expression))


def _sound(desk: Desk, question: Question) -> None:
    arguments = f"{literal(question.table)}, {literal(question.dictionary)}, {question.listed}"
    fetch(desk.con, _text(desk, f"_choices_sound({arguments})"))


def _all(desk: Desk, side: str, known: Sequence[bool]) -> str:
    """All cells of a side as one relation with a column for each attribute, in a row for each cell."""
    names = [f"__priv_v{place}" for place in range(1, len(known) + 1)]
    parts = [f"SELECT {', '.join(f'CAST(NULL AS VARCHAR) AS {name}' for name in names)} WHERE false"]
    parts += [
        f"SELECT cell AS __priv_v{place} FROM {desk.prefix}found_{side}_{place}"
        for place, is_known in enumerate(known, start=1)
        if side == "record" or is_known
    ]
    return f"({' UNION ALL BY NAME '.join(parts)})"


def _attributes(desk: Desk, digits: str, known: Sequence[bool]) -> tuple[Attribute, ...]:
    """The bits of each attribute: what the dictionary knows stands above, so that its part of a key is one number."""
    found = fetch(
        desk.con, f"SELECT place, depth, max(digit), count(*) FROM {digits} GROUP BY place, depth ORDER BY place, depth"
    )
    widths = {p: [int(most).bit_length() for own, _, most, _ in found if own == p] for p in range(1, len(known) + 1)}
    sizes = {p: (1, *(int(count) for own, _, _, count in found if own == p)) for p in widths}
    position = sum(map(sum, widths.values()))
    made = []
    for place in sorted(widths, key=lambda p: (not known[p - 1], p)):
        shifts = []
        for width in widths[place]:
            position -= width
            shifts.append(position)
        made.append(Attribute(place, known[place - 1], tuple(shifts), tuple(widths[place]), sizes[place]))
    return tuple(sorted(made, key=lambda a: a.place))


def _number_nodes(coded: Coded, nodes: str, digits: str) -> None:
    shifts = [
        f"({a.place}, {depth}, {coded.constant(1 << shift)})"
        for a in coded.attributes
        for depth, shift in enumerate(a.shifts, start=1)
    ] or [f"(0, 0, {coded.constant(0)})"]
    coded.desk.make(
        "nodes",
        f"""WITH steps AS (SELECT place, node, unnest(ids[2:]) AS id FROM {nodes}),
        weighed AS (SELECT d.place, d.id, d.digit * s.weight AS digits FROM {digits} AS d
          JOIN (VALUES {", ".join(shifts)}) AS s(place, depth, weight) ON d.place = s.place AND d.depth = s.depth),
        codes AS (SELECT p.place, p.node, sum(w.digits) AS code
          FROM steps AS p JOIN weighed AS w ON p.place = w.place AND p.id = w.id GROUP BY p.place, p.node)
        SELECT n.*, CAST(coalesce(c.code, 0) AS {coded.number}) AS code
        FROM {nodes} AS n LEFT JOIN codes AS c ON n.place = c.place AND n.node = c.node""",
    )


def _number_cells(coded: Coded, side: str, place: int, what: str) -> None:
    """The cells with their codes and depths. A missing cell is the top; one that the hierarchy lacks is an error.

    A value of the dictionary with nothing below it counts as deep as the hierarchy goes: nothing disclosed is below it.
    """
    refusal = _text(coded.desk, f"_not_covered('the hierarchy of attribute {place}', '{what}')")
    above = f"SELECT ids[-2] FROM {coded.nodes} WHERE place = {place} AND depth > 0"
    deepest = len(coded.attributes[place - 1].shifts)
    deep = f"WHEN n.depth > 0 AND n.ids[-1] NOT IN ({above}) THEN {deepest}" if side == "entry" else ""
    coded.desk.make(
        f"{side}_{place}",
        f"""SELECT c.raw, CASE WHEN c.cell IS NULL THEN 0 WHEN n.node IS NULL THEN {refusal} ELSE n.code END AS code,
          CASE WHEN n.node IS NULL THEN 0 {deep} ELSE n.depth END AS depth
        FROM {coded.desk.prefix}found_{side}_{place} AS c
        LEFT JOIN (FROM {coded.nodes} WHERE place = {place}) AS n ON c.cell = n.node""",
    )
