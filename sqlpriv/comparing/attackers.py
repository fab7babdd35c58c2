"""What attackers have of a release: one word for what it protects against, and one scale for all methods."""

from __future__ import annotations

from sqlpriv.methods.labelled.posterior import largest_share
from sqlpriv.methods.method import Attacked, Method, Plan, Written
from sqlpriv.release.file import open_file

_LINKING = "linking"


def against(method: Method) -> str:
    """What a method protects against, in a word."""
    return method.against if isinstance(method, Attacked) else _LINKING


def worst_posterior(method: Method, plan: Plan, written: Written) -> float | None:
    """The worst belief of a linking attacker in a sensitive value; None where it cannot be told.

    A method says it, or the facts of its releases do. Where no coins are thrown and nothing is said, a release is
    classes of labels, and whoever finds a person's class believes in a value with its share there.
    """
    if isinstance(method, Attacked):
        return method.posterior(plan)
    found = plan.facts(written).content.get("posterior") if method.draws else None
    if isinstance(found, int | float) or method.draws:
        return None if found is None else float(found)
    with open_file(written.output) as file:
        return largest_share(file)
