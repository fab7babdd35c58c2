"""What the risk of a table is asked for: what its cells weigh, and who may hold which dictionary; opened as tables.

The table that would be disclosed, each dictionary and each hierarchy get names of ours, so that the macros of risk find
them: `__priced`, the table with the sensitivity of each record, `__held_1`, `__tree_1` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import InputError, PolicyError
from sqlpriv.policy.file import Column, Policy
from sqlpriv.risk.reading import reading
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import Given, wide_rows
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.private_table import open_table, settle_types
from sqlpriv.table.source import Source, TableReference

PRICED, SENSITIVITY = "__priced", "__sensitivity"
_VALUES = "__values"
_CSV = re.compile(r"\.(csv|tsv|txt)(\.gz|\.zst)?$", re.IGNORECASE)
_ATTRIBUTES = ("quasi-identifier", "sensitive")


@dataclass(frozen=True)
class Weighed:
    """A column of the table: what its values weigh, what is above them, and what a dictionary knows of it."""

    column: str
    weight: str = "1"
    hierarchy: Given | None = None
    entry: str | None = None
    """A column or an expression of the dictionary; else the column of the same name, where there is one."""


@dataclass(frozen=True)
class Held:
    """A dictionary: a file or a table beside the table, and how likely it is that an attacker holds it."""

    name: str
    prior: float | None = None
    entries: Mapping[str, str] = field(default_factory=dict)
    """What it knows of columns, by their folded names, where that is something else than of other dictionaries."""

    def entry(self, own: Weighed) -> str | None:
        """What it knows of a column, as it is given."""
        return self.entries.get(folded(own.column), own.entry)


@dataclass(frozen=True)
class Asked:
    """Everything that the risk of a table depends on."""

    table: TableReference
    weighed: Sequence[Weighed]
    held: Sequence[Held]
    """None: the table itself, which bounds what others could find out who know no more of its people."""
    form: str = "linear"
    psi: float = 0.0
    pairs: Sequence[tuple[str, str, str]] = ()
    """Two columns and what they weigh together."""


@dataclass(frozen=True)
class Link:
    """What is compared with one dictionary."""

    record: str
    entry: str
    tree: str | None

    def as_map(self, **more: str) -> dict[str, str | None]:
        """As the macros have it."""
        return {"record": self.record, "entry": self.entry, "hierarchy": self.tree, **more}


@dataclass(frozen=True)
class Opened:
    """The tables of a question in a working database."""

    source: Source
    asked: Asked
    trees: Mapping[str, str]
    """The table of each column's hierarchy."""
    tables: Sequence[str]
    """Those of the dictionaries, in their order."""
    links: Sequence[Sequence[Link]]
    """What is compared with each of them."""


def from_policy(policy: Policy, held: Sequence[Held], table: TableReference | None = None) -> Asked:
    """What a policy says of weights and hierarchies, and of the dictionary where none is named."""
    columns = [column for column in policy.columns if column.role in _ATTRIBUTES]
    if not columns:
        raise PolicyError("the policy has neither a quasi-identifier nor a sensitive column: nothing could be told")
    weighed = [Weighed(c.name, _weight(c), c.given.get("hierarchy"), c.given.get("entry")) for c in columns]
    given = policy.release
    if given.get("personal") or any(c.given.get("psi") for c in columns):
        raise PolicyError(
            "people's own weights, and psi of columns, are not priced here: `sqlpriv plan` tells what the release loses"
        )
    found = held or ([Held(str(given["dictionary"]))] if given.get("dictionary") else _several(given))
    form, psi = given.get("form") or "linear", given.get("psi") or 0.0
    pairs = [(*pair.columns, str(pair.weight)) for pair in given.get("pairs") or ()]
    return Asked(table or policy.table, weighed, found, str(form), float(psi), pairs)


def _weight(column: Column) -> str:
    """What the values of a column weigh, all alike: 1 where a policy, of another method maybe, says nothing."""
    weight = column.given.get("weight")
    if isinstance(weight, str):
        raise PolicyError(
            f"{column.name!r} has a table of weights, which are not priced here: `sqlpriv plan` tells what the release "
            "loses"
        )
    return "1" if weight is None else str(weight)


def _several(given: Mapping[str, Any]) -> list[Held]:
    """The dictionaries of a policy, where it has several."""
    return [
        Held(own.source, own.prior, {folded(name): entry for name, entry in own.entries.items()})
        for own in given.get("dictionaries") or ()
    ]


@contextmanager
def opened(asked: Asked) -> Iterator[Opened]:
    """Open the table, its hierarchies and the dictionaries, and price its records."""
    columns = [own.column for own in asked.weighed]
    with open_table(asked.table, columns) as source:
        source.known(columns)
        found = {folded(name): name for name in source.columns}
        spelt = [replace(own, column=found[folded(own.column)]) for own in asked.weighed]
        asked = replace(asked, weighed=spelt)
        listed = ", ".join(quoted(own.column) for own in spelt)
        fetch(source.con, f"CREATE TABLE {_VALUES} AS SELECT DISTINCT {listed} FROM {source.table}")
        settle_types(source, _VALUES)
        tables = [_read(source, held, f"__held_{n}", spelt) for n, held in enumerate(asked.held, start=1)]
        trees = _trees(source, asked, tables)
        known = zip(tables, asked.held, strict=True) if tables else [(source.table, None)]
        links = [_links(source, table, held, asked, trees) for table, held in known]
        fetch(source.con, f"CREATE TABLE {PRICED} AS {priced(source, asked, trees, source.table)}")
        yield Opened(source, asked, trees, tables or [PRICED], links)


def _read(source: Source, held: Held, table: str, weighed: Sequence[Weighed]) -> str:
    """A dictionary as a view. A file's codes keep their zeros, as those of the table do."""
    name, options = held.name, ""
    if source.reference.is_file(name) and _CSV.search(name):
        found = [str(c) for c, *_ in fetch(source.con, f"DESCRIBE FROM {find_named(source, name)}")]
        texts = {folded(held.entry(own) or own.column) for own in weighed}
        types = {c: "VARCHAR" for c in found if folded(c) in texts}
        options = f", types = {literal(types)}" if types else ""
    elif not source.reference.is_in_database and not source.reference.is_file(name):
        raise InputError(f"there is no file {name!r}; name the dictionary, a file or with --database a table")
    fetch(source.con, f"CREATE VIEW {table} AS FROM {find_named(source, name, options)}")
    return table


def _links(source: Source, table: str, held: Held | None, asked: Asked, trees: Mapping[str, str]) -> list[Link]:
    """What the table and a dictionary share; None: the dictionary is the table itself."""
    columns = [str(c) for c, *_ in fetch(source.con, f"DESCRIBE FROM {table}")]
    links = []
    for own in asked.weighed:
        known = reading(columns, own.column, None if held is None else held.entry(own))
        if known is not None:
            links.append(Link(own.column, known, trees.get(own.column)))
    if not links:
        raise InputError(
            "the dictionary has no column of the table; name what it knows of a column with --entry COLUMN=EXPRESSION"
        )
    return links


def _trees(source: Source, asked: Asked, tables: Sequence[str]) -> dict[str, str]:
    """The hierarchies as tables. Those that are made by words are made for the values of the dictionaries, too."""
    trees = {}
    for number, own in enumerate(asked.weighed, start=1):
        if own.hierarchy is None:
            continue
        column, tree, values = quoted(own.column), f"__tree_{number}", f"__values_{number}"
        parts = [f"SELECT {column} FROM {_VALUES}"]
        [(kind,)] = fetch(source.con, f"SELECT column_type FROM (DESCRIBE SELECT {column} FROM {_VALUES})")
        for table, held in zip(tables, asked.held, strict=True):
            entry = held.entry(own) or own.column
            if folded(entry) in {folded(str(c)) for c, *_ in fetch(source.con, f"DESCRIBE FROM {table}")}:
                parts.append(f"SELECT TRY_CAST({quoted(entry)} AS {kind}) FROM {table}")
        fetch(source.con, f"CREATE TABLE {values} AS {' UNION '.join(parts)}")
        fetch(source.con, f"CREATE TABLE {tree} AS {wide_rows(source, own.hierarchy, own.column, values)}")
        trees[own.column] = tree
    return trees


def priced(source: Source, asked: Asked, trees: Mapping[str, str], table: str) -> str:
    """SQL text of a table with the sensitivity of each record."""
    spelt = {folded(own.column): quoted(own.column) for own in asked.weighed}
    weights = [
        {"attribute": quoted(own.column), "also": None, "weight": own.weight, "hierarchy": trees.get(own.column)}
        for own in asked.weighed
    ]
    weights += [
        {"attribute": spelt[folded(one)], "also": spelt[folded(other)], "weight": weight, "hierarchy": None}
        for one, other, weight in asked.pairs
    ]
    call = f"{source.need('sensitivity')}({literal(table)}, {literal(weights)}, {literal(asked.form)})"
    return f"SELECT record.*, sensitivity AS {SENSITIVITY} FROM {call}"


def reference(data: str, database: Path | None, folder: Path) -> TableReference:
    """The table by the words of the command line; hierarchies by their files are looked for in the folder."""
    if database is None:
        return TableReference(folder, str(Path(data).absolute()), None, {})
    return TableReference(folder, data, str(database.absolute()), {})
