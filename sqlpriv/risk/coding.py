"""Cells and nodes of hierarchies as numbers, so that records are compared at any depths by one number.

A node is coded as the path of digits from the top of its hierarchy down to it, each digit a few bits wide, 0 below the
end of the path. The codes of all attributes are packed into one number, the key of a record. What is disclosed at given
depths is the key with the lower digits of each attribute masked out, and two cells are equal at a depth when their
masked keys are equal. So roll-ups and joins of all attributes at any depths compare one number.

Given a problem, `code` returns its coding: the attributes with their bits, and tables of nodes and cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls

Depths = tuple[int, ...]
_NUMBER_BITS, _MOST_BITS = 63, 126
_SIDES = (("record", "table"), ("entry", "dictionary"))


@dataclass(frozen=True)
class DisclosureProblem:
    """What to disclose of each record of a table, against which dictionary, with which weights."""

    table: str
    dictionary: str
    weights: Sequence[Mapping[str, Any]]
    form: str

    @property
    def listed(self) -> str:
        """The weights as an argument of a macro: a list of maps of texts, since not all have the same keys."""
        maps = [
            f"MAP {{{', '.join(f'{literal(k)}: {literal(str(v))}' for k, v in own.items() if v is not None)}}}"
            for own in self.weights
        ]
        return f"[{', '.join(maps)}]"


@dataclass
class Workspace:
    """Temporary tables in the working database, dropped at the end."""

    con: duckdb.DuckDBPyConnection
    calls: Calls
    prefix: str = field(default_factory=lambda: f"__priv_risk_{token_hex(4)}_")
    made: list[str] = field(default_factory=list)
    steps: int = 0

    def make(self, name: str, select: str) -> str:
        """Create a temporary table from a query; returns its full name."""
        full = f"{self.prefix}{name}"
        fetch(self.con, f"CREATE OR REPLACE TEMP TABLE {full} AS {select}")
        self.made.append(full)
        return full

    def rows(self, name: str) -> int:
        """The number of rows of a table."""
        return int(fetch(self.con, f"SELECT count(*) FROM {name}")[0][0])

    def drop(self, *names: str) -> None:
        """Drop some tables."""
        for name in names:
            fetch(self.con, f"DROP TABLE IF EXISTS {name}")

    def clear(self) -> None:
        """Drop all."""
        self.drop(*self.made)


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

    work: Workspace
    problem: DisclosureProblem
    attributes: tuple[CodedAttribute, ...]
    nodes: str
    """The table of nodes: place, node, depth, ids, price, share, code."""
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
        return f"{self.work.prefix}{side}_{place}"


def code(work: Workspace, problem: DisclosureProblem) -> Coding:
    """Read the cells and hierarchies of all attributes, refuse what cannot be compared, and code all nodes."""
    listed = problem.listed
    known = [single["entry"] != "(NULL)" for single in work.calls.value(f"_chosen_from({listed})")]
    _refuse_unsound(work, problem)
    for place, is_known in enumerate(known, start=1):
        for side, table in (("record", problem.table), ("entry", problem.dictionary)):
            if side == "record" or is_known:
                text = _text(work, f"_choice_cells({literal(table)}, {listed}, '{side}', {place})")
                work.make(f"found_{side}_{place}", text)
    nodes = work.make("trees", _text(work, f"_choice_nodes({listed}, {literal(_all_cells(work, 'record', known))}, "
                                          f"{literal(_all_cells(work, 'entry', known))})"))  # fmt: skip
    digits = work.make(
        "digits",
        "SELECT place, depth, ids[-1] AS id, row_number() OVER (PARTITION BY place, ids[-2] ORDER BY ids[-1]) AS digit "
        f"FROM {nodes} WHERE depth > 0",
    )
    attributes = _attributes(work, digits, known)
    bits = sum(sum(a.widths) for a in attributes)
    if bits > _MOST_BITS:
        raise InputError(f"the attributes have too many values together ({bits} bits of {_MOST_BITS}); choose fewer")
    coding = Coding(work, problem, attributes, f"{work.prefix}nodes", "BIGINT" if bits <= _NUMBER_BITS else "HUGEINT")
    _code_nodes(coding, nodes, digits)
    for place, is_known in enumerate(known, start=1):
        for side, what in _SIDES:
            if side == "record" or is_known:
                _code_cells(coding, side, place, what)
    return coding


def _text(work: Workspace, expression: str) -> str:
    """The SQL text that a helper macro makes."""
    return str(work.calls.value(expression))


def _refuse_unsound(work: Workspace, problem: DisclosureProblem) -> None:
    arguments = f"{literal(problem.table)}, {literal(problem.dictionary)}, {problem.listed}"
    fetch(work.con, _text(work, f"_choices_sound({arguments})"))


def _all_cells(work: Workspace, side: str, known: Sequence[bool]) -> str:
    """SQL of all cells of a side: a column for each attribute, a row for each cell."""
    names = [f"__priv_v{place}" for place in range(1, len(known) + 1)]
    parts = [f"SELECT {', '.join(f'CAST(NULL AS VARCHAR) AS {name}' for name in names)} WHERE false"]
    parts += [
        f"SELECT cell AS __priv_v{place} FROM {work.prefix}found_{side}_{place}"
        for place, is_known in enumerate(known, start=1)
        if side == "record" or is_known
    ]
    return f"({' UNION ALL BY NAME '.join(parts)})"


def _attributes(work: Workspace, digits: str, known: Sequence[bool]) -> tuple[CodedAttribute, ...]:
    """The bits of each attribute. Known attributes come first, so that their part of a key is one number."""
    found = fetch(
        work.con, f"SELECT place, depth, max(digit), count(*) FROM {digits} GROUP BY place, depth ORDER BY place, depth"
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


def _code_nodes(coding: Coding, nodes: str, digits: str) -> None:
    shifts = [
        f"({a.place}, {depth}, {coding.constant(1 << shift)})"
        for a in coding.attributes
        for depth, shift in enumerate(a.shifts, start=1)
    ] or [f"(0, 0, {coding.constant(0)})"]
    coding.work.make(
        "nodes",
        f"""WITH steps AS (SELECT place, node, unnest(ids[2:]) AS id FROM {nodes}),
        weighed AS (SELECT d.place, d.id, d.digit * s.weight AS digits FROM {digits} AS d
          JOIN (VALUES {", ".join(shifts)}) AS s(place, depth, weight) ON d.place = s.place AND d.depth = s.depth),
        codes AS (SELECT p.place, p.node, sum(w.digits) AS code
          FROM steps AS p JOIN weighed AS w ON p.place = w.place AND p.id = w.id GROUP BY p.place, p.node)
        SELECT n.*, CAST(coalesce(c.code, 0) AS {coding.number}) AS code
        FROM {nodes} AS n LEFT JOIN codes AS c ON n.place = c.place AND n.node = c.node""",
    )


def _code_cells(coding: Coding, side: str, place: int, what: str) -> None:
    """Write the table of cells with codes and depths. A missing cell is the top; one not in the hierarchy is an error.

    An entry with nothing below it gets the depth of the whole hierarchy: nothing that is disclosed is below it.
    """
    refusal = _text(coding.work, f"_not_covered('the hierarchy of attribute {place}', '{what}')")
    above = f"SELECT ids[-2] FROM {coding.nodes} WHERE place = {place} AND depth > 0"
    deepest = len(coding.attributes[place - 1].shifts)
    deep = f"WHEN n.depth > 0 AND n.ids[-1] NOT IN ({above}) THEN {deepest}" if side == "entry" else ""
    coding.work.make(
        f"{side}_{place}",
        f"""SELECT c.raw, CASE WHEN c.cell IS NULL THEN 0 WHEN n.node IS NULL THEN {refusal} ELSE n.code END AS code,
          CASE WHEN n.node IS NULL THEN 0 {deep} ELSE n.depth END AS depth
        FROM {coding.work.prefix}found_{side}_{place} AS c
        LEFT JOIN (FROM {coding.nodes} WHERE place = {place}) AS n ON c.cell = n.node""",
    )
