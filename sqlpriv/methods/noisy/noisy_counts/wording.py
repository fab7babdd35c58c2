"""The guarantee of noisy counts in words: two sentences to say aloud, and what belongs to them, line by line."""

from __future__ import annotations

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.noisy_counts.mechanism import Guarantee, Shares
from sqlpriv.methods.noisy.wording import SCOPE

_SIZE = "The number of rows, rounded up, is published: nothing is claimed of who is in the table at all."


def promise(d: float, gamma: float, given: Guarantee, rows_each: int, *, reveals_size: bool) -> str:
    """The guarantee; of a person added or left out only where the number of rows is not revealed."""
    whose = "a person's row" if rows_each == 1 else f"a person, who has up to {rows_each} rows"
    others = "every other row" if rows_each == 1 else "the rows of everybody else"
    what = "a person's row is" if rows_each == 1 else "a person's rows are"
    change = "" if reveals_size else f", and {given.added:.3g} when a person is added or left out"
    return (
        f"Whoever believes a statement about {whose} with at most {d:.4g} believes it with at most "
        f"{gamma:g} after seeing this release, even when they know {others}. It is differential privacy with "
        f"epsilon {given.replaced:.3g} when {what} replaced{change}."
    )


def details(calls: Calls, given: Guarantee, rows_each: int, *, reveals_size: bool) -> tuple[str, ...]:
    """What belongs to the guarantee."""
    even = calls.row("posterior_bound", 0.5, given.factor)[0]
    together = (
        SCOPE[0]
        if rows_each == 1
        else "Rows of different persons that belong together (families) are not covered together."
    )
    return (
        f"Any belief b becomes at most b L / (1 - b + b L) and at least b / (b + (1 - b) L), with L = "
        f"{given.factor:.4g}: one half becomes at most {even:.3g}.",
        *((_SIZE,) if reveals_size else ()),
        together,
        *SCOPE[1:],
    )


def promise_by_shares(shares: Shares, gamma: float, given: Guarantee, *, reveals_size: bool) -> str:
    """The guarantee where noise follows public shares."""
    bare = shares.uncovered
    without = "" if not bare else ", its commonest left out," if bare == 1 else f", its {bare} commonest left out,"
    named = " or ".join(repr(name) for name in shares.others)
    others = f", or in one of {named} with as many times those of an even guess," if named else ""
    change = "" if reveals_size else f", and {given.added:.3g} when a person is added or left out"
    return (
        f"Whoever believes in a value of {shares.column!r}{without} with at most {shares.times:g} times the odds of "
        f"its public share{others} believes in it with at most {gamma:g} after seeing this release, even when they "
        f"know everything else. It is differential privacy with epsilon {given.replaced:.3g} when a person's row is "
        f"replaced{change}."
    )


def details_by_shares(calls: Calls, shares: Shares, *, reveals_size: bool) -> tuple[str, ...]:
    """What belongs to the guarantee where noise follows public shares."""
    least, most = min(shares.factors), max(shares.factors)
    low, high = (calls.row("posterior_bound", 0.5, factor)[0] for factor in (least, most))
    return (
        f"Any belief b in a value of {shares.column!r} becomes at most b L / (1 - b + b L), with L from {least:.4g} "
        f"for the commonest to {most:.4g} for the rarest: one half becomes at most {low:.3g} to {high:.3g}. Of any "
        "other statement, and downwards, L is the largest.",
        "An attacker who knows better than the public shares is bounded by these lines alone.",
        *((_SIZE,) if reveals_size else ()),
        *SCOPE,
    )
