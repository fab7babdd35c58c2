"""The guarantee of an alpha-beta release in words."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.methods.noisy.wording import SCOPE


@dataclass(frozen=True)
class Promised:
    """What the words of a guarantee depend on."""

    d: float
    prior: float
    """That of an element: a tuple in a slot."""
    gamma: float
    adversary: str
    slots: int
    views: int
    has_source: bool
    exclusive_posterior: float
    retained: float
    """What is left of a belief at the least, where the tuples are independent, after one view."""


def promise(given: Promised) -> str:
    """Two sentences to say aloud."""
    element = "a certain tuple is in the table" if given.slots == 1 else "a certain slot of a tuple is taken"
    who = f"Whoever believes with at most {given.prior:.4g} that {element}"
    if given.has_source:
        who = (
            "An adversary whose beliefs in the tuples are independent and proportional to the shares stated in the "
            f"domains, at most {given.prior:.4g} for the likeliest {'tuple' if given.slots == 1 else 'slot of a tuple'}"
        )
    elif given.adversary == "exclusive":
        who += ", even when they know who is in the table and that each person has one tuple"
    else:
        who += ", the tuples being independent to them"
    after = "this release" if given.views == 1 else f"all {given.views} views of the sequence"
    return f"{who}, believes so with at most {given.gamma:g} after seeing {after}. {_second(given)}"


def _second(given: Promised) -> str:
    if given.slots > 1:
        return (
            f"That a tuple occurs at all, or is a certain person's, may be believed more: the view shows how many of "
            f"its {given.slots} slots seem taken."
        )
    if given.adversary == "exclusive":
        return "How far a belief may fall is not bounded."
    return f"A belief does not fall below {_left(given):.4g} of what it was."


def _left(given: Promised) -> float:
    """In a sequence it is the bound that its noise is calibrated to."""
    return given.retained if given.views == 1 else given.prior / given.gamma


def details(given: Promised) -> tuple[str, ...]:
    """What belongs to the guarantee, line by line."""
    lines = []
    if given.slots > 1:
        lines.append(
            f"Equal rows are distinguished by {given.slots} slots; a belief of {given.d:.4g} in a tuple spreads over "
            "them."
        )
    if given.has_source:
        lines.append("An attacker who knows better than the shares is not covered.")
    if given.views > 1:
        lines.append("Rows may come and go between the views as they will.")
    if given.adversary == "independent":
        known = given.exclusive_posterior
        may_reach = f"may reach {known:.3g} by one view" if known and given.views == 1 else "is not covered"
        lines.append(f"An attacker who knows who is in the table {may_reach}.")
        if given.slots > 1:
            lines.append(f"A belief in a slot does not fall below {_left(given):.3g} of what it was.")
    return (*lines, *SCOPE)
