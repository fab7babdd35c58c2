"""Cells and nodes of hierarchies as numbers, so that records are compared at any depths by one number.

A node is coded as the path of digits from the top of its hierarchy down to it, each digit a few bits wide, 0 below the
end of the path. The codes of all attributes are packed into one number, the key of a record. What is disclosed at given
depths is the key with the lower digits of each attribute masked out, and two cells are equal at a depth when their
masked keys are equal. So roll-ups and joins of all attributes at any depths compare one number.

Given a problem, `code` returns its coding: the attributes with their bits, and tables of nodes and cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls

Depths = tuple[int, ...]
_NUMBER_BITS, _MOST_BITS = 63, 126


@dataclass(frozen=True)
class DisclosureProblem:
    """What to disclose of each record of a table, against which dictionary, with which weights."""

    table: Relation
    dictionary: Relation
    weights: Sequence[Mapping[str, Any]]
    form: str

    @cached_property
    def listed(self) -> str:
        """The weights as an argument of a macro: a list of maps of texts, since not all have the same keys."""
        maps = [
            f"MAP {{{', '.join(f'{literal(k)}: {_text_of(v)}' for k, v in own.items() if v is not None)}}}"
            for own in self.weights
        ]
        return f"[{', '.join(maps)}]"


def _text_of(value: Any) -> str:
    """SQL of a value as a text; a list as DuckDB writes it."""
    return f"CAST({literal(value)} AS VARCHAR)" if isinstance(value, list) else literal(str(value))


@dataclass(frozen=True)
class CodedAttribute:
    """An attribute: its place in the list (from 1), whether the dictionary knows it, and its bits in the key."""

    place: int
    known: bool
    shifts: tuple[int, ...]
    widths: tuple[int, ...]
    sizes: tuple[int, ...]
    """The number of nodes at each depth."""

    def mask(self, depth: int) -> int:
        """The bits of the digits down to a depth."""
        pairs = zip(self.shifts[:depth], self.widths[:depth], strict=True)
        return sum(((1 << width) - 1) << shift for shift, width in pairs)

    @property
    def whole(self) -> int:
        """The bits of all digits."""
        return self.mask(len(self.shifts))


@dataclass(frozen=True)
class Coding:
    """The coded attributes of a problem, with the tables of their nodes and cells."""

    scratch: Scratch
    calls: Calls
    problem: DisclosureProblem
    attributes: tuple[CodedAttribute, ...]
    nodes: Relation
    """place, node, depth, ids, price, share, code."""
    cells: Mapping[tuple[str, int], Relation]
    """By side (record, entry) and place, the cells of an attribute: raw, code, depth."""
    number: str
    """The type of keys."""

    @cached_property
    def known(self) -> tuple[CodedAttribute, ...]:
        """The attributes that the dictionary knows."""
        return tuple(a for a in self.attributes if a.known)

    def mask(self, depths: Mapping[int, int]) -> str:
        """The mask of depths by place, as SQL text."""
        return self.constant(sum(a.mask(depths[a.place]) for a in self.attributes if a.place in depths))

    def constant(self, value: int) -> str:
        """A number of the type of keys."""
        return _constant(value, self.number)


def code(scratch: Scratch, calls: Calls, problem: DisclosureProblem) -> Coding:
    """Read the cells and hierarchies of all attributes, refuse what cannot be compared, and code all nodes."""
    listed, tables = problem.listed, {"record": problem.table, "entry": problem.dictionary}
    known = [single["entry"] != "(NULL)" for single in calls.value(f"_chosen_from({listed})")]
    both = f"{literal(problem.table.name)}, {literal(problem.dictionary.name)}"
    fetch(scratch.con, str(calls.value(f"_choices_sound({both}, {listed})")))
    found = {
        (side, place): scratch.table(
            str(calls.value(f"_choice_cells({literal(table.name)}, {listed}, '{side}', {place})")), f"{side}_cells"
        )
        for place, is_known in enumerate(known, start=1)
        for side, table in tables.items()
        if side == "record" or is_known
    }
    all_cells = ", ".join(literal(_all_cells(found, side, len(known))) for side in tables)
    trees = scratch.table(str(calls.value(f"_choice_nodes({listed}, {all_cells})")), "trees")
    digits = scratch.table(
        "SELECT place, depth, ids[-1] AS id, row_number() OVER (PARTITION BY place, ids[-2] ORDER BY ids[-1]) AS digit "
        f"FROM {trees.name} WHERE depth > 0",
        "digits",
    )
    attributes = _attributes(digits, known)
    bits = sum(sum(a.widths) for a in attributes)
    if bits > _MOST_BITS:
        raise InputError(f"the attributes have too many values together ({bits} bits of {_MOST_BITS}); choose fewer")
    number = "BIGINT" if bits <= _NUMBER_BITS else "HUGEINT"
    nodes = _code_nodes(scratch, attributes, trees, digits, number)
    cells = {}
    for (side, place), own in found.items():
        what = "table" if side == "record" else "dictionary"
        refusal = str(calls.value(f"_not_covered('the hierarchy of attribute {place}', '{what}')"))
        cells[side, place] = _code_cells(scratch, own, nodes, side, attributes[place - 1], refusal)
    return Coding(scratch, calls, problem, attributes, nodes, cells, number)


def _constant(value: int, number: str) -> str:
    return f"CAST('{value}' AS {number})"


def _all_cells(found: Mapping[tuple[str, int], Relation], side: str, attributes: int) -> str:
    """SQL of all cells of a side: a column for each attribute, a row for each cell."""
    names = [f"__priv_v{place}" for place in range(1, attributes + 1)]
    parts = [f"SELECT {', '.join(f'CAST(NULL AS VARCHAR) AS {name}' for name in names)} WHERE false"]
    parts += [
        f"SELECT cell AS __priv_v{place} FROM {cells.name}" for (own, place), cells in found.items() if own == side
    ]
    return f"({' UNION ALL BY NAME '.join(parts)})"


def _attributes(digits: Relation, known: Sequence[bool]) -> tuple[CodedAttribute, ...]:
    """The bits of each attribute. Known attributes come first, so that their part of a key is one number."""
    found = fetch(
        digits.con,
        f"SELECT place, depth, max(digit), count(*) FROM {digits.name} GROUP BY place, depth ORDER BY place, depth",
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
        made.append(CodedAttribute(place, known[place - 1], tuple(shifts), tuple(widths[place]), sizes[place]))
    return tuple(sorted(made, key=lambda a: a.place))


def _code_nodes(
    scratch: Scratch, attributes: Sequence[CodedAttribute], trees: Relation, digits: Relation, number: str
) -> Relation:
    shifts = [
        f"({a.place}, {depth}, {_constant(1 << shift, number)})"
        for a in attributes
        for depth, shift in enumerate(a.shifts, start=1)
    ] or [f"(0, 0, {_constant(0, number)})"]
    return scratch.table(
        f"""WITH steps AS (SELECT place, node, unnest(ids[2:]) AS id FROM {trees.name}),
        weighed AS (SELECT d.place, d.id, d.digit * s.weight AS digits FROM {digits.name} AS d
          JOIN (VALUES {", ".join(shifts)}) AS s(place, depth, weight) ON d.place = s.place AND d.depth = s.depth),
        codes AS (SELECT p.place, p.node, sum(w.digits) AS code
          FROM steps AS p JOIN weighed AS w ON p.place = w.place AND p.id = w.id GROUP BY p.place, p.node)
        SELECT n.*, CAST(coalesce(c.code, 0) AS {number}) AS code
        FROM {trees.name} AS n LEFT JOIN codes AS c ON n.place = c.place AND n.node = c.node""",
        "nodes",
    )


def _code_cells(
    scratch: Scratch, found: Relation, nodes: Relation, side: str, attribute: CodedAttribute, refusal: str
) -> Relation:
    """The cells with codes and depths. A missing cell is the top; one not in the hierarchy is an error.

    An entry with nothing below it gets the depth of the whole hierarchy: nothing that is disclosed is below it.
    """
    place = attribute.place
    above = f"SELECT ids[-2] FROM {nodes.name} WHERE place = {place} AND depth > 0"
    deepest = len(attribute.shifts)
    deep = f"WHEN n.depth > 0 AND n.ids[-1] NOT IN ({above}) THEN {deepest}" if side == "entry" else ""
    return scratch.table(
        f"""SELECT c.raw, CASE WHEN c.cell IS NULL THEN 0 WHEN n.node IS NULL THEN {refusal} ELSE n.code END AS code,
          CASE WHEN n.node IS NULL THEN 0 {deep} ELSE n.depth END AS depth
        FROM {found.name} AS c
        LEFT JOIN (FROM {nodes.name} WHERE place = {place}) AS n ON c.cell = n.node""",
        f"{side}_codes",
    )
