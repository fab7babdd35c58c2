"""What is best: the three goals of the optimal disclosure, as an order of choices.

Choices are numbered so that of two that are worth the same the one with the smaller number is taken: smaller loss,
larger utility, smaller depths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sqlpriv.errors import InputError
from sqlpriv.macros.calls import Calls
from sqlpriv.risk.attributes import Depths
from sqlpriv.sqltext import literal

UTILITY, RISK, BOTH = "utility", "risk", "both"
_MOST_CHOICES = 20_000


@dataclass(frozen=True)
class Choice:
    """What may be disclosed of every record of one kind: a depth for each attribute."""

    number: int
    depths: Depths

    @property
    def utility(self) -> int:
        """The steps below the tops."""
        return sum(self.depths)


@dataclass(frozen=True)
class Goal:
    """One of the goals with its threshold, checked."""

    name: str
    limit: float
    """The most loss or the least utility, with the tolerance of all comparisons; what utility is worth."""
    balance: str
    """SQL text of what is least, over LOSS and UTILITY."""

    def choices(self, depths: Depths, first: int) -> list[Choice]:
        """All choices of records whose cells have these depths, best first where nothing else tells."""
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

    def kept(self, choice: Choice) -> bool:
        """Whether a choice may be taken, as far as can be told without its loss, which is 0 or more."""
        if self.name == UTILITY:
            return self.limit >= 0
        return self.name != RISK or choice.utility >= self.limit

    def worth(self, loss: str, choice: Choice) -> str:
        """SQL text of what is to be least, among choices of one rank."""
        return self.balance.replace("LOSS", loss).replace("UTILITY", str(choice.utility))

    def rank(self, choice: Choice) -> int:
        """What comes before the worth: a smaller rank is better, whatever it is worth."""
        return -choice.utility if self.name == UTILITY else 0

    def allowed(self, worth: str) -> str:
        """SQL text of whether something that is worth so much may be taken."""
        return f"{worth} <= CAST('{self.limit!r}' AS DOUBLE)" if self.name == UTILITY else f"{worth} IS NOT NULL"

    def ranks(self, choices: Sequence[Choice]) -> list[tuple[int, list[Choice]]]:
        """The choices by their ranks, best first."""
        found: dict[int, list[Choice]] = {}
        for choice in sorted(choices, key=lambda own: (self.rank(own), own.number)):
            found.setdefault(self.rank(choice), []).append(choice)
        return list(found.items())


def read_goal(calls: Calls, name: str, c: float | str) -> Goal:
    """The goal of that name, or the macro's own refusal."""
    given = literal(str(c)) if isinstance(c, str) else repr(c)
    calls.value(f"_better({literal(name)}, {given})")
    kind = name.lower()
    if kind == BOTH:
        worth = float(calls.value(f"_bar({given})"))
        # Where utility is worth nothing, the least loss is asked for, and of that the most utility.
        return (
            Goal(BOTH, worth, calls.value(f"_balance({given}, 'LOSS', 'UTILITY')"))
            if worth
            else Goal(RISK, 0.0, "LOSS")
        )
    limit = "_upper_limit" if kind == UTILITY else "_lower_limit"
    return Goal(kind, float(calls.value(f"{limit}({given})")), "LOSS")
