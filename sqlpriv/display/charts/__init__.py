"""Pictures: what each node of a lattice allows and costs, what stubbornness changes, what privacy costs,
how methods compare, what attacks find, what disclosure risks, by what people are found.

They show levels, requirements and measures, never a value of the table. Each is one function that gives a Picture, for
files (draw), for the page to sign and for notebooks alike.

    picture.py  a picture, and files of it
    marks.py    colours, axes and layers that several charts have
    plans.py    the pictures of a plan
    attacks.py, comparison.py, curves.py, disclosure.py, lattice.py, tradeoff.py, uniqueness.py   the pictures
"""

from sqlpriv.display.charts.attacks import attacks_picture
from sqlpriv.display.charts.comparison import comparison_picture
from sqlpriv.display.charts.curves import (
    column_loss_picture,
    deltas_picture,
    privacy_cost_picture,
    stubbornness_picture,
)
from sqlpriv.display.charts.disclosure import (
    disclosure_levels_picture,
    disclosure_picture,
    risk_bound_picture,
    risk_by_entries_picture,
)
from sqlpriv.display.charts.lattice import lattice_picture
from sqlpriv.display.charts.picture import KINDS, Picture, can_draw, draw, if_any, ready
from sqlpriv.display.charts.plans import choice_pictures, pictures_of
from sqlpriv.display.charts.tradeoff import tradeoff_picture
from sqlpriv.display.charts.uniqueness import uniqueness_picture

__all__ = [
    "KINDS",
    "Picture",
    "attacks_picture",
    "can_draw",
    "choice_pictures",
    "column_loss_picture",
    "comparison_picture",
    "deltas_picture",
    "disclosure_levels_picture",
    "disclosure_picture",
    "draw",
    "if_any",
    "lattice_picture",
    "pictures_of",
    "privacy_cost_picture",
    "ready",
    "risk_bound_picture",
    "risk_by_entries_picture",
    "stubbornness_picture",
    "tradeoff_picture",
    "uniqueness_picture",
]
