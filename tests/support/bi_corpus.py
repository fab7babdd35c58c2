"""The statements of fixtures/bi/, as eight tools and dashboards write them, and the table that they ask about.

A case is the line `-- its_name`, perhaps `-- parameters: ` with JSON, the statement, and for what cannot be answered
the line `-- refused: ` with how the message begins. A blank line parts the cases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import duckdb

from support import places
from support.releases import Made, Weighted, quoted, random_view, write_release

COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "region": ("VARCHAR", ["north", "south", "east", None]),
    "product": ("VARCHAR", ["a", "b", "c"]),
    "amount": ("INTEGER", [5, 10, 20, 30, 50]),
    "quantity": ("INTEGER", [1, 2, 4]),
    "day": ("DATE", [date(2023, 11, 30), *(date(2024, m, d) for m, d in ((1, 1), (1, 31), (2, 29), (5, 5), (12, 31)))]),
    "paid": ("BOOLEAN", [True, False]),
}
PUBLIC: dict[str, tuple[Mapping[str, str], Sequence[tuple[Any, ...]]]] = {
    "regions": (
        {"region": "VARCHAR", "continent": "VARCHAR"},
        [("north", "Europe"), ("south", "Africa"), ("east", "Asia"), ("west", "Europe")],
    ),
}
EXACT = (Weighted(1.0, 0.0, 0.0), {0: Weighted(1.0, 0.0, 0.0)})
_CASE = re.compile(
    r"-- (?P<name>\w+)\n(?:-- parameters: (?P<parameters>.*)\n)?(?P<query>(?:(?!-- refused: ).+\n)+)"
    r"(?:-- refused: (?P<refused>.*)\n)?(?:\n|\Z)"
)


@dataclass(frozen=True)
class Case:
    """A statement of a tool; `refused` is how its refusal begins, empty if it is answered."""

    tool: str
    name: str
    query: str
    refused: str
    parameters: Any = None


def cases() -> list[Case]:
    """All statements; nothing is left over between them."""
    return [case for file in sorted((places.FIXTURES / "bi").glob("*.sql")) for case in _cases(file)]


def _cases(file: Path) -> list[Case]:
    text, found, place = file.read_text(encoding="utf-8"), [], 0
    while place < len(text):
        case = _CASE.match(text, place)
        assert case, f"no case begins with this, or its end is not found: {text[place : place + 80]!r}"
        parameters = json.loads(case["parameters"]) if case["parameters"] else None
        found.append(Case(file.stem, case["name"], case["query"].strip(), case["refused"] or "", parameters))
        place = case.end()
    return found


def exact_release(path: Path) -> Made:
    """A release that answers exactly for its view and the whole domain together; no two regions or products tie."""
    return write_release(path, COLUMNS, random_view(COLUMNS, 170, 7), EXACT, table="visits", public=PUBLIC)


def private_database(made: Made, order: str = "") -> duckdb.DuckDBPyConnection:
    """A database with these rows as a table, in an order if one is given, and the public tables."""
    con = duckdb.connect(config={"threads": 1})
    con.execute(f"ATTACH '{made.path}' AS made (READ_ONLY)").fetchall()
    values = ", ".join(f't{i}."value"' for i in range(len(made.names)))
    tables = ", ".join(f'made."domain".{quoted(n)} AS t{i}' for i, n in enumerate(made.names))
    names = ", ".join(map(quoted, made.names))
    con.execute(
        f"CREATE TABLE visits AS SELECT {names} FROM made.sqlpriv_release.published UNION ALL "
        f"SELECT {values} FROM {tables} {order}"
    ).fetchall()
    for name in made.public:
        con.execute(f'CREATE TABLE {quoted(name)} AS FROM made."public".{quoted(name)}').fetchall()
    con.execute("DETACH made").fetchall()
    return con
