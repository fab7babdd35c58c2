"""The guarantee of an alpha-beta release in words: two sentences to say aloud, and what belongs to them."""

from __future__ import annotations

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.alpha_beta.mechanism import ByShares, Uniform
from sqlpriv.methods.noisy.calibration import Meaning
from sqlpriv.methods.noisy.wording import SCOPE


def prior_of_element(calls: Calls, adversary: str, d: float, slots: int) -> float:
    """The prior bound of one element.

    An attacker who knows that each person has one tuple has its prior spread over the slots; to others the slots of a
    tuple exclude each other, which takes a little more noise.
    """
    return d if slots == 1 else float(calls.row("alpha_beta_slot_prior", d, slots, adversary)[0])


def meaning_of(
    calls: Calls, mechanism: Uniform, least_noise: float, d: float, gamma: float, adversary: str, views: int
) -> Meaning:
    """What a mechanism guarantees; `least_noise` is that of the rarest tuple, `views` are those of the sequence.

    Its factor is by how much the view may change odds for one who knows everybody else.
    """
    slots, by_shares, is_exclusive = mechanism.slots, isinstance(mechanism, ByShares), adversary == "exclusive"
    prior = prior_of_element(calls, adversary, d, slots)
    worth = calls.row("alpha_beta_guarantee", prior, gamma, mechanism.alpha, mechanism.beta)
    known, retained = worth[3:5]
    # What is left of a belief at the least, where the tuples are independent; in a sequence it is the bound that its
    # noise is calibrated to.
    left = retained if views == 1 else prior / gamma

    element = "a certain tuple is in the table" if slots == 1 else "a certain slot of a tuple is taken"
    who = f"Whoever believes with at most {prior:.4g} that {element}"
    if by_shares:
        who = (
            "An adversary whose beliefs in the tuples are independent and proportional to the shares declared in the "
            f"domains, at most {prior:.4g} for the likeliest {'tuple' if slots == 1 else 'slot of a tuple'}"
        )
    elif is_exclusive:
        who += ", even when they know who is in the table and that each person has one tuple"
    else:
        who += ", the tuples being independent to them"
    after = "this release" if views == 1 else f"all {views} views of the sequence"
    if slots > 1:
        second = (
            f"That a tuple occurs at all, or is a certain person's, may be believed more: the view shows how many of "
            f"its {slots} slots seem taken."
        )
    elif is_exclusive:
        second = "How far a belief may fall is not bounded."
    else:
        second = f"A belief does not fall below {left:.4g} of what it was."

    details = []
    if slots > 1:
        details.append(
            f"Equal rows are distinguished by {slots} slots; a belief of {d:.4g} in a tuple spreads over them."
        )
    if by_shares:
        details.append("An attacker who knows better than the shares is not covered.")
    if views > 1:
        details.append("Rows may come and go between the views as they will.")
    if not is_exclusive:
        may_reach = f"may reach {known:.3g} by one view" if known and views == 1 else "is not covered"
        details.append(f"An attacker who knows who is in the table {may_reach}.")
        if slots > 1:
            details.append(f"A belief in a slot does not fall below {left:.3g} of what it was.")
    factor = calls.row("linking_factor", mechanism.alpha, least_noise, mechanism.beta, mechanism.persists, views)[0]
    promise = f"{who}, believes so with at most {gamma:g} after seeing {after}. {second}"
    return Meaning(promise, (*details, *SCOPE), float(factor))
