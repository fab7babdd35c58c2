"""The p of noisy counts for a workload: looked for from the one that is there on, by the errors of answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sqlpriv.methods import METHODS
from sqlpriv.methods.noisy.noisy_counts import plan as best
from sqlpriv.methods.noisy.noisy_counts.mechanism import OneSided, Signed
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.policy.file import Policy, parse_policy

pytestmark = pytest.mark.one_version

TEXT = """[table]
source = "people.csv"
[columns]
ward = { role = "sensitive", domain = ["a", "b", "c", "d"] }
[release]
method = "noisy_counts"
gamma = 0.6
"""


@dataclass(frozen=True)
class Plan:
    """A plan whose mechanism is known, and that keeps its bound up to some p."""

    policy: Policy
    mechanism: OneSided | Signed
    most: float = 1.0

    @property
    def calibration(self) -> Any:
        return SimpleNamespace(mechanism=self.mechanism)

    @property
    def p(self) -> float | None:
        return self.mechanism.p if isinstance(self.mechanism, OneSided) else None

    def with_release(self, release: dict[str, Any]) -> Plan:
        return replace(self, mechanism=OneSided(release["p"], 0.1))

    def refusals(self) -> list[str]:
        return ["too much noise"] if self.p is not None and self.p > self.most else []


def found(
    monkeypatch: pytest.MonkeyPatch, p: float | None, error: Callable[[float], float], most: float = 1.0
) -> tuple[float | None, list[float]]:
    """The p that is best, and all that were looked at."""
    seen: list[float] = []

    def error_of(plan: Plan, *_: Any) -> float:
        seen.append(math.nan if plan.p is None else plan.p)
        return 1.0 if plan.p is None else error(plan.p)

    monkeypatch.setattr(best, "_error", error_of)
    plan = Plan(parse_policy(TEXT, Path(), METHODS), Signed(0.5) if p is None else OneSided(p, 0.1), most)
    return best.best_p(cast("RandomizedPlan", plan), []), seen


@pytest.mark.parametrize(("least", "expected"), [(0.14, 0.1), (0.45, None), (0.52, 0.5), (0.83, 0.8), (1.0, 0.9)])
def test_it_goes_down_and_up_from_the_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch, least: float, expected: float | None
) -> None:
    p, seen = found(monkeypatch, 0.45, lambda p: abs(p - least))
    assert p == expected
    assert len(seen) <= 7


def test_one_that_is_best_already_costs_two_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, 0.45, lambda p: (p - 0.45) ** 2) == (None, [0.45, 0.4, 0.5])


def test_without_a_p_every_other_one_is_tried_and_the_best_made_finer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signed noise has none: a large p may be worse than it, and a smaller one better."""
    p, seen = found(monkeypatch, None, lambda p: abs(p - 0.22) if p < 0.6 else 5.0)
    assert (p, seen[1:]) == (0.2, [0.1, 0.3, 0.5, 0.7, 0.9, 0.2, 0.1, 0.4])
    p, seen = found(monkeypatch, None, lambda p: 1 + p)
    assert (p, seen[1:]) == (None, [0.1, 0.3, 0.5, 0.7, 0.9])


def test_what_keeps_no_bound_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, 0.45, lambda p: 1 - p, most=0.65) == (0.6, [0.45, 0.4, 0.5, 0.6])
