"""Random SQL over a handful of small domains: conditions, groups and values, for comparison with a full product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import duckdb
from hypothesis import strategies as st

from sqlpriv.rewrite.attributes import DomainTable
from sqlpriv.sqltext import quoted

# Name, type, values. The names are those of SQL, of ours, of each other's public tables, or plainly odd.
POOL = [
    ("age", "BIGINT", ["20", "25", "31", "39", "NULL"]),
    ("Score", "BIGINT", ["81", "82", "90", "97", "100"]),
    ("select", "BIGINT", ["0", "1", "NULL", "-3"]),
    ("__priv_x0", "BIGINT", ["1", "2", "3", "NULL"]),
    ("g0", "DOUBLE", ["0.5", "NULL", "-2"]),
    ("country", "VARCHAR", ["'IN'", "'UK'", "'US'", "NULL"]),
    ('o\'clock "x"', "VARCHAR", ["'a'", "'ab'", "''", "'b%'"]),
    ("größe", "VARCHAR", ["'a'", "'US'", "'zz'", "NULL"]),
    ("born", "DATE", ["DATE '1999-12-31'", "DATE '2000-01-01'", "DATE '2000-02-29'", "NULL"]),
    ("seen", "DATE", ["DATE '2000-01-01'", "DATE '2001-07-04'"]),
    ("group", "BOOLEAN", ["true", "false", "NULL"]),
]
DOMAINS = [
    DomainTable(name, f'"domain {number}"', len(values), kind) for number, (name, kind, values) in enumerate(POOL)
]
PUBLIC = """
    CREATE OR REPLACE TABLE regions(country VARCHAR, continent VARCHAR, gdp BIGINT);
    INSERT INTO regions VALUES ('IN', 'Asia', 3), ('UK', 'Europe', 40), ('US', 'America', 60), (NULL, 'Asia', 1);
    CREATE OR REPLACE TABLE limits(age BIGINT, least BIGINT);
    INSERT INTO limits VALUES (20, 82), (31, 90), (39, NULL);
"""


def create_domains(con: duckdb.DuckDBPyConnection) -> None:
    """The domain tables of the pool, and two public tables."""
    for domain, (name, kind, values) in zip(DOMAINS, POOL, strict=True):
        rows = ", ".join(f"(CAST({value} AS {kind}))" for value in values)
        con.execute(f"CREATE OR REPLACE TABLE {domain.table} AS FROM (VALUES {rows}) AS v({quoted(name)})").fetchall()
    for statement in PUBLIC.split(";")[:-1]:
        con.execute(statement).fetchall()


@dataclass(frozen=True)
class Question:
    """Sums to make: over which attributes, under which condition, by which groups, of which values."""

    domains: tuple[DomainTable, ...]
    condition: str
    groups: tuple[str, ...]
    values: tuple[str, ...]

    def brute_force(self) -> str:
        """The same sums over the whole product."""
        sums = [f"coalesce(sum(CASE WHEN ({self.condition}) THEN CAST(({v}) AS DOUBLE) END), 0)" for v in self.values]
        product = ", ".join(domain.table for domain in self.domains)
        grouped = f" GROUP BY {', '.join(str(i + 1) for i in range(len(self.groups)))}" if self.groups else ""
        return f"SELECT {', '.join([*self.groups, *sums])} FROM (SELECT * FROM {product}) AS p{grouped}"


class _Builder:
    """Expressions by kind, none deeper than asked for."""

    def __init__(self, draw: st.DrawFn, domains: tuple[DomainTable, ...]) -> None:
        self._draw = draw
        self._columns = {kind: [d.column for d in domains if d.type == kind] for _, kind, _ in POOL}
        self._columns["number"] = self._columns["BIGINT"] + self._columns["DOUBLE"]

    def choose(self, *options: str) -> str:
        return self._draw(st.sampled_from(options))

    def any_of(self, options: list[Callable[[], str]]) -> str:
        return self._draw(st.sampled_from(options))()

    def column(self, kind: str, otherwise: str) -> str:
        if not self._columns[kind]:
            return otherwise
        name = self._draw(st.sampled_from(self._columns[kind]))
        return self.choose("", "", "p.") + quoted(self.choose(name, name, name.swapcase() if name.isascii() else name))

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.column("number", "7")
        n = lambda: self.number(depth - 1 - self._draw(st.integers(0, 1)))  # noqa: E731
        c = lambda: self.condition(depth - 1)  # noqa: E731
        return self.any_of([
            lambda: self.column("number", "3"),
            lambda: self.column("number", "3"),
            lambda: self.choose("0", "1", "2", "30", "85", "1.5"),
            lambda: f"{n()} {self.choose('+', '-', '*')} {n()}",
            lambda: f"({n()} {self.choose('+', '-')} {n()}) * {self.choose('2', '-1', '0.5')}",
            lambda: f"({n()}) {self.choose('/', '%')} {self.choose('2', '3')}",
            lambda: f"-({n()})",
            lambda: f"abs({n()})",
            lambda: f"coalesce({n()}, {n()})",
            lambda: f"length({self.text()})",
            lambda: f"year({self.date()})",
            lambda: f"({self.date()} - {self.date()})",
            lambda: f"CASE WHEN {c()} THEN {n()} END",
            lambda: f"CASE WHEN {c()} THEN {n()} ELSE {n()} END",
            lambda: f"CASE WHEN {c()} THEN {n()} WHEN {c()} THEN 1 ELSE 0 END",
            lambda: f"CASE {self.text()} WHEN 'a' THEN {n()} WHEN {self.text()} THEN 2 END",
            lambda: f"(SELECT max(gdp) FROM regions WHERE regions.country = {self.column('VARCHAR', 'continent')})",
            lambda: "(SELECT min(least) FROM limits)",
        ])  # fmt: skip

    def text(self) -> str:
        return self.any_of([
            lambda: self.column("VARCHAR", "'US'"),
            lambda: self.column("VARCHAR", "'a'"),
            lambda: self.choose("'a'", "'US'", "NULL", "''"),
            lambda: f"upper({self.column('VARCHAR', 'NULL')})",
            lambda: f"({self.column('VARCHAR', chr(39) * 2)} || {self.column('VARCHAR', chr(39) * 2)})",
        ])  # fmt: skip

    def date(self) -> str:
        return self.any_of([
            lambda: self.column("DATE", "DATE '2000-01-01'"),
            lambda: "DATE '2000-01-01'",
            lambda: f"CAST({self.column('DATE', 'DATE ' + chr(39) + '2001-01-01' + chr(39))} + INTERVAL 1 DAY AS DATE)",
        ])  # fmt: skip

    def condition(self, depth: int) -> str:
        """A condition; its connectives in brackets, its atoms not."""
        if depth > 0 and self._draw(st.integers(0, 3)):
            c = lambda: self.condition(depth - 1)  # noqa: E731
            return self.any_of([
                lambda: f"({c()} AND {c()})",
                lambda: f"({c()} AND {c()} AND {c()})",
                lambda: f"({c()} OR {c()})",
                lambda: f"({c()} OR {c()} OR {c()})",
                lambda: f"NOT ({c()})",
                lambda: f"NOT ({c()} AND {c()})",
                lambda: f"({c()}) IS {self.choose('', 'NOT ')}{self.choose('TRUE', 'FALSE', 'NULL')}",
                lambda: f"CASE WHEN {c()} THEN {c()} ELSE {c()} END",
            ])  # fmt: skip
        return self.atom(depth)

    def atom(self, depth: int) -> str:
        n = lambda: self.number(min(depth, 1))  # noqa: E731
        no = lambda: self.choose("", "NOT ")  # noqa: E731
        compare = lambda: self.choose("<", "<=", "=", "<>", ">", ">=", "IS DISTINCT FROM")  # noqa: E731
        return self.any_of([
            lambda: f"({n()}) {compare()} ({n()})",
            lambda: f"({n()}) {compare()} ({n()})",
            lambda: f"{self.column('number', '1')} {compare()} {self.column('number', '2')}",
            lambda: f"({n()}) {no()}BETWEEN ({n()}) AND ({n()})",
            lambda: f"{self.column('number', '1')} {no()}IN ({n()}, {n()}, 31, {self.choose('NULL', '2')})",
            lambda: f"{self.text()} {compare()} {self.text()}",
            lambda: f"{self.text()} {no()}{self.choose('LIKE', 'ILIKE')} {self.choose(*map(repr, ['a%', '_', '%S']))}",
            lambda: f"regexp_matches({self.text()}, '^[a-z]+$')",
            lambda: f"{self.text()} IN ('a', 'US')",
            lambda: f"({self.column('number', '1')}, {self.text()}) IN ((1, 'a'), (31, 'US'))",
            lambda: f"{self.date()} {compare()} {self.date()}",
            lambda: f"date_trunc('month', {self.date()}) = DATE '2000-01-01'",
            lambda: f"{self.column('number', 'NULL')} IS {no()}NULL",
            lambda: self.column("BOOLEAN", "NULL"),
            lambda: self.choose("TRUE", "FALSE", "NULL", "1 = 2"),
            lambda: f"{self.text()} {no()}IN (SELECT country FROM regions WHERE gdp < 50)",
            lambda: f"{n()} > (SELECT avg(least) FROM limits)",
            lambda: f"EXISTS (SELECT 1 FROM limits WHERE limits.age = {self.column('BIGINT', '20')} AND least < {n()})",
            lambda: f"EXISTS (SELECT 1 FROM limits JOIN regions AS r ON gdp > least WHERE r.country = {self.text()})",
        ])  # fmt: skip


def _comparison(left: str, right: str, number: int) -> str:
    """A statement about two numbers, most of which can hold for NULL, too: else no NULL gets through a ring."""
    return [
        f"{left} < {right}",
        f"{left} IS DISTINCT FROM {right}",
        f"({left} > {right} OR {left} IS NULL)",
        f"({left} + {right} > 20) IS NOT FALSE",
        f"coalesce((CAST({left} AS INTEGER) + CAST({right} AS INTEGER)) % 3, 0) < 2",
        f"coalesce({left}, 30) <= coalesce({right}, 50)",
        f"coalesce({left}, 0) <> coalesce({right}, 1)",
    ][number]


@st.composite
def networks(draw: st.DrawFn) -> Question:
    """Four or five numbers compared in pairs, often in rings: messages over shared attributes must be joined."""
    numbers = [domain for domain in DOMAINS if domain.is_numeric]
    chosen = draw(st.permutations(numbers))[: draw(st.integers(4, 5))]
    names = [quoted(domain.column) for domain in chosen]
    pair = st.lists(st.sampled_from(names), min_size=2, max_size=2, unique=True)
    compared = st.builds(lambda p, number: _comparison(*p, number), pair, st.integers(0, 6))
    ring = [_comparison(a, b, draw(st.integers(0, 6))) for a, b in zip(names, names[1:] + names[:1], strict=True)]
    conditions = ring[draw(st.integers(0, 1)) :] + draw(st.lists(compared, max_size=2))
    a, b, c, d, *_ = names
    values = st.sampled_from([
        f"{a} + {b} - {c}",
        f"({a} - {b}) * ({c} + {d} + 1)",
        f"{a} * {b} * {c}",
        f"-({a} + 2 * {b})",
        f"CASE WHEN {a} < {b} THEN {c} WHEN {b} < {c} OR {d} IS NULL THEN 2 ELSE {d} + {a} END",
        f"CASE WHEN {a} < {b} AND {c} > 1 AND {d} > 0 THEN {a} * {d} END",
        f"CASE {a} WHEN {b} THEN {c} WHEN {c} THEN {d} END",
    ])  # fmt: skip
    groups = draw(st.lists(st.sampled_from([*names, f"{a} > {b}", f"{c} % 2"]), max_size=2))
    asked = ["1", *draw(st.lists(values, max_size=3))]
    return Question(tuple(chosen), " AND ".join(conditions), tuple(groups), tuple(asked))


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Two to five attributes of the pool, and what to sum over them."""
    chosen = draw(st.lists(st.sampled_from(DOMAINS), min_size=2, max_size=5, unique=True))
    builder = _Builder(draw, tuple(chosen))
    condition = builder.condition(draw(st.integers(0, 3)))
    group: list[Callable[[], str]] = [
        *(lambda domain=domain: quoted(domain.column) for domain in chosen),
        lambda: builder.number(1), builder.text, builder.date, lambda: builder.condition(1),
    ]  # fmt: skip
    groups = [builder.any_of(group) for _ in range(draw(st.integers(0, 2)))]
    value: list[Callable[[], str]] = [
        lambda: builder.choose("1", "NULL", "2.5"),
        lambda: builder.number(2),
        lambda: builder.number(2),
        lambda: f"({builder.number(1)}) * ({builder.number(1)})",
        lambda: f"CASE WHEN {builder.condition(2)} THEN 1 END",
    ]
    values = ["1", *(builder.any_of(value) for _ in range(draw(st.integers(0, 2))))]
    return Question(tuple(chosen), condition, tuple(groups), tuple(values))
