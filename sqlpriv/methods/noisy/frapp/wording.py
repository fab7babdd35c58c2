"""The guarantee of a FRAPP release in words."""

from __future__ import annotations

from sqlpriv.methods.noisy.wording import SCOPE

ROWS_ARE_PUBLIC = "frapp publishes as many rows as the table has, so their number is public"


def promise(d: float, gamma: float, epsilon: float) -> str:
    """The guarantee: two sentences to say aloud."""
    return (
        f"Whoever believes of a record, with at most {d:.4g}, that it is a certain tuple, believes so with at "
        f"most {gamma:g} after seeing this release, even when they know every other record. It is differential privacy "
        f"with epsilon {epsilon:.3g} when a record is replaced by another."
    )


def details(rows: int) -> tuple[str, ...]:
    """What belongs to the guarantee, line by line."""
    return (f"The number of rows, {rows:,}, is published: who is in the table at all is not hidden.", *SCOPE)
