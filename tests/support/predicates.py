"""Random conditions, groups and values over a small domain with NULLs, as SQL text, for sums over domains.

All tables are tiny, so that the whole product can be enumerated: seven attributes of several types and two public
tables, one with duplicates and NULLs. A question uses a few of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
from hypothesis import strategies as st

from support.strategies import create_table

SCHEMA = "domain"


@dataclass(frozen=True)
class Relation:
    """One variable: its columns with their kinds, and its rows. The last column is its weight if it has one."""

    name: str
    columns: dict[str, str]
    rows: list[tuple[object, ...]]
    weighted: bool = False

    @property
    def own(self) -> dict[str, str]:
        """The columns a query can see."""
        return {name: kind for name, kind in self.columns.items() if not (self.weighted and name == "share")}


def _attribute(name: str, kind: str, *values: object, weighted: bool = False) -> Relation:
    if not weighted:
        return Relation(name, {"v": kind}, [(value,) for value in values])
    shares = [(value, (at % 3 + 1) / 4) for at, value in enumerate(values)]
    return Relation(name, {"v": kind, "share": "DOUBLE"}, shares, True)


ATTRIBUTES = [
    _attribute("a", "INTEGER", 0, 1, 2, 3, None),
    _attribute("b", "INTEGER", 1, 2, 5),
    _attribute("c", "BIGINT", -1, 0, 2, 4, weighted=True),
    _attribute("x", "DOUBLE", 0.5, 2.0, None, weighted=True),
    _attribute("t", "VARCHAR", "ab", "b", "12", None),
    _attribute("u", "VARCHAR", "b", "ca", ""),
    _attribute("d", "DATE", "2020-01-31", "2021-02-28", None),
    _attribute("e", "DATE", "2020-02-01", "2021-02-28"),
    _attribute("f", "BOOLEAN", True, False, None),
]
PUBLIC = [
    Relation(
        "p",
        {"id": "INTEGER", "region": "VARCHAR", "score": "INTEGER"},
        [(1, "b", 2), (2, "b", None), (2, "b", None), (None, "ab", 5)],
    ),
    Relation("q", {"code": "VARCHAR", "n": "INTEGER"}, [("b", 1), ("b", 1), ("ca", None), (None, 2)]),
]
COPIES = [Relation(f"{relation.name} 2", relation.columns, relation.rows) for relation in PUBLIC]
JOINABLE = [relation for relation in ATTRIBUTES if relation.name in "abctu"]
# Small ones, for conditions that link many attributes; one has a value twice, as a public table of one column may.
LINKED = [
    _attribute(f"n{at}", "INTEGER", *values, weighted=at % 3 == 0)
    for at, values in enumerate([(0, 1, 2), (1, None), (0, 2, 3), (1, 2, None), (0, 1), (2, 1, 1), (1, 3)])
]
RELATIONS = [*ATTRIBUTES, *PUBLIC, *COPIES, *LINKED]
SUBQUERY_TABLE = "lookup"
_LOOKUP_ROWS = [(1, "b"), (2, None), (None, "ab"), (5, "ca")]
_KINDS = {"INTEGER": "number", "BIGINT": "number", "DOUBLE": "number", "VARCHAR": "text", "DATE": "date",
          "BOOLEAN": "yes"}  # fmt: skip


def create_relations(con: duckdb.DuckDBPyConnection) -> None:
    """All tables, in a schema of their own."""
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}").fetchall()
    con.execute(f"USE {SCHEMA}").fetchall()
    for relation in RELATIONS:
        create_table(con, relation.name, relation.columns, relation.rows)
    create_table(con, SUBQUERY_TABLE, {"id": "INTEGER", "code": "VARCHAR"}, _LOOKUP_ROWS)


@dataclass(frozen=True)
class Asked:
    """A value: its expression, its filter, its power."""

    expression: str
    filter: str | None
    power: int


@dataclass(frozen=True)
class Question:
    """What is summed over the product of which relations."""

    relations: tuple[Relation, ...]
    condition: str | None
    groups: tuple[str, ...]
    values: tuple[Asked, ...]


class _Texts:
    """Draws SQL texts over the columns of some relations."""

    def __init__(self, draw: st.DrawFn, relations: tuple[Relation, ...]) -> None:
        self.draw = draw
        self.columns: dict[str, list[str]] = {"number": [], "text": [], "date": [], "yes": []}
        for relation in relations:
            for name, kind in relation.own.items():
                self.columns[_KINDS[kind]].append(f'"{relation.name}"."{name}"')

    def one_of(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def column(self, kind: str, otherwise: str) -> str:
        return self.one_of(*self.columns[kind]) if self.columns[kind] else otherwise

    def number(self, depth: int = 1) -> str:
        shape = self.draw(st.integers(0, 9))
        if depth and shape == 0:
            return f"({self.number(depth - 1)} {self.one_of('+', '-', '*')} {self.number(depth - 1)})"
        if depth and shape == 1:
            return f"CASE WHEN {self.condition(0)} THEN {self.number(0)} ELSE {self.number(0)} END"
        if depth and shape == 2:
            return self.one_of(f"length({self.text()})", f"year({self.date()})", f"coalesce({self.number(0)}, 1)",
                               f"-{self.number(0)}", f"abs({self.number(0)})")  # fmt: skip
        if shape == 3:
            return self.one_of("0", "1", "2", "2.5", "NULL")
        return self.column("number", "2")

    def text(self) -> str:
        shape = self.draw(st.integers(0, 5))
        if shape == 0:
            return self.one_of("'b'", "'ab'", "''")
        column = self.column("text", "'b'")
        return f"upper({column})" if shape == 1 else column

    def date(self) -> str:
        return self.column("date", "DATE '2021-02-28'")

    def comparison(self) -> str:
        operator = self.one_of("=", "<>", "<", "<=", ">", ">=", "=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
        kind = self.one_of("number", "number", "text", "date")
        sides = {"number": self.number, "text": self.text, "date": self.date}[kind]
        return f"{sides()} {operator} {sides()}"

    def atom(self) -> str:
        shape = self.draw(st.integers(0, 13))
        if shape == 0:
            return f"{self.number()} {self.one_of('', 'NOT ')}BETWEEN {self.number()} AND {self.number()}"
        if shape == 1:
            return f"{self.number()} {self.one_of('', 'NOT ')}IN ({self.number()}, {self.number()}, 2)"
        if shape == 2:
            return f"{self.one_of(self.number(), self.text(), self.date())} IS {self.one_of('', 'NOT ')}NULL"
        if shape == 3:
            pattern = self.one_of("'%b'", "'_a%'", self.text())
            return f"{self.text()} {self.one_of('', 'NOT ')}LIKE {pattern}"
        if shape == 4:
            part = self.one_of("year", "month", "dayofweek")
            return f"{part}({self.date()}) {self.one_of('=', '<')} {self.number()} + {self.one_of('0', '2019')}"
        if shape == 5:
            return self.subquery()
        if shape == 6:
            otherwise = self.one_of("", f"ELSE {self.column('yes', 'TRUE')} ")
            return f"CASE WHEN {self.comparison()} THEN {self.comparison()} {otherwise}END"
        if shape == 7:
            return self.column("yes", "TRUE")
        if shape == 8:
            return f"regexp_matches({self.text()}, '^[ab]+$')"
        return self.comparison()

    def subquery(self) -> str:
        shape = self.draw(st.integers(0, 4))
        table = SUBQUERY_TABLE
        if shape == 0:
            return f"{self.number(0)} {self.one_of('', 'NOT ')}IN (SELECT s.id FROM {table} AS s)"
        if shape == 1:
            return f"{self.text()} IN (SELECT s.code FROM {table} AS s WHERE s.id >= {self.number(0)})"
        if shape == 2:
            code = self.column("text", "'b'")
            return f"{self.number(0)} > (SELECT max(s.id) FROM {table} AS s WHERE s.code = {code})"
        inner = f"s.id {self.one_of('=', '<')} {self.number(0)}"
        return f"{self.one_of('', 'NOT ')}EXISTS (SELECT 1 FROM {table} AS s WHERE {inner})"

    def condition(self, depth: int) -> str:
        if not depth:
            return self.atom()
        shape = self.draw(st.integers(0, 9))
        if shape <= 3:
            return " AND ".join(f"({self.condition(depth - 1)})" for _ in range(self.draw(st.integers(2, 3))))
        if shape <= 6:
            return " OR ".join(f"({self.condition(depth - 1)})" for _ in range(self.draw(st.integers(2, 3))))
        if shape == 7:
            return f"NOT ({self.condition(depth - 1)})"
        if shape == 8:
            return f"({self.condition(depth - 1)}) IS {self.one_of('', 'NOT ')}{self.one_of('TRUE', 'FALSE', 'NULL')}"
        return self.atom()

    def join(self, kind: str, public: Relation) -> str:
        """Of a public table with a column of that kind, most of which hold NULL, and sometimes NULL with NULL."""
        own = self.one_of(*(f'"{public.name}"."{name}"' for name, of in public.own.items() if _KINDS[of] == kind))
        other = self.one_of(*[c for c in self.columns[kind] if c != own] or [own])
        one, two = self.one_of(f"{own} {{}} {other}", f"{other} {{}} {own}").split("{}")
        return one + self.one_of("=", "IS NOT DISTINCT FROM") + two

    def group(self) -> str:
        shape = self.draw(st.integers(0, 4))
        if shape == 0:
            return self.number()
        return f"({self.atom()})" if shape == 1 else self.one_of(*(c for kind in self.columns.values() for c in kind))

    def value(self) -> Asked:
        number = self.number(2)
        squared = f"CAST({number} AS DOUBLE) * CAST({number} AS DOUBLE)"  # as variances sum it
        expression = self.one_of("1", number, self.number(2), squared)
        wanted = self.condition(1) if self.draw(st.booleans()) else None
        return Asked(expression, wanted, self.draw(st.sampled_from([0, 0, 1, 2])))


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """A few relations, at most a few thousand combinations, and what to sum over them."""
    attributes = draw(st.lists(st.sampled_from(ATTRIBUTES), min_size=2, max_size=5, unique_by=lambda r: r.name))
    public = draw(st.lists(st.sampled_from(PUBLIC), max_size=1))
    relations = (*attributes, *public)
    texts = _Texts(draw, relations)
    depth = draw(st.sampled_from([2, 2, 1, 3, 0, None]))
    condition = None if depth is None else texts.condition(depth)
    groups = tuple(texts.group() for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2, 3]))))
    values = (Asked("1", None, 0), *(texts.value() for _ in range(draw(st.integers(0, 2)))))
    return Question(relations, condition, groups, values)


@st.composite
def joined_questions(draw: st.DrawFn) -> Question:
    """Attributes joined with one or two public tables and with copies of them, as the variances of joins are."""
    attributes = draw(st.lists(st.sampled_from(JOINABLE), min_size=1, max_size=3, unique_by=lambda r: r.name))
    public = draw(st.lists(st.sampled_from([*PUBLIC, *COPIES]), min_size=1, max_size=3, unique_by=lambda r: r.name))
    relations = (*attributes, *public)
    texts = _Texts(draw, relations)
    joins = [texts.join(draw(st.sampled_from(["number", "text"])), table) for table in public]
    extra = [texts.condition(1)] if draw(st.booleans()) else []
    groups = tuple(texts.group() for _ in range(draw(st.sampled_from([0, 0, 1, 2]))))
    values = (Asked("1", None, 0), *(texts.value() for _ in range(draw(st.integers(0, 2)))))
    return Question(relations, " AND ".join(f"({each})" for each in [*joins, *extra]), groups, values)


@st.composite
def linked_questions(draw: st.DrawFn) -> Question:
    """Many comparisons between two of seven attributes: cycles, cliques and trees, under AND and OR."""
    names = [f'"{relation.name}"."v"' for relation in LINKED]
    pair = st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True)
    operator = st.sampled_from(["<", "<=", "=", "<>", "<>"])

    def comparison() -> str:
        one, other = draw(pair)
        return f"{one} {draw(operator)} {other}"

    def joined(word: str, least: int, most: int) -> str:
        return f" {word} ".join(comparison() for _ in range(draw(st.integers(least, most))))

    parts = [joined("AND", 2, 6)]
    for shape in draw(st.lists(st.integers(0, 3), max_size=2)):
        wide = [joined("OR", 2, 5), f"({joined('AND', 2, 3)}) OR ({joined('AND', 1, 3)})", comparison()][shape % 3]
        parts.append(f"NOT ({wide})" if shape == 3 else f"({wide})")
    groups = tuple(draw(st.lists(st.sampled_from([*names, f"{names[0]} + {names[4]}"]), max_size=2)))
    filters = st.one_of(st.none(), st.just(joined("OR", 2, 3)), st.just(comparison()))
    sums = [f"{names[0]} + {names[1]} * {names[3]}", f"({names[2]} - {names[3]}) * (2 * {names[5]} + {names[6]})", "1"]
    values = [Asked(each, draw(filters), draw(st.integers(0, 2))) for each in draw(st.lists(st.sampled_from(sums)))[:2]]
    return Question(tuple(LINKED), " AND ".join(parts), groups, (Asked("1", None, 0), *values))
