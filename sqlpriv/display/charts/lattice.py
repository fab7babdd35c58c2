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
from functools import partial

from sqlpriv.core.errors import InputError
from sqlpriv.display.charts.boxes import ROOM, Box, LatticeChart, lattice_chart
from sqlpriv.display.charts.look import shown
from sqlpriv.display.charts.picture import Picture
from sqlpriv.methods.lattice import Lattice, Node, NodeRow

MOST_DRAWN = 300
_MOST_ABREAST = 24  # of the same height, where only a part is drawn; more would not fit on a screen


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
    chart = LatticeChart(boxes, edges, texts, None if chosen is None else shown(chosen), allowed)
    return Picture(
        f"Levels of [{', '.join(lattice.qis)}]",
        described,
        [_numbers(row, texts) for row in drawn],
        partial(lattice_chart, chart),
        width=max(480, int(wide * ROOM[0])),
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
