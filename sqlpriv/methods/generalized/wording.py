"""Sentences that releases of labels share: what answers mean, where cuts come from, where a release was written."""

from __future__ import annotations

from sqlpriv.core.facts import Line, shown_number
from sqlpriv.methods.generalized.policy import DATA, PUBLIC
from sqlpriv.methods.generalized.read import PublishedColumn
from sqlpriv.methods.method import Written
from sqlpriv.release.file import ReleaseFile

_SAFE = "safe in the sense of section 3.2 of Li, Qardaji and Su (2011)"
CUT_WARNINGS = {
    DATA: f"The cuts were chosen by the data, so this release is not {_SAFE}. Where it is cut reveals something about "
    "the rows, and no differential privacy follows, not even after sampling",
    PUBLIC: "The cut points come from hierarchies and public bounds alone, so no end of a range reveals a value. But "
    f"the data decided which of them were used, so this release is not {_SAFE} either",
}
"""Warnings of a plan and a release of boxes, by the option `cuts`."""


def answers_mean(file: ReleaseFile) -> tuple[Line, ...]:
    """The bounds of answers from a release, and the columns that no query may use."""
    columns = [PublishedColumn(file, row) for row in file.rows("attributes")]
    suppressed = int(file.about["suppressed_rows"])
    lines = [
        f"Answers of `sqlpriv query {file.name}` have hard bounds: no table that this release may stand for lies "
        "outside them. An average is NULL if no row can be behind it. If there may be none, its bounds hold for the "
        "tables that have one."
    ]
    if suppressed:
        listed = [repr(c.name) for c in columns if not c.has_domain and c.why_not is None]
        lines.append(
            f"{suppressed:,} suppressed rows widen them"
            + (f"; they may have any value of {', '.join(listed)}, whose sums have no bounds." if listed else ".")
        )
    if opened := [repr(c.name) for c in columns if c.is_open]:
        lines.append(
            f"Some ranges of {', '.join(opened)} are open, so its sums and averages have no bounds: declare a domain."
        )
    hidden = [repr(c.name) for c in columns if c.why_not is not None]
    if hidden:
        lines.append(f"Nothing can be asked of {', '.join(hidden)}: which values are below the labels is not public.")
    return tuple(map(Line, lines))


def written_to(written: Written | None) -> list[Line]:
    """Where a release was written, once it was."""
    if written is None:
        return []
    if written.again:
        return [Line(f"The table and the policy are those of before: this is {written.output.name}, as it was.")]
    return [Line(f"Written and checked again from the file: {written.output.name}")]


def value_text(value: float | None) -> str:
    """The value of a measure; none where no class has one."""
    return "none" if value is None else shown_number(value)
