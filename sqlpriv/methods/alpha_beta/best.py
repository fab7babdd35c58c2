"""The p of a bag that is best for the owner's own questions: by the errors that their answers will have.

These are told by the private table before any coin falls (randomized/questions.py), so that no p looks better by the
luck of its coins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, median

from sqlpriv.errors import SqlprivError
from sqlpriv.methods.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.randomized.plan import RandomizedPlan
from sqlpriv.methods.randomized.questions import ask
from sqlpriv.methods.randomized.weights import Expected

_TRIED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_COARSE = _TRIED[1::2]


def best_p(
    plan: RandomizedPlan, expected: Callable[[RandomizedPlan], Expected], queries: Sequence[str]
) -> float | None:
    """The share of rows to keep; None where the one that sqlpriv chooses is best, or the policy leaves no choice."""
    policy = plan.policy
    assert isinstance(policy, AlphaBetaPolicy)
    if not policy.is_bag or policy.p is not None or plan.terms.by_value is not None:
        return None
    best, least = None, _error(plan, expected, queries)
    chosen = plan.terms.coins.get("p")
    if chosen is None:  # a bag of another kind
        errors = {p: _tried(plan, p, expected, queries) for p in _COARSE}
        chosen = min(_COARSE, key=lambda p: errors[p])
        if errors[chosen] >= least:
            return None
        best, least = chosen, errors[chosen]
    # From there on, downwards and upwards, as long as it gets better: rows that are thrown away make errors larger on
    # the one side, and noise on the other.
    for way in ([p for p in reversed(_TRIED) if p < chosen], [p for p in _TRIED if p > chosen]):
        for p in way:
            error = _tried(plan, p, expected, queries)
            if error >= least:
                break
            best, least = p, error
    return best


def _tried(
    plan: RandomizedPlan, p: float, expected: Callable[[RandomizedPlan], Expected], queries: Sequence[str]
) -> float:
    """The error with another p; infinite where no such bag keeps the bound."""
    try:
        tried = plan.with_release({**plan.policy.release, "p": p})
    except SqlprivError:
        return math.inf
    return math.inf if tried.refusals() else _error(tried, expected, queries)


def _error(plan: RandomizedPlan, expected: Callable[[RandomizedPlan], Expected], queries: Sequence[str]) -> float:
    """The median over the questions of the standard error of an answer; in groups, of their mean."""
    found = []
    for asked in ask(plan, expected(plan), queries).content:
        told = asked["standard_errors"] if "standard_errors" in asked else asked["median"]
        known = [error for error in told if error is not None]
        found += [fmean(known)] if known else []
    return median(found) if found else 0.0
