"""All that is worth choosing: of every record, for each utility that it can have, the least loss.

disclose_offers   row, labels, depths, entries, loss, utility

Whatever the goal, the best choice is among these: no other has less loss and as much utility. So they are found once,
by asking for the least loss with a utility of at least 0, 1, 2, ..., and everything else is chosen from them: the forms
that bound a mean, and what other thresholds than the policy's would give.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlpriv.engine import fetch
from sqlpriv.methods.disclose.dictionary import RECORDS, Attributes, asked
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.scan import FREQUENCIES
from sqlpriv.sqltext import literal

OFFERS, MOST = "disclose_offers", "disclose_most"
_SOME, _PRICED = "disclose_some", "disclose_priced_offers"
Optimal = Callable[[str, str, float], str]
"""A query for the best choices of a table of records, by a goal and its c."""


def write_most(scan: BoxScan, attributes: Attributes) -> None:
    """Table disclose_most: the utility of every record as it is."""
    given = f"{literal(RECORDS)}, {literal([a.weighed for a in attributes])}"
    records = f"SELECT record.number AS number, utility FROM {scan.source.need('disclosure_utility')}({given})"
    asked(scan.source, attributes, f"CREATE OR REPLACE TABLE {MOST} AS {records}")


def write_offers(scan: BoxScan, attributes: Attributes, optimal: Optimal) -> None:
    """Table disclose_offers; table disclose_most is there."""
    con = scan.source.con
    steps = int(fetch(con, f"SELECT max(utility) FROM {MOST}")[0][0])
    for step in range(steps + 1):
        # A record without so much to tell has no choice that keeps it.
        records = f"SELECT r.* FROM {RECORDS} AS r JOIN {MOST} AS m ON r.number = m.number WHERE m.utility >= {step}"
        fetch(con, f"CREATE OR REPLACE TABLE {_SOME} AS {records}")
        into = f"INSERT INTO {OFFERS}" if step else f"CREATE OR REPLACE TABLE {OFFERS} AS"
        known = f" EXCEPT FROM {OFFERS}" if step else ""
        asked(scan.source, attributes, f"{into} {optimal(_SOME, 'risk', step)}{known}")


def average_choice(scan: BoxScan, policy: DisclosePolicy, c: float) -> str:
    """A query for the choice of every record, as table chosen has it and with the gap, where their mean keeps c."""
    fetch(
        scan.source.con,
        f"CREATE OR REPLACE TABLE {_PRICED} AS SELECT o.row AS record, f.__priv_n AS copies, o.loss, o.utility FROM "
        f"{OFFERS} AS o JOIN {FREQUENCIES} AS f ON o.row = f.rowid",
    )
    given = f"{literal(_PRICED)}, {literal(policy.goal)}, {c!r}"
    return (
        f"SELECT o.*, a.gap FROM {OFFERS} AS o JOIN {scan.source.need('average_disclosure')}({given}) AS a ON "
        "o.row = a.record AND o.loss = a.loss AND o.utility = a.utility"
    )
