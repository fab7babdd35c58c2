"""Exact beliefs about a tiny randomized table: every instance, every view, Bayes' rule.

A table of m elements is a set of bits, 2^m instances and 2^m views. The coins of a view are independent, so the matrix
of Pr(view | instance) is a Kronecker product of one 2 x 2 matrix for each element.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
HAIR = 1e-9


def bits(number: int) -> Matrix:
    """All instances of that many elements, one a row, in the order of `likelihoods`."""
    return np.array(list(product((0.0, 1.0), repeat=number)))


def likelihoods(coins: Iterable[tuple[float, float]]) -> Matrix:
    """Pr(view | instance), a row for each view; of each element the chance to be kept and to be added."""
    whole = np.ones((1, 1))
    for kept, added in coins:
        whole = np.kron(whole, np.array([[1 - added, 1 - kept], [added, kept]]))
    return whole


def independent(priors: Sequence[float]) -> Matrix:
    """Pr(instance) for elements that are there independently."""
    return np.prod(np.where(bits(len(priors)) > 0, priors, 1 - np.array(priors)), axis=1)


def exclusive(groups: Sequence[Sequence[float]]) -> Matrix:
    """Pr(instance) when exactly one element of each group is there, with these priors; groups are independent."""
    whole = np.ones(1)
    for group in groups:
        ones = bits(len(group)).sum(axis=1) == 1
        alone = np.where(ones, bits(len(group)) @ np.array(group), 0.0)
        whole = np.kron(whole, alone)
    return whole


def posteriors(likely: Matrix, instances: Matrix, event: Matrix) -> Matrix:
    """Pr(event | view) of the views that can be; one column for each column of the event."""
    seen = likely @ instances
    possible = seen > 0
    return ((likely @ (instances[:, None] * event))[possible].T / seen[possible]).T


def assert_private(likely: Matrix, instances: Matrix, d: float, gamma: float, negative: bool) -> float:
    """Definition 2.3 for every view and every element with a prior of at most d; gives the largest posterior."""
    events = bits(int(np.log2(len(instances))))
    priors = instances @ events
    asked = (priors > 0) & (priors <= d * (1 + HAIR))
    after = posteriors(likely, instances, events)[:, asked]
    assert after.max() <= gamma * (1 + HAIR), (after.max(), d, gamma)
    if negative:
        assert (after / priors[asked]).min() >= d / gamma * (1 - HAIR)
    return float(after.max())


def largest(likely: Matrix, instances: Matrix, event: Matrix | None = None) -> float:
    """The largest belief that some view gives in an element, or in one of the given events."""
    events = bits(int(np.log2(len(instances)))) if event is None else event
    return float(posteriors(likely, instances, events).max())
