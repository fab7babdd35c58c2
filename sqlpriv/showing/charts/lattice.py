"""The lattice by what each requirement allows: the paper's Figure 3.

The original table is at the bottom, the most general one at the top, and lines join a node with its immediate
generalizations. Each node carries one segment a requirement, always in the same place: filled where it holds, half
filled where it holds once the rows that fail it are suppressed and no more are than the policy allows, empty where it
fails. Place and colour say the same, so the picture can be read without colours. A node that suppresses rows says how
many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlpriv.errors import InputError
from sqlpriv.methods.generalize.nodes import NodeRow
from sqlpriv.methods.labelled.evaluate import Node
from sqlpriv.showing.charts.canvas import COLOURS, FAINT, HEIGHT, INK, PAPER, WIDTH, draw, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

MOST_DRAWN = 300
_MOST_ABREAST = 24  # of the same height, where only a part is drawn; more would not fit on a screen
_RED, _VALID, _DARK = COLOURS[5], "#DCEBF5", "#000000"
_BOX_WIDTH, _BOX_HEIGHT = 0.84, 0.5  # of the room of a node, which is 1 x 1
_LETTERS = 11  # that fit into a box at full size
_INCHES_A_NODE, _INCHES_A_LEVEL = 0.8, 0.62  # what a label needs to be read


def draw_lattice(
    rows: Sequence[NodeRow],
    qis: Sequence[str],
    requirements: Sequence[str],
    path: str | Path,
    chosen: Node | None = None,
    allowed: int = 0,
) -> Path:
    """Draw the nodes; of a large lattice the least lossy minimal valid ones, with their neighbours.

    A steward asks of a large lattice where the border runs between what may be published and what may not, so those
    are the nodes to show; the title says how many were left out. `allowed` is how many rows may be suppressed.
    """
    if not rows:
        raise InputError("there are no nodes to draw")
    drawn, title = selected(rows, chosen)
    places = places_of(drawn)
    widest = max(x for x, _ in places.values()) * 2 + 1
    levels = max(y for _, y in places.values()) - min(y for _, y in places.values()) + 1
    legend = 0.25 * (len(requirements) + 1)
    return draw(
        path,
        lambda figure: _paint(figure, drawn, places, qis, requirements, chosen, title, allowed),
        max(WIDTH, widest * _INCHES_A_NODE + 1),
        max(HEIGHT, levels * _INCHES_A_LEVEL + legend + 1.2),
    )


def selected(rows: Sequence[NodeRow], chosen: Node | None) -> tuple[list[NodeRow], str]:
    """What is drawn, and the title that says so."""
    valid = sum(row.valid for row in rows)
    minimal = sorted((row for row in rows if row.minimal), key=lambda row: (row.objectives["loss"], row.node))
    counts = f"{valid:,} of {len(rows):,} nodes meet all requirements, {len(minimal):,} of them minimal"
    if len(rows) <= MOST_DRAWN:
        return list(rows), counts
    if not minimal:
        raise InputError(
            f"the lattice has {len(rows):,} nodes, more than the {MOST_DRAWN} that can be read in a picture, and none "
            "of them meets all requirements, so there is no border to show; ask for less, or allow more suppression"
        )
    by_node = {row.node: row for row in rows}
    kept: dict[Node, NodeRow] = {}
    for centre in [*([chosen] if chosen in by_node else []), *(row.node for row in minimal)]:
        assert centre is not None
        with_centre = kept | {n: by_node[n] for n in [centre, *neighbours(centre)] if n in by_node}
        heights = Counter(map(sum, with_centre))
        if kept and (len(with_centre) > MOST_DRAWN or max(heights.values()) > _MOST_ABREAST):
            break
        kept = with_centre
    count = sum(row.minimal for row in kept.values())
    which = "all" if count == len(minimal) else f"the {count:,} least lossy of the {len(minimal):,}"
    return list(kept.values()), f"{counts}\nDrawn: {which} minimal nodes and their neighbours ({len(kept)} nodes)"


def neighbours(node: Node) -> Iterable[Node]:
    for a, level in enumerate(node):
        yield (*node[:a], level - 1, *node[a + 1 :])
        yield (*node[:a], level + 1, *node[a + 1 :])


def places_of(rows: Iterable[NodeRow]) -> dict[Node, tuple[float, float]]:
    """Where each node stands: y its height, x centred among the nodes of that height, in their order."""
    by_height: dict[int, list[Node]] = {}
    for row in sorted(rows, key=lambda row: row.node, reverse=True):
        by_height.setdefault(sum(row.node), []).append(row.node)
    return {
        node: (i - (len(nodes) - 1) / 2, float(height))
        for height, nodes in by_height.items()
        for i, node in enumerate(nodes)
    }


def _paint(
    figure: Figure,
    rows: Sequence[NodeRow],
    places: dict[Node, tuple[float, float]],
    qis: Sequence[str],
    requirements: Sequence[str],
    chosen: Node | None,
    title: str,
    allowed: int,
) -> None:
    from matplotlib.collections import LineCollection, PatchCollection

    axes = figure.subplots()
    # Generalizations of a node lie above it, so its upper neighbours are enough.
    lines = [
        (places[row.node], places[other])
        for row in rows
        for other in neighbours(row.node)
        if other in places and sum(other) > sum(row.node)
    ]
    axes.add_collection(LineCollection(lines, colors="#C8C8C8", linewidths=0.7, zorder=1))
    boxes = [_box(row, places[row.node], row.node == chosen) for row in rows]
    axes.add_collection(PatchCollection(boxes, match_original=True, zorder=2))
    segments = [s for row in rows for s in _segments(row, places[row.node], len(requirements), allowed)]
    axes.add_collection(PatchCollection(segments, match_original=True, zorder=3))
    for row in rows:
        x, y = places[row.node]
        colour, weight = INK if row.valid else "#555555", "bold" if row.minimal or row.node == chosen else "normal"
        label = shown(row.node)
        # Deep nodes of many attributes have long names; they have to stay inside their box.
        size = min(8.0, 8.0 * _LETTERS / len(label))
        axes.text(x, y + 0.14, label, ha="center", va="center", fontsize=size, color=colour, fontweight=weight)
        if row.valid and row.outcome.suppressed:
            axes.text(x, y, f"-{row.outcome.suppressed:,}", ha="center", va="center", fontsize=6, color=colour)
    xs, ys = [x for x, _ in places.values()], sorted({y for _, y in places.values()})
    axes.set_xlim(min(xs) - 0.7, max(xs) + 0.7)
    axes.set_ylim(ys[0] - 0.5, ys[-1] + 0.5)
    axes.set_yticks(ys, [f"{y:.0f}" for y in ys])
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.set_ylabel("height: sum of the levels (0 is the original table)")
    axes.set_title(f"Levels of [{', '.join(qis)}]\n{title}", fontsize=11)
    _paint_legend(figure, requirements, chosen, allowed)


def _box(row: NodeRow, place: tuple[float, float], chosen: bool) -> Rectangle:
    from matplotlib.patches import Rectangle

    corner = (place[0] - _BOX_WIDTH / 2, place[1] - _BOX_HEIGHT / 2)
    edge, width = (_RED, 3.0) if chosen else (_DARK, 2.2) if row.minimal else (FAINT, 0.7)
    face = _VALID if row.valid else PAPER
    return Rectangle(corner, _BOX_WIDTH, _BOX_HEIGHT, facecolor=face, edgecolor=edge, linewidth=width)


def _segments(row: NodeRow, place: tuple[float, float], requirements: int, allowed: int) -> Iterable[Rectangle]:
    from matplotlib.patches import Rectangle

    room = _BOX_WIDTH * 0.9 / max(requirements, 1)
    left, bottom = place[0] - _BOX_WIDTH * 0.45, place[1] - _BOX_HEIGHT / 2 + 0.06
    for i, holds in enumerate(row.holds):
        suppressed = not holds and holds_suppressed(row, i, allowed)
        face = _colour(i) if holds else PAPER
        edge = _colour(i) if holds or suppressed else "#D0D0D0"
        corner, width = (left + i * room, bottom), room * 0.8
        yield Rectangle(corner, width, 0.12, facecolor=face, edgecolor=edge, linewidth=0.6)
        if suppressed:
            yield Rectangle(corner, width / 2, 0.12, facecolor=_colour(i), edgecolor=edge, linewidth=0.6)


def holds_suppressed(row: NodeRow, i: int, allowed: int) -> bool:
    """Whether a requirement that fails as it is holds once rows are suppressed, no more than are allowed."""
    rows = row.outcome.suppressed_by[i]
    # A requirement on the table as a whole suppresses no class of its own: it is judged on what is published.
    return rows <= allowed if rows else not row.outcome.table_fails and row.outcome.suppressed <= allowed


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _paint_legend(figure: Figure, requirements: Sequence[str], chosen: Node | None, allowed: int) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=_colour(i), edgecolor=_colour(i), label=f"segment {i + 1}: {text}")
        for i, text in enumerate(requirements)
    ]
    if allowed:
        text = f"half filled: holds once the rows that fail it are suppressed (-n; up to {allowed:,})"
        handles.append(Patch(facecolor="none", edgecolor="none", label=text))
    handles.append(Patch(facecolor=_VALID, edgecolor=FAINT, label="meets all requirements"))
    handles.append(Patch(facecolor=_VALID, edgecolor=_DARK, linewidth=2.2, label="minimal: nothing below it does"))
    if chosen is not None:
        handles.append(Patch(facecolor=_VALID, edgecolor=_RED, linewidth=3, label=f"chosen: {shown(chosen)}"))
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=9, frameon=False)
