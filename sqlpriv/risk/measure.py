"""The risk of a table against dictionaries: figures of the macros, and the points of the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import InputError
from sqlpriv.risk.asked import PRICED, SENSITIVITY, Link, Opened, priced
from sqlpriv.sqltext import literal, quoted

_PARTS = 10
_SHOWN_NODES = 60
"""More generalizations than these are not drawn: every so many is taken."""
FIGURES = ("records", "found", "prohibited", "risk", "median", "p90", "p99", "worst")


@dataclass(frozen=True)
class Against:
    """The risk against one dictionary."""

    dictionary: str
    prior: float | None
    entries: int
    figures: dict[str, Any]
    worst_entries: int
    """How many entries are consistent with the record that loses most."""


@dataclass(frozen=True)
class Risks:
    """The risk against each dictionary and, of several, by their priors and against the worst."""

    against: Sequence[Against]
    bayes: float | None = None
    minimax: float | None = None
    bound: float | None = None


def measure(found: Opened) -> Risks:
    """Ask the macros."""
    names = [held.name for held in found.asked.held] or ["the table itself"]
    priors = [held.prior for held in found.asked.held] or [None]
    each = [
        _against(found, name, prior, table, links)
        for name, prior, table, links in zip(names, priors, found.tables, found.links, strict=True)
    ]
    if len(each) < 2:
        return Risks(each)
    if any(prior is None for prior in priors) and any(prior is not None for prior in priors):
        raise InputError("some dictionaries have a prior and some have none; give one to all, as in people.csv=0.5")
    given = [1 / len(each) if prior is None else prior for prior in priors]
    listed = [
        link.as_map(dictionary=table) for table, links in zip(found.tables, found.links, strict=True) for link in links
    ]
    shares = "MAP {" + ", ".join(f"{literal(t)}: {p!r}" for t, p in zip(found.tables, given, strict=True)) + "}"
    call = f"{found.source.need('bayes_risk')}({literal(PRICED)}, {shares}, {literal(listed)}, {_losses(found)})"
    [(bayes, minimax, bound)] = fetch(found.source.con, f"SELECT bayes, minimax, bound FROM {call}")
    return Risks(each, bayes, minimax, bound)


def _losses(found: Opened) -> str:
    return f"{literal(SENSITIVITY)}, {found.asked.psi!r}"


def _against(found: Opened, name: str, prior: float | None, table: str, links: Sequence[Link]) -> Against:
    con = found.source.con
    arguments = f"{literal(PRICED)}, {literal(table)}, {_listed(links)}, {_losses(found)}"
    [row] = fetch(con, f"SELECT {', '.join(FIGURES)} FROM {found.source.need('disclosure_risk')}({arguments})")
    worst = f"{found.source.need('disclosure_risk_records')}({arguments}, -1)"
    [(entries,)] = fetch(con, f"SELECT entries FROM {worst} LIMIT 1")
    [(size,)] = fetch(con, f"SELECT count(*) FROM {table}")
    return Against(name, prior, int(size), dict(zip(FIGURES, row, strict=True)), int(entries))


def _listed(links: Sequence[Link]) -> str:
    return literal([link.as_map() for link in links])


def risk_by_entries(found: Opened) -> list[dict[str, Any]]:
    """The risk against parts of each dictionary, a tenth and more, each within the next."""
    rows = []
    names = [held.name for held in found.asked.held] or ["the table itself"]
    for name, table, links in zip(names, found.tables, found.links, strict=True):
        con = found.source.con
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
                arguments = f"{literal(PRICED)}, '__part', {_listed(links)}, {_losses(found)}"
                [(risk,)] = fetch(con, f"SELECT risk FROM {found.source.need('disclosure_risk')}({arguments})")
                rows.append({"curve": name, "entries": int(size), "risk": risk})
        fetch(con, "DROP VIEW __part; DROP TABLE __parts")
    return rows


def estimated_and_true(found: Opened, person: str) -> list[dict[str, Any]]:
    """The risk of generalizations of the table, estimated with the first dictionary and true with the second.

    Each hierarchy goes up by so many levels, in all combinations. `precedes` says whether the first one precedes the
    second (Definition 5) by the column that names a person: then the estimate is a bound for the records that it holds.
    """
    if len(found.tables) < 2:
        raise InputError("an estimate and the truth are two dictionaries: name both with --dictionary")
    con, need = found.source.con, found.source.need
    first, second = found.tables[:2]
    shared = [
        {"record": own.entry, "entry": other.entry, "hierarchy": own.tree}
        for own in found.links[0]
        for other in found.links[1]
        if own.record == other.record
    ]
    if len(shared) < len(found.links[1]):
        raise InputError("the second dictionary knows more columns than the first: the estimate would be no bound")
    order = f"{need('dictionary_order')}({literal(first)}, {literal(second)}, {literal(person)}, {literal(shared)})"
    [(precedes,)] = fetch(con, f"SELECT precedes FROM {order}")
    heights = {c: len(fetch(con, f"DESCRIBE {tree}")) - 1 for c, tree in found.trees.items()}
    nodes = list(product(*(range(height + 1) for height in heights.values())))
    step = max(len(nodes) // _SHOWN_NODES, 1)
    return [_point(found, dict(zip(heights, node, strict=True)), bool(precedes)) for node in nodes[::step]]


def _point(found: Opened, node: dict[str, int], precedes: bool) -> dict[str, Any]:
    con, need = found.source.con, found.source.need
    columns = ", ".join(quoted(own.column) for own in found.asked.weighed)
    fetch(con, f"CREATE OR REPLACE TABLE __plain AS SELECT {columns} FROM {PRICED}")
    levels = "MAP {" + ", ".join(f"{literal(c)}: {level}" for c, level in node.items()) + "}"
    trees = "MAP {" + ", ".join(f"{literal(c)}: {literal(found.trees[c])}" for c in node) + "}"
    moved = f"FROM {need('generalize')}('__plain', {levels}, {trees})" if node else "FROM __plain"
    fetch(con, f"CREATE OR REPLACE TABLE __moved AS {moved}")
    point = priced(found.source, found.asked, found.trees, "__moved")
    fetch(con, f"CREATE OR REPLACE TABLE __point AS {point}")
    risks = []
    for table, links in zip(found.tables[:2], found.links[:2], strict=True):
        arguments = f"'__point', {literal(table)}, {_listed(links)}, {_losses(found)}"
        risks.append(fetch(con, f"SELECT risk FROM {need('disclosure_risk')}({arguments})")[0][0])
    return {"node": node, "estimated": risks[0], "true": risks[1], "precedes": precedes}
