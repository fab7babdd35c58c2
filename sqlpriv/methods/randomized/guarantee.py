"""What a release promises, in sentences that a steward can sign and an adversary can read."""

from __future__ import annotations

from sqlpriv.methods.randomized.parameters import Plan
from sqlpriv.methods.randomized.policy import NoisePolicy

_SCOPE = (
    " A row is taken as independent of the others: rows that come in pairs by nature (couples, several visits of one "
    "person) are not covered together. The domains, the parameters and the numbers given here are public."
)


_SLOTS = (
    " Equal rows are told apart by {slots} slots, and the belief is about one of them: that a tuple occurs at all may "
    "be believed more where the view has it several times."
)


def guarantee(plan: Plan) -> str:
    """The guarantee of a plan, with its caveats."""
    return _promise(plan) + (_SLOTS.format(slots=plan.slots) if plan.slots > 1 else "") + _SCOPE


def _promise(plan: Plan) -> str:
    d, gamma = f"{plan.d:.4g}", f"{plan.gamma:g}"
    if plan.method == "frapp":
        return (
            f"Whoever believes of a record, with at most {d}, that it is a certain tuple, believes so with at most "
            f"{gamma} after seeing the release. The number of rows, {plan.rows:,}, is published."
        )
    believes = f"Whoever believes with at most {d} that a certain tuple is in the table"
    both = (
        f"believes so with at most {gamma} after seeing the release, and not with less than {plan.d / plan.gamma:.4g} "
        "times the belief before"
    )
    if plan.coins.rate is not None:
        return (
            f"An adversary whose beliefs in the tuples are independent and proportional to the shares stated in the "
            f"domains, at most {d} for the likeliest tuple, {both}. One who knows better than these shares is not "
            "covered."
        )
    if plan.views > 1:
        return (
            f"{believes}, the tuples being independent to them, {both}: after all {plan.views} views of the sequence "
            "together, whatever rows came and went between them. One who knows who is in the table is not covered."
        )
    if plan.adversary == "exclusive":
        return (
            f"{believes}, even when they know who is in the table and that each person has one tuple, believes so with "
            f"at most {gamma} after seeing the release. How far a belief may fall is not bounded."
        )
    known = (
        f" One who knows who is in the table may reach {plan.exclusive_posterior:.3g}."
        if plan.exclusive_posterior
        else ""
    )
    return f"{believes}, the tuples being independent to them, {both}.{known}"


def counts(policy: NoisePolicy) -> str:
    """What count(*) counts in a release."""
    return "distinct tuples" if policy.method == "alpha_beta" and policy.duplicates == "distinct" else "rows"
