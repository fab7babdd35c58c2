"""The earlier views of a sequence, read from their releases: table __earlier, their elements.

A release of a sequence holds its own view and the union of those before, so the last one is enough. That it is the
right one is checked by the ledger: a view built on other views would not keep the guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.noisy.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.noisy.tuples import Elements
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.ledger import Entry
from sqlpriv.table.domains import NumberedColumn
from sqlpriv.table.source import Source

_FILE = "earlier_release"


def read_earlier(
    source: Source,
    policy: AlphaBetaPolicy,
    attributes: Sequence[NumberedColumn],
    elements: Elements,
    entries: Sequence[Entry],
) -> None:
    """Table __earlier, from the release of the last entry: a file the policy names, or one beside the output."""
    last = entries[-1]
    table = policy.table
    beside = table.path(policy.output).parent if policy.output else table.folder
    candidates = [table.path(name) for name in policy.earlier] or [beside / last.output]
    for path in candidates:
        if path.is_file() and _holds(source, path, last):
            _read(source, path, attributes, elements)
            return
    raise ReleaseError(
        f"view {last.view} of the sequence, published as {last.output!r}, is needed for the next one and is not among "
        "the files given; name it in earlier = [...]"
    )


def _holds(source: Source, path: Path, entry: Entry) -> bool:
    """Whether the file is the release that the ledger knows."""
    with attached(source.con, path, _FILE, error=ReleaseError):
        file = ReleaseFile(source.con, _FILE, path.name)
        return file.about.get("release") == entry.coins


def _read(source: Source, path: Path, attributes: Sequence[NumberedColumn], elements: Elements) -> None:
    with attached(source.con, path, _FILE, error=ReleaseError):
        lost = write_earlier(source, f"{_FILE}.{SCHEMA}.published", attributes, elements)
    if lost:
        raise ReleaseError(
            f"{path.name!r} holds rows outside the domains of the policy; it is not a view of this sequence"
        )


def write_earlier(source: Source, published: str, attributes: Sequence[NumberedColumn], elements: Elements) -> int:
    """Table __earlier, from the published rows of a view; the number of rows that are outside the domains."""
    joins = " ".join(
        f"JOIN {a.table} AS d{i} ON d{i}.value IS NOT DISTINCT FROM p.{quoted(a.name)}"
        for i, a in enumerate(attributes)
    )
    ids = [*(f"d{i}.id" for i in range(len(attributes))), "p.__slot - 1"]
    limbs = ", ".join(f"{n} AS {e}" for n, e in zip(elements.number(ids), elements.columns, strict=True))
    fetch(source.con, f"CREATE OR REPLACE TABLE __earlier AS SELECT {limbs} FROM {published} AS p {joins}")
    lost = fetch(source.con, f"SELECT (SELECT count(*) FROM {published}) - (SELECT count(*) FROM __earlier)")[0][0]
    return int(lost)
