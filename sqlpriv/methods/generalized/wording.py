"""The sentences that releases of labels share: what answers mean, and for boxes the facts of a plan."""

from __future__ import annotations

from sqlpriv.core.facts import Line
from sqlpriv.methods.generalized.read import PublishedColumn
from sqlpriv.release.file import ReleaseFile


def answers_mean(file: ReleaseFile) -> tuple[Line, ...]:
    """What answers of a release are, for people: what their bounds hold for, and what cannot be asked."""
    columns = [PublishedColumn(file, row) for row in file.rows("attributes")]
    suppressed = int(file.about["suppressed_rows"])
    told = [
        f"Answers of `sqlpriv query {file.name}` have hard bounds: no table that this release may stand for lies "
        "outside them. An average is NULL where no row can be behind it; where none need be, its bounds are of the "
        "tables that have some."
    ]
    if suppressed:
        listed = [repr(c.name) for c in columns if not c.has_domain and c.why_not is None]
        told.append(
            f"{suppressed:,} suppressed rows widen them"
            + (f"; they may have any value of {', '.join(listed)}, whose sums have no bounds." if listed else ".")
        )
    hidden = [repr(c.name) for c in columns if c.why_not is not None]
    if hidden:
        told.append(f"Nothing can be asked of {', '.join(hidden)}: which values are below the labels is not public.")
    return tuple(Line(text) for text in told)
