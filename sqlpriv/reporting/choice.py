"""The choice among others, to be looked at: the lattice and the frontier of a search, or what privacy costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import SqlprivError
from sqlpriv.facts import Line, OnProgress, shown_number
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalize.nodes import NodeRow, all_nodes
from sqlpriv.methods.generalize.plan import GeneralizePlan
from sqlpriv.methods.generalize.search import nodes_total
from sqlpriv.methods.labelled.evaluate import Node
from sqlpriv.methods.method import HasDeltas, Plan
from sqlpriv.reporting import charts
from sqlpriv.reporting.sections import Chart, Piece, Section
from sqlpriv.showing.charts.canvas import shown
from sqlpriv.showing.charts.lattice import neighbours, places_of, selected
from sqlpriv.showing.charts.tradeoff import frontier, risk_of

MOST_NODES = 5000
"""More are searched, but not listed: nobody could look at them."""


def choice(plan: Plan, on_progress: OnProgress) -> Section:
    """What else could have been published, with the chosen one marked."""
    return Section("choice", "The choice among others", tuple(_pieces(plan, on_progress)))


def _pieces(plan: Plan, on_progress: OnProgress) -> Iterator[Piece]:
    if isinstance(plan, GeneralizePlan):
        yield from _of_search(plan, on_progress)
    elif isinstance(plan, HasDeltas):
        yield _of_deltas(plan)
    elif curve := plan.curve():
        rows = [{"gamma": bound, "standard error": error} for bound, error in curve]
        chosen = min(rows, key=lambda r: abs(r["gamma"] - float(plan.policy.release["gamma"])))
        title, said = (
            "What privacy costs",
            "The standard error of a count against gamma, what anyone may come to believe.",
        )
        yield charts.curve(title, said, rows, "gamma", "standard error", chosen)
    else:
        yield Line("This method makes no choice among others that could be drawn.")


def _of_search(plan: GeneralizePlan, on_progress: OnProgress) -> Iterator[Piece]:
    yield _loss_by_column(plan)
    if nodes_total(plan.scan) > MOST_NODES:
        yield Line(f"The lattice has {nodes_total(plan.scan):,} nodes, too many to look at; the search saw to them.")
        return
    rows = all_nodes(plan.scan, plan.measures, on_progress)
    yield _lattice(plan, rows)
    try:
        yield _frontier(plan, rows)
    except SqlprivError as error:
        yield Line(f"Risk against loss is not drawn: {error}")


def _loss_by_column(plan: GeneralizePlan) -> Chart:
    """What each column lost, of 1 where all of it is gone; suppressed rows apart."""
    sums = [by_level[level] for by_level, level in zip(plan.scan.loss, plan.best.node, strict=True)]
    asked = ", ".join(inlined(f"_mean_loss({value!r}::DOUBLE, {plan.scan.rows}, 1)") for value in map(float, sums))
    (losses,) = fetch(plan.scan.source.con, f"SELECT {asked}")
    rows = [
        {"column": name, "loss": float(loss), "level": f"{level} of {plan.heights[name]}"}
        for (name, level), loss in zip(plan.node.items(), losses, strict=True)
    ]
    worst = max(rows, key=lambda r: float(str(r["loss"])))
    said = f"How much of each column is lost, from 0 (as it was) to 1 (all of it). Most is lost of {worst['column']}."
    return charts.bars("Loss by column", said, rows, "column", "loss")


def _named(row: NodeRow, plan: GeneralizePlan) -> dict[str, Any]:
    held = {m.requirement.text: "holds" if h else "fails" for m, h in zip(plan.measures, row.holds, strict=True)}
    return {
        "node": shown(row.node),
        "loss": round(row.objectives["loss"], 6),
        "suppressed": row.outcome.suppressed,
        "classes": row.outcome.classes,
        **held,
    }


def _lattice(plan: GeneralizePlan, rows: list[NodeRow]) -> Chart:
    drawn, title = selected(rows, plan.best.node)
    places = places_of(drawn)
    points = [
        {"kind": _kind(row, plan.best.node), "height": sum(row.node), "x": places[row.node][0], **_named(row, plan)}
        for row in drawn
    ]
    edges = [
        {"x": places[n][0], "y": places[n][1], "x2": places[o][0], "y2": places[o][1]}
        for n in places
        for o in neighbours(n)
        if o in places and sum(o) > sum(n)
    ]
    said = f"Levels of {', '.join(plan.policy.qis)}. {title.replace(chr(10), '. ')}. Chosen: {shown(plan.best.node)}."
    return charts.lattice("The lattice", said, points, edges)


def _kind(row: NodeRow, chosen: Node) -> str:
    if row.node == chosen:
        return "chosen"
    return "minimal" if row.minimal else "meets all requirements" if row.valid else "fails a requirement"


def _frontier(plan: GeneralizePlan, rows: Sequence[NodeRow]) -> Chart:
    label, risk = risk_of(plan.measures)
    points = [(row, row.objectives["loss"], risk(row)) for row in rows if row.outcome.classes > 0]
    best = {row.node for row, _, _ in frontier(points)}

    def kind(row: NodeRow) -> str:
        found = _kind(row, plan.best.node)
        if found == "chosen":
            return found
        return "frontier" if row.node in best else "meets all requirements" if row.valid else "fails a requirement"

    told = [
        {"loss": loss, label: y, "kind": kind(row), "node": shown(row.node), "on_frontier": row.node in best}
        for row, loss, y in points
    ]
    least = shown_number(min(loss for row, loss, _ in points if row.valid))
    said = (
        f"Every node by what it loses and what it risks; {len(best)} of them are beaten by none in both. "
        f"The least loss of a node that meets all requirements is {least}."
    )
    return charts.scatter("Risk against loss", said, told, "loss", label, label.startswith("highest"))


def _of_deltas(plan: HasDeltas) -> Chart:
    deltas = plan.deltas()
    rows = [
        {"for": name, "epsilon": epsilon, "delta": delta}
        for name, points in deltas.curves.items()
        for epsilon, delta in points
        if delta > 0
    ]
    chosen = {"epsilon": deltas.chosen[0], "delta": deltas.chosen[1]}
    said = "Delta against epsilon for other choices of k and beta; the chosen pair is ringed."
    return charts.curve("Delta against epsilon", said, rows, "epsilon", "delta", chosen, "for")
