"""The closed form of section 4.2, told beside what is exact: which cells to tell if attributes were independent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.dictionary import RECORDS, Attributes, asked
from sqlpriv.methods.disclose.entries import ENTRIES
from sqlpriv.methods.disclose.offers import OFFERS
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.disclose.priced import priced
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.sqltext import literal

_TOLD, _ROWS, _TOLD_CELLS = "disclose_independent", "disclose_independent_rows", "disclose_independent_cells"


@dataclass(frozen=True)
class Independent:
    """What the closed form gives where k cells of every record are told as they are, and no others."""

    k: int
    estimated: float
    """The risk that it says."""
    risk: float
    """The risk that its choice has."""
    exact: float
    """The least risk with as much utility of every record."""

    @property
    def content(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def independents(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes) -> tuple[Independent, ...]:
    """By the number of cells, as far as every record has so many; table disclose_offers is there."""
    found = []
    for k in range(1, len(attributes) + 1):
        try:
            found.append(_independent(scan, policy, attributes, k))
        except PolicyError:  # a record has fewer cells
            break
    return tuple(found)


def _independent(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes, k: int) -> Independent:
    source, con = scan.source, scan.source.con
    weights = literal([{**a.weighed, "entry": a.offered["entry"]} for a in attributes])
    given = f"{literal(RECORDS)}, {literal(ENTRIES)}, {weights}, {k}"
    told = f"SELECT record.number AS row, labels, loss FROM {source.need('independent_disclosure')}({given})"
    asked(source, attributes, f"CREATE OR REPLACE TABLE {_TOLD} AS {told}")
    cells = ", ".join(f"labels[{a.axis.number + 1}] AS a{a.axis.number}" for a in attributes)
    copies = f"(SELECT rowid AS row, unnest(range(__priv_n)) AS copy FROM {scan.frequencies}) AS f"
    fetch(con, f"CREATE OR REPLACE TABLE {_ROWS} AS SELECT {cells} FROM {_TOLD} AS t JOIN {copies} ON t.row = f.row")
    risk, _ = priced(source, policy, attributes, _ROWS)
    listed = f"{literal(_TOLD_CELLS)}, {literal([a.weighed for a in attributes])}"
    numbered = f"SELECT row, {cells} FROM {_TOLD}"
    fetch(con, f"CREATE OR REPLACE TABLE {_TOLD_CELLS} AS {numbered}")
    utilities = f"SELECT record.row AS row, utility FROM {source.need('disclosure_utility')}({listed})"
    least = (
        f"SELECT u.row, min(o.loss) AS loss FROM ({utilities}) AS u JOIN {OFFERS} AS o ON u.row = o.row AND "
        "o.utility >= u.utility GROUP BY u.row"
    )
    means = ", ".join(inlined(f"_mean_of({value}, f.__priv_n)") for value in ("t.loss", "l.loss"))
    ((estimated, exact),) = asked(
        source,
        attributes,
        f"SELECT {means} FROM {_TOLD} AS t JOIN ({least}) AS l ON t.row = l.row JOIN {scan.frequencies} AS f ON "
        "t.row = f.rowid",
    )
    return Independent(k, float(estimated), risk, float(exact))
