"""Sums over a sample of which rare classes are suppressed: what of each is seen at least, and may be there at most.

Every row of the table was sampled with a known probability, so how many sampled rows meet a condition is a binomial
number. It is not known exactly: labels may stand for leaves that meet the condition and others that do not, and
suppressed rows are not seen. But it lies between two numbers for certain, and confidence limits rise with it: the lower
limit at the smaller one and the upper limit at the larger one hold at least as often as they should.
"""

from __future__ import annotations

from math import inf

from sqlpriv.rewrite.estimate.hard_sums import HardSums
from sqlpriv.rewrite.estimate.sampled_classes import MOST, SampledClasses, kind_of
from sqlpriv.rewrite.estimate.windowed import NoBoundsError


class SampledSums(HardSums):
    """The sums of one answer, with what is known of the sampled rows behind each."""

    classes = SampledClasses

    @property
    def is_closed(self) -> bool:
        """Whether all classes that could be there are known."""
        return self.release.sampling is not None and self.release.sampling.is_closed

    def counts_single_rows(self, i: int) -> bool:
        """Whether a row of the table adds 1, or nothing."""
        return self.is_count(i) and not self.joins.multiply

    def seen(self, i: int, part: str, side: str) -> str:
        """What sampled rows add to a part of a sum at least, or at most; or the most that one of them adds."""
        if not self.is_windowed(i):
            return self._column(kind_of(part, side), i)
        terms, frame = self.parts_of(i)
        ((j, coefficient),) = terms.items() if len(terms) == 1 else [(-1, "")]
        # Only frames that no empty group changes are those of the true answer, which has no empty groups.
        if coefficient != "1" or frame.start != -inf or frame.end < 0 or not self.is_closed:
            raise NoBoundsError
        return self.window_column(f"{'max' if side == MOST else 'sum'}({self.seen(j, part, side)}) {frame.sql()}")

    def may_be_negative(self, i: int) -> bool:
        """Whether a row may add less than nothing."""
        return not self.counts_rows(i) and not self.never_below_zero(i)
