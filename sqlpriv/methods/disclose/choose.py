"""The best level of every cell, as tables that boxes are written from.

chosen   each combination of the table: row, labels, depths, entries, loss, utility, gap
classed  every combination is a class of its own
boxes    its labels with their levels, as labelled/boxes.py has them
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.dictionary import RECORDS, Attributes, all_offered, asked, by_their_names
from sqlpriv.methods.disclose.entries import ENTRIES
from sqlpriv.methods.disclose.offers import CHOICE_COLUMNS, MOST, average_choice, choices_at, write_most, write_offers
from sqlpriv.methods.disclose.policy import RISK, DisclosePolicy
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.boxes import Boxes
from sqlpriv.risk.attributes import Question
from sqlpriv.risk.optimal import disclose_optimally
from sqlpriv.sqltext import literal
from sqlpriv.table.hierarchies import TOP

CHOSEN, _BEST = "chosen", "disclose_best"


@dataclass(frozen=True)
class Chosen:
    """What the best choices come to, over all rows."""

    risk: float
    worst: float
    """The largest loss of a row."""
    utility: float
    whole: float
    """The utility of the table as it is."""
    gap: float
    """By how much a mean may fall short of the best there is; 0 where every record is judged by itself."""
    unmatched: int
    """Rows that fit no entry of the dictionary."""
    classes: int
    """How many different rows a reader sees, by their labels."""
    alone: int
    """Rows whose labels no other row has."""
    shares: dict[str, tuple[float, ...]]
    """Of each attribute, the share of the rows that disclose it on each level, from the value to the top."""


def choose(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes) -> tuple[Boxes, Chosen]:
    """Every combination with its labels as a box, and what they come to.

    Section 4, equations (7), (8) and (9), for every record or for their mean.
    """
    write_most(scan, attributes)
    if policy.goal == RISK and not policy.is_average:
        _refuse_more_than_there_is(scan, policy.c)
    if policy.is_average or not policy.is_plain:
        write_offers(scan, policy, attributes)
    if policy.is_average:
        chosen = average_choice(scan, policy, policy.c)
    elif not policy.is_plain:
        chosen = f"SELECT * EXCLUDE (c), 0e0 AS gap FROM ({choices_at(policy.goal, [policy.c])})"
    else:
        chosen = f"SELECT {CHOICE_COLUMNS}, 0e0 AS gap FROM {_write_optimal(scan, policy, attributes)}"
    asked(scan.source, attributes, f"CREATE OR REPLACE TABLE {CHOSEN} AS {chosen}")
    if fetch(scan.source.con, f"SELECT count(*) FROM {CHOSEN}")[0][0] < scan.combinations:
        raise PolicyError(f"there are records for which no choice has a loss of at most c = {policy.c:g}; ask for less")
    boxes = chosen_boxes(scan)
    return boxes, come_to(scan, boxes)


def _refuse_more_than_there_is(scan: BoxScan, c: float) -> None:
    """A missing cell tells nothing, so a row may have less to tell than c."""
    few, least = fetch(
        scan.source.con,
        f"SELECT sum(f.__priv_n) FILTER (m.utility < {c!r}), min(m.utility) FROM {MOST} AS m "
        f"JOIN {scan.frequencies} AS f ON m.number = f.rowid",
    )[0]
    if few:
        raise PolicyError(
            f"{few:,} of {scan.rows:,} rows have a utility below c = {c:g} even as they are; ask for at most {least:,} "
            'of every row, or for the mean: per = "average"'
        )


def _write_optimal(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes) -> str:
    """The table of the best choice of every record by itself: what `optimal_disclosure` answers, in steps."""
    question = Question(RECORDS, ENTRIES, all_offered(policy, attributes), policy.form)
    fetch(scan.source.con, f"DROP TABLE IF EXISTS {_BEST}")
    with by_their_names(attributes):
        disclose_optimally(scan.source.con, _BEST, question, policy.goal, policy.c)
    return _BEST


def chosen_boxes(scan: BoxScan) -> Boxes:
    """Every combination as a class of its own, with its labels and their levels."""
    assert scan.forest is not None
    scratch, top = scan.source.scratch, literal(TOP)
    classed = scratch.table(f"SELECT row, row AS class FROM {CHOSEN}", "classed")
    paths = scratch.table(f"SELECT DISTINCT axis, labels FROM {scan.forest.steps}", "chosen_paths")
    columns, joins = ["c.row AS class", "f.__priv_n AS rows"], []
    for axis in scan.axes:
        a, label = axis.number, f"c.labels[{axis.number + 1}]"
        # A label that stands on two levels is one: its place is the higher one.
        level = f"len(p{a}.labels) - list_position(list_reverse(p{a}.labels), {label})"
        columns += [f"NULL AS low{a}", f"NULL AS high{a}", f"{label} AS label{a}"]
        columns.append(f"CASE WHEN {label} = {top} THEN {axis.height} ELSE {level} END AS level{a}")
        joins.append(f" JOIN {paths} AS p{a} ON p{a}.axis = {a} AND r.a{a} IS NOT DISTINCT FROM p{a}.labels[1]")
    boxes = (
        f"SELECT {', '.join(columns)}, min(c.row) OVER (PARTITION BY c.labels) AS box FROM {CHOSEN} AS c "
        f"JOIN {scan.frequencies} AS f ON c.row = f.rowid JOIN {RECORDS} AS r ON c.row = r.number"
    )
    return Boxes(classed, scratch.table(boxes + "".join(joins), "boxes"))


def come_to(scan: BoxScan, boxes: Boxes) -> Chosen:
    """What the choices come to."""
    con = scan.source.con
    numbers = ", ".join(inlined(f"_mean_of({value}, b.rows)") for value in ("c.loss", "c.utility", "m.utility"))
    ((risk, utility, most, worst, gap, unmatched),) = fetch(
        con,
        f"SELECT {numbers}, max(c.loss), max(c.gap), coalesce(sum(b.rows) FILTER (c.entries = 0), 0) FROM {CHOSEN} "
        f"AS c JOIN {boxes.relation} AS b ON c.row = b.class JOIN {MOST} AS m ON c.row = m.number",
    )
    of_box = f"SELECT sum(rows) AS rows FROM {boxes.relation} GROUP BY box"
    ((classes, alone),) = fetch(con, f"SELECT count(*), count(*) FILTER (rows = 1) FROM ({of_box})")
    shares = {}
    for axis in scan.axes:
        share = inlined(f"_share_of(sum(rows) FILTER (level{axis.number} = l.level), sum(rows))")
        levels = f"(SELECT unnest(range({axis.height} + 1)) AS level) AS l"
        found = fetch(con, f"SELECT l.level, {share} FROM {boxes.relation} CROSS JOIN {levels} GROUP BY 1 ORDER BY 1")
        shares[axis.column] = tuple(float(s) for _, s in found)
    return Chosen(
        float(risk),
        float(worst),
        float(utility),
        float(most),
        float(gap),
        int(unmatched),
        int(classes),
        int(alone),
        shares,
    )
