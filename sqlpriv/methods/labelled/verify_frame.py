"""What judging a release of labels begins with, whichever method made it: tables, columns, view, stamp and order.

A method says what it reads first, which tables it has, and what following a policy means to it. The rest of its checks
may rely on the columns that come back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

from sqlpriv.methods.labelled.order import check_order
from sqlpriv.methods.labelled.verify_leaves import shows_rows
from sqlpriv.methods.labelled.verify_levels import Stated
from sqlpriv.policy.file import Declared, Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.stamp import check_stamp
from sqlpriv.release.verify import Check, check_columns, check_tables


@dataclass(frozen=True)
class Shown:
    """Rows that are published in one table, and the view of them."""

    file: ReleaseFile
    """The file, whose published rows are these."""
    table: str
    view: str
    columns: Sequence[Stated]
    comment: str | None = None
    """What is said of the view."""


def shown_as_one(file: ReleaseFile, columns: Sequence[Stated]) -> list[Shown]:
    """All columns in one table, and a view under the name of the private table."""
    return [Shown(file, "published", file.about["table"], columns)]


@dataclass(frozen=True)
class Frame:
    """What a method says of its files."""

    unread: Callable[[ReleaseFile], str]
    """Why a file cannot be judged at all; empty where it can."""
    is_stated: Callable[[Stated], bool]
    """Whether a row of table attributes is one."""
    tables: Callable[[Sequence[Stated]], Sequence[tuple[str, str]]]
    """Schema and name of every table but those of the rows."""
    follows: Callable[[ReleaseFile, Policy, Sequence[Stated]], Iterator[Check]]
    """Whether a file is one of a policy."""
    shown: Callable[[ReleaseFile, Sequence[Stated]], Sequence[Shown]] = shown_as_one
    boxes: bool = False


def check_frame(
    frame: Frame, method: Declared, file: ReleaseFile, policy: Policy | None
) -> Generator[Check, None, Sequence[Stated] | None]:
    """The checks that all others rely on; then the columns of the file, or None where the others make no sense."""
    unread = frame.unread(file)
    if unread:
        yield Check("the release says what it holds", False, unread)
        return None
    columns = sorted(file.rows("attributes"), key=lambda c: int(c["position"]))
    wrong = [str(c["name"]) for c in columns if not frame.is_stated(c)]
    yield Check("every column says what its labels are", not wrong, f"{wrong[0]!r} does not" if wrong else "")
    if wrong:
        return None
    shown = frame.shown(file, columns)
    tables = _tables(frame, file, columns, shown)
    yield tables
    if not tables.passed:
        return None
    if policy is not None:
        yield from frame.follows(file, policy, columns)
    declared = [check_columns(part.file, _kinds(part)) for part in shown]
    yield from declared
    if not all(check.passed for check in declared):
        return None
    yield from (shows_rows(file, part.columns, part.table, part.view, boxes=frame.boxes) for part in shown)
    yield from check_stamp(file, method, policy)
    named = file.about["release"] == file.about["digest"]
    yield Check("the release is called after its rows", named, "" if named else "its digest is another")
    yield from (check_order(file, part.table, _kinds(part)) for part in shown)
    return columns


def _tables(frame: Frame, file: ReleaseFile, columns: Sequence[Stated], shown: Sequence[Shown]) -> Check:
    rows = [(SCHEMA, part.table) for part in shown]
    comments = {("main", part.view): part.comment for part in shown if part.comment is not None}
    return check_tables(file, [*rows, *frame.tables(columns)], [("main", part.view) for part in shown], comments)


def _kinds(part: Shown) -> dict[str, str]:
    return {str(c["name"]): str(c["type"]) for c in part.columns}
