"""The risk of a table against dictionaries: the figures of the macros, the points of the charts, and both as facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts, Grid, Line, Part, shown_number
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.risk.request import SENSITIVITY, OpenDictionary, OpenTables, RiskRequest, with_sensitivity

_PARTS = 10
_SHOWN_NODES = 60
"""The most generalizations that a chart shows: of more, evenly spaced ones are taken."""
FIGURES = ("records", "found", "prohibited", "risk", "median", "p90", "p99", "worst")
_HEADINGS = ("dictionary", "prior", "entries", "found", "risk", "median", "p99", "worst")
_ATTACKER = (
    "The loss of a record is the weight of its cells divided by the number of consistent entries. The risk is about an "
    "attacker who picks one of these entries at random: an attacker who knows more finds more people."
)


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
    con, need, found_in = opened.source.con, opened.source.need, opened.dictionaries
    each = []
    for own in found_in:
        arguments = _arguments(opened, opened.weighted, own.entries, own)
        [row] = fetch(con, f"SELECT {', '.join(FIGURES)} FROM {need('disclosure_risk')}({arguments})")
        worst = f"{need('disclosure_risk_records')}({arguments}, -1)"
        [(consistent,)] = fetch(con, f"SELECT entries FROM {worst} LIMIT 1")
        figures = dict(zip(FIGURES, row, strict=True))
        each.append(DictionaryRisk(own.name, own.prior, own.entries.count(), figures, int(consistent)))
    if len(each) < 2:
        return Risks(each)
    priors = [own.prior for own in found_in]
    if any(prior is None for prior in priors) and any(prior is not None for prior in priors):
        raise InputError("some dictionaries have a prior and some have none; give one to all, as in people.csv=0.5")
    given = [1 / len(each) if prior is None else prior for prior in priors]
    listed = [link.as_map(dictionary=own.entries.name) for own in found_in for link in own.links]
    shares = ", ".join(f"{literal(own.entries.name)}: {p!r}" for own, p in zip(found_in, given, strict=True))
    arguments = (
        f"{literal(opened.weighted.name)}, MAP {{{shares}}}, {literal(listed)}, {literal(SENSITIVITY)}, "
        f"{opened.request.psi!r}"
    )
    [(bayes, minimax, bound)] = fetch(con, f"SELECT bayes, minimax, bound FROM {need('bayes_risk')}({arguments})")
    return Risks(each, bayes, minimax, bound)


def _arguments(opened: OpenTables, records: Relation, entries: Relation, dictionary: OpenDictionary) -> str:
    """The arguments of the macros for the risk of records against entries, compared as a dictionary's."""
    links = literal([link.as_map() for link in dictionary.links])
    return f"{literal(records.name)}, {literal(entries.name)}, {links}, {literal(SENSITIVITY)}, {opened.request.psi!r}"


def _risk(opened: OpenTables, records: Relation, entries: Relation, dictionary: OpenDictionary) -> float:
    """The risk of records against entries."""
    call = f"{opened.source.need('disclosure_risk')}({_arguments(opened, records, entries, dictionary)})"
    return fetch(opened.source.con, f"SELECT risk FROM {call}")[0][0]  # type: ignore[no-any-return]


def risk_by_entries(opened: OpenTables) -> list[dict[str, Any]]:
    """The risk against random parts of each dictionary, from a tenth to all of it, each contained in the next."""
    rows = []
    for own in opened.dictionaries:
        numbered = f"SELECT *, row_number() OVER () AS __number FROM {own.entries.name}"
        shuffled = "row_number() OVER (ORDER BY hash(__number), __number) - 1"
        cut = f"({shuffled}) * {_PARTS} // count(*) OVER () AS __part"
        with opened.source.scratch.nested() as scratch:
            parts = scratch.table(f"SELECT * EXCLUDE (__number), {cut} FROM ({numbered})", "parts")
            for number in range(1, _PARTS + 1):
                part = scratch.table(f"SELECT * EXCLUDE (__part) FROM {parts.name} WHERE __part < {number}", "part")
                if part.written:
                    risk = _risk(opened, opened.weighted, part, own)
                    rows.append({"curve": own.name, "entries": part.written, "risk": risk})
                scratch.drop(part)
    return rows


def estimated_and_true(opened: OpenTables, person: str) -> list[dict[str, Any]]:
    """The risk of generalizations of the table, estimated with the first dictionary and true with the second.

    The generalizations are all combinations of levels of the hierarchies. `precedes` says whether the first dictionary
    precedes the second (Definition 5), matched by the column `person`: then the estimate bounds the risk of the records
    that the first one holds.
    """
    if len(opened.dictionaries) < 2:
        raise InputError("an estimate and the truth are two dictionaries: name both with --dictionary")
    con, need = opened.source.con, opened.source.need
    first, second = opened.dictionaries[:2]
    shared = [
        {"record": own.entry, "entry": other.entry, "hierarchy": own.tree}
        for own in first.links
        for other in second.links
        if own.record == other.record
    ]
    if len(shared) < len(second.links):
        raise InputError("the second dictionary knows more columns than the first: the estimate would be no bound")
    both = f"{literal(first.entries.name)}, {literal(second.entries.name)}"
    order = f"{need('dictionary_order')}({both}, {literal(person)}, {literal(shared)})"
    [(precedes,)] = fetch(con, f"SELECT precedes FROM {order}")
    heights = {column: len(tree.columns) - 1 for column, tree in opened.trees.items()}
    nodes = list(product(*(range(height + 1) for height in heights.values())))
    points = []
    for levels in nodes[:: max(len(nodes) // _SHOWN_NODES, 1)]:
        node = dict(zip(heights, levels, strict=True))
        with opened.source.scratch.nested() as scratch:
            columns = ", ".join(quoted(own.name) for own in opened.request.columns)
            moved = scratch.table(f"SELECT {columns} FROM {opened.weighted.name}", "plain")
            if node:
                at = ", ".join(f"{literal(c)}: {level}" for c, level in node.items())
                trees = ", ".join(f"{literal(c)}: {literal(opened.trees[c].name)}" for c in node)
                call = f"{need('generalize')}({literal(moved.name)}, MAP {{{at}}}, MAP {{{trees}}})"
                moved = scratch.table(f"FROM {call}", "generalized")
            weighted = with_sensitivity(opened.source, opened.request, opened.trees, moved)
            records = scratch.table(weighted, "weighted")
            estimated, true = (_risk(opened, records, own.entries, own) for own in (first, second))
        points.append({"node": node, "estimated": estimated, "true": true, "precedes": bool(precedes)})
    return points


# -------------------- for people and machines


def risk_facts(request: RiskRequest, found: Risks, charts: Mapping[str, Sequence[Mapping[str, Any]]]) -> Facts:
    """Mean, worst and spread of the losses against each dictionary and over several; `charts` are points by chart."""
    parts: list[Part] = [Line(_sentence(own)) for own in found.each]
    rows = [
        (own.dictionary, own.prior, own.entries, own.figures["found"], *(own.figures[name] for name in _HEADINGS[4:]))
        for own in found.each
    ]
    parts.append(Grid(_HEADINGS, tuple(rows), folded=("dictionary",)))
    content: dict[str, Any] = {
        "form": request.form,
        "psi": request.psi,
        "weights": {own.name: own.weight for own in request.columns},
        "dictionaries": [
            {"dictionary": own.dictionary, "prior": own.prior, "entries": own.entries, **own.figures,
             "worst_entries": own.worst_entries}
            for own in found.each
        ],
    }  # fmt: skip
    if found.bayes is not None:
        content |= {"bayes": found.bayes, "minimax": found.minimax, "bound": found.bound}
        parts.append(Line(_several(found)))
    parts.append(
        Line(f"{_ATTACKER} These figures are computed from the private table: they are for you alone.", quiet=True)
    )
    content |= {name: [dict(row) for row in own] for name, own in charts.items()}
    warnings = [
        f"{own.figures['prohibited']:,} records reveal a cell of infinite weight, against {own.dictionary}"
        for own in found.each
        if own.figures["prohibited"]
    ]
    return Facts("Disclosure risk", content, tuple(parts), tuple(warnings))


def _sentence(own: DictionaryRisk) -> str:
    figures = own.figures
    entries = "1 consistent entry" if own.worst_entries == 1 else f"{own.worst_entries:,} consistent entries"
    return (
        f"Against {own.dictionary}, {figures['found']:,} of {figures['records']:,} records have a consistent entry. "
        f"The risk, the mean loss, is {shown_number(figures['risk'])}; the worst record loses "
        f"{shown_number(figures['worst'])}, with {entries}."
    )


def _several(found: Risks) -> str:
    bayes, minimax, bound = (shown_number(float(number or 0)) for number in (found.bayes, found.minimax, found.bound))
    return (
        f"By the priors of the dictionaries the risk is {bayes} (Bayes), against the worst of them {minimax} "
        f"(minimax), and at most {bound} against an attacker who may take a different one for every record."
    )
