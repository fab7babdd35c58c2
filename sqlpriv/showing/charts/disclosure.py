"""What disclosure risks: against utility, with the frontier; how much of each attribute is told; by dictionaries.

The rows are those of the tables in Facts, by the names of their columns. None of them holds a value of the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlpriv.errors import InputError
from sqlpriv.facts import shown_number
from sqlpriv.showing.charts.canvas import COLOURS, FAINT, INK, MARKERS, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]

_BLUE, _ORANGE, _RED = COLOURS[0], COLOURS[1], COLOURS[5]
_ACROSS = 2  # pictures beside each other
_RISK = "risk: mean loss of a record"


def draw_disclosure(rows: Rows, path: str | Path, chosen: float | None = None) -> Path:
    """Risk against utility, a point for each threshold c, the frontier a line, the chosen threshold ringed.

    Rows have c, risk and utility. Infinite risks, those of prohibited cells, are counted below.
    """
    points = _finite(rows, ("risk", "utility"), "disclosure")
    left_out = len(rows) - len(points)
    return draw(path, lambda figure: _paint_frontier(figure, points, chosen, left_out), width=9, height=6)


def draw_disclosure_levels(rows: Rows, path: str | Path) -> Path:
    """The share of records whose attribute is told at each level, by the threshold c: a picture an attribute.

    Rows have c, attribute, level (steps below the top, 0: nothing is told) and share.
    """
    if not rows:
        raise InputError("there are no levels to draw")
    attributes = list(dict.fromkeys(str(row["attribute"]) for row in rows))
    height = 1.0 + 3.2 * math.ceil(len(attributes) / _ACROSS)
    return draw(path, lambda figure: _paint_levels(figure, rows, attributes), width=11, height=height)


def draw_risk_by_entries(rows: Rows, path: str | Path) -> Path:
    """The risk by the size of the dictionary. Rows have entries and risk, and where there are several curves, curve."""
    points = _finite(rows, ("entries", "risk"), "risk by the size of the dictionary")
    return draw(path, lambda figure: _paint_entries(figure, points), width=9, height=6)


def draw_risk_bound(rows: Rows, path: str | Path) -> Path:
    """The risk estimated with one dictionary against the true risk with another: a point for each release.

    Rows have estimated, true and precedes: whether the dictionary of the estimate precedes the other one (Definition
    5), so that the estimate is a bound, and the point lies on the diagonal or above it.
    """
    points = _finite(rows, ("estimated", "true"), "estimated risk")
    return draw(path, lambda figure: _paint_bound(figure, points), width=8, height=7)


def frontier(rows: Rows) -> list[Mapping[str, Any]]:
    """The rows that no other beats in risk and utility, by utility.

    >>> rows = [{"c": 1, "risk": 3, "utility": 5}, {"c": 2, "risk": 4, "utility": 5}, {"c": 3, "risk": 1, "utility": 2}]
    >>> [row["c"] for row in frontier(rows)]
    [3, 1]
    """
    kept: list[Mapping[str, Any]] = []
    for row in sorted(rows, key=lambda row: (-row["utility"], row["risk"])):
        if not kept or row["risk"] < kept[-1]["risk"]:
            kept.append(row)
    return kept[::-1]


def _finite(rows: Rows, names: Sequence[str], what: str) -> list[Mapping[str, Any]]:
    found = [row for row in rows if all(row[name] is not None and math.isfinite(row[name]) for name in names)]
    if not found:
        raise InputError(f"there is no {what} to draw: no figure is finite")
    return found


def _paint_frontier(figure: Figure, points: Rows, chosen: float | None, left_out: int) -> None:
    axes = figure.subplots()
    best = frontier(points)
    axes.scatter([p["utility"] for p in points], [p["risk"] for p in points], s=36, c=_BLUE, label="a threshold c")
    axes.plot(
        [p["utility"] for p in best], [p["risk"] for p in best], color=_ORANGE, marker="s", zorder=3,
        label=f"frontier ({len(best)})",
    )  # fmt: skip
    for point in best:
        text = f"c = {shown_number(float(point['c']), 3)}"
        axes.annotate(
            text, (point["utility"], point["risk"]), (6, -12), textcoords="offset points", fontsize=8, color=INK
        )
    for point in (p for p in points if p["c"] == chosen):
        axes.scatter(
            [point["utility"]], [point["risk"]], s=260, c="none", edgecolors=_RED, linewidths=2.5, zorder=4,
            label=f"chosen: c = {shown_number(float(point['c']), 3)}",
        )  # fmt: skip
    axes.set_xlabel("utility: mean steps of a record below the tops of its hierarchies")
    axes.set_ylabel(_RISK)
    rest = f"; {left_out:,} with an infinite risk are left out" if left_out else ""
    axes.set_title(f"Risk against utility{rest}")
    axes.grid(alpha=0.3)
    axes.legend(loc="best", framealpha=0.9)


def _paint_levels(figure: Figure, rows: Rows, attributes: Sequence[str]) -> None:
    down = math.ceil(len(attributes) / _ACROSS)
    places = figure.subplots(down, min(_ACROSS, len(attributes)), squeeze=False, sharey=True)
    flat = [axes for line in places for axes in line]
    for axes, attribute in zip(flat, attributes, strict=False):
        _paint_attribute(axes, attribute, [row for row in rows if row["attribute"] == attribute])
    for axes in flat[len(attributes) :]:
        axes.set_axis_off()
    figure.supylabel("share of the records", fontsize=10)


def _paint_attribute(axes: Axes, attribute: str, rows: Rows) -> None:
    thresholds = list(dict.fromkeys(row["c"] for row in rows))
    below = dict.fromkeys(thresholds, 0.0)
    for level in sorted({int(row["level"]) for row in rows}):
        shares = {row["c"]: float(row["share"]) for row in rows if int(row["level"]) == level}
        heights = [shares.get(c, 0.0) for c in thresholds]
        name = "0, suppressed" if level == 0 else str(level)
        colour = FAINT if level == 0 else COLOURS[(level - 1) % len(COLOURS)]
        axes.bar(range(len(thresholds)), heights, bottom=list(below.values()), color=colour, label=name)
        below = {c: below[c] + height for c, height in zip(thresholds, heights, strict=True)}
    axes.set_xticks(range(len(thresholds)), [shown_number(float(c), 3) for c in thresholds])
    axes.set_xlabel("threshold c")
    axes.set_title(attribute)
    axes.legend(title="level", loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)


def _paint_entries(figure: Figure, points: Rows) -> None:
    axes = figure.subplots()
    for number, curve in enumerate(dict.fromkeys(p.get("curve", "") for p in points)):
        own = sorted((p for p in points if p.get("curve", "") == curve), key=lambda p: p["entries"])
        axes.plot(
            [p["entries"] for p in own], [p["risk"] for p in own], color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)], linewidth=2, label=str(curve),
        )  # fmt: skip
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("entries of the dictionary")
    axes.set_ylabel(_RISK)
    axes.set_title("Risk by the size of the dictionary")
    axes.grid(alpha=0.3)
    if any("curve" in p for p in points):
        axes.legend(loc="best", framealpha=0.9)


def _paint_bound(figure: Figure, points: Rows) -> None:
    axes = figure.subplots()
    most = max(max(p["estimated"], p["true"]) for p in points) or 1.0
    axes.plot([0, most], [0, most], color=INK, linestyle="--", linewidth=1, label="estimated = true")
    for precedes, colour, marker, name in (
        (True, _BLUE, "o", "the estimate bounds the true risk"),
        (False, _RED, "X", "the dictionaries are not in order: no bound"),
    ):
        own = [p for p in points if bool(p["precedes"]) is precedes]
        if own:
            axes.scatter(
                [p["true"] for p in own], [p["estimated"] for p in own], s=36, c=colour, marker=marker, label=name
            )
    axes.set_xlabel("true risk, with the dictionary that the attacker holds")
    axes.set_ylabel("estimated risk")
    axes.set_title("Estimated against true risk")
    axes.grid(alpha=0.3)
    axes.legend(loc="best", framealpha=0.9)
