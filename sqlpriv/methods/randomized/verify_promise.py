"""Whether the words of a release and its table of attackers are the ones that its numbers make."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sqlpriv.engine import fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.attackers import Attacker, Known, Wanted, list_attackers, uncovered
from sqlpriv.methods.randomized.policy import PUBLISHED
from sqlpriv.methods.randomized.stated import is_close, shared_columns
from sqlpriv.methods.randomized.terms import uncovered_sentence
from sqlpriv.methods.randomized.verify import Stated
from sqlpriv.methods.randomized.verify_public import most_choices
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check
from sqlpriv.sqltext import quoted
from sqlpriv.version import __version__


def promise_checks(calls: Calls, file: ReleaseFile, stated: Stated) -> Iterator[Check]:
    """Roles and choices make sense, the attackers follow from them, and the guarantee from all numbers."""
    roles = _roles(file)
    yield roles
    if not roles.passed:
        return
    attackers = list_attackers(calls, known_of(file), file.parameters["gamma"], stated.factor, stated.of_values)
    yield Check("the attackers are those of the parameters", _same(file, attackers))
    said = bool(file.about.get("uncovered"))
    yield Check("an attacker who is not covered is named with a reason", said == bool(uncovered(attackers)))
    yield _same_words(file, stated, attackers)


def _roles(file: ReleaseFile) -> Check:
    wrong = []
    wanted, most = _wanted_role(file), most_choices(file)
    for row in file.rows("attributes"):
        name, choices = row["name"], row["choices"]
        if row["role"] not in PUBLISHED:
            wrong.append(f"{name!r} has no role that is published")
        elif row["role"] == wanted and not (choices is not None and 1 <= choices <= most[name]):
            wrong.append(f"{name!r} has another number of choices")
        elif row["role"] != wanted and choices is not None:
            wrong.append(f"nobody wants {name!r}, and it has choices")
    if not 1 <= file.parameters["times"] <= 1e6:
        wrong.append("times is none")
    return Check("the roles of the columns make sense", not wrong, "; ".join(wrong))


def _wanted_role(file: ReleaseFile) -> str:
    return "sensitive" if any(r["role"] == "sensitive" for r in file.rows("attributes")) else "published"


def known_of(file: ReleaseFile) -> Known:
    """What attackers are made from, as the file states it."""
    rows, wanted, shared = file.rows("attributes"), _wanted_role(file), shared_columns(file)
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


def _same(file: ReleaseFile, attackers: Sequence[Attacker]) -> bool:
    found = file.rows("attackers")
    return len(found) == len(attackers) and all(
        (r["knows"], r["wants"], r["covered"]) == (a.knows, a.wants, a.covered)
        and is_close(r["prior"], a.prior)
        and is_close(r["posterior"], a.posterior)
        for r, a in zip(found, attackers, strict=True)
    )


def _same_words(file: ReleaseFile, stated: Stated, attackers: Sequence[Attacker]) -> Check:
    """Whether the guarantee is, word by word, the one that these numbers have.

    Other versions have other words. What cannot be compared is not verified: a file may call itself of any version.
    """
    title = "the guarantee is the one of the parameters"
    if file.about.get("sqlpriv") != __version__:
        written = file.about.get("sqlpriv", "another version")
        said = (
            f"NOT compared: it is in the words of sqlpriv {written}, and this is {__version__}; verify it by that one"
        )
        return Check(title, False, said)
    promise = stated.promise
    if (why := file.about.get("uncovered")) and uncovered(attackers):
        promise = f"{uncovered_sentence(attackers, file.parameters['gamma'], why)} {promise}"
    details = json.dumps(stated.details)
    return Check(title, (file.about.get("guarantee"), file.about.get("details")) == (promise, details))
