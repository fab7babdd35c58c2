"""All attacks on one table or release, one after the other; each says what it found, or why it does not apply."""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.attacks import classes, intersection, learned, linking, minimality, noise, range_ends
from sqlpriv.attacks.findings import AttackFinding, AttackReport, NotRun
from sqlpriv.attacks.target import AttackOptions, Inputs, Target, open_target
from sqlpriv.checks.verdict import Verdict, judge
from sqlpriv.core.facts import OnProgress
from sqlpriv.publishing import file_evidence, method_of

_QUICK = 0.2
"""About the share of the time that all attacks but minimality take."""


def run_attacks(given: Inputs, options: AttackOptions, on_progress: OnProgress = None) -> AttackReport:
    """Open what is attacked, and run every attack on it, in the order of the lecture."""
    rest: OnProgress = None if on_progress is None else lambda done: on_progress(_QUICK + (1 - _QUICK) * done)
    with open_target(given) as target:
        found: list[AttackFinding | NotRun] = [
            *classes.attack(target, options),
            *learned.attack(target),
            *linking.attack(target, options),
            *noise.attack(target),
            *intersection.attack(target),
            *range_ends.attack(target),
        ]
        if on_progress:
            on_progress(_QUICK)
        found += minimality.attack(target, options, rest)
        return AttackReport(
            target.name,
            None if target.method is None else target.method.name,
            target.counts_persons,
            target.source is not None or target.private is not None,
            tuple(found),
            _verdict(target, found),
        )


def _verdict(target: Target, found: Sequence[AttackFinding | NotRun]) -> Verdict:
    """Whether what is attacked may go out: by itself, and by what attacks found."""
    evidence = [e for finding in found if isinstance(finding, AttackFinding) for e in finding.evidence]
    for file in target.files:
        evidence += file_evidence(method_of(file), file, target.policy, target.private)
    if target.rows is not None:
        evidence += target.rows.evidence()
    return judge(evidence)
