"""The three goals of the optimal disclosure, as an order of choices.

A goal ranks choices, and within a rank minimizes a score. Ties go to the choice with the smaller number: choices are
numbered by smaller loss, larger utility, smaller depths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls
from sqlpriv.risk.coding import Depths

UTILITY, RISK, BOTH = "utility", "risk", "both"
_MOST_CHOICES = 20_000


@dataclass(frozen=True)
class Choice:
    """A depth for each attribute, which may be disclosed of the records of a group."""

    number: int
    depths: Depths

    @property
    def utility(self) -> int:
        """The steps below the tops."""
        return sum(self.depths)


@dataclass(frozen=True)
class Goal:
    """One of the three goals with its threshold."""

    name: str
    limit: float
    """The largest loss or the smallest utility, with the tolerance of all comparisons; or the price of utility."""
    balance: str
    """SQL of the score to minimize, over LOSS and UTILITY."""

    def choices(self, depths: Depths, first: int) -> list[Choice]:
        """All choices of records whose cells have these depths, numbered from `first` in the order of ties."""
        number = prod(most + 1 for most in depths)
        if number > _MOST_CHOICES:
            raise InputError(
                f"a record has {number:,} choices, and {_MOST_CHOICES:,} are tried at most; name fewer attributes, or "
                "leave levels out of their hierarchies"
            )
        found: list[Depths] = [()]
        for most in depths:
            found = [(*own, depth) for own in found for depth in range(most + 1)]
        sign = 1 if self.name == BOTH else -1
        found.sort(key=lambda own: (sign * sum(own), own))
        return [Choice(first + place, own) for place, own in enumerate(found)]

    def may_take(self, choice: Choice) -> bool:
        """Whether a choice may be taken, judged without its loss, which is at least 0."""
        if self.name == UTILITY:
            return self.limit >= 0
        return self.name != RISK or choice.utility >= self.limit

    def score(self, loss: str, choice: Choice) -> str:
        """SQL of the score of a choice: within a rank, the smallest is best."""
        return self.balance.replace("LOSS", loss).replace("UTILITY", str(choice.utility))

    def rank(self, choice: Choice) -> int:
        """The rank of a choice: a smaller rank is better, whatever the score."""
        return -choice.utility if self.name == UTILITY else 0

    def allowed(self, score: str) -> str:
        """SQL of whether a choice with this score may be taken."""
        return f"{score} <= CAST('{self.limit!r}' AS DOUBLE)" if self.name == UTILITY else f"{score} IS NOT NULL"

    def ranks(self, choices: Sequence[Choice]) -> list[tuple[int, list[Choice]]]:
        """The choices by rank, best first."""
        found: dict[int, list[Choice]] = {}
        for choice in sorted(choices, key=lambda own: (self.rank(own), own.number)):
            found.setdefault(self.rank(choice), []).append(choice)
        return list(found.items())


def read_goal(calls: Calls, name: str, c: float | str) -> Goal:
    """The goal of a name with its threshold c; the macro refuses what is none."""
    given = literal(str(c)) if isinstance(c, str) else repr(c)
    calls.value(f"_better({literal(name)}, {given})")
    kind = name.lower()
    if kind == BOTH:
        price = float(calls.value(f"_bar({given})"))
        # Where utility has no value, the goal is the least loss, and among equal losses the most utility.
        return (
            Goal(BOTH, price, calls.value(f"_balance({given}, 'LOSS', 'UTILITY')"))
            if price
            else Goal(RISK, 0.0, "LOSS")
        )
    limit = "_upper_limit" if kind == UTILITY else "_lower_limit"
    return Goal(kind, float(calls.value(f"{limit}({given})")), "LOSS")
