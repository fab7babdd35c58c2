"""What every command returns: facts, once as data for machines and once as parts for people.

`content` is the JSON, by names that stay. `parts` are what a person reads, in their order: lines and grids of plain
values, which the terminal (showing/terminal.py) and later HTML only render. Nobody prints anything on the way.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

OnProgress = Callable[[float], None] | None
"""Called with the share of a long piece of work that is done, from 0 to 1; None where nobody watches."""


@dataclass(frozen=True)
class Line:
    """A sentence, or a few. `mark` is a word in front of it that is set off: holds, FAILS, claims, warning."""

    text: str
    mark: str = ""
    quiet: bool = False


@dataclass(frozen=True)
class Grid:
    """A table: headings (none: a list of names and values), rows of plain values, what stands above and below it.

    Columns whose values are wide are folded; all others stay whole. `marked` are the numbers of rows to set off.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    title: str = ""
    caption: str = ""
    folded: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    marked: tuple[int, ...] = ()


Part = Line | Grid


@dataclass(frozen=True)
class Facts:
    """What a command found or did."""

    title: str
    content: Any
    """By name, or a list of such."""
    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()
    passed: bool = True
    """False where something that was required fails: the exit code 1."""

    def to_json(self) -> str:
        """The facts for machines: infinity as 'inf', no key that depends on who reads it."""
        return json.dumps(plain(self.content), indent=2, ensure_ascii=False, default=str)


def plain(value: Any) -> Any:
    """What JSON can hold: an infinite number is 'inf', one that is none is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def shown_number(value: float) -> str:
    """A number for people: whole ones in full, others with four digits.

    >>> shown_number(24000.0), shown_number(0.123456), shown_number(math.inf)
    ('24,000', '0.1235', 'inf')
    """
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e15 else f"{value:.4g}"
