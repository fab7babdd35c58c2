"""What charts are made of: colours and sizes, rows as Vega takes them, axes, and layers that several charts have.

Colours, shapes and dashes say the same everywhere. Curves are distinguished by name; a choice is marked by a ring.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from sqlpriv.core.facts import legible, plain

Rows = Sequence[Mapping[str, Any]]
# Okabe and Ito's colours, which people with any kind of colour vision can distinguish, also on dark paper: grey stands
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
_TITLE = 40  # letters of a line of a title


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


def altair() -> Any:
    """The library: importing it takes a while, so it is done when a chart is made."""
    import altair

    return altair


class Data:
    """Rows under names that mean nothing to Vega: in its own, dots, colons and brackets do."""

    def __init__(self, rows: Rows, breaks: Sequence[str] = ()) -> None:
        """`breaks` are columns whose line breaks are ours."""
        self._names = {name: f"c{place}" for place, name in enumerate(rows[0])}
        self._kinds = {name: "Q" if all(map(_is_number, (row[name] for row in rows))) else "N" for name in rows[0]}
        values = [{self._names[n]: _legible(v, n in breaks) for n, v in row.items()} for row in rows]
        self.values = altair().Data(values=values)

    def field(self, name: str) -> str:
        """A column, with its type."""
        return f"{self._names[name]}:{self._kinds[name]}"

    def key(self, name: str) -> str:
        """A column, as expressions call it."""
        return self._names[name]

    def tips(self, *names: str) -> list[Any]:
        """What a row says when it is pointed at: these columns, or all."""
        return [altair().Tooltip(self.field(name), title=legible(name)) for name in names or self._names]


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _legible(value: Any, breaks: bool) -> Any:
    return legible(value, breaks) if isinstance(value, str) else plain(value)


def lines(title: str) -> list[str]:
    """The title of an axis in lines that fit a phone."""
    return wrap(legible(title), _TITLE)


def apart(rows: Rows, x: str, y: str, log_y: bool = False) -> list[Mapping[str, Any]]:
    """Of points in the order of their importance, those whose names would not cover each other.

    >>> points = [{"x": x, "y": y} for x, y in ((0, 0), (1, 0), (1, 9), (9, 0), (9, 9))]
    >>> [(p["x"], p["y"]) for p in apart(points, "x", "y")]
    [(0, 0), (1, 9), (9, 0), (9, 9)]
    """
    places = [(row[x], math.log(row[y]) if log_y else row[y]) for row in rows]
    wide, high = (max(along) - min(along) or 1.0 for along in zip(*places, strict=True))
    kept: list[int] = []
    for i, (a, b) in enumerate(places):
        if all(abs(a - places[k][0]) > wide / 3 or abs(b - places[k][1]) > high / 16 for k in kept):
            kept.append(i)
    return [rows[i] for i in kept]


def logarithmic(axis: Any, field: str, title: str, over: Iterable[float], **more: Any) -> Any:
    """An axis (alt.X or alt.Y) over powers of ten, with ticks like 0.01, 2, 500."""
    alt, low, high = altair(), *_ends(over)
    # A fifth of room at both ends, so that no point lies on the frame.
    scale = alt.Scale(type="log", domain=[low / 1.2, high * 1.2], nice=False)
    ticks = {"values": log_ticks(low, high), "format": ",~g"} | more
    return axis(field, title=lines(title), scale=scale, axis=alt.Axis(**ticks))


def log_ticks(low: float, high: float) -> list[float]:
    """Where a logarithmic axis has numbers: at 1, 2 and 5 in each power of ten, or only at some powers.

    >>> log_ticks(0.04, 1.1), log_ticks(1e-9, 2e3)
    ([0.05, 0.1, 0.2, 0.5, 1.0], [1e-08, 1e-06, 0.0001, 0.01, 1.0, 100.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    near = last - first <= 3
    step = max(1, math.ceil((last - first) / 8))
    powers = [p for p in range(first, last + 1) if near or p % step == 0]
    ticks = [float(f"{digit}e{power}") for power in powers for digit in ((1, 2, 5) if near else (1,))]
    return [tick for tick in ticks if low / 1.2 <= tick <= high * 1.2]


def from_none(axis: Any, field: str, title: str | None, most: float, room: float, **more: Any) -> Any:
    """An axis for what may be none or millions: none has its place, and the rest goes by its digits."""
    alt = altair()
    ticks = [0, *(10**power for power in range(math.ceil(math.log10(max(most, 10.0))) + 1))]
    end = max(most, 1.0) * room
    scale = alt.Scale(type="symlog", constant=1, domain=[0, end], nice=False)
    shown = {"values": [tick for tick in ticks if tick <= end], "format": ",.0f"} | more
    return axis(field, title=title, scale=scale, axis=alt.Axis(**shown))


def _ends(values: Iterable[float]) -> tuple[float, float]:
    found = [value for value in values if value > 0 and math.isfinite(value)]
    return (min(found), max(found)) if found else (1.0, 10.0)


def legend(columns: int = 2, **more: Any) -> Any:
    """A legend above the chart, where it takes no width, with every word of it."""
    return altair().Legend(title=None, orient="top", columns=columns, columnPadding=36, labelLimit=0, **more)


def named(field: str, names: Sequence[str], other: Any = None) -> dict[str, Any]:
    """Encodings that distinguish names by colour and by shape; `other` is a legend in the place of the one above."""
    alt, shared = altair(), {"sort": None, "legend": other or legend()}
    return {
        "color": alt.Color(field, scale=_scale(names, COLOURS), **shared),
        "shape": alt.Shape(field, scale=_scale(names, SHAPES), **shared),
    }


def styled(field: str, styles: Mapping[str, tuple[str, str]], columns: int) -> dict[str, Any]:
    """Encodings of kinds with a colour and a shape of their own each; the legend has so many columns."""
    alt, names = altair(), list(styles)
    colours, shapes = ([style[i] for style in styles.values()] for i in (0, 1))
    return {
        "color": alt.Color(field, scale=alt.Scale(domain=names, range=colours), legend=legend(columns)),
        "shape": alt.Shape(field, scale=alt.Scale(domain=names, range=shapes), legend=legend(columns)),
    }


def dashed(field: str, names: Sequence[str], dashes: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Encodings that distinguish lines by colour and by dashes."""
    alt, shared = altair(), {"sort": None, "legend": legend(1, symbolType="stroke", symbolSize=300)}
    return {
        "color": alt.Color(field, scale=_scale(names, COLOURS), **shared),
        "strokeDash": alt.StrokeDash(field, scale=_scale(names, dashes), **shared),
    }


def _scale(names: Sequence[str], given: Sequence[Any]) -> Any:
    return altair().Scale(domain=[legible(name) for name in names], range=cycled(given, len(names)))


def curves(data: Data, names: Sequence[str], by: str, axes: dict[str, Any]) -> Any:
    """A line with its points for each name, distinguished by colour, dashes and shapes."""
    alt, field = altair(), data.field(by)
    look = named(field, names)
    # Shapes are what the legend shows: a dashed shape could not be read.
    dashes = alt.StrokeDash(field, scale=_scale(names, DASHES), sort=None, legend=None)
    lines = alt.Chart(data.values).mark_line(strokeWidth=2).encode(**axes, color=look["color"], strokeDash=dashes)
    points = alt.Chart(data.values).mark_point(filled=True, size=60, opacity=1)
    return lines + points.encode(**axes, **look, tooltip=data.tips())


def ring(data: Data, axes: dict[str, Any], name: str = "") -> Any:
    """What was chosen, ringed; the legend says so, where there is a name."""
    alt = altair()
    rings = alt.Chart(data.values).mark_point(size=260, strokeWidth=3, filled=False, opacity=1, stroke=RED)
    if not name:
        return rings.encode(**axes)
    scale = alt.Scale(domain=[name], range=[RED])
    return rings.encode(**axes, stroke=alt.Stroke(f"{data.key('name')}:N", scale=scale, legend=legend()))


def texts(data: Data, text: str, axes: dict[str, Any], **style: Any) -> Any:
    """A text next to each point."""
    placed = {"align": "left", "dx": 8, "dy": -8, "fontSize": 11} | style
    return altair().Chart(data.values).mark_text(**placed).encode(**axes, text=altair().Text(f"{data.key(text)}:N"))
