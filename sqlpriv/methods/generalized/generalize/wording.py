"""The sentences of generalization: the facts of a plan, and which requirement cannot be met."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.core.facts import shown_number
from sqlpriv.methods.generalized.evaluate import allowance
from sqlpriv.methods.generalized.generalize.search import Searched
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.lattice import Node, Outcome


def unreachable(scan: Scan, measures: Sequence[ClassMeasure], answer: Searched) -> str:
    """Why no node was found. What fails at the top, where all rows are one class, is what really cannot be met."""
    top = answer.seen[scan.heights]
    failing = [m for m in measures if not holds(m, top) and _numbers(m, [top])]
    each = [f"{m.requirement.text} fails{_nearest(m, top, answer)}" for m in failing]
    left = "; more nodes were left when the time was over" if not answer.optimal else ""
    where = f"even at the top ({_listed(scan, scan.heights)}), where all {scan.rows:,} rows are one class,"
    return f"no node meets the requirements: {where} {' and '.join(each)}{left}. Ask for less"


def not_met(scan: Scan, measures: Sequence[ClassMeasure], node: Node, outcome: Outcome) -> str:
    """Why the node that was asked for cannot be published."""
    failing = [m.requirement.text for m in measures if outcome.suppressed_by[m.number] > 0]
    failing += [m.requirement.text for m in measures if outcome.table_fails and not holds(m, outcome)]
    return (
        f"the node {_listed(scan, node)} does not meet the policy: {outcome.suppressed:,} of {scan.rows:,} rows would "
        f"have to be suppressed because of {', '.join(dict.fromkeys(failing))}, and {allowance(scan):,} may be. "
        "Take a higher node (`sqlpriv lattice` lists them), ask for less, or allow more suppression"
    )


def holds(measure: ClassMeasure, outcome: Outcome) -> bool:
    """Whether a requirement holds at a node with nothing suppressed."""
    value = outcome.worst[measure.number]
    return value is None or measure.requirement.holds(float(value))


def _nearest(measure: ClassMeasure, top: Outcome, answer: Searched) -> str:
    """The value that can be met, as a sentence: that of the top, unless another node that was seen comes nearer."""
    required = measure.requirement
    seen = _numbers(measure, [top, *answer.seen.values()])
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
