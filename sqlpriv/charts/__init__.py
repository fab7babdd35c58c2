"""Pictures of a lattice: what each requirement allows, what it costs, and what stubbornness changes.

They show levels, requirements and measures, never a value of the table. matplotlib is imported when a picture is drawn.
"""

from sqlpriv.charts.lattice import draw_lattice
from sqlpriv.charts.stubbornness import draw_stubbornness
from sqlpriv.charts.tradeoff import draw_tradeoff

__all__ = ["draw_lattice", "draw_stubbornness", "draw_tradeoff"]
