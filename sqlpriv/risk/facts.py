"""The risk of a table as facts: sentences and a grid for people, the figures by name for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlpriv.core.facts import Facts, Grid, Line, Part, shown_number
from sqlpriv.risk.measure import DictionaryRisk, Risks
from sqlpriv.risk.request import RiskRequest

_HEADINGS = ("dictionary", "prior", "entries", "found", "risk", "median", "p99", "worst")
_ATTACKER = (
    "The loss of a record is the weight of its cells divided by the number of consistent entries. The risk is about an "
    "attacker who picks one of these entries at random: an attacker who knows more finds more people."
)


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
