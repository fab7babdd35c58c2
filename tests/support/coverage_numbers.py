"""What is asked of many releases, and what they said about one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Asked:
    """A query: what is estimated, by name, of the rows where a condition holds, in groups."""

    estimates: dict[str, str]
    where: str = "true"
    groups: tuple[str, ...] = ()

    def sql(self, table: str = "people") -> str:
        """The query about a table."""
        listed = ", ".join([*self.groups, *(f"{text} AS {name}" for name, text in self.estimates.items())])
        grouped = f" GROUP BY {', '.join(self.groups)}" if self.groups else ""
        return f"SELECT {listed} FROM {table} WHERE {self.where}{grouped}"

    def rows(self, source: str, counted: str) -> str:
        """A count of the rows it is about."""
        return replace(self, estimates={"counted": counted}).sql(source)


@dataclass
class Found:
    """What the releases said about one number."""

    name: str
    series: str
    """The same for all groups of a query."""
    truth: float | None
    expected_rows: float
    is_ratio: bool = False
    surely_above_zero: bool = False
    answers: list[tuple[float | None, float | None, float | None]] = field(default_factory=list)

    @property
    def errors(self) -> list[float]:
        """Estimates minus the truth."""
        return [a[0] - self.truth for a in self.answers if a[0] is not None and self.truth is not None]

    @property
    def bias(self) -> float:
        """The mean error, in its standard errors."""
        return in_standard_errors(self.errors)

    @property
    def has_bias(self) -> bool:
        """Whether the mean error is nearly normal, and 0 for unbiased estimates: not of few rows, or a ratio to few."""
        if self.is_ratio and not self.surely_above_zero:
            return False
        enough = 500 if self.name.startswith("count") else 30 * len(self.answers)
        return len(self.answers) >= 400 and self.expected_rows * len(self.answers) >= enough

    @property
    def is_known(self) -> bool:
        """Whether all releases say the truth itself: FRAPP keeps the number of rows."""
        return all(abs(e) <= 1e-6 * max(1.0, abs(self.truth or 0.0)) for e in self.errors)

    @property
    def unbounded(self) -> int:
        """Intervals without bounds: they exclude nothing."""
        return sum(a[1] is None for a in self.answers)

    @property
    def bounded(self) -> int:
        """Intervals with bounds."""
        return len(self.answers) - self.unbounded

    @property
    def covered(self) -> int:
        """Intervals with bounds that hold the truth."""
        assert self.truth is not None
        slack = 1e-9 * max(1.0, abs(self.truth))
        return sum(
            low - slack <= self.truth <= high + slack
            for _, low, high in self.answers
            if low is not None and high is not None
        )


def in_standard_errors(errors: Sequence[float]) -> float:
    """The mean, in its standard errors."""
    mean = math.fsum(errors) / len(errors)
    spread = math.sqrt(math.fsum((e - mean) ** 2 for e in errors) / (len(errors) - 1))
    return mean / (spread / math.sqrt(len(errors))) if spread > 1e-9 * max(1.0, abs(mean)) else 0.0


def is_sum(text: str) -> bool:
    """Whether it is 0 without rows; else it is a ratio, and unknown."""
    return not text.startswith("avg") and "/" not in text
