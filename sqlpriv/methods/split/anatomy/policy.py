"""What a policy of Anatomy may say: one sensitive column, and how many of its values a group has."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlpriv.checks.measures import DISTINCT_L
from sqlpriv.methods.split.policy import BucketedPolicy
from sqlpriv.policy.keys import Fail

_WANTED = DISTINCT_L.name


@dataclass(frozen=True)
class AnatomyPolicy(BucketedPolicy):
    """A policy for Anatomy."""

    @property
    def wanted_l(self) -> int:
        """So many different values a group has at least."""
        return max(math.ceil(r.threshold) for r in self.requirements if r.name == _WANTED)

    def check(self, fail: Fail) -> None:
        """There is something to link by, one column to hide, and an l for it."""
        if not self.qis:
            raise fail("no column is a quasi-identifier, so there is nothing to keep apart from the values", "columns")
        if len(self.sensitive) != 1:
            what = "no column is sensitive" if not self.sensitive else f"{len(self.sensitive)} columns are sensitive"
            raise fail(
                f"{what}, and anatomy hides one: make one column of several in a view, drop the others, or publish by "
                "another method", "columns",
            )  # fmt: skip
        if not any(r.name == _WANTED and r.threshold > 1 for r in self.requirements):
            raise fail(
                "anatomy needs the number of different values in a group: write "
                f"{_WANTED} = {{ {self.sensitive[0]} = 4 }}", "require", _WANTED,
            )  # fmt: skip
        super().check(fail)
