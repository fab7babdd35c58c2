"""The candidates: for every record and each utility that it can have, the choice with the least loss.

disclose_full_utility   number, utility of every record if it is disclosed as it is
disclose_candidates     row, labels, depths, entries, loss, utility

Whatever the goal, the best choice is among them: no other has less loss and as much utility. So they are found once,
and the choices for a bounded mean and for other thresholds are taken from them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.attributes import PERSON, RECORDS, Attributes, candidate_weights, fetch_risk
from sqlpriv.methods.disclose.entries import dictionaries_argument
from sqlpriv.methods.disclose.personal_weights import person_arguments
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.generalized.points import BoxScan

CANDIDATES, FULL_UTILITY = "disclose_candidates", "disclose_full_utility"
_COUNTED = "disclose_counted_candidates"
CHOICE_COLUMNS = "record.number AS row, labels, depths, entries, loss, utility"
"""Of a choice of the macros, the columns of table disclose_candidates."""


def write_full_utility(scan: BoxScan, attributes: Attributes) -> None:
    """Write table disclose_full_utility."""
    given = f"{literal(RECORDS)}, {literal([a.as_weight for a in attributes])}"
    records = f"SELECT record.number AS number, utility FROM {scan.source.need('disclosure_utility')}({given})"
    fetch_risk(scan.source, attributes, f"CREATE OR REPLACE TABLE {FULL_UTILITY} AS {records}")


def write_candidates(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes) -> None:
    """Write table disclose_candidates."""
    weights, form = literal(candidate_weights(policy, attributes)), literal(policy.form)
    persons = person_arguments(policy)
    macro = scan.source.need("personal_disclosure_offers" if persons else "disclosure_offers")
    given = (
        f"{literal(RECORDS)}, {dictionaries_argument(policy)}, {weights}, {form}, "
        f"{policy.psi!r}, {literal(policy.judge)}{persons}"
    )
    candidates = f"SELECT {CHOICE_COLUMNS} FROM {macro}({given})"
    fetch_risk(scan.source, attributes, f"CREATE OR REPLACE TABLE {CANDIDATES} AS {candidates}")


def choices_at(goal: str, thresholds: Sequence[float]) -> str:
    """A query for the best choice of every record at each threshold c, where each record keeps c."""
    keeps = inlined(f"_offer_keeps({literal(goal)}, t.c, o.loss, o.utility, m.utility)")
    order = inlined(f"_offer_order({literal(goal)}, t.c, o.loss, o.utility)")
    values = ", ".join(f"({c!r}::DOUBLE)" for c in thresholds)
    return (
        f"SELECT c, unnest(best) FROM (SELECT t.c, arg_min(o, {order}) AS best FROM {CANDIDATES} AS o "
        f"JOIN {FULL_UTILITY} AS m ON "
        f"o.row = m.number CROSS JOIN (VALUES {values}) AS t(c) WHERE {keeps} GROUP BY t.c, o.row)"
    )


def average_choice(scan: BoxScan, policy: DisclosePolicy, c: float) -> str:
    """A query for the best choice of every record, with the gap, where the mean of the records keeps c."""
    con = scan.source.con
    # Ties are broken by the cells of records: row numbers differ from run to run.
    cells = ", ".join([*(f"a{axis.number}" for axis in scan.axes), *([PERSON] if policy.person else [])])
    places = f"SELECT number, row_number() OVER (ORDER BY {cells}) AS place FROM {RECORDS}"
    fetch(
        con,
        f"CREATE OR REPLACE TABLE {_COUNTED} AS SELECT p.place AS record, f.__priv_n AS copies, o.loss, o.utility, "
        f"o.row FROM {CANDIDATES} AS o JOIN {scan.frequencies} AS f ON o.row = f.rowid JOIN ({places}) AS p "
        "ON o.row = p.number",
    )
    given = f"{literal(_COUNTED)}, {literal(policy.goal)}, {c!r}"
    same = "p.record = a.record AND p.loss = a.loss AND p.utility = a.utility"
    return (
        f"SELECT o.*, a.gap FROM {scan.source.need('average_disclosure')}({given}) AS a JOIN {_COUNTED} AS p ON {same} "
        f"JOIN {CANDIDATES} AS o ON p.row = o.row AND p.utility = o.utility"
    )
