"""The pictures of a plan: what else could have been published, with the choice marked."""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.engine import fetch
from sqlpriv.errors import InputError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalize.nodes import NodeRow, all_nodes
from sqlpriv.methods.generalize.plan import GeneralizePlan
from sqlpriv.methods.generalize.search import nodes_total
from sqlpriv.methods.labelled.evaluate import allowance
from sqlpriv.methods.method import HasDeltas, HasSweep, Plan
from sqlpriv.showing.charts.columns import columns_picture
from sqlpriv.showing.charts.deltas import deltas_picture
from sqlpriv.showing.charts.disclosure import disclosure_levels_picture, disclosure_picture
from sqlpriv.showing.charts.lattice import MOST_DRAWN, lattice_picture
from sqlpriv.showing.charts.picture import Picture, can_draw, if_any
from sqlpriv.showing.charts.privacy_cost import privacy_cost_picture
from sqlpriv.showing.charts.tradeoff import tradeoff_picture

_MOST_WORK = 3_000_000
"""Nodes times combinations of values that are evaluated for pictures that nobody asked for: a part of a second."""


def choice_pictures(plan: Plan) -> list[Picture]:
    """What other numbers in the policy would give: what they risk or cost. None where a search makes the choice."""
    if isinstance(plan, HasSweep):
        sweep = plan.sweep()
        return [disclosure_picture(sweep.thresholds, sweep.chosen), disclosure_levels_picture(sweep.levels)]
    if isinstance(plan, HasDeltas):
        deltas = plan.deltas()
        return [deltas_picture(deltas.curves, deltas.chosen)]
    curve = plan.curve()
    return [privacy_cost_picture(curve, float(plan.policy.release["gamma"]))] if curve else []


def loss_by_column(plan: GeneralizePlan) -> Picture:
    """What each column lost, of 1 where all of it is gone; suppressed rows apart."""
    sums = [by_level[level] for by_level, level in zip(plan.scan.loss, plan.best.node, strict=True)]
    asked = ", ".join(inlined(f"_mean_loss({value!r}::DOUBLE, {plan.scan.rows}, 1)") for value in map(float, sums))
    (losses,) = fetch(plan.scan.source.con, f"SELECT {asked}")
    rows = [
        {"column": name, "loss": float(loss), "level": f"{level} of {plan.heights[name]}"}
        for (name, level), loss in zip(plan.node.items(), losses, strict=True)
    ]
    return columns_picture(rows)


def lattice_of(plan: GeneralizePlan, rows: Sequence[NodeRow]) -> Picture:
    """The lattice that was searched."""
    texts = [m.requirement.text for m in plan.measures]
    return lattice_picture(rows, plan.policy.qis, texts, plan.best.node, allowance(plan.scan))


def pictures_of(plan: Plan) -> tuple[Picture, ...]:
    """The pictures that go with the facts of a plan, while its table is open; none where nothing could draw them.

    The lattice is among them where it is small: other nodes than the best are evaluated for it alone.
    """
    if not can_draw():
        return ()
    if not isinstance(plan, GeneralizePlan):
        try:
            return tuple(choice_pictures(plan))
        except InputError:  # nothing that could be drawn, which is no fault of the plan
            return ()
    nodes, found = nodes_total(plan.scan), (loss_by_column(plan),)
    if nodes > MOST_DRAWN or nodes * plan.scan.combinations > _MOST_WORK:
        return found
    rows = all_nodes(plan.scan, plan.measures)
    return (*found, lattice_of(plan, rows), *if_any(tradeoff_picture, rows, plan.best.node, "loss", plan.measures))
