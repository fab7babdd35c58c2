"""What a release of classes lets an attacker believe who finds a person's class in it."""

from __future__ import annotations

from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Plan
from sqlpriv.release.file import ReleaseFile

OF_CLASSES = "knows the quasi-identifiers, nothing of others in particular, and not how the classes were found"


def posterior_by_share(plan: Plan[Any], share: float | None, times: float) -> float | None:
    """The worst belief of a linking attacker, from the largest share that a sensitive value has in a class.

    In a class, whose other rows may be anybody's, a belief becomes `times` times the odds of the value's share there. A
    person with several rows may be in several classes, and then nothing is known.
    """
    if share is None or _has_several_rows(plan):
        return None
    return share if share >= 1 else float(plan.source.calls.row("linking_prior_of_share", share, times)[0])


def _has_several_rows(plan: Plan[Any]) -> bool:
    """Whether some person has: that one of several rows has a value is believed more than that one row has it."""
    person, source = plan.policy.person, plan.source
    if person is None:
        return False
    rows, persons = fetch(source.con, f"SELECT count(*), count(DISTINCT {quoted(person)}) FROM {source.table}")[0]
    return bool(rows != persons)


def largest_share(file: ReleaseFile) -> float | None:
    """The largest share that a sensitive value has in a published class; None where no column is sensitive.

    It is the belief of one who knows the quasi-identifiers of a person and that the person's row is published, and
    finds the person no likelier to have a value than others are.
    """
    roles = [(str(row["role"]), str(row["name"])) for row in file.rows("attributes")]
    qis = [name for role, name in roles if role == "quasi-identifier"]
    sensitive = [name for role, name in roles if role == "sensitive"]
    if not sensitive:
        return None
    alpha = Calls(file.con).need("alpha_k_anonymity")
    asked = (f"({literal(file.table('published'))}, {literal(qis)}, {literal(name)})" for name in sensitive)
    return max(float(fetch(file.con, f"SELECT alpha FROM {alpha}{arguments}")[0][0]) for arguments in asked)
