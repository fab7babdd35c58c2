"""The closed form of section 4.2, for comparison: which cells to disclose if attributes were independent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.attributes import RECORDS, Attributes, fetch_risk
from sqlpriv.methods.disclose.candidates import CANDIDATES
from sqlpriv.methods.disclose.entries import ENTRIES
from sqlpriv.methods.disclose.losses import risk_of_rows
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.generalized.points import BoxScan

_CHOSEN, _ROWS, _CHOSEN_CELLS = "disclose_independent", "disclose_independent_rows", "disclose_independent_cells"


@dataclass(frozen=True)
class Independent:
    """The closed form where k cells of every record are disclosed as they are, and no others."""

    k: int
    estimated: float
    """The risk by the closed form."""
    risk: float
    """The true risk of its choice."""
    exact: float
    """The least risk with as much utility of every record."""

    @property
    def content(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def independents(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes) -> tuple[Independent, ...]:
    """By the number of cells, while every record has so many. Reads table disclose_candidates."""
    found = []
    for k in range(1, len(attributes) + 1):
        try:
            found.append(_independent(scan, policy, attributes, k))
        except PolicyError:  # a record has fewer cells
            break
    return tuple(found)


def _independent(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes, k: int) -> Independent:
    source, con = scan.source, scan.source.con
    weights = literal([{**a.as_weight, "entry": a.as_candidate["entry"]} for a in attributes])
    given = f"{literal(RECORDS)}, {literal(ENTRIES)}, {weights}, {k}"
    chosen = f"SELECT record.number AS row, labels, loss FROM {source.need('independent_disclosure')}({given})"
    fetch_risk(source, attributes, f"CREATE OR REPLACE TABLE {_CHOSEN} AS {chosen}")
    cells = ", ".join(f"labels[{a.axis.number + 1}] AS a{a.axis.number}" for a in attributes)
    copies = f"(SELECT rowid AS row, unnest(range(__priv_n)) AS copy FROM {scan.frequencies}) AS f"
    fetch(con, f"CREATE OR REPLACE TABLE {_ROWS} AS SELECT {cells} FROM {_CHOSEN} AS t JOIN {copies} ON t.row = f.row")
    risk, _ = risk_of_rows(source, policy, attributes, _ROWS)
    listed = f"{literal(_CHOSEN_CELLS)}, {literal([a.as_weight for a in attributes])}"
    numbered = f"SELECT row, {cells} FROM {_CHOSEN}"
    fetch(con, f"CREATE OR REPLACE TABLE {_CHOSEN_CELLS} AS {numbered}")
    utilities = f"SELECT record.row AS row, utility FROM {source.need('disclosure_utility')}({listed})"
    least = (
        f"SELECT u.row, min(o.loss) AS loss FROM ({utilities}) AS u JOIN {CANDIDATES} AS o ON u.row = o.row AND "
        "o.utility >= u.utility GROUP BY u.row"
    )
    means = ", ".join(inlined(f"_mean_of({value}, f.__priv_n)") for value in ("t.loss", "l.loss"))
    ((estimated, exact),) = fetch_risk(
        source,
        attributes,
        f"SELECT {means} FROM {_CHOSEN} AS t JOIN ({least}) AS l ON t.row = l.row JOIN {scan.frequencies} AS f ON "
        "t.row = f.rowid",
    )
    return Independent(k, float(estimated), risk, float(exact))
