"""What a policy of a FRAPP release may say: its bound. Records are randomized one by one, equal or not."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.methods.noisy.policy import ADVERSARY, BOUND, RandomizedPolicy
from sqlpriv.policy.keys import Fail

OPTIONS = (*BOUND, ADVERSARY)


@dataclass(frozen=True)
class FrappPolicy(RandomizedPolicy):
    """A policy of a FRAPP release."""

    def check(self, fail: Fail) -> None:
        """Records go anywhere with the same probability."""
        super().check(fail)
        dropping = [c.name for c in self.published if c.outside == "drop"]
        if dropping:
            raise fail(
                f"frapp reveals the number of rows, and so whether a row was dropped by {dropping[0]!r}; write "
                'outside = "other", widen the domain, or leave the rows out before', "columns", dropping[0], "outside",
            )  # fmt: skip
        if self.has_source:
            name = next(c.name for c in self.published if c.share is not None)
            raise fail(
                "noise that follows shares is for noisy_counts and one view of alpha_beta", "columns", name, "share"
            )
