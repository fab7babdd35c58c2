"""What a policy of Mondrian may say: where cuts come from."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.methods.labelled.box_policy import CUTS, BoxPolicy
from sqlpriv.policy.keys import FLAG, Fail, Key, Keys

OPTIONS: Keys = (
    CUTS,
    Key("strict", FLAG, "that rows of one value are never parted; the only way there is", True),
)


@dataclass(frozen=True)
class MondrianPolicy(BoxPolicy):
    """A policy for Mondrian."""

    def check(self, fail: Fail) -> None:
        """Beside what all boxes need: cuts are strict."""
        super().check(fail)
        if not self.release["strict"]:
            raise fail(
                "strict = false, cuts that part rows of one value, is not there: boxes would overlap, and an equal "
                "value would no longer be found in one place; leave it out",
                "release",
                "strict",
            )
