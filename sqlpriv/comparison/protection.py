"""What a policy promises of a belief: the one number by which a policy for one method becomes one for another.

The number is gamma: what an attacker who knows the quasi-identifiers of a person may come to believe, at most, of a
sensitive value. Randomized methods state it. Requirements promise it where they bound the share of a value in a class;
where they do not, it is assumed, and said aloud.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sqlpriv.checks.measures import ALPHA, DISTINCT_L
from sqlpriv.checks.requirements import Requirement
from sqlpriv.macros.catalog import inlined
from sqlpriv.macros.expand import constant_value
from sqlpriv.policy.file import Policy
from sqlpriv.policy.require import make_requirement

GAMMA = "gamma"
ASSUMED = 0.5


@dataclass(frozen=True)
class Protection:
    """The bound of a belief, where it comes from, and whether the policy states it or it is assumed."""

    gamma: float
    said: str
    assumed: bool = False


def declared_protection(policy: Policy) -> Protection:
    """What the policy promises, by its gamma or by what it requires."""
    if policy.release.get(GAMMA) is not None:
        gamma = float(policy.release[GAMMA])
        return Protection(gamma, f"gamma = {gamma:g}, as the policy states it")
    promised = [(share, r) for r in policy.requirements for share in _promised(r)]
    if promised:
        gamma, requirement = min(promised, key=lambda found: found[0])
        return Protection(gamma, f"gamma = {gamma:.6g}, which {requirement.text} promises")
    # A number of values in a class, of which each is taken to be equally likely.
    counted = [r for r in policy.requirements if r.measure.needs_sensitive and r.measure.at_most_size]
    diverse = [r for r in counted if r.threshold > 1]
    if diverse:
        most = max(diverse, key=lambda r: r.threshold)
        gamma = 1 / most.threshold
        return Protection(gamma, f"gamma = {gamma:.6g}, one in l: assumed, {most.text} bounds no belief", True)
    return Protection(ASSUMED, f"gamma = {ASSUMED:g}: assumed, the policy bounds no belief", True)


def _promised(requirement: Requirement) -> Iterator[float]:
    """The largest share of a value in a class that a requirement allows, if it bounds it below 1."""
    measure = requirement.measure
    if not measure.largest_share:
        return
    given = {**measure.defaults, **requirement.arguments, "threshold": f"CAST('{requirement.threshold!r}' AS DOUBLE)"}
    share = float(str(constant_value(inlined(measure.largest_share.format(**given)))))
    if 0 < share < 1:
        yield share


def required_by(protection: Protection, sensitive: tuple[str, ...]) -> tuple[Requirement, ...]:
    """The same promise as requirements: no value has a larger share of a class, and so a class has several values."""
    values = math.ceil(1 / protection.gamma - 1e-9)
    return tuple(
        made
        for column in sensitive
        for made in (
            make_requirement(ALPHA.name, column, {}, protection.gamma),
            make_requirement(DISTINCT_L.name, column, {}, values),
        )
    )
