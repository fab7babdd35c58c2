"""Who might attack a release, by the numbers of its file, and what it promises in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlpriv.engine import fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.attackers import Attacker, Known, Wanted, list_attackers, uncovered
from sqlpriv.methods.randomized.stated import shared_columns
from sqlpriv.methods.randomized.terms import uncovered_sentence
from sqlpriv.methods.randomized.verify import Meaning
from sqlpriv.methods.randomized.verify_public import most_choices
from sqlpriv.policy.domains import NOISY_ROLES
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check
from sqlpriv.sqltext import quoted


def attacker_checks(calls: Calls, file: ReleaseFile, meaning: Meaning) -> Iterator[Check]:
    """Roles and choices make sense, and an attacker who is not covered is named with a reason."""
    roles = _roles(file)
    yield roles
    if roles.passed:
        said = "uncovered" in file.reasons
        title = "an attacker who is not covered is named with a reason"
        yield Check(title, said == bool(uncovered(attackers_of(calls, file, meaning))))


def attackers_of(calls: Calls, file: ReleaseFile, meaning: Meaning) -> tuple[Attacker, ...]:
    """Who might attack the release, as its numbers say."""
    return list_attackers(calls, known_of(file), file.parameters["gamma"], meaning.factor, meaning.of_values)


def promise_of(file: ReleaseFile, meaning: Meaning, attackers: Sequence[Attacker]) -> str:
    """The guarantee; who is not covered, and why it is published all the same, is its first sentence."""
    why = file.reasons.get("uncovered")
    if why is None or not uncovered(attackers):
        return meaning.promise
    return f"{uncovered_sentence(attackers, file.parameters['gamma'], why)} {meaning.promise}"


def _roles(file: ReleaseFile) -> Check:
    wrong = []
    wanted, most = _wanted_role(file), most_choices(file)
    for row in file.attributes:
        name, choices = row["name"], row["choices"]
        if row["role"] not in NOISY_ROLES:
            wrong.append(f"{name!r} has no role that is published")
        elif row["role"] == wanted and not (choices is not None and 1 <= choices <= most[name]):
            wrong.append(f"{name!r} has another number of choices")
        elif row["role"] != wanted and choices is not None:
            wrong.append(f"nobody wants {name!r}, and it has choices")
    if not 1 <= file.parameters["times"] <= 1e6:
        wrong.append("times is out of range")
    return Check("the roles of the columns make sense", not wrong, "; ".join(wrong))


def _wanted_role(file: ReleaseFile) -> str:
    return "sensitive" if any(r["role"] == "sensitive" for r in file.attributes) else "published"


def known_of(file: ReleaseFile) -> Known:
    """What attackers are made from, as the file states it."""
    rows, wanted, shared = file.attributes, _wanted_role(file), shared_columns(file)
    tuples = 1
    for row in rows:
        tuples *= int(row["size"])
    return Known(
        tuple(
            Wanted(str(r["name"]), int(r["choices"]), _shares(file, str(r["name"])) if r["name"] in shared else ())
            for r in rows
            if r["role"] == wanted
        ),
        tuple(str(r["name"]) for r in rows if r["role"] == "quasi-identifier"),
        tuples,
        file.parameters["times"],
        int(file.parameters["rows_each"]),
    )


def _shares(file: ReleaseFile, column: str) -> tuple[float, ...]:
    domain = quoted(file.catalog, "domain", column)
    return tuple(float(r[0]) for r in fetch(file.con, f"SELECT share FROM {domain} ORDER BY rowid"))
