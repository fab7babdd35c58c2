"""Rows as Vega takes them, and axes that run over powers of ten."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from sqlpriv.core.facts import legible, plain
from sqlpriv.display.charts.look import Rows

_TITLE = 40  # letters of a line of a title


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
    """An axis for what may be none or millions: none has its place, and the rest is told apart by its digits."""
    alt = altair()
    ticks = [0, *(10**power for power in range(math.ceil(math.log10(max(most, 10.0))) + 1))]
    end = max(most, 1.0) * room
    scale = alt.Scale(type="symlog", constant=1, domain=[0, end], nice=False)
    shown = {"values": [tick for tick in ticks if tick <= end], "format": ",.0f"} | more
    return axis(field, title=title, scale=scale, axis=alt.Axis(**shown))


def _ends(values: Iterable[float]) -> tuple[float, float]:
    found = [value for value in values if value > 0 and math.isfinite(value)]
    return (min(found), max(found)) if found else (1.0, 10.0)
