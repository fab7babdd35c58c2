"""The population of k-map, presence and journalist risk, by the same numbers as the table.

A value or label that the table does not have gets no number: its people are in no class of the table, and only those
classes are judged.
"""

from __future__ import annotations

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.scan import Scan, number_rows
from sqlpriv.sqltext import folded, quoted
from sqlpriv.table.named_tables import read_named


def write_population(scan: Scan, i: int, name: str) -> None:
    """Table population_<i>: columns a<attribute> as in the base, holder with a person column, n."""
    source, policy = scan.source, scan.policy
    table = read_named(source, name, f"people_{i}")
    present = {folded(r[0]) for r in fetch(source.con, f"DESCRIBE {table}")}
    missing = [c for c in [*policy.qis, *filter(None, [policy.person])] if folded(c) not in present]
    if missing:
        raise PolicyError(f"the population {name!r} has no column {', '.join(repr(m) for m in missing)}")
    listed = " UNION ".join(
        f"SELECT {a} AS attribute, CAST({quoted(qi)} AS VARCHAR) AS value FROM {table}"
        for a, qi in enumerate(policy.qis)
    )
    for a, uncovered in sorted(fetch(source.con, inlined(f"FROM _uncovered(({listed}), leaves)"))):
        raise PolicyError(
            f"hierarchy of {policy.qis[a]!r}, level 0: {uncovered} value(s) of the population are not in it"
        )
    columns = [f"l{a}.numbers AS a{a}" for a in range(len(policy.qis))]
    columns += [f"t.{quoted(policy.person)} AS holder"] if policy.person else []
    grouped = ", ".join([f"a{a}" for a in range(len(policy.qis))] + (["holder"] if policy.person else []))
    rows = number_rows(policy, table, ", ".join(columns))
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE population_{i} AS SELECT {grouped}, count(*) AS n FROM ({rows}) GROUP BY ALL",
    )
