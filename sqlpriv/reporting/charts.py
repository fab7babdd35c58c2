"""Charts as Vega-Lite: the lattice, risk against loss, what privacy costs, what attackers learn.

Each stands beside its numbers in a table, so that nothing is told by the picture alone. Colours are those of
showing/charts, which people with any kind of colour vision tell apart; shape says the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlpriv.facts import Grid, legible
from sqlpriv.reporting.sections import Chart

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#8A8A8A"
Rows = Sequence[Mapping[str, Any]]


def altair() -> Any:
    """The library: importing it takes a while, and a page without charts does without."""
    import altair

    return altair


def numbers(rows: Rows, title: str = "") -> Grid:
    """Rows of a chart as a table."""
    headings = tuple(rows[0]) if rows else ()
    return Grid(headings, tuple(tuple(row.values()) for row in rows), title)


class _Data:
    """Rows under names that mean nothing to Vega: in its own, dots, colons and brackets do."""

    def __init__(self, rows: Rows) -> None:
        self._names = {name: f"c{place}" for place, name in enumerate(rows[0])}
        self._kinds = {
            n: "Q" if isinstance(v, int | float) and not isinstance(v, bool) else "N" for n, v in rows[0].items()
        }
        told = [{self._names[n]: legible(v) if isinstance(v, str) else v for n, v in row.items()} for row in rows]
        self.values = altair().Data(values=told)

    def field(self, name: str) -> str:
        """A column, with its type."""
        return f"{self._names[name]}:{self._kinds[name]}"

    def key(self, name: str) -> str:
        """A column, as expressions call it."""
        return self._names[name]

    def tips(self, *without: str) -> list[Any]:
        """All that a row says, when it is pointed at."""
        return [altair().Tooltip(self.field(name), title=legible(name)) for name in self._names if name not in without]


def bars(title: str, description: str, rows: Rows, category: str, value: str, by: str | None = None) -> Chart:
    """A bar for each category, side by side where there is something to compare."""
    alt, data = altair(), _Data(rows)
    encoded: dict[str, Any] = {
        "y": alt.Y(data.field(category), title=None, sort=None, axis=alt.Axis(labelLimit=260)),
        "x": alt.X(data.field(value), title=value),
        "tooltip": data.tips(),
    }
    if by is not None:
        scale = alt.Scale(range=[BLUE, ORANGE, GREEN])
        encoded["yOffset"] = alt.YOffset(data.field(by), sort=None)
        encoded["color"] = alt.Color(data.field(by), sort=None, scale=scale, title=None)
    chart = alt.Chart(data.values).mark_bar(**({} if by else {"color": BLUE})).encode(**encoded)
    return Chart(title, description, _spec(chart, 40 + 26 * len(rows)), numbers(rows))


def curve(title: str, description: str, rows: Rows, x: str, y: str, chosen: Mapping[str, Any], by: str = "") -> Chart:
    """A line, or several, with the chosen point marked."""
    alt, data, ring = altair(), _Data(rows), _Data([chosen])
    shared = {
        "x": alt.X(data.field(x), title=x),
        "y": alt.Y(data.field(y), title=y, scale=alt.Scale(type="log")),
        "tooltip": data.tips(),
    }
    if by:
        shared["color"] = alt.Color(data.field(by), sort=None, title=None)
    line = alt.Chart(data.values).mark_line(point=True).encode(**shared)
    marked = (
        alt.Chart(ring.values)
        .mark_point(size=260, color=RED, strokeWidth=3, filled=False)
        .encode(x=alt.X(ring.field(x), title=x), y=alt.Y(ring.field(y), title=y), tooltip=ring.tips())
    )
    return Chart(title, description, _spec(line + marked), numbers(rows))


def scatter(title: str, description: str, rows: Rows, x: str, y: str, log_y: bool) -> Chart:
    """Points by their `kind`, the chosen one large, those `on_frontier` joined; a click on a kind shows it alone."""
    alt, data = altair(), _Data(rows)
    picked = alt.selection_point(fields=[data.key("kind")], bind="legend")
    axes = {
        "x": alt.X(data.field(x), title=x, scale=alt.Scale(zero=False)),
        "y": alt.Y(data.field(y), title=y, scale=alt.Scale(type="log") if log_y else alt.Scale()),
    }
    points = (
        alt.Chart(data.values)
        .mark_point(filled=True)
        .encode(
            **axes,
            **_by_kind(alt, data, "frontier", ORANGE),
            size=_size_of_chosen(alt, data, 240, 60),
            opacity=alt.condition(picked, alt.value(1), alt.value(0.1)),
            tooltip=data.tips("on_frontier"),
        )
        .add_params(picked)
    )
    steps = (
        alt.Chart(data.values)
        .transform_filter(f"datum.{data.key('on_frontier')}")
        .mark_line(interpolate="step-after", color=ORANGE)
        .encode(**axes, order=alt.Order(data.field(x)))
    )
    return Chart(title, description, _spec(steps + points), _without(rows, "on_frontier"))


def lattice(title: str, description: str, rows: Rows, edges: Rows) -> Chart:
    """The nodes by their `x` and `height`, joined with their generalizations; pointing at one tells what it meets."""
    alt, data, joined = altair(), _Data(rows), _Data(edges)
    hovered = alt.selection_point(on="pointerover", fields=[data.key("node")], empty=False)
    height = alt.Axis(title="height: sum of the levels", tickMinStep=1)
    lines = (
        alt.Chart(joined.values)
        .mark_rule(color=GREY, opacity=0.35)
        .encode(
            x=alt.X(joined.field("x"), axis=None), y=alt.Y(joined.field("y"), axis=height),
            x2=alt.X2(joined.key("x2")), y2=alt.Y2(joined.key("y2")),
        )
    )  # fmt: skip
    points = (
        alt.Chart(data.values)
        .mark_point(filled=True)
        .encode(
            x=alt.X(data.field("x"), axis=None),
            y=alt.Y(data.field("height"), axis=height),
            **_by_kind(alt, data, "minimal", GREEN),
            size=_size_of_chosen(alt, data, 300, 120),
            opacity=alt.condition(hovered, alt.value(1), alt.value(0.8)),
            tooltip=data.tips("x"),
        )
        .add_params(hovered)
    )
    return Chart(title, description, _spec(lines + points, 420), _without(rows, "x"))


def _by_kind(alt: Any, data: _Data, third: str, colour: str) -> dict[str, Any]:
    """Colour and shape say the same."""
    kinds = ["fails a requirement", "meets all requirements", third, "chosen"]
    legend = alt.Legend(orient="top", columns=2, labelLimit=240)
    colours = alt.Scale(domain=kinds, range=[GREY, BLUE, colour, RED])
    shapes = alt.Scale(domain=kinds, range=["circle", "triangle-up", "square", "diamond"])
    field = data.field("kind")
    return {
        "color": alt.Color(field, scale=colours, title=None, legend=legend),
        "shape": alt.Shape(field, scale=shapes, title=None, legend=legend),
    }


def _size_of_chosen(alt: Any, data: _Data, chosen: int, other: int) -> Any:
    return alt.condition(f"datum.{data.key('kind')} == 'chosen'", alt.value(chosen), alt.value(other))


def _without(rows: Rows, name: str) -> Grid:
    return numbers([{n: value for n, value in row.items() if n != name} for row in rows])


def _spec(chart: Any, height: int | None = None) -> dict[str, Any]:
    sized = chart.properties(width="container", **({} if height is None else {"height": height}))
    made: dict[str, Any] = sized.to_dict()
    made.pop("config", None)  # the page has its own, for light and dark
    return made
