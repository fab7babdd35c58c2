"""The risk of a table against dictionaries: the figures of the macros, and the points of the charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.risk.request import SENSITIVITY, WEIGHTED, Link, OpenTables, with_sensitivity

_PARTS = 10
_SHOWN_NODES = 60
"""The most generalizations that a chart shows: of more, evenly spaced ones are taken."""
FIGURES = ("records", "found", "prohibited", "risk", "median", "p90", "p99", "worst")


@dataclass(frozen=True)
class DictionaryRisk:
    """The risk against one dictionary."""

    dictionary: str
    prior: float | None
    entries: int
    figures: dict[str, Any]
    worst_entries: int
    """The number of entries that are consistent with the worst record."""


@dataclass(frozen=True)
class Risks:
    """The risk against each dictionary; for several also by their priors, and against the worst."""

    each: Sequence[DictionaryRisk]
    bayes: float | None = None
    minimax: float | None = None
    bound: float | None = None


def measure(opened: OpenTables) -> Risks:
    """The risk of the table against each of its dictionaries, and against all of them."""
    priors = [own.prior for own in opened.request.dictionaries] or [None]
    each = [
        _measure_one(opened, name, prior, table, links)
        for name, prior, table, links in zip(opened.names, priors, opened.tables, opened.links, strict=True)
    ]
    if len(each) < 2:
        return Risks(each)
    if any(prior is None for prior in priors) and any(prior is not None for prior in priors):
        raise InputError("some dictionaries have a prior and some have none; give one to all, as in people.csv=0.5")
    given = [1 / len(each) if prior is None else prior for prior in priors]
    listed = [
        link.as_map(dictionary=table)
        for table, links in zip(opened.tables, opened.links, strict=True)
        for link in links
    ]
    shares = "MAP {" + ", ".join(f"{literal(t)}: {p!r}" for t, p in zip(opened.tables, given, strict=True)) + "}"
    arguments = f"{literal(WEIGHTED)}, {shares}, {literal(listed)}, {_loss_arguments(opened)}"
    call = f"{opened.source.need('bayes_risk')}({arguments})"
    [(bayes, minimax, bound)] = fetch(opened.source.con, f"SELECT bayes, minimax, bound FROM {call}")
    return Risks(each, bayes, minimax, bound)


def _loss_arguments(opened: OpenTables) -> str:
    return f"{literal(SENSITIVITY)}, {opened.request.psi!r}"


def _measure_one(
    opened: OpenTables, name: str, prior: float | None, table: str, links: Sequence[Link]
) -> DictionaryRisk:
    con = opened.source.con
    arguments = f"{literal(WEIGHTED)}, {literal(table)}, {_listed(links)}, {_loss_arguments(opened)}"
    [row] = fetch(con, f"SELECT {', '.join(FIGURES)} FROM {opened.source.need('disclosure_risk')}({arguments})")
    worst = f"{opened.source.need('disclosure_risk_records')}({arguments}, -1)"
    [(entries,)] = fetch(con, f"SELECT entries FROM {worst} LIMIT 1")
    [(size,)] = fetch(con, f"SELECT count(*) FROM {table}")
    return DictionaryRisk(name, prior, int(size), dict(zip(FIGURES, row, strict=True)), int(entries))


def _listed(links: Sequence[Link]) -> str:
    return literal([link.as_map() for link in links])


def risk_by_entries(opened: OpenTables) -> list[dict[str, Any]]:
    """The risk against random parts of each dictionary, from a tenth to all of it, each contained in the next."""
    rows = []
    for name, table, links in zip(opened.names, opened.tables, opened.links, strict=True):
        con = opened.source.con
        numbered = f"SELECT *, row_number() OVER () AS __number FROM {table}"
        shuffled = "row_number() OVER (ORDER BY hash(__number), __number) - 1"
        fetch(
            con,
            f"CREATE OR REPLACE TABLE __parts AS SELECT * EXCLUDE (__number), "
            f"({shuffled}) * {_PARTS} // count(*) OVER () AS __part FROM ({numbered})",
        )
        for part in range(1, _PARTS + 1):
            fetch(con, f"CREATE OR REPLACE VIEW __part AS SELECT * EXCLUDE (__part) FROM __parts WHERE __part < {part}")
            [(size,)] = fetch(con, "SELECT count(*) FROM __part")
            if size:
                arguments = f"{literal(WEIGHTED)}, '__part', {_listed(links)}, {_loss_arguments(opened)}"
                [(risk,)] = fetch(con, f"SELECT risk FROM {opened.source.need('disclosure_risk')}({arguments})")
                rows.append({"curve": name, "entries": int(size), "risk": risk})
        fetch(con, "DROP VIEW __part; DROP TABLE __parts")
    return rows


def estimated_and_true(opened: OpenTables, person: str) -> list[dict[str, Any]]:
    """The risk of generalizations of the table, estimated with the first dictionary and true with the second.

    The generalizations are all combinations of levels of the hierarchies. `precedes` says whether the first dictionary
    precedes the second (Definition 5), matched by the column `person`: then the estimate bounds the risk of the records
    that the first one holds.
    """
    if len(opened.tables) < 2:
        raise InputError("an estimate and the truth are two dictionaries: name both with --dictionary")
    con, need = opened.source.con, opened.source.need
    first, second = opened.tables[:2]
    shared = [
        {"record": own.entry, "entry": other.entry, "hierarchy": own.tree}
        for own in opened.links[0]
        for other in opened.links[1]
        if own.record == other.record
    ]
    if len(shared) < len(opened.links[1]):
        raise InputError("the second dictionary knows more columns than the first: the estimate would be no bound")
    order = f"{need('dictionary_order')}({literal(first)}, {literal(second)}, {literal(person)}, {literal(shared)})"
    [(precedes,)] = fetch(con, f"SELECT precedes FROM {order}")
    heights = {c: len(fetch(con, f"DESCRIBE {tree}")) - 1 for c, tree in opened.trees.items()}
    nodes = list(product(*(range(height + 1) for height in heights.values())))
    step = max(len(nodes) // _SHOWN_NODES, 1)
    return [_point(opened, dict(zip(heights, node, strict=True)), bool(precedes)) for node in nodes[::step]]


def _point(opened: OpenTables, node: dict[str, int], precedes: bool) -> dict[str, Any]:
    con, need = opened.source.con, opened.source.need
    columns = ", ".join(quoted(own.name) for own in opened.request.columns)
    fetch(con, f"CREATE OR REPLACE TABLE __plain AS SELECT {columns} FROM {WEIGHTED}")
    levels = "MAP {" + ", ".join(f"{literal(c)}: {level}" for c, level in node.items()) + "}"
    trees = "MAP {" + ", ".join(f"{literal(c)}: {literal(opened.trees[c])}" for c in node) + "}"
    moved = f"FROM {need('generalize')}('__plain', {levels}, {trees})" if node else "FROM __plain"
    fetch(con, f"CREATE OR REPLACE TABLE __moved AS {moved}")
    point = with_sensitivity(opened.source, opened.request, opened.trees, "__moved")
    fetch(con, f"CREATE OR REPLACE TABLE __point AS {point}")
    risks = []
    for table, links in zip(opened.tables[:2], opened.links[:2], strict=True):
        arguments = f"'__point', {literal(table)}, {_listed(links)}, {_loss_arguments(opened)}"
        risks.append(fetch(con, f"SELECT risk FROM {need('disclosure_risk')}({arguments})")[0][0])
    return {"node": node, "estimated": risks[0], "true": risks[1], "precedes": precedes}
