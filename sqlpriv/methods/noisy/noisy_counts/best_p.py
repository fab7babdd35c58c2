"""The p of noisy counts that is best for the owner's own questions: by the errors that their answers will have.

The private table gives these before any noise is drawn (noisy/questions.py), so that no p looks better by luck.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from sqlpriv.core.errors import SqlprivError
from sqlpriv.methods.noisy.noisy_counts.mechanism import OneSided, OneSidedByShares
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.questions import ask

_TRIED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_COARSE = _TRIED[1::2]


def best_p(plan: RandomizedPlan, queries: Sequence[str]) -> float | None:
    """The share of rows to keep; None where the one that sqlpriv chooses is best, or the policy leaves no choice."""
    mechanism = plan.calibration.mechanism
    if plan.policy.release["p"] is not None or isinstance(mechanism, OneSidedByShares):
        return None
    best, least = None, _error(plan, queries)
    if isinstance(mechanism, OneSided):
        chosen = mechanism.p
    else:
        errors = {p: _tried(plan, p, queries) for p in _COARSE}
        chosen = min(_COARSE, key=lambda p: errors[p])
        if errors[chosen] >= least:
            return None
        best, least = chosen, errors[chosen]
    # From there on, downwards and upwards, as long as it gets better: rows that are left out make errors larger on
    # the one side, and noise on the other.
    for way in ([p for p in reversed(_TRIED) if p < chosen], [p for p in _TRIED if p > chosen]):
        for p in way:
            error = _tried(plan, p, queries)
            if error >= least:
                break
            best, least = p, error
    return best


def _tried(plan: RandomizedPlan, p: float, queries: Sequence[str]) -> float:
    """The error with another p; infinite where none with it keeps the bound."""
    try:
        tried = plan.with_release({**plan.policy.release, "p": p})
    except SqlprivError:
        return math.inf
    return math.inf if tried.refusals() else _error(tried, queries)


def _error(plan: RandomizedPlan, queries: Sequence[str]) -> float:
    """The median over the questions of the standard error of an answer; in groups, of their mean."""
    found = []
    for asked in ask(plan, queries).content:
        errors = asked["standard_errors"] if "standard_errors" in asked else asked["median"]
        known = [error for error in errors if error is not None]
        found += [fmean(known)] if known else []
    return median(found) if found else 0.0
