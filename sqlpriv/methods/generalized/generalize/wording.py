"""The sentences of generalization: what a node costs and meets, how it was found, which requirement cannot be met."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import Grid, Line, Part, shown_number
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.generalized.evaluate import allowance
from sqlpriv.methods.generalized.generalize.node import Stars, reveals_values
from sqlpriv.methods.generalized.generalize.objectives import Objective
from sqlpriv.methods.generalized.generalize.search import SearchResult, ValidNode
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.generalized.wording import value_text
from sqlpriv.methods.generalized.write import NodeLabels
from sqlpriv.methods.lattice import Node, Outcome
from sqlpriv.table.engines.rows import COUNT

_FREQUENT = 5
"""A row is called frequent when it occurs so often."""


def node_lines(
    scan: Scan, best: ValidNode, objective: Objective, starred: Stars | None, worst: Mapping[str, float | None]
) -> list[Line]:
    """What a node costs, the fate of its suppressed rows, and the worst value of each requirement."""
    suppressed, rows = best.outcome.suppressed, scan.rows
    named = f"; {objective.name} {value_text(objective.shown(best.cost))}" if objective.name != "loss" else ""
    lines = [
        Line(
            f"{rows - suppressed:,} of {rows:,} rows in {best.outcome.classes:,} classes; {suppressed:,} "
            f"suppressed ({suppressed / rows:.2%}); loss {best.loss:.4f}{named}"
        )
    ]
    if starred is not None and starred.kept:
        lines.append(Line(f"The {suppressed:,} suppressed rows stay as one class, with * in every quasi-identifier."))
    elif starred is not None:
        lines.append(
            Line(
                f"The {suppressed:,} suppressed rows are left out although keep_suppressed is set: as one class with * "
                f"in every quasi-identifier they would fail {', '.join(starred.failing)}.",
                "warning",
            )
        )
    binned = [repr(q) for a, q in enumerate(scan.policy.qis) if reveals_values(scan, a)]
    if binned:
        lines.append(
            Line(
                f"Bins of {', '.join(binned)} end at values that published rows have, and reveal them; labels of your "
                "own would not.",
                "warning",
            )
        )
    return [*lines, *(Line(f"{text}  (is {value_text(value)})", "holds") for text, value in worst.items())]


def search_line(searched: SearchResult, bound: float | None) -> Line:
    """How the best node was found; `bound` is what an unseen node may reach, where the time was over."""
    proof = (
        "No node is better: this is the optimum."
        if searched.optimal
        else f"The time was over: an unseen node may reach {value_text(bound)}."
    )
    return Line(
        f"{searched.nodes_evaluated:,} of {searched.nodes_total:,} nodes looked at, "
        f"{searched.pruned_by_requirement:,} ruled out by a requirement, {searched.pruned_by_bound:,} by "
        f"their cost. {proof}"
    )


def frequent_rows(scan: Scan, shown: NodeLabels) -> Part:
    """Frequent rows before and after, quasi-identifiers only: for the owner, to see what generalization does."""
    qis, person = scan.policy.qis, scan.policy.person
    listed = ", ".join(map(quoted, qis))
    counted = f"count(DISTINCT {quoted(person)})" if person else f"sum({COUNT})"
    frequent = (
        f"SELECT {listed}, CAST({counted} AS BIGINT) AS {COUNT} FROM {scan.frequencies.relation.name} "
        f"GROUP BY {listed} HAVING {counted} >= {_FREQUENT} ORDER BY {COUNT} DESC, {listed} LIMIT 5"
    )
    before = ", ".join(f"CAST(t.{quoted(q)} AS VARCHAR)" for q in qis)
    after = ", ".join(f"l{a}.label" for a in range(len(qis)))
    joins = "".join(
        f" JOIN {shown.labels.name} AS l{a} ON l{a}.attribute = {a} "
        f"AND l{a}.value IS NOT DISTINCT FROM CAST(t.{quoted(q)} AS VARCHAR)"
        for a, q in enumerate(qis)
    )
    rows = fetch(
        scan.source.con,
        f"SELECT {before}, {after}, t.{COUNT} FROM ({frequent}) AS t{joins} "
        f"WHERE NOT ({shown.is_hidden()}) ORDER BY t.{COUNT} DESC, {before}",
    )
    if not rows:
        text = f"No values of {', '.join(qis)} occur {_FREQUENT} times together: there are no frequent rows to show."
        return Line(text, private=True)
    cells = []
    for row in rows:
        texts = ["NULL" if cell is None else str(cell) for cell in row[:-1]]
        cells.append((", ".join(texts[: len(qis)]), ", ".join(texts[len(qis) :]), row[-1]))
    headings = ("before", "after", "persons" if person else "rows")
    return Grid(headings, tuple(cells), title="frequent rows", folded=("before", "after"), private=True)


def unreachable(scan: Scan, measures: Sequence[ClassMeasure], searched: SearchResult) -> str:
    """Why no node was found. What fails at the top, where all rows are one class, is what really cannot be met."""
    top = searched.outcomes[scan.highest]
    failing = [m for m in measures if not m.holds(top) and _numbers(m, [top])]
    each = [f"{m.requirement.text} fails{_nearest(m, top, searched)}" for m in failing]
    left = "; more nodes were left when the time was over" if not searched.optimal else ""
    where = f"even at the top ({_listed(scan, scan.heights)}), where all {scan.rows:,} rows are one class,"
    if scan.highest != scan.heights:
        where = f"even at the highest levels that may be published ({_listed(scan, scan.highest)})"
    return f"no node meets the requirements: {where} {' and '.join(each)}{left}. Ask for less"


def not_met(scan: Scan, measures: Sequence[ClassMeasure], node: Node, outcome: Outcome) -> str:
    """Why the node that was asked for cannot be published."""
    failing = [m.requirement.text for m in measures if outcome.suppressed_by[m.number] > 0]
    failing += [m.requirement.text for m in measures if outcome.table_fails and not m.holds(outcome)]
    because = ", ".join(dict.fromkeys(failing))
    why = (
        f"{outcome.suppressed:,} of {scan.rows:,} rows would have to be suppressed because of {because}, and "
        f"{allowance(scan):,} may be"
        if outcome.suppressed
        else f"{because} fails, which is about all classes together"
    )
    return (
        f"the node {_listed(scan, node)} does not meet the policy: {why}. Take a higher node (`sqlpriv lattice` lists "
        "them), ask for less, or allow more suppression"
    )


def _nearest(measure: ClassMeasure, top: Outcome, searched: SearchResult) -> str:
    """The value that can be met, as a sentence: that of the top, unless another node that was seen comes nearer."""
    required = measure.requirement
    seen = _numbers(measure, [top, *searched.outcomes.values()])
    if required.operator.startswith(">"):
        return f": {shown_number(max(seen))} is the most that can be met"
    least = min(seen)
    if math.isinf(least):
        return ": no number can be met"
    strictly = "more than " if required.operator == "<" else ""
    return f": {strictly}{shown_number(least)} is the least that can be met"


def _numbers(measure: ClassMeasure, outcomes: Sequence[Outcome]) -> list[float]:
    """The values of a measure, but not where nothing is left that could have one."""
    values = [o.worst[measure.number] for o in outcomes]
    return [float(v) for v in values if v is not None and not math.isnan(v)]


def _listed(scan: Scan, node: Node) -> str:
    return ", ".join(f"{q}={level}" for q, level in zip(scan.policy.qis, node, strict=True))
