"""The summands of an answer, each kept once, and the moments that are their products.

Products are kept as moments: which expressions are multiplied and which filters hold. Moments that come out the same,
as for counts, are summed once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.rewrite.estimate.aggregates import Summand
from sqlpriv.rewrite.estimate.multiplying import Copies
from sqlpriv.rewrite.estimate.texts import Texts

Moment: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The expressions that are multiplied, and the filters that hold, as texts over the view."""


@dataclass(frozen=True)
class Kept:
    """A summand as texts over the view."""

    factors: tuple[str, ...]
    filters: tuple[str, ...]
    once: bool = False
    """Whether a row of the private table counts once, however many joined rows it has: asked for its variance only."""


@dataclass
class Summands:
    """Numbers the summands of one answer, and knows the expression behind each text."""

    texts: Texts
    _kept: list[Kept] = field(default_factory=list)
    _nodes: dict[str, exp.Expr] = field(default_factory=dict)

    def __getitem__(self, i: int) -> Kept:
        return self._kept[i]

    def add(self, summand: Summand) -> int:
        """The number of a summand; equal ones have the same."""
        factors = (self._text(summand.expression),) if summand.expression is not None else ()
        return self.number(Kept(factors, tuple(sorted({self._text(f) for f in summand.filters}))))

    def number(self, kept: Kept) -> int:
        """As `add`, of a summand as texts."""
        if kept not in self._kept:
            self._kept.append(kept)
        return self._kept.index(kept)

    def _text(self, node: exp.Expr) -> str:
        text = self.texts.over_view(node)
        self._nodes.setdefault(text, node)
        return text

    def node(self, text: str) -> exp.Expr:
        """The expression of a kept text."""
        return self._nodes[text]

    def product(self, numbers: tuple[int, ...]) -> Moment:
        """The product of summands that are all about the same joined rows."""
        kept = [self._kept[i] for i in numbers]
        factors = sorted(f for k in kept for f in k.factors)
        return tuple(factors), tuple(sorted({f for k in kept for f in k.filters}))

    def moment(self, numbers: tuple[int, ...], copies: Copies) -> Moment:
        """The product of summands, each about its own copies."""
        placed = list(enumerate(self._kept[i] for i in numbers))
        factors = [self._about(text, copies, place) for place, kept in placed for text in kept.factors]
        filters = {self._about(text, copies, place) for place, kept in placed for text in kept.filters}
        return tuple(sorted(factors)), tuple(sorted(filters))

    def _about(self, text: str, copies: Copies, place: int) -> str:
        node = copies.renamed(self._nodes[text], place)
        return text if node is self._nodes[text] else self._text(node)
