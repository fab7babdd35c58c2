"""The pictures of a plan: what else could have been published, with the choice marked."""

from __future__ import annotations

from sqlpriv.core.errors import InputError
from sqlpriv.display.charts.curves import column_loss_picture, deltas_picture, privacy_cost_picture
from sqlpriv.display.charts.disclosure import disclosure_levels_picture, disclosure_picture
from sqlpriv.display.charts.lattice import MOST_DRAWN, lattice_picture
from sqlpriv.display.charts.picture import Picture, can_draw, if_any
from sqlpriv.display.charts.tradeoff import tradeoff_picture
from sqlpriv.methods.charts import Chart, Deltas, PrivacyCost, Sweep
from sqlpriv.methods.method import AnyPlan

_MOST_WORK = 3_000_000
"""Nodes times combinations of values that are evaluated for pictures that nobody asked for: a part of a second."""


def choice_pictures(plan: AnyPlan) -> list[Picture]:
    """What other numbers in the policy would give: what they risk or cost. None where a search makes the choice."""
    return [picture for chart in plan.charts() for picture in _pictures(chart)]


def _pictures(chart: Chart) -> tuple[Picture, ...]:
    match chart:
        case PrivacyCost():
            return (privacy_cost_picture(chart.points, chart.chosen),)
        case Deltas():
            return (deltas_picture(chart.curves, chart.chosen),)
        case Sweep():
            return disclosure_picture(chart.thresholds, chart.chosen), disclosure_levels_picture(chart.levels)


def pictures_of(plan: AnyPlan) -> tuple[Picture, ...]:
    """The pictures that go with the facts of a plan, while its table is open; none where nothing could draw them.

    The lattice is among them where it is small: other nodes than the best are evaluated for it alone.
    """
    if not can_draw():
        return ()
    found = plan.search_charts(MOST_DRAWN, _MOST_WORK)
    if found is None:
        try:
            return tuple(choice_pictures(plan))
        except InputError:  # nothing that could be drawn, which is no fault of the plan
            return ()
    losses = column_loss_picture(found.losses)
    if found.lattice is None:
        return (losses,)
    return losses, lattice_picture(found.lattice), *if_any(tradeoff_picture, found.lattice)
