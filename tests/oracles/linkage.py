"""Record linkage: every record with every entry, compared one by one."""

from __future__ import annotations

from collections.abc import Sequence

from .disclosure import Cells
from .similarity import similar


def linkage(
    records: Sequence[Cells], entries: Sequence[Cells], similarities: Sequence[float | None], blocks: Sequence[int]
) -> list[tuple[int, int]]:
    """The numbers of the records and entries that belong together; of the cells at `blocks` one must be equal."""

    def linked(record: Cells, entry: Cells) -> bool:
        if not any(record[place] == entry[place] and record[place] not in (None, "*") for place in blocks):
            return False
        for own, other, least in zip(record, entry, similarities, strict=True):
            if own in (None, "*") or other in (None, "*") or own == other:
                continue
            if least is None or not similar(str(own), str(other), least):
                return False
        return True

    return [(r, e) for r, record in enumerate(records) for e, entry in enumerate(entries) if linked(record, entry)]


def linkage_risk(
    losses: Sequence[float],
    psi: float,
    ids: Sequence[int],
    chances: Sequence[float],
    success: Sequence[bool | None],
) -> tuple[int, float, float, float]:
    """records, risk, worst and linked, from the loss and the chance of each way to link a record, and its success W."""
    found = []
    for name in sorted(set(ids)):
        own = [at for at, of in enumerate(ids) if of == name]
        total = sum(chances[at] for at in own)
        loss = sum(chances[at] / total * (psi if success[at] is False else losses[at]) for at in own)
        found.append((loss, sum(chances[at] for at in own if success[at]) / total))
    means, right = zip(*found, strict=True)
    return len(means), sum(means) / len(means), max(means), sum(right) / len(right)
