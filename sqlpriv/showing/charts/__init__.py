"""Pictures: what each node of a lattice allows and costs, what stubbornness changes, what privacy costs,
how methods compare, what attacks find, what disclosure risks.

They show levels, requirements and measures, never a value of the table. matplotlib is imported when a picture is drawn.
"""

from sqlpriv.showing.charts.attacks import draw_attacks
from sqlpriv.showing.charts.canvas import KINDS, ready
from sqlpriv.showing.charts.comparison import draw_comparison
from sqlpriv.showing.charts.deltas import draw_deltas
from sqlpriv.showing.charts.disclosure import (
    draw_disclosure,
    draw_disclosure_levels,
    draw_risk_bound,
    draw_risk_by_entries,
)
from sqlpriv.showing.charts.lattice import draw_lattice
from sqlpriv.showing.charts.privacy_cost import draw_privacy_cost
from sqlpriv.showing.charts.stubbornness import draw_stubbornness
from sqlpriv.showing.charts.tradeoff import draw_tradeoff

__all__ = [
    "KINDS",
    "draw_attacks",
    "draw_comparison",
    "draw_deltas",
    "draw_disclosure",
    "draw_disclosure_levels",
    "draw_lattice",
    "draw_privacy_cost",
    "draw_risk_bound",
    "draw_risk_by_entries",
    "draw_stubbornness",
    "draw_tradeoff",
    "ready",
]
