"""A generalized release for queries: what rewriting knows of its columns, and its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.facts import Line
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.generalized.read import ClassRows, Known, PublishedColumn
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.read import public_tables
from sqlpriv.rewrite.estimate.texts import number
from sqlpriv.rewrite.public_facts import PublicFacts
from sqlpriv.rewrite.release import Attribute, GeneralizedRelease
from sqlpriv.table.hierarchies import TOP

_ONE = "1e0"


@dataclass(frozen=True)
class Counts:
    """Where the numbers of rows are, which a release else knows: columns and scalars as SQL."""

    copies: str
    """Of a published row: for how many rows of the table it stands."""
    gone: str
    """Suppressed rows that are left out."""
    shown: str
    """All others that are not starred."""


def open_labelled(file: ReleaseFile) -> GeneralizedRelease:
    """The release for queries."""
    columns = [PublishedColumn(file, row) for row in sorted(file.rows("attributes"), key=lambda r: int(r["position"]))]
    if not file.about.get("suppressed_rows", "").isdecimal():
        raise ReleaseError(f"{file.name} does not say how many rows are suppressed; publish it again")
    suppressed = int(file.about["suppressed_rows"])
    kept = file.about.get("kept_suppressed") == "yes"
    release = labelled_release(file, file.about["table"], columns, suppressed, kept)
    return replace(release, public=public_tables(file.con, file.catalog, "public"))


def labelled_release(
    file: ReleaseFile,
    table: str,
    columns: list[PublishedColumn],
    suppressed: int,
    kept: bool,
    counts: Counts | None = None,
) -> GeneralizedRelease:
    """Rows with labels as a release for queries; `kept`: whether suppressed rows are among them, with stars.

    Without `counts` each row is one row of the table.
    """
    qis = [c for c in columns if c.is_generalized_at_all]
    stars = " AND ".join(f"{quoted(c.name)} IS NOT DISTINCT FROM {literal(TOP)}" for c in qis)
    starred = stars if kept and suppressed else "false"
    known = _known(file, columns, starred, counts)
    gone = None if kept or not suppressed else counts.gone if counts else str(suppressed)
    rows = ClassRows(file.table("published"), columns, known, gone, starred, counts.copies if counts else None)
    attributes = []
    for column in columns:
        may_be_hidden = suppressed > 0 and (column.is_generalized_at_all or not kept)
        attributes.append(_attribute(column, known[column.name], may_be_hidden and not column.has_domain))
    return GeneralizedRelease(
        table=table,
        attributes=tuple(attributes),
        facts=PublicFacts(file.con),
        rows=rows.relation,
        suppressed=suppressed,
    )


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


def _attribute(column: PublishedColumn, known: Known, unlisted: bool) -> Attribute:
    """What rewriting knows of a column; `unlisted`: whether suppressed rows may have a value that no list has."""
    return Attribute(
        column.name,
        column.kind,
        max(known.size, 1),
        column.domain,
        known.has_null or unlisted,
        why_not=column.why_not,
        is_cut=column.is_cut,
        unlisted=unlisted,
    )


def _known(
    file: ReleaseFile, columns: Sequence[PublishedColumn], starred: str, counts: Counts | None
) -> dict[str, Known]:
    """What is known of the values of each column, asked at once."""
    listed = [c.has_domain and c.why_not is None for c in columns]
    shares = [f"sum(coalesce(share, {_ONE}))" if has else "NULL" for has in listed]
    asked = " UNION ALL ".join(
        f"SELECT {i} AS i, count(*), count(*) - count(value), {share} FROM {column.domain}"
        for i, (column, share) in enumerate(zip(columns, shares, strict=True))
    )
    shown = counts.shown if counts else _shown_rows(file, starred)
    return {
        columns[i].name: Known(int(size), nulls > 0, number(total or 0) if listed[i] else shown)
        for i, size, nulls, total in fetch(file.con, asked)
    }


def _shown_rows(file: ReleaseFile, starred: str) -> str:
    asked = f"SELECT count(*) FROM {file.table('published')} WHERE NOT ({starred})"
    return number(fetch(file.con, asked)[0][0])
