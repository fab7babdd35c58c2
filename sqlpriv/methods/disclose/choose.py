"""The best choice of every record, as tables that a release is written from.

chosen   for each combination of the table: row, labels, depths, entries, loss, utility, gap
classed  every combination as a class of its own
boxes    its labels with their levels, as in generalized/boxes.py
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.attributes import RECORDS, Attributes, candidate_weights, fetch_risk, naming_attributes
from sqlpriv.methods.disclose.candidates import (
    CHOICE_COLUMNS,
    FULL_UTILITY,
    average_choice,
    choices_at,
    write_candidates,
    write_full_utility,
)
from sqlpriv.methods.disclose.entries import ENTRIES
from sqlpriv.methods.disclose.policy import RISK, DisclosePolicy
from sqlpriv.methods.generalized.axes import BoxScan
from sqlpriv.methods.generalized.boxes import Boxes
from sqlpriv.risk.coding import DisclosureProblem
from sqlpriv.risk.optimal import disclose_optimally
from sqlpriv.table.hierarchies import TOP

CHOSEN = "chosen"


@dataclass(frozen=True)
class Chosen:
    """Risk, utility and levels of the best choices, over all rows."""

    risk: float
    worst: float
    """The largest loss of a row."""
    utility: float
    whole: float
    """The utility if the table were disclosed as it is."""
    gap: float
    """The most by which a mean may fall short of the best one; 0 where each record keeps c."""
    unmatched: int
    """Rows without a consistent entry in the dictionary."""
    classes: int
    """The number of different published rows."""
    alone: int
    """Rows whose labels no other row has."""
    shares: dict[str, tuple[float, ...]]
    """For each attribute, the share of the rows that disclose it at each level, from the value to the top."""


def choose(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes) -> tuple[Boxes, Chosen]:
    """Every combination with its labels as a box, and their risk and utility.

    Section 4, equations (7), (8) and (9), for every record or for their mean.
    """
    write_full_utility(scan, attributes)
    if policy.goal == RISK and not policy.is_average:
        _refuse_too_much_utility(scan, policy.c)
    if policy.is_average or not policy.is_plain:
        write_candidates(scan, policy, attributes)
    if policy.is_average:
        chosen = average_choice(scan, policy, policy.c)
    elif not policy.is_plain:
        chosen = f"SELECT * EXCLUDE (c), 0e0 AS gap FROM ({choices_at(policy.goal, [policy.c])})"
    else:
        chosen = f"SELECT {CHOICE_COLUMNS}, 0e0 AS gap FROM {_write_optimal(scan, policy, attributes)}"
    fetch_risk(scan.source, attributes, f"CREATE OR REPLACE TABLE {CHOSEN} AS {chosen}")
    if fetch(scan.source.con, f"SELECT count(*) FROM {CHOSEN}")[0][0] < scan.combinations:
        raise PolicyError(f"for some records no choice has a loss of at most c = {policy.c:g}; take a larger c")
    boxes = chosen_boxes(scan)
    return boxes, summarize(scan, boxes)


def _refuse_too_much_utility(scan: BoxScan, c: float) -> None:
    """Refuse a utility that some row cannot have: a missing cell has none."""
    few, least = fetch(
        scan.source.con,
        f"SELECT sum(f.__priv_n) FILTER (m.utility < {c!r}), min(m.utility) FROM {FULL_UTILITY} AS m "
        f"JOIN {scan.frequencies} AS f ON m.number = f.rowid",
    )[0]
    if few:
        raise PolicyError(
            f"{few:,} of {scan.rows:,} rows have a utility below c = {c:g} even as they are; ask for at most {least:,} "
            'of every row, or for the mean: per = "average"'
        )


def _write_optimal(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes) -> Relation:
    """The best choice of every record, as `optimal_disclosure` finds it."""
    con, weights = scan.source.con, candidate_weights(policy, attributes)
    problem = DisclosureProblem(Relation(con, RECORDS), Relation(con, ENTRIES), weights, policy.form)
    with naming_attributes(attributes):
        return disclose_optimally(scan.source.scratch, problem, policy.goal, policy.c)


def chosen_boxes(scan: BoxScan) -> Boxes:
    """Every combination as a class of its own, with its labels and their levels."""
    assert scan.forest is not None
    scratch, top = scan.source.scratch, literal(TOP)
    classed = scratch.table(f"SELECT row, row AS class FROM {CHOSEN}", "classed")
    paths = scratch.table(f"SELECT DISTINCT axis, labels FROM {scan.forest.steps}", "chosen_paths")
    columns, joins = ["c.row AS class", "f.__priv_n AS rows"], []
    for axis in scan.axes:
        a, label = axis.number, f"c.labels[{axis.number + 1}]"
        # A label that is on two levels counts as the higher one.
        level = f"len(p{a}.labels) - list_position(list_reverse(p{a}.labels), {label})"
        columns += [f"NULL AS low{a}", f"NULL AS high{a}", f"{label} AS label{a}"]
        columns.append(f"CASE WHEN {label} = {top} THEN {axis.height} ELSE {level} END AS level{a}")
        joins.append(f" JOIN {paths} AS p{a} ON p{a}.axis = {a} AND r.a{a} IS NOT DISTINCT FROM p{a}.labels[1]")
    boxes = (
        f"SELECT {', '.join(columns)}, min(c.row) OVER (PARTITION BY c.labels) AS box FROM {CHOSEN} AS c "
        f"JOIN {scan.frequencies} AS f ON c.row = f.rowid JOIN {RECORDS} AS r ON c.row = r.number"
    )
    return Boxes(classed, scratch.table(boxes + "".join(joins), "boxes"))


def summarize(scan: BoxScan, boxes: Boxes) -> Chosen:
    """Risk, utility and levels of what was chosen."""
    con = scan.source.con
    numbers = ", ".join(inlined(f"_mean_of({value}, b.rows)") for value in ("c.loss", "c.utility", "m.utility"))
    ((risk, utility, most, worst, gap, unmatched),) = fetch(
        con,
        f"SELECT {numbers}, max(c.loss), max(c.gap), coalesce(sum(b.rows) FILTER (c.entries = 0), 0) FROM {CHOSEN} "
        f"AS c JOIN {boxes.relation} AS b ON c.row = b.class JOIN {FULL_UTILITY} AS m ON c.row = m.number",
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
