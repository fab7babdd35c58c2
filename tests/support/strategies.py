"""Random tables for property tests: nasty names and values, NULLs, duplicates, repeated persons.

Importing this module sets hypothesis to SQLPRIV_EXAMPLES examples a test (200 by default). They are the same each time,
unless SQLPRIV_RANDOM is set, as `make test-deep` does: what fails there is found again with the seed that it prints.
"""

from __future__ import annotations

import datetime
import math
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from oracles import text

EXAMPLES = int(os.environ.get("SQLPRIV_EXAMPLES", "200"))
settings.register_profile(
    "sqlpriv",
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not os.environ.get("SQLPRIV_RANDOM"),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("sqlpriv")


def fewer(share: int, deep: int | None = None) -> settings:
    """A part of the examples, for what is slow or says again what another test has said; `deep`: that of test-deep."""
    part = deep if deep is not None and EXAMPLES >= 2000 else share
    return settings(max_examples=max(EXAMPLES // part, 10))


Row = dict[str, object]
Texts = list[str | None]

PLAIN_NAMES = ["age", "zip", "city", "disease", "x1"]
ODD_NAMES = [
    "zip code", "a.b", "o'clock", "MixedCase", "größe", "年齢", "1st", "x ", "50%", "a;b", "$1",
    "--", "{x}", "a,b", "(y)", "é\u0301",
]  # fmt: skip
SQL_NAMES = ["select", "group", "order", "from", "table", "null", "true", "all", "struct", "row"]
OUR_NAMES = [
    "n", "size", "value", "class", "count", "k", "l", "m", "s", "q", "r", "p", "t", "c", "b",
    "tbl", "qis", "sensitive", "person", "id", "name", "sigma", "share", "alpha", "beta", "delta",
    "epsilon", "threshold", "prior", "shape", "predicates", "hierarchy", "population", "buckets",
    "original", "disclosure", "posterior", "total", "worst", "columns", "unit", "units",
]  # fmt: skip
NAMES = PLAIN_NAMES + ODD_NAMES + SQL_NAMES + OUR_NAMES


@dataclass(frozen=True)
class Case:
    """A table and the roles of its columns; `columns` maps names, in order, to DuckDB types."""

    rows: tuple[Row, ...]
    columns: Mapping[str, str]
    qis: tuple[str, ...]
    sensitive: str
    person: str
    domains: Mapping[str, Sequence[object]] = field(default_factory=dict, repr=False)

    def texts(self, name: str | None = None) -> Texts:
        """The distinct values of a column, the sensitive one by default, as text."""
        return list(dict.fromkeys(text(row[name or self.sensitive]) for row in self.rows))


# One kind of column a line: its DuckDB type and the values to choose from, besides NULL.
KINDS: dict[str, tuple[str, list[object]]] = {
    "float": ("DOUBLE", [1.5, 0.0, -0.0, math.nan, math.inf, -math.inf, 0.1, 1e20]),
    "text": ("VARCHAR", ["", "NULL", "*", "o'x", '"q"', "a", "A", "a ", "é", "nan", "1", "[a, b]"]),
    "int": ("INTEGER", [0, 1, 2, 10, -7, 99]),
    "date": ("DATE", [datetime.date(year, 1, 2) for year in (1, 1999, 2020, 9999)]),
    "boolean": ("BOOLEAN", [True, False]),
    "list": ("INTEGER[]", [[], [1], [1, None], [None], [2, 1], [1, 2]]),
    "enum": ("ENUM('mid', 'low', 'high')", ["mid", "low", "high"]),
    "struct": (
        "STRUCT(x DOUBLE, y VARCHAR[])",
        [
            {"x": 0.0, "y": ["a", None]},
            {"x": -0.0, "y": ["a", None]},
            {"x": math.inf, "y": []},
            {"x": None, "y": None},
            {"x": 1.5, "y": [""]},
        ],
    ),
}
# (No NaN inside a STRUCT: DuckDB 1.5's Python client would store it as NULL.)
# An ENUM orders by its declaration, which a Python value does not carry, and of a STRUCT the order
# is not written down: quasi-identifiers only.
SENSITIVE_KINDS = [kind for kind in KINDS if kind not in ("enum", "struct")]


PERSONS: list[object] = [*range(20)]
PERSON_NAMES: list[object] = ["", "NULL", "o'x", "é", *(f"p {number}" for number in range(16))]


def same_name(name: str) -> str:
    """DuckDB's names ignore case."""
    return name.lower()


@st.composite
def domains(draw: st.DrawFn, kinds: Sequence[str], most: int) -> tuple[str, list[object]]:
    """A DuckDB type and a few of its values, often with NULL among them."""
    duckdb_type, values = KINDS[draw(st.sampled_from(kinds))]
    sizes = [size for size in (3, 2, 5, 4, 6, 3, 4, 1) if size <= min(most, len(values))]
    chosen = list(draw(st.permutations(values)))[: draw(st.sampled_from(sizes))]
    if draw(st.booleans()):
        chosen = [*chosen[: most - 1], None]
    return duckdb_type, chosen


@st.composite
def person_domains(draw: st.DrawFn) -> tuple[str, list[object]]:
    """Two to twenty persons, by number or by name; a person is never NULL."""
    duckdb_type, names = draw(st.sampled_from([("INTEGER", PERSONS), ("VARCHAR", PERSON_NAMES)]))
    return duckdb_type, names[: draw(st.sampled_from([3, 12, 6, 20, 2]))]


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Case, dict[str, list[object]]]:
    """A case without rows, and what each column may hold."""
    count = draw(st.sampled_from([1, 2, 3, 1, 2, 4]))  # few: large classes have more to say
    unused = draw(st.integers(0, 1))
    names = draw(
        st.lists(
            st.sampled_from(NAMES),
            min_size=count + unused + 2,
            max_size=count + unused + 2,
            unique_by=same_name,
        )
    )
    qis, sensitive, person = tuple(names[:count]), names[count], names[count + 1]
    kinds = {name: draw(domains(list(KINDS), 3)) for name in names}
    for name in (sensitive, *names[count + 2 :]):  # a column without a role may serve as a second secret
        kinds[name] = draw(domains(SENSITIVE_KINDS, 6))
    kinds[person] = draw(person_domains())
    order = draw(st.permutations(names))
    values = {name: kinds[name][1] for name in order}
    columns = {name: kinds[name][0] for name in order}
    return Case((), columns, qis, sensitive, person, values), values


@st.composite
def drawn_rows(draw: st.DrawFn, values: Mapping[str, Sequence[object]], least: int, most: int) -> tuple[Row, ...]:
    """Every cell drawn by hypothesis: shrinks well, but likes all rows equal."""
    row = st.tuples(*(st.sampled_from(list(values[name])) for name in values))
    drawn = draw(st.lists(row, min_size=least, max_size=most))
    return tuple(dict(zip(values, cells, strict=True)) for cells in drawn)


@st.composite
def mixed_rows(draw: st.DrawFn, values: Mapping[str, Sequence[object]], least: int, most: int) -> tuple[Row, ...]:
    """Rows from one seed, so that there are many and all values of all columns really meet."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    size = chance.choice([most, most // 2, chance.randint(least, most)])
    return tuple({name: chance.choice(values[name]) for name in values} for _ in range(size))


def some_rows(values: Mapping[str, Sequence[object]], least: int, most: int) -> st.SearchStrategy[tuple[Row, ...]]:
    """Mostly mixed rows: in small or monotonous tables most checks are infinite, which hides mistakes."""
    mixed, drawn = mixed_rows(values, least, most), drawn_rows(values, least, most)
    return st.integers(0, 3).flatmap(lambda kind: drawn if kind == 3 else mixed)


@st.composite
def cases(draw: st.DrawFn, least: int = 1, most: int = 40) -> Case:
    """A table of 1 to 40 rows; small domains make equal rows and repeated persons common."""
    layout, values = draw(layouts())
    rows = draw(some_rows(values, least, most))
    return with_rows(layout, rows)


def text_cases() -> st.SearchStrategy[Case]:
    """As `cases`, for checks that compare sensitive values as text: no -0.0, which prints its sign."""
    return cases().map(_without_signed_zeros)


def _without_signed_zeros(case: Case) -> Case:
    rows = [{**row, case.sensitive: _unsigned(row[case.sensitive])} for row in case.rows]
    domain = [_unsigned(value) for value in case.domains[case.sensitive]]
    return replace(case, rows=tuple(rows), domains={**case.domains, case.sensitive: domain})


def _unsigned(value: object) -> object:
    return value + 0.0 if isinstance(value, float) else value


def cases_or_empty() -> st.SearchStrategy[Case]:
    """As `cases`, but the table may have no rows."""
    return cases(least=0)


def with_rows(case: Case, rows: Sequence[Row]) -> Case:
    return Case(tuple(rows), case.columns, case.qis, case.sensitive, case.person, case.domains)


@st.composite
def populations(draw: st.DrawFn, case: Case) -> Case:
    """A superset of the table, in any order, some of it in classes the table does not have."""
    more = draw(some_rows(case.domains, 0, 30))
    return with_rows(case, draw(st.permutations([*case.rows, *more])))


@st.composite
def texts_and_more(draw: st.DrawFn, case: Case) -> Texts:
    """The sensitive values of the table as text, in any order, maybe with others."""
    more = draw(st.lists(st.sampled_from(["another", "b'", "?", None]), max_size=2))
    return list(draw(st.permutations(list(dict.fromkeys([*case.texts(), *more])))))


@st.composite
def priors(draw: st.DrawFn, case: Case) -> dict[str | None, float]:
    """A sigma of at least 1 for every value; quarters, so that doubles are exact."""
    values = draw(texts_and_more(case))
    return {value: draw(st.integers(4, 400)) / 4 for value in values}


def sigmas(case: Case) -> st.SearchStrategy[float]:
    """A stubbornness for class II that some prior over the values can have, in quarters."""
    return st.integers(4 * len(case.texts()), 40_000).map(lambda quarters: quarters / 4)


@st.composite
def shapes(draw: st.DrawFn, case: Case) -> dict[str | None, float]:
    """Shares that add up to 1 exactly, in 64ths; some may be 0."""
    values = draw(texts_and_more(case))
    count = len(values) - 1
    cuts = sorted(draw(st.lists(st.integers(0, 64), min_size=count, max_size=count)))
    ends = zip([0, *cuts], [*cuts, 64], strict=True)
    return {value: (high - low) / 64 for value, (low, high) in zip(values, ends, strict=True)}


SET_NAMES = ["stomach", "o'", "", "name", None]


def predicates(values: Texts) -> st.SearchStrategy[list[tuple[str | None, str | None]]]:
    """Rows (name, value): up to three named sets over the values, which may overlap."""
    sets = st.dictionaries(st.sampled_from(SET_NAMES), contents(values), min_size=1, max_size=3)
    return sets.map(lambda found: [(name, value) for name, own in found.items() for value in own])


def person_predicates(case: Case, values: Texts) -> st.SearchStrategy[list[tuple[str | None, str | None, str | None]]]:
    """Rows (id, name, value): named sets of single persons, some not in the table."""
    owner = st.tuples(st.sampled_from([*case.texts(case.person), "nobody"]), st.sampled_from(SET_NAMES))
    sets = st.dictionaries(owner, contents(values), min_size=1, max_size=4)
    return sets.map(lambda found: [(*whose, value) for whose, own in found.items() for value in own])


def contents(values: Texts) -> st.SearchStrategy[Texts]:
    """The values of one set, some perhaps twice."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=4)


@st.composite
def hierarchies(draw: st.DrawFn, case: Case) -> list[tuple[str | None, ...]]:
    """One path a value, all of the same length, nested, up to a common top."""
    values = draw(texts_and_more(case))
    levels: list[dict[str | None, str]] = []
    below: Texts = list(values)
    for _ in range(draw(st.integers(0, 3))):
        level = {node: draw(st.sampled_from(["g", "h", "i", "j"])) for node in below}
        levels.append(level)
        below = list(dict.fromkeys(level.values()))
    paths = []
    for value in values:
        path: list[str | None] = [value]
        for level in levels:
            path.append(level[path[-1]])
        paths.append((*path, "*"))
    return paths


@st.composite
def recodings(draw: st.DrawFn) -> tuple[Case, Case, str]:
    """A generalized table, its original and the name of their id column."""
    case = draw(cases())
    labels = {
        (name, text(value)): draw(st.sampled_from(["low", "high", "*", None]))
        for name in case.qis
        for value in case.domains[name]
    }
    columns = {**case.columns, "record id": "INTEGER"}
    original: list[Row] = [{**row, "record id": at} for at, row in enumerate(case.rows)]
    general: list[Row] = [{**row, **{name: labels[name, text(row[name])] for name in case.qis}} for row in original]
    wide = Case(tuple(original), columns, case.qis, case.sensitive, case.person)
    coarse = {name: "VARCHAR" if name in case.qis else kind for name, kind in columns.items()}
    shuffled = tuple(draw(st.permutations(general)))
    return Case(shuffled, coarse, case.qis, case.sensitive, case.person), wide, "record id"


def quote(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def create_table(
    con: duckdb.DuckDBPyConnection,
    name: str,
    columns: Mapping[str, str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Create or replace a table; values travel as parameters, never as text."""
    listed = ", ".join(f"{quote(column)} {kind}" for column, kind in columns.items())
    con.execute(f"CREATE OR REPLACE TABLE {quote(name)} ({listed})").fetchall()
    if rows:
        cells = ", ".join(f"CAST(? AS {kind})" for kind in columns.values())
        values = ", ".join([f"({cells})"] * len(rows))
        flat = [cell for row in rows for cell in row]
        con.execute(f"INSERT INTO {quote(name)} VALUES {values}", flat).fetchall()


def create(con: duckdb.DuckDBPyConnection, name: str, case: Case) -> None:
    """The case as a DuckDB table of this name."""
    rows = [[row[column] for column in case.columns] for row in case.rows]
    create_table(con, name, case.columns, rows)
