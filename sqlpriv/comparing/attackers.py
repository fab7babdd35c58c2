"""What attackers have of a release: one word for what it protects against, and one attacker for all methods.

The attacker is the linking one of docs/promise.md: knows the quasi-identifiers of a person, and that the person is in
the table; knows nothing of the others in particular; and beforehand finds no value of this person more than so many
times as likely, in odds, as of anybody. In a class or a bucket, whose other rows may be anybody's, such a belief in a
value becomes so many times the odds of its share there. A bound that holds whatever is known of others, by noise or by
a sample, holds for this attacker, too.
"""

from __future__ import annotations

from sqlpriv.engine import fetch
from sqlpriv.methods.labelled.posterior import largest_share
from sqlpriv.methods.method import Attacked, Method, Plan, Searches, Written
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.sqltext import quoted

_LINKING = "linking"
_TIMES = "times"
_OF_CLASSES = "knows the quasi-identifiers, nothing of others in particular, and not how the classes were found"
_CHOICE = "what the choice of the classes itself tells, for which the sensitive values were read"
TWICE = 2.0
"""How many times the odds, where the policy does not say it."""


def against(method: Method) -> str:
    """What a method protects against, in a word."""
    return method.against if isinstance(method, Attacked) else _LINKING


def times_of(policy: Policy) -> float:
    """By how much the attacker of all methods is ahead of an even guess."""
    return float(policy.release[_TIMES]) if _TIMES in policy.written else TWICE


def holds_of(method: Method) -> str:
    """Of whom the posterior is, in words that follow "of one who"."""
    return method.posterior_holds if isinstance(method, Attacked) else _OF_CLASSES


def leaves_out(method: Method, policy: Policy, tuned: bool) -> str | None:
    """What the posterior does not count, in words that follow "it leaves out": classes found by sensitive values.

    A requirement may read them, and so may questions that classes are tuned to.
    """
    if isinstance(method, Attacked) or method.draws:
        return None
    required = any(r.measure.needs_sensitive for r in policy.requirements)
    by_values = method.looks_at_values(policy) if isinstance(method, Searches) else required
    return _CHOICE if by_values or tuned else None


def worst_posterior(method: Method, plan: Plan, written: Written, file: ReleaseFile, times: float) -> float | None:
    """The worst belief of the linking attacker in a sensitive value; None where it cannot be told.

    A method says it. Where it says nothing, a release is classes of labels, or buckets, whose largest share its facts
    tell; a person with several rows may be in several of them, and then nothing is known.
    """
    if isinstance(method, Attacked):
        return method.posterior(plan, times)
    if _has_several_rows(plan):
        return None
    share = _told_share(plan, written) if method.draws else largest_share(file)
    if share is None or share >= 1:
        return share
    return float(plan.source.calls.row("linking_prior_of_share", share, times)[0])


def _told_share(plan: Plan, written: Written) -> float | None:
    found = plan.facts(written).content.get("posterior")
    return float(found) if isinstance(found, int | float) else None


def _has_several_rows(plan: Plan) -> bool:
    """Whether some person has: that one of several rows has a value is believed more than that one row has it."""
    person, source = plan.policy.person, plan.source
    if person is None:
        return False
    rows, persons = fetch(source.con, f"SELECT count(*), count(DISTINCT {quoted(person)}) FROM {source.table}")[0]
    return bool(rows != persons)
