"""What is written last into a release of every method: the day, the public part of its policy, and the digests.

date     the day on which it was entered in the ledger
policy   the public part of the policy, as JSON
digest   of the rows of table published, whatever their order, with their weights
digests  a table of its own: of the other published rows, the domains and the public tables
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import duckdb

from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.facts import Line
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.policy.file import Declared, Policy, public_part
from sqlpriv.release.file import WRITTEN, ReleaseFile, write_digests
from sqlpriv.release.layout import TOGETHER, Contents
from sqlpriv.release.ledger.spent import Spent
from sqlpriv.table.fingerprint import rows_digest

_PUBLIC = ("domain", "public")


class Stamps(Declared, Protocol):
    """What stamping needs to know of a method."""

    def contents(self, file: ReleaseFile) -> Contents:
        """What the file holds."""


def stamp(
    con: duckdb.DuckDBPyConnection, path: Path, policy: Policy, method: Stamps, date: str, total: Spent | None = None
) -> None:
    """Write it into a file that is complete but for this. `total`: what all releases up to it cost together."""
    with attached(con, path, WRITTEN, write=True, error=ReleaseError):
        file = ReleaseFile(con, WRITTEN, path.name)
        part = public_part(policy, method, [str(c["name"]) for c in file.rows("attributes")])
        digest = rows_digest(con, file.table("published"))
        said = {"date": date, "policy": json.dumps(part), "digest": digest}
        # Without noise it is called by what is published alone: an ID made from the private table would let anyone
        # test a guess at it.
        said |= {} if "release" in file.about else {"release": digest}
        said |= {} if total is None else {TOGETHER: json.dumps(total.to_json())}
        rows = ", ".join(f"({literal(name)}, {literal(value)})" for name, value in said.items())
        fetch(con, f"INSERT INTO {file.table('about')} VALUES {rows}")
        write_digests(con, table_digests(file, method.contents(file)))


def table_digests(file: ReleaseFile, contents: Contents) -> dict[str, str]:
    """Digests of domains, what is below labels, public tables and other rows; times that read by zone have none."""
    wanted = [(schema, table) for schema, table in sorted(file.tables) if schema in _PUBLIC]
    wanted += [(t.schema, t.name) for t in (*contents.rows[1:], *(t for t in contents.tables if t.has_digest))]
    return {
        f"{schema}.{table}": rows_digest(file.con, quoted(file.catalog, schema, table))
        for schema, table in wanted
        if not any("TIME ZONE" in kind for kind in file.columns(schema, table).values())
    }


def stamped_line(file: ReleaseFile) -> Line:
    """Date and version, for people."""
    return Line(f"published on {file.about['date']} with sqlpriv {file.about['sqlpriv']}")


def declared_policy(file: ReleaseFile) -> Any:
    """The public part of the policy, as the file has it; None where it cannot be read."""
    try:
        return json.loads(file.about["policy"])
    except (KeyError, ValueError, RecursionError):
        return None
