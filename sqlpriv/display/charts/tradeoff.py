"""Risk against utility: every node a point, the frontier a line, the chosen node ringed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from sqlpriv.checks.measures import PROSECUTOR, K
from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import shown_number
from sqlpriv.display.charts.marks import (
    BLUE,
    FAINT,
    ORANGE,
    RED,
    Data,
    Rows,
    altair,
    apart,
    logarithmic,
    ring,
    shown,
    styled,
    texts,
)
from sqlpriv.display.charts.picture import Picture
from sqlpriv.methods.lattice import Lattice, Node, NodeRow

Point = tuple[NodeRow, float, float]  # with its cost and its risk

_HIGHEST_RISK = "highest re-identification risk: 1 / size of the smallest published class"
_LOGARITHMIC = {"discernibility", "average_class_size"}
_GROWS = {"precision"}  # here more is better
_LOOKS = (("fails a requirement", FAINT, "circle"), ("meets all requirements", BLUE, "triangle-up"),
          ("frontier", ORANGE, "square"), ("chosen", RED, "diamond"))  # fmt: skip


def tradeoff_picture(lattice: Lattice, objective: str = "loss") -> Picture:
    """What the nodes cost (x) against what they risk (y).

    The risk is that of the smallest published class where a requirement measures it (k or prosecutor); else the
    share of rows that has to be suppressed. The frontier joins the nodes that meet all requirements and that no other
    such node beats in both.
    """
    rows, chosen = lattice.rows, lattice.chosen
    if not rows:
        raise InputError("there are no nodes to draw")
    if objective not in rows[0].objectives:
        raise InputError(f"the nodes have no objective {objective!r}; there are {', '.join(rows[0].objectives)}")
    publishing = [row for row in rows if row.outcome.classes > 0]
    if not publishing:
        raise InputError("every node would suppress the whole table, so there is no trade-off to draw")
    label, risk = risk_of(lattice.requirements)
    points = [(row, row.objectives[objective], risk(row)) for row in publishing]
    best = [row.node for row, _, _ in frontier(points, objective in _GROWS)]
    cost = objective.replace("_", " ")
    numbers = [
        {cost: x, label: y, "kind": _kind(row, chosen, best), "node": shown(row.node)} for row, x, y in points
    ]  # fmt: skip
    said = _description(points, best, chosen, cost, objective in _GROWS, len(rows) - len(publishing))
    paint = partial(_chart, numbers, [shown(node) for node in best], objective, label)
    return Picture(f"Risk against {cost}", said, numbers, paint)


def risk_of(requirements: Sequence[Requirement]) -> tuple[str, Callable[[NodeRow], float]]:
    """The label of the y axis, and its value for a node."""
    place = {requirement.name: i for i, requirement in enumerate(requirements)}
    if K.name in place:
        return _HIGHEST_RISK, lambda row: 1 / _published(row, place[K.name])
    if PROSECUTOR.name in place:
        return _HIGHEST_RISK, lambda row: _published(row, place[PROSECUTOR.name])
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


def _kind(row: NodeRow, chosen: Node | None, best: Sequence[Node]) -> str:
    if row.node == chosen:
        return "chosen"
    return "frontier" if row.node in best else "meets all requirements" if row.valid else "fails a requirement"


def _description(
    points: Sequence[Point], best: Sequence[Node], chosen: Node | None, cost: str, grows: bool, left_out: int
) -> str:
    said = [f"Every node by its {cost} and by what it risks: {len(points):,} nodes, {len(best)} of them beaten by "
            "no other that meets all requirements, the frontier."]  # fmt: skip
    valid = [x for row, x, _ in points if row.valid]
    if valid:
        most, end = ("Most", max(valid)) if grows else ("Least", min(valid))
        said.append(f"{most} {cost} of a node that meets all requirements: {shown_number(end)}.")
    if any(row.node == chosen for row, _, _ in points):
        said.append(f"Chosen: {shown(chosen or ())}.")
    if left_out:
        said.append(f"{left_out:,} more would publish nothing.")
    return " ".join(said)


def _chart(rows: Rows, best: Sequence[str], objective: str, label: str) -> Any:
    alt, cost = altair(), objective.replace("_", " ")
    counts = {kind: sum(row["kind"] == kind for row in rows) for kind, _, _ in _LOOKS}
    failing = counts["fails a requirement"]
    # Each with all that are of its kind: what is chosen is on the frontier, and what is there meets all requirements.
    totals = (f" ({failing:,})", f" ({len(rows) - failing:,})", f" ({len(best):,})", "")
    names = {kind: f"{kind}{total}" for (kind, _, _), total in zip(_LOOKS, totals, strict=True)}
    rank = [kind for kind, _, _ in _LOOKS]
    # What matters most is drawn last: several nodes may lie in one place.
    data = Data([{**row, "kind": names[row["kind"]]} for row in sorted(rows, key=lambda row: rank.index(row["kind"]))])
    by_name = {row["node"]: row for row in rows}
    better = "more is better" if objective in _GROWS else "less is better"

    def axes(of: Data) -> dict[str, Any]:
        title, xs, ys = f"{cost} ({better})", [row[cost] for row in rows], [row[label] for row in rows]
        # Risks run from one in a million to one: on a linear axis most nodes would lie on one line.
        x = (
            logarithmic(alt.X, of.field(cost), title, xs)
            if objective in _LOGARITHMIC
            else alt.X(of.field(cost), title=title, scale=alt.Scale(zero=False, padding=20, nice=False))
        )
        y = (
            logarithmic(alt.Y, of.field(label), label, ys)
            if label == _HIGHEST_RISK
            else alt.Y(of.field(label), title=label)
        )
        return {"x": x, "y": y}

    layers = []
    if best:
        line = Data([by_name[name] for name in best])
        # Steps, because there is nothing between two nodes: to pay more without reaching the next one buys nothing.
        steps = alt.Chart(line.values).mark_line(interpolate="step-after", color=ORANGE, strokeWidth=2)
        order = alt.Order(line.field(cost), sort="descending" if objective in _GROWS else "ascending")
        layers.append(steps.encode(**axes(line), order=order))
    layers.append(_points(data, [names[kind] for kind, _, _ in _LOOKS if counts[kind]], axes(data)))
    own = [row for row in rows if row["kind"] == "chosen"]
    if own:
        layers.append(ring(Data(own), axes(Data(own))))
    if own or best:
        named = apart([*own, *(by_name[name] for name in best)], cost, label, label == _HIGHEST_RISK)
        layers.append(texts(Data(named), "node", axes(Data(named)), dx=11, dy=-9))
    return alt.layer(*layers)


def _points(data: Data, names: Sequence[str], axes: dict[str, Any]) -> Any:
    """Colour and shape say the same; a click on a name shows it alone."""
    alt, kind = altair(), data.field("kind")
    picked = alt.selection_point(fields=[data.key("kind")], bind="legend")
    styles = {name: next((c, s) for k, c, s in _LOOKS if name.startswith(k)) for name in names}
    encoded = {
        **styled(kind, styles, 2),
        "opacity": alt.condition(picked, alt.value(1), alt.value(0.1)),
        "tooltip": data.tips(),
    }
    return alt.Chart(data.values).mark_point(filled=True, size=60).encode(**axes, **encoded).add_params(picked)
