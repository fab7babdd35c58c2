"""What to measure the risk of: a table, the weights of its columns, and the dictionaries that attackers may hold.

`open_tables` opens all of it in one working database, and returns the relations: the table with the sensitivity of each
record, the hierarchies and the dictionaries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.policy.file import Column, Policy
from sqlpriv.risk.dictionaries import Dictionary, entry_expression, from_with_texts
from sqlpriv.table.frequencies import read_values
from sqlpriv.table.hierarchies import Given, wide_rows
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.private_table import open_table
from sqlpriv.table.source import Source, TableReference

SENSITIVITY = "__sensitivity"
"""The column with the sensitivity of a record."""
_ATTRIBUTES = ("quasi-identifier", "sensitive")


@dataclass(frozen=True)
class WeightedColumn:
    """A column of the table: the weight of its values, its hierarchy, and what a dictionary knows of it."""

    name: str
    weight: str = "1"
    hierarchy: Given | None = None
    entry: str | None = None
    """A column or an expression of the dictionary; None: the column of the same name, if there is one."""


@dataclass(frozen=True)
class RiskRequest:
    """Everything that the risk of a table depends on."""

    table: TableReference
    columns: Sequence[WeightedColumn]
    dictionaries: Sequence[Dictionary]
    """Empty: the table itself, which bounds the risk against attackers who know no more of its people."""
    form: str = "linear"
    psi: float = 0.0
    together: Sequence[tuple[Sequence[str], str]] = ()
    """Sets of two columns or more, each with the additional weight of its values together (equation 4)."""


@dataclass(frozen=True)
class Link:
    """A column of the table and what one dictionary knows of it."""

    record: str
    entry: str
    tree: str | None

    def as_map(self, **more: str) -> dict[str, str | None]:
        """As the macros have it."""
        return {"record": self.record, "entry": self.entry, "hierarchy": self.tree, **more}


@dataclass(frozen=True)
class OpenDictionary:
    """A dictionary in the working database: its name for people, its prior, its entries, and what is compared."""

    name: str
    prior: float | None
    entries: Relation
    links: Sequence[Link]


@dataclass(frozen=True)
class OpenTables:
    """The tables of a request in a working database."""

    source: Source
    request: RiskRequest
    weighted: Relation
    """The private table with the sensitivity of each record."""
    trees: Mapping[str, Relation]
    """The hierarchy of each column that has one."""
    dictionaries: Sequence[OpenDictionary]
    """In their order; the table itself where the request names none."""


def from_policy(policy: Policy, dictionaries: Sequence[Dictionary], table: TableReference | None = None) -> RiskRequest:
    """The request with the weights and hierarchies of a policy, and with its dictionaries where none is given."""
    columns = [column for column in policy.columns if column.role in _ATTRIBUTES]
    if not columns:
        raise PolicyError(
            "the policy has neither a quasi-identifier nor a sensitive column: there is nothing to disclose"
        )
    weighted = [WeightedColumn(c.name, _weight(c), c.given.get("hierarchy"), c.given.get("entry")) for c in columns]
    given = policy.release
    if given.get("personal") or any(c.given.get("psi") for c in columns):
        raise PolicyError(
            "people's own weights, and psi of columns, are not supported here: `sqlpriv plan` reports the risk of the "
            "release"
        )
    one = given.get("dictionary")
    found = dictionaries or ([Dictionary(str(one))] if one else given.get("dictionaries") or ())
    form, psi = given.get("form") or "linear", given.get("psi") or 0.0
    together = [(own.columns, str(own.weight)) for own in given.get("pairs") or ()]
    return RiskRequest(table or policy.table, weighted, found, str(form), float(psi), together)


def _weight(column: Column) -> str:
    """The one weight of all values of a column: 1 where the policy, maybe of another method, has none."""
    weight = column.given.get("weight")
    if isinstance(weight, str):
        raise PolicyError(
            f"{column.name!r} has a table of weights, which is not supported here: `sqlpriv plan` reports the risk of "
            "the release"
        )
    return "1" if weight is None else str(weight)


@contextmanager
def open_tables(request: RiskRequest) -> Iterator[OpenTables]:
    """Open the table, its hierarchies and the dictionaries, and compute the sensitivity of each record."""
    names = [own.name for own in request.columns]
    with open_table(request.table, names) as source:
        source.refuse_unknown(names)
        found = {folded(name): name for name in source.columns}
        request = replace(request, columns=[replace(own, name=found[folded(own.name)]) for own in request.columns])
        values = read_values(source, [own.name for own in request.columns])
        opened = [(own, _open_dictionary(source, own, request.columns)) for own in request.dictionaries]
        trees = _trees(source, request, values, opened)
        weighted = source.scratch.table(with_sensitivity(source, request, trees, source.private), "weighted")
        if opened:
            found_in = [
                OpenDictionary(own.source, own.prior, entries, _links(entries.columns, own, request, trees))
                for own, entries in opened
            ]
        else:
            found_in = [
                OpenDictionary("the table itself", None, weighted, _links(source.columns, None, request, trees))
            ]
        yield OpenTables(source, request, weighted, trees, found_in)


def _open_dictionary(source: Source, dictionary: Dictionary, columns: Sequence[WeightedColumn]) -> Relation:
    """The entries of a dictionary. Codes in a file keep their leading zeros, as in the table."""
    name = dictionary.source
    if not source.reference.is_in_database and not source.reference.is_file(name):
        raise InputError(f"there is no file {name!r}; name the dictionary, a file or with --database a table")
    texts = {folded(dictionary.entry(own.name, own.entry) or own.name) for own in columns}
    compared = [c for c in Relation(source.con, find_named(source, name)).columns if folded(c) in texts]
    return source.scratch.table(f"FROM {from_with_texts(source, name, compared)}", "dictionary")


def _links(
    names: Collection[str], dictionary: Dictionary | None, request: RiskRequest, trees: Mapping[str, Relation]
) -> list[Link]:
    """What the table and a dictionary with these columns share; None: the dictionary is the table itself."""
    links = []
    for own in request.columns:
        given = None if dictionary is None else dictionary.entry(own.name, own.entry)
        known = entry_expression(names, own.name, given)
        if known is not None:
            links.append(Link(own.name, known, trees[own.name].name if own.name in trees else None))
    if not links:
        raise InputError(
            "the dictionary has no column of the table; name what it knows of a column with --entry COLUMN=EXPRESSION"
        )
    return links


def _trees(
    source: Source, request: RiskRequest, values: Relation, opened: Sequence[tuple[Dictionary, Relation]]
) -> dict[str, Relation]:
    """The hierarchies as tables, for the values of the private table and of the dictionaries."""
    trees = {}
    for own in request.columns:
        if own.hierarchy is None:
            continue
        column = quoted(own.name)
        parts = [f"SELECT {column} FROM {values.name}"]
        for dictionary, entries in opened:
            entry = dictionary.entry(own.name, own.entry) or own.name
            if folded(entry) in map(folded, entries.columns):
                parts.append(f"SELECT TRY_CAST({quoted(entry)} AS {values.columns[own.name]}) FROM {entries.name}")
        below = source.scratch.table(" UNION ".join(parts), "values")
        trees[own.name] = source.scratch.table(wide_rows(source, own.hierarchy, own.name, below.name), "tree")
    return trees


def with_sensitivity(source: Source, request: RiskRequest, trees: Mapping[str, Relation], table: Relation) -> str:
    """SQL text of a table with the sensitivity of each record."""
    spelt = {folded(own.name): quoted(own.name) for own in request.columns}
    weights: list[dict[str, str | list[str] | None]] = [
        {
            "attribute": quoted(own.name),
            "also": None,
            "weight": own.weight,
            "hierarchy": trees[own.name].name if own.name in trees else None,
        }
        for own in request.columns
    ]
    weights += [
        {"attribute": first, "also": others, "weight": weight, "hierarchy": None}
        for columns, weight in request.together
        for first, *others in [[spelt[folded(name)] for name in columns]]
    ]
    call = f"{source.need('sensitivity')}({literal(table.name)}, {literal(weights)}, {literal(request.form)})"
    return f"SELECT record.*, sensitivity AS {SENSITIVITY} FROM {call}"


def reference(
    data: str, database: Path | None, folder: Path, options: Mapping[str, Any] | None = None
) -> TableReference:
    """The table as the command line names it; files of hierarchies are looked for in the folder."""
    if database is None:
        return TableReference(folder, str(Path(data).absolute()), None, options or {})
    return TableReference(folder, data, str(database.absolute()), {})
