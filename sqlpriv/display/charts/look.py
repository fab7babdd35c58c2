"""What all pictures share: colours, shapes and dashes that say the same, sizes, and who reads them on which paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart, also on dark paper: grey stands
# in the place of their black. Yellow is too pale for lines, so it comes last.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A8A8A", "#F0E442")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
DASHES = ((1, 0), (6, 3), (8, 3, 2, 3), (2, 2))
BLUE, ORANGE, GREEN, RED, FAINT = COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[5], COLOURS[6]
INK, PAPER = "#222222", "#FFFFFF"
WIDTH, HEIGHT = 640, 400
SCALE = 2
"""Pixels of a PNG for each of a screen."""
_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Of one width, where there is one of them: texts are laid out here, and a browser that draws them may have others."""
_LETTER = 6.6
"""How wide a letter of the smaller texts is, about, in a wide font."""


def on_paper() -> dict[str, Any]:
    """The look of a picture that stands alone: ink on white."""
    return _look(INK, PAPER)


def on_any_page() -> dict[str, Any]:
    """The look of a picture inside a page, light or dark: in the colour of the text around it."""
    return _look("currentColor", "transparent")


def _look(ink: str, paper: str) -> dict[str, Any]:
    return {
        "background": paper,
        "font": _FONT,
        "padding": 14,
        "aria": False,  # the picture is described as a whole
        "title": {"color": ink, "subtitleColor": ink, "anchor": "start", "frame": "group", "offset": 14}
        | {"fontSize": 15, "subtitleFontSize": 12, "subtitlePadding": 6},
        "axis": {"labelColor": ink, "titleColor": ink, "domainColor": ink, "tickColor": ink}
        | {"gridColor": FAINT, "gridOpacity": 0.25, "titleFontSize": 12, "labelFontSize": 11},
        "legend": {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "labelLimit": 0}
        | {"layout": {"top": {"anchor": "start", "direction": "vertical"}}},
        "header": {"labelColor": ink, "titleColor": ink},
        "view": {"stroke": None},
        "text": {"color": ink},
        "rule": {"color": ink},
    }


def letters(width: float) -> int:
    """How many letters stand in a line so wide."""
    return max(20, int(width / _LETTER))


def cycled(given: Sequence[Any], count: int) -> list[Any]:
    """As many as are asked for, from the start again where there are fewer."""
    return [given[i % len(given)] for i in range(count)]


def shown(node: Sequence[int]) -> str:
    """A node as the paper writes it: [5,1,1,0]."""
    return f"[{','.join(str(level) for level in node)}]"


Rows = Sequence[Mapping[str, Any]]
