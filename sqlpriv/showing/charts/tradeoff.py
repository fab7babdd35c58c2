"""Risk against utility: every node a point, the frontier a line, the chosen node ringed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlpriv.errors import InputError
from sqlpriv.methods.generalize.nodes import NodeRow
from sqlpriv.methods.labelled.evaluate import Node
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.showing.charts.canvas import COLOURS, FAINT, INK, PAPER, draw, plain_numbers, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[NodeRow, float, float]  # with its cost and its risk

_BLUE, _ORANGE, _RED = COLOURS[0], COLOURS[1], COLOURS[5]
_HIGHEST_RISK = "highest re-identification risk: 1 / size of the smallest published class"
_LABELLED = 8  # more names along the frontier would cover each other
_LOGARITHMIC = {"discernibility", "average_class_size"}
_GROWS = {"precision"}  # here more is better


def draw_tradeoff(
    rows: Sequence[NodeRow],
    chosen: Node | None,
    objective: str,
    path: str | Path,
    measures: Sequence[ClassMeasure] = (),
) -> Path:
    """What the nodes cost (x) against what they risk (y).

    The risk is that of the smallest published class where the measures tell it (k or prosecutor); else the share of
    rows that has to be suppressed. The frontier joins the nodes that meet all requirements and that no other such
    node beats in both.
    """
    if not rows:
        raise InputError("there are no nodes to draw")
    if objective not in rows[0].objectives:
        raise InputError(f"the nodes have no objective {objective!r}; there are {', '.join(rows[0].objectives)}")
    publishing = [row for row in rows if row.outcome.classes > 0]
    if not publishing:
        raise InputError("every node would suppress the whole table, so there is no trade-off to draw")
    label, risk = risk_of(measures)
    points = [(row, row.objectives[objective], risk(row)) for row in publishing]
    left_out = len(rows) - len(publishing)
    return draw(path, lambda figure: _paint(figure, points, chosen, objective, label, left_out))


def risk_of(measures: Sequence[ClassMeasure]) -> tuple[str, Callable[[NodeRow], float]]:
    """The label of the y axis, and its value for a node."""
    place = {measure.requirement.name: i for i, measure in enumerate(measures)}
    if "k" in place:
        return _HIGHEST_RISK, lambda row: 1 / _published(row, place["k"])
    if "prosecutor" in place:
        return _HIGHEST_RISK, lambda row: _published(row, place["prosecutor"])
    return "share of rows suppressed", lambda row: row.outcome.suppressed / _rows_of_table(row)


def _published(row: NodeRow, i: int) -> float:
    value = row.outcome.published_worst[i]
    assert value is not None, "a size is known of every class"
    return float(value)


def _rows_of_table(row: NodeRow) -> float:
    """The number of rows of the table; the objective divides it by the number of classes."""
    return row.objectives["average_class_size"] * (row.outcome.classes + (row.outcome.suppressed > 0))


def frontier(points: Iterable[Point], grows: bool = False) -> list[Point]:
    """The valid points that no other valid one beats in cost and risk, by cost."""
    kept: list[Point] = []
    valid = [p for p in points if p[0].valid]
    for point in sorted(valid, key=lambda p: (-p[1] if grows else p[1], p[2], p[0].node)):
        if not kept or point[2] < kept[-1][2]:
            kept.append(point)
    return kept


def _paint(figure: Figure, points: list[Point], chosen: Node | None, objective: str, label: str, left_out: int) -> None:
    axes = figure.subplots()
    failing = [p for p in points if not p[0].valid]
    valid = [p for p in points if p[0].valid]
    best = frontier(points, objective in _GROWS)
    for group, name, face, edge in (
        (failing, f"fails a requirement ({len(failing)})", PAPER, FAINT),
        (valid, f"meets all requirements ({len(valid)})", _BLUE, _BLUE),
    ):
        if group:
            axes.scatter([p[1] for p in group], [p[2] for p in group], s=36, c=face, edgecolors=edge, label=name)
    if best:
        xs, ys = [p[1] for p in best], [p[2] for p in best]
        # Steps, because there is nothing between two nodes: to pay more without reaching the next one buys nothing.
        axes.step(
            xs, ys, where="post", color=_ORANGE, marker="s", markersize=8, zorder=3, label=f"frontier ({len(best)})",
        )  # fmt: skip
    ringed = [p for p in points if p[0].node == chosen]
    for row, cost, risk in ringed:
        name = f"chosen {shown(row.node)}"
        axes.scatter([cost], [risk], s=260, c="none", edgecolors=_RED, linewidths=2.5, zorder=4, label=name)
    step = math.ceil(len(best) / _LABELLED) if best else 1
    for row, cost, risk in best[::step]:
        axes.annotate(shown(row.node), (cost, risk), (8, 8), textcoords="offset points", fontsize=9, color=INK)
    if objective in _LOGARITHMIC:
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
    better = "more is better" if objective in _GROWS else "less is better"
    axes.set_xlabel(f"{objective.replace('_', ' ')} ({better})")
    if label == _HIGHEST_RISK:
        # Risks run from one in a million to one: on a linear axis most nodes would lie on one line.
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
    axes.set_ylabel(label)
    axes.margins(x=0.08)  # room for the names at the right
    axes.grid(alpha=0.3)
    rest = f"; {left_out:,} more would publish nothing" if left_out else ""
    axes.set_title(f"Risk against {objective.replace('_', ' ')}: {len(points):,} nodes{rest}")
    axes.legend(loc="best", framealpha=0.9)
