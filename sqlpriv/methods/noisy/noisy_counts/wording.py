"""The guarantee of noisy counts in words: two sentences to say aloud, and what belongs to them, line by line."""

from __future__ import annotations

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.calibration import Meaning
from sqlpriv.methods.noisy.noisy_counts.mechanism import Guarantee, NoisyCountsMechanism, OneSidedByShares
from sqlpriv.methods.noisy.wording import SCOPE

_SIZE = "The number of rows, rounded up, is published: nothing is claimed of who is in the table at all."


def meaning_of(
    calls: Calls,
    mechanism: NoisyCountsMechanism,
    given: Guarantee,
    d: float,
    gamma: float,
    rows_each: int,
    *,
    reveals_size: bool,
) -> Meaning:
    """What a mechanism guarantees; of a person added or left out only where the number of rows is not revealed."""
    change = "" if reveals_size else f", and {given.added:.3g} when a person is added or left out"
    size = (_SIZE,) if reveals_size else ()
    if isinstance(mechanism, OneSidedByShares):
        promise, details = _by_shares(calls, mechanism, gamma)
        promise += f" with epsilon {given.replaced:.3g} when a person's row is replaced{change}."
        return Meaning(promise, (*details, *size, *SCOPE), given.factor, mechanism.by_value.factors)
    whose = "a person's row" if rows_each == 1 else f"a person, who has up to {rows_each} rows"
    others = "every other row" if rows_each == 1 else "the rows of everybody else"
    what = "a person's row is" if rows_each == 1 else "a person's rows are"
    promise = (
        f"Whoever believes a statement about {whose} with at most {d:.4g} believes it with at most "
        f"{gamma:g} after seeing this release, even when they know {others}. It is differential privacy with "
        f"epsilon {given.replaced:.3g} when {what} replaced{change}."
    )
    even = calls.row("posterior_bound", 0.5, given.factor)[0]
    any_belief = (
        f"Let L = {given.factor:.4g}. Any belief b becomes at most b L / (1 - b + b L) and at least "
        f"b / (b + (1 - b) L): one half becomes at most {even:.3g}."
    )
    families = "Rows of different persons that belong together (families) are not covered together."
    details = (any_belief, *size, SCOPE[0] if rows_each == 1 else families, *SCOPE[1:])
    return Meaning(promise, details, given.factor)


def _by_shares(calls: Calls, mechanism: OneSidedByShares, gamma: float) -> tuple[str, tuple[str, ...]]:
    """The guarantee where noise follows public shares, up to its epsilon; and what belongs to it."""
    noise = mechanism.by_value
    bare = noise.uncovered
    without = "" if not bare else ", its commonest left out," if bare == 1 else f", its {bare} commonest left out,"
    named = " or ".join(repr(name) for name in noise.others)
    others = f", or in one of {named} with as many times those of an even guess," if named else ""
    promise = (
        f"Whoever believes in a value of {noise.column!r}{without} with at most {noise.times:g} times the odds of "
        f"its public share{others} believes in it with at most {gamma:g} after seeing this release, even when they "
        "know everything else. It is differential privacy"
    )
    least, most = min(noise.factors), max(noise.factors)
    low, high = (calls.row("posterior_bound", 0.5, factor)[0] for factor in (least, most))
    return promise, (
        f"Any belief b in a value of {noise.column!r} becomes at most b L / (1 - b + b L). L is {least:.4g} for the "
        f"commonest value and {most:.4g} for the rarest: one half becomes at most {low:.3g} to {high:.3g}. For any "
        "other statement, and downwards, the largest L counts.",
        "An attacker who knows better than the public shares is bounded by these lines alone.",
    )
