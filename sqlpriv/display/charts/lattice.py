"""The lattice by what each requirement allows: the paper's Figure 3.

The original table is at the bottom, the most general one at the top, and lines join a node with its immediate
generalizations. Each node carries one segment a requirement, always in the same place. It is filled where the
requirement holds, empty where it fails, and half filled where it holds once the rows that fail it are suppressed,
within what the policy allows. Place and colour say the same, so the picture can be read without colours. A node that
suppresses rows says how many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import legible
from sqlpriv.display.charts.marks import COLOURS, FAINT, INK, PAPER, RED, Data, altair, cycled, legend, shown
from sqlpriv.display.charts.picture import Picture
from sqlpriv.methods.lattice import Lattice, Node, NodeRow

MOST_DRAWN = 300
_MOST_ABREAST = 24  # of the same height, where only a part is drawn; more would not fit on a screen
_ROOM = (76, 66)
"""Pixels of a node, across and up."""
_WIDE, _HIGH = 0.88, 0.62  # of a box in its room, which is 1 x 1
_LETTERS, _SIZE = 11, 11  # so many letters fit into a box at full size
_VALID, _BLACK = "#DCEBF5", "#000000"
_EMPTY = "#D0D0D0"
_SHORT = 36  # letters of a requirement, where two of them are next to each other in the legend
# What a box is: how it is called, its face, its edge and how thick that is. Texts stand on the face, never on the page.
_KINDS = {
    "failing": ("fails a requirement", PAPER, FAINT, 0.7),
    "valid": ("meets all requirements", _VALID, FAINT, 0.7),
    "minimal": ("minimal: nothing below it does", _VALID, _BLACK, 2.2),
    "chosen": ("chosen", _VALID, RED, 3.0),
}


@dataclass(frozen=True)
class Box:
    """A node: where it stands, what it is, and of each requirement whether it holds, half holds or fails.

    `note` stands below its name; `tips` is what it says when it is pointed at.
    """

    name: str
    x: float
    y: float
    kind: str
    segments: Sequence[str]
    note: str
    tips: Mapping[str, Any]


@dataclass(frozen=True)
class _LatticeChart:
    """All that the chart shows."""

    boxes: Sequence[Box]
    edges: Sequence[tuple[float, float, float, float]]
    requirements: Sequence[str]
    chosen: str | None
    allowed: int


def lattice_picture(lattice: Lattice) -> Picture:
    """The nodes; of a large lattice the least lossy minimal valid ones, with their neighbours.

    A steward asks of a large lattice where the border runs between what may be published and what may not, so those
    are the nodes to show; the description says how many were left out.
    """
    rows, chosen, allowed, texts = lattice.rows, lattice.chosen, lattice.allowed, lattice.texts
    if not rows:
        raise InputError("there are no nodes to draw")
    drawn, said = selected(rows, chosen)
    places = places_of(drawn)
    boxes = [_box(row, places[row.node], row.node == chosen, allowed) for row in drawn]
    # Generalizations of a node lie above it, so its upper neighbours are enough.
    edges = [
        (*places[row.node], *places[other])
        for row in drawn
        for other in neighbours(row.node)
        if other in places and sum(other) > sum(row.node)
    ]
    wide = max(x for x, _ in places.values()) * 2 + 1
    described = f"{said} Chosen: {shown(chosen)}." if chosen is not None else said
    chart = _LatticeChart(boxes, edges, texts, None if chosen is None else shown(chosen), allowed)
    return Picture(
        f"Levels of [{', '.join(lattice.qis)}]",
        described,
        [_numbers(row, texts) for row in drawn],
        partial(lattice_chart, chart),
        width=max(480, int(wide * _ROOM[0])),
        elastic=False,
    )


def selected(rows: Sequence[NodeRow], chosen: Node | None) -> tuple[list[NodeRow], str]:
    """What is drawn, and the sentences that say so."""
    valid = sum(row.valid for row in rows)
    minimal = sorted((row for row in rows if row.minimal), key=lambda row: (row.objectives["loss"], row.node))
    counts = f"{valid:,} of {len(rows):,} nodes meet all requirements, {len(minimal):,} of them minimal."
    if len(rows) <= MOST_DRAWN:
        return list(rows), counts
    if not minimal:
        raise InputError(
            f"the lattice has {len(rows):,} nodes, more than the {MOST_DRAWN} that can be read in a picture. None of "
            "them meets all requirements, so there is no border to show; require less, or allow more suppression"
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
    which = "all" if count == len(minimal) else f"the {count:,} with the least loss of the {len(minimal):,}"
    return list(kept.values()), f"{counts} Drawn: {which} minimal nodes and their neighbours ({len(kept)} nodes)."


def neighbours(node: Node) -> Iterable[Node]:
    """The nodes a level below and above it, in one attribute; some may not be in the lattice."""
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


def _box(row: NodeRow, place: tuple[float, float], is_chosen: bool, allowed: int) -> Box:
    half = [not held and holds_suppressed(row, i, allowed) for i, held in enumerate(row.holds)]
    kind = "chosen" if is_chosen else "minimal" if row.minimal else "valid" if row.valid else "failing"
    segments = ["holds" if h else "half" if s else "fails" for h, s in zip(row.holds, half, strict=True)]
    suppressed = row.outcome.suppressed
    note = f"-{suppressed:,}" if row.valid and suppressed else ""
    tips = {"node": shown(row.node), "loss": row.objectives["loss"], "suppressed": suppressed}
    return Box(shown(row.node), *place, kind, segments, note, tips | {"classes": row.outcome.classes})


def _numbers(row: NodeRow, requirements: Sequence[str]) -> dict[str, object]:
    """What a node is in numbers."""
    held = {text: "holds" if h else "fails" for text, h in zip(requirements, row.holds, strict=False)}
    return {
        "node": shown(row.node),
        "meets all": "minimal" if row.minimal else "yes" if row.valid else "no",
        "loss": round(row.objectives["loss"], 6),
        "suppressed": row.outcome.suppressed,
        "classes": row.outcome.classes,
        **held,
    }


def holds_suppressed(row: NodeRow, i: int, allowed: int) -> bool:
    """Whether a requirement that fails as it is holds once rows are suppressed, no more than are allowed."""
    rows = row.outcome.suppressed_by[i]
    # A requirement on the table as a whole suppresses no class of its own: it is judged on what is published.
    return rows <= allowed if rows else not row.outcome.table_fails and row.outcome.suppressed <= allowed


def lattice_chart(lattice: _LatticeChart) -> Any:
    """Edges, boxes, segments and names, one above the other."""
    alt = altair()
    xs, ys = [box.x for box in lattice.boxes], sorted({box.y for box in lattice.boxes})
    across = alt.Scale(domain=[min(xs) - 0.6, max(xs) + 0.6], nice=False, zero=False)
    up = alt.Scale(domain=[ys[0] - 0.5, ys[-1] + 0.5], nice=False, zero=False)
    title = "height: sum of the levels (0 is the original table)"
    heights = alt.Axis(title=title, values=ys, format=".0f", grid=False, ticks=False)

    def axes(of: Data) -> dict[str, Any]:
        return {
            "x": alt.X(of.field("left"), scale=across, axis=None),
            "y": alt.Y(of.field("bottom"), scale=up, axis=heights),
            "x2": alt.X2(of.key("right")),
            "y2": alt.Y2(of.key("top")),
        }

    layers = []
    if lattice.edges:
        edges = Data([dict(zip(("left", "bottom", "right", "top"), edge, strict=True)) for edge in lattice.edges])
        layers.append(alt.Chart(edges.values).mark_rule(color=FAINT, opacity=0.5).encode(**axes(edges)))
    layers.append(_boxes(lattice, axes))
    if lattice.requirements:
        layers += _segments(lattice, axes)
    layers += _names(lattice, across, up, heights)
    wide, high = (max(xs) - min(xs) + 1.2) * _ROOM[0], (ys[-1] - ys[0] + 1) * _ROOM[1]
    return alt.layer(*layers).properties(width=max(480, round(wide)), height=round(high))


def _boxes(lattice: _LatticeChart, axes: Any) -> Any:
    alt = altair()
    called = {kind: _KINDS[kind][0] for kind in _KINDS if any(box.kind == kind for box in lattice.boxes)}
    if "chosen" in called:
        called["chosen"] = f"chosen: {lattice.chosen}"
    rows = [
        {
            "is": called[box.kind], "edge": _KINDS[box.kind][3], **box.tips,
            **_corners(box.x - _WIDE / 2, box.y - _HIGH / 2, _WIDE, _HIGH),
        }
        for box in lattice.boxes
    ]  # fmt: skip
    data = Data(rows)
    field, shared = data.field("is"), {"legend": legend(symbolType="square", symbolSize=180, symbolStrokeWidth=2)}

    def scale(place: int) -> Any:
        return alt.Scale(domain=list(called.values()), range=[_KINDS[kind][place] for kind in called])

    encoded = {
        "fill": alt.Fill(field, scale=scale(1), **shared),
        "stroke": alt.Stroke(field, scale=scale(2), **shared),
        "strokeWidth": alt.StrokeWidth(data.field("edge"), scale=None),
        "tooltip": data.tips("is", *lattice.boxes[0].tips),
    }
    return alt.Chart(data.values).mark_rect(opacity=1).encode(**axes(data), **encoded)


def _corners(left: float, bottom: float, wide: float, high: float) -> dict[str, float]:
    return {"left": left, "bottom": bottom, "right": left + wide, "top": bottom + high}


def _segments(lattice: _LatticeChart, axes: Any) -> list[Any]:
    """The frames of all segments, and what is filled of them."""
    alt, count = altair(), len(lattice.requirements)
    called = [legible(f"segment {i}: {text}") for i, text in enumerate(lattice.requirements, 1)]
    room, frames, filled = _WIDE * 0.92 / count, [], []
    for box in lattice.boxes:
        for i, (state, name) in enumerate(zip(box.segments, called, strict=False)):
            left = box.x - _WIDE * 0.46 + i * room + room * 0.08
            corner = (left, box.y - _HIGH / 2 + 0.07)
            row: Mapping[str, Any] = {"node": box.name, "segment": name, "state": state}
            frames.append({**row, **_corners(*corner, room * 0.84, 0.13)})
            if state != "fails":
                share = 0.84 if state == "holds" else 0.42
                filled.append({**row, **_corners(*corner, room * share, 0.13)})
    shown = _key(lattice, called)
    colours = alt.Scale(domain=called, range=cycled(COLOURS, count))

    def layer(rows: list[dict[str, Any]], **style: Any) -> Any:
        data = Data(rows)
        tips = data.tips("node", "segment", "state")
        chart = alt.Chart(data.values).mark_rect(opacity=1, **style)
        return data, chart, axes(data) | {"tooltip": tips}

    # Frames have their colour as a colour, and not as a stroke, whose scale is that of the boxes.
    data, chart, encoded = layer(frames, filled=False, fill=PAPER, strokeWidth=0.8)
    edge = alt.condition(
        f"datum.{data.key('state')} != 'fails'",
        alt.Color(data.field("segment"), scale=colours, legend=shown),
        alt.value(_EMPTY),
    )
    layers = [chart.encode(**encoded, color=edge)]
    data, chart, encoded = layer(filled or frames[:1])
    coloured = alt.Color(data.field("segment"), scale=colours, legend=shown)
    # Where nothing is filled anywhere, one segment that cannot be seen brings the legend.
    layers.append(chart.encode(**encoded, color=coloured, opacity=alt.value(1 if filled else 0)))
    return layers


def _key(lattice: _LatticeChart, called: Sequence[str]) -> Any:
    """The legend of the segments."""
    note = ["One segment a requirement, filled where it holds"]
    if lattice.allowed:
        note.append(f"half filled: holds once the rows that fail it are suppressed (-n; up to {lattice.allowed:,})")
    columns = 2 if len(called) > 3 and max(map(len, called)) < _SHORT else 1
    style = {"titleLimit": 0, "titleFontWeight": "normal", "titleFontSize": 12, "labelLimit": 0}
    return altair().Legend(title=note, orient="bottom", columns=columns, **style)


def _names(lattice: _LatticeChart, across: Any, up: Any, heights: Any) -> list[Any]:
    """The nodes by their levels, bold where they are minimal or chosen, and how many rows they suppress."""
    alt, layers = altair(), []

    def layer(boxes: Sequence[tuple[Box, str]], lift: float, size: float, weight: str) -> None:
        if not boxes:
            return
        # Deep nodes of many attributes have long names; they have to stay inside their box.
        rows = [
            {"x": b.x, "y": b.y + lift, "text": text, "size": size * min(1.0, _LETTERS / len(text)), **b.tips}
            for b, text in boxes
        ]
        data = Data(rows)
        layers.append(
            alt.Chart(data.values)
            .mark_text(color=INK, fontWeight=weight)
            .encode(
                x=alt.X(data.field("x"), scale=across, axis=None),
                y=alt.Y(data.field("y"), scale=up, axis=heights),
                text=f"{data.key('text')}:N",
                size=alt.Size(data.field("size"), scale=None),
                tooltip=data.tips(*boxes[0][0].tips),
            )
        )

    set_off = {"minimal", "chosen"}
    layer([(b, b.name) for b in lattice.boxes if b.kind in set_off], 0.17, _SIZE, "bold")
    layer([(b, b.name) for b in lattice.boxes if b.kind not in set_off], 0.17, _SIZE, "normal")
    layer([(b, b.note) for b in lattice.boxes if b.note], -0.01, 9, "normal")
    return layers
