"""The choice among others, to be looked at: the lattice and the frontier of a search, or what privacy costs."""

from __future__ import annotations

from collections.abc import Iterator

from sqlpriv.errors import InputError
from sqlpriv.facts import Line, OnProgress
from sqlpriv.methods.generalize.nodes import all_nodes
from sqlpriv.methods.generalize.plan import GeneralizePlan
from sqlpriv.methods.generalize.search import nodes_total
from sqlpriv.methods.method import Plan
from sqlpriv.reporting.sections import Piece, Section
from sqlpriv.showing.charts import choice_pictures, tradeoff_picture
from sqlpriv.showing.charts.plans import lattice_of, loss_by_column

MOST_NODES = 5000
"""More are searched, but not listed: nobody could look at them."""


def choice(plan: Plan, on_progress: OnProgress) -> Section:
    """What else could have been published, with the chosen one marked."""
    return Section("choice", "The choice among others", tuple(_pieces(plan, on_progress)))


def _pieces(plan: Plan, on_progress: OnProgress) -> Iterator[Piece]:
    if isinstance(plan, GeneralizePlan):
        yield from _of_search(plan, on_progress)
        return
    try:
        pictures = choice_pictures(plan)
    except InputError as error:
        yield Line(f"The choice is not drawn: {error}")
        return
    yield from pictures
    if not pictures:
        yield Line("This method makes no choice among others that could be drawn.")


def _of_search(plan: GeneralizePlan, on_progress: OnProgress) -> Iterator[Piece]:
    yield loss_by_column(plan)
    if nodes_total(plan.scan) > MOST_NODES:
        yield Line(f"The lattice has {nodes_total(plan.scan):,} nodes, too many to look at; the search saw to them.")
        return
    rows = all_nodes(plan.scan, plan.measures, on_progress)
    yield lattice_of(plan, rows)
    try:
        yield tradeoff_picture(rows, plan.best.node, "loss", plan.measures)
    except InputError as error:
        yield Line(f"Risk against loss is not drawn: {error}")
