"""What a policy of Mondrian may say in [release]."""

from __future__ import annotations

from typing import Any

from sqlpriv.methods.generalized.box_policy import CUTS
from sqlpriv.policy.keys import Key, Keys, Kind


def _only_true(value: Any) -> bool | None:
    return True if value is True else None


OPTIONS: Keys = (
    CUTS,
    Key(
        "strict",
        Kind("true", _only_true, _only_true),
        "that rows of one value are never parted: the only way there is",
        True,
        complaint="strict must be true: cuts that part rows of one value are not there, since boxes would overlap",
    ),
)
