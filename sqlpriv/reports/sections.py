"""The sections of a page that take a look at the private table, the plan, or what attackers find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlpriv.attacks.run import run_attacks
from sqlpriv.attacks.target import AttackOptions, Inputs
from sqlpriv.checks.run import Job, check
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Grid, Line, OnProgress, Part
from sqlpriv.display.charts import (
    attacks_picture,
    choice_pictures,
    column_loss_picture,
    if_any,
    lattice_picture,
    tradeoff_picture,
)
from sqlpriv.methods.charts import SearchCharts
from sqlpriv.methods.method import AnyPlan
from sqlpriv.policy.file import Policy
from sqlpriv.reports.model import Piece, Section
from sqlpriv.table.source import Source

FOUND = "What was found in the private table"
MOST_NODES = 5000
"""More are searched, but not listed: nobody could look at them."""
_WORLDS = 10
"""In how many other worlds the search runs again: a page should not take longer than publishing."""


def policy_section(policy: Policy) -> Section:
    """What the policy asks: roles of columns, requirements and the options of the release."""
    roles = tuple((c.name, c.role, _keys(c.given)) for c in policy.columns)
    chosen = {name: value for name, value in policy.release.items() if name in policy.written}
    pieces: list[Part] = [Grid(("column", "role", "with"), roles, "Columns", folded=("with",))]
    pieces += [Line(r.text, "required") for r in policy.requirements]
    pieces.append(Grid((), tuple((k, str(v)) for k, v in {"method": policy.method, **chosen}.items()), "Release"))
    return Section("asked", "What was asked", tuple(pieces))


def _keys(given: object) -> str:
    return ", ".join(f"{k} = {v}" for k, v in dict(given).items() if v is not None)  # type: ignore[call-overload]


def table_section(source: Source, policy: Policy, show_values: bool) -> Section:
    """Every model on the private table as it is: sizes of the worst classes, and no value of them. For the owner."""
    if not policy.qis:
        return Section("found", FOUND, (Line("No column is a quasi-identifier."),))
    job = Job((policy.qis,), policy.sensitive, policy.person, show_values=show_values)
    facts = check(source, job).facts()
    lead = Line(f"The private table as it is, before anything is done to it. {facts.title}.")
    shown = [p for p in facts.shown(show_values) if not (isinstance(p, Line) and "--show-values" in p.text)]
    return Section("found", FOUND, (lead, *shown))


def attack_section(path: Path, policy: Policy | None, show_values: bool, with_chart: bool) -> Section:
    """What attackers still learn: each attack in a sentence, with its numbers.

    Those of the private table stand beside them, where the policy names it.
    """
    found = run_attacks(Inputs(path, policy=policy), AttackOptions(worlds=_WORLDS, show_values=show_values))
    # The page says for whom it is, once for all of it.
    shown = found.facts().shown(show_values)
    pieces: list[Piece] = [p for p in shown if not (isinstance(p, Line) and p.mark == "private")]
    if with_chart:
        pieces += if_any(attacks_picture, "People reached by attacks", found.found)
    return Section("attacks", "What attackers still learn", tuple(pieces))


def choice_section(plan: AnyPlan, on_progress: OnProgress) -> Section:
    """What else could have been published, with the chosen one marked: a lattice, or what privacy costs."""
    searched = plan.search_charts(MOST_NODES, on_progress=on_progress)
    pieces = _choice(plan) if searched is None else _searched(searched)
    return Section("choice", "The choice among others", tuple(pieces))


def _choice(plan: AnyPlan) -> Iterator[Piece]:
    try:
        pictures = choice_pictures(plan)
    except InputError as error:
        yield Line(f"The choice is not drawn: {error}")
        return
    yield from pictures
    if not pictures:
        yield Line("This method makes no choice among others that could be drawn.")


def _searched(charts: SearchCharts) -> Iterator[Piece]:
    yield column_loss_picture(charts.losses)
    if charts.lattice is None:
        yield Line(f"The lattice has {charts.nodes_total:,} nodes, too many to look at; the search saw to them.")
        return
    yield lattice_picture(charts.lattice)
    try:
        yield tradeoff_picture(charts.lattice)
    except InputError as error:
        yield Line(f"Risk against loss is not drawn: {error}")
