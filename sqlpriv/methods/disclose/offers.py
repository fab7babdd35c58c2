"""All that is worth choosing: of every record, for each utility that it can have, the least loss.

disclose_most     number, utility of every record as it is
disclose_offers   row, labels, depths, entries, loss, utility

Whatever the goal, the best choice is among these: no other has less loss and as much utility. So they are found once,
and everything else is chosen from them: the forms that bound a mean, and what other thresholds than the policy's would
give.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.dictionary import PERSON, RECORDS, Attributes, all_offered, asked
from sqlpriv.methods.disclose.entries import holders
from sqlpriv.methods.disclose.minds import of_persons
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.sqltext import literal

OFFERS, MOST = "disclose_offers", "disclose_most"
_PRICED = "disclose_priced_offers"
CHOICE_COLUMNS = "record.number AS row, labels, depths, entries, loss, utility"
"""Of what the macros choose."""


def write_most(scan: BoxScan, attributes: Attributes) -> None:
    """Table disclose_most: the utility of every record as it is."""
    given = f"{literal(RECORDS)}, {literal([a.weighed for a in attributes])}"
    records = f"SELECT record.number AS number, utility FROM {scan.source.need('disclosure_utility')}({given})"
    asked(scan.source, attributes, f"CREATE OR REPLACE TABLE {MOST} AS {records}")


def write_offers(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes) -> None:
    """Table disclose_offers."""
    weights, form = literal(all_offered(policy, attributes)), literal(policy.form)
    persons = of_persons(policy)
    macro = scan.source.need("personal_disclosure_offers" if persons else "disclosure_offers")
    given = (
        f"{literal(RECORDS)}, {holders(policy)}, {weights}, {form}, {policy.psi!r}, {literal(policy.judge)}{persons}"
    )
    offers = f"SELECT {CHOICE_COLUMNS} FROM {macro}({given})"
    asked(scan.source, attributes, f"CREATE OR REPLACE TABLE {OFFERS} AS {offers}")


def choices_at(goal: str, thresholds: Sequence[float]) -> str:
    """A query for the choice of every record at each threshold c, each record by itself."""
    keeps = inlined(f"_offer_keeps({literal(goal)}, t.c, o.loss, o.utility, m.utility)")
    order = inlined(f"_offer_order({literal(goal)}, t.c, o.loss, o.utility)")
    values = ", ".join(f"({c!r}::DOUBLE)" for c in thresholds)
    return (
        f"SELECT c, unnest(best) FROM (SELECT t.c, arg_min(o, {order}) AS best FROM {OFFERS} AS o JOIN {MOST} AS m ON "
        f"o.row = m.number CROSS JOIN (VALUES {values}) AS t(c) WHERE {keeps} GROUP BY t.c, o.row)"
    )


def average_choice(scan: BoxScan, policy: DisclosePolicy, c: float) -> str:
    """A query for the choice of every record, as table chosen has it and with the gap, where their mean keeps c."""
    con = scan.source.con
    # Ties go by what records hold: numbers of rows are others in every run.
    cells = ", ".join([*(f"a{axis.number}" for axis in scan.axes), *([PERSON] if policy.person else [])])
    places = f"SELECT number, row_number() OVER (ORDER BY {cells}) AS place FROM {RECORDS}"
    fetch(
        con,
        f"CREATE OR REPLACE TABLE {_PRICED} AS SELECT p.place AS record, f.__priv_n AS copies, o.loss, o.utility, "
        f"o.row FROM {OFFERS} AS o JOIN {scan.frequencies} AS f ON o.row = f.rowid "
        f"JOIN ({places}) AS p ON o.row = p.number",
    )
    given = f"{literal(_PRICED)}, {literal(policy.goal)}, {c!r}"
    same = "p.record = a.record AND p.loss = a.loss AND p.utility = a.utility"
    return (
        f"SELECT o.*, a.gap FROM {scan.source.need('average_disclosure')}({given}) AS a JOIN {_PRICED} AS p ON {same} "
        f"JOIN {OFFERS} AS o ON p.row = o.row AND p.utility = o.utility"
    )
