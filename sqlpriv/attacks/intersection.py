"""Intersection: two releases of one table, each fine alone. An attacker who knows a person's quasi-identifiers finds
the classes that could be the person's in both, and what the person has is among the values of both.

The attacker knows this one person, and that the person's row is in the table. Someone who knows everybody else's
quasi-identifiers, too, may rule out more: so many values at least are certain.

Whether two tables are about the same people is judged as the ledger judges it: by what is in them, not by their names.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sqlpriv.attacks.findings import AttackFinding, Figure, Findings, NotRun, Pair, number, of_all, people
from sqlpriv.attacks.matches import match_people, refuse_unmatched
from sqlpriv.attacks.target import Target
from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, quoted, rows_of
from sqlpriv.methods.records import VALUE, OwnedRelease
from sqlpriv.policy.file import Policy
from sqlpriv.publishing import method_of
from sqlpriv.release.file import ReleaseFile
from sqlpriv.table.folded import fingerprint_of_table
from sqlpriv.table.resemblance import resemblances
from sqlpriv.table.source import Source

ATTACK = "intersection of two releases"
_ONE = "it needs a second release of the same table: sqlpriv attack FIRST SECOND"
_ALONE = (
    "the files do not reveal which classes of the two have people in common; --policy names the private table, which "
    "does"
)
_NOISE = (
    "random noise decides which rows of {} are published, so no value can be ruled out; the odds of both releases "
    "multiply, and `sqlpriv ledger` says what they cost together"
)


def attack(target: Target) -> Findings:
    """Of each sensitive column that both have: of how many people it is certain, and how small sets of people are."""
    if len(target.files) < 2:
        yield NotRun(ATTACK, _ONE)
        return
    noisy = [file.name for file in target.files if method_of(file).bounds_beliefs]
    if noisy:
        yield NotRun(ATTACK, _NOISE.format(noisy[0]))
        return
    hidden = [why for file in target.files if (why := method_of(file).why_no_classes(file)) is not None]
    if hidden:
        yield NotRun(ATTACK, hidden[0])
        return
    if target.private is None or target.policy is None:
        yield NotRun(ATTACK, _ALONE)
        return
    if (why := _why_not_both(target, target.private)) is not None:
        yield NotRun(ATTACK, why)
        return
    shared = _shared(target.files)
    if not shared:
        yield NotRun(ATTACK, "the two have no sensitive column in common")
    for column in shared:
        pair = _numbers(target, target.private, target.policy, column)
        yield AttackFinding(ATTACK, _sentence(column, pair), pair.figures(_FIGURES), column)


def _why_not_both(target: Target, first: Source) -> str | None:
    """Why people of the first table cannot be looked for in both releases, if so."""
    tables = [file.about["table"] for file in target.files]
    if target.second_policy is None and folded(tables[0]) != folded(tables[1]):
        return (
            f"the releases are of {tables[0]!r} and {tables[1]!r}: name the policy of the second one with "
            "--second-policy, and the content of both tables says whether the same people are in them"
        )
    known = {folded(c) for c in first.columns}
    missing = [q for q in _qis(target.files).values() if folded(q) not in known]
    if missing:
        return (
            f"the private table of the first release has no column {missing[0]!r}, by which people are found in the "
            "other: name the release of the larger table first"
        )
    return None if target.second_private is None else _why_other_people(first, target.second_private)


def _why_other_people(first: Source, second: Source) -> str | None:
    """What the content of two tables says against the same people in both; where nobody can tell, nothing."""
    secret = secrets.token_hex(16)
    one = fingerprint_of_table(first.everything, secret)
    sample = {} if one.sample is None else {"first": one.sample}
    other = fingerprint_of_table(second.everything, secret, None, sample)
    people = other.people.get("first")
    is_same = one.digest == other.digest or bool(resemblances(second.con, one.sketches, other.sketches))
    if is_same or people is None or people.are_the_same or not people.can_tell:
        return None
    return (
        f"by their content the two tables are about different people: of the rows of {first.label} "
        f"{people.contained:.0%} are in {second.label} by all columns that both have, no more than chance explains"
    )


def _qis(files: Sequence[ReleaseFile]) -> dict[str, str]:
    return {folded(q): q for file in files for q in _named(file, "quasi-identifier")}


def _shared(files: Sequence[ReleaseFile]) -> list[str]:
    first, second = ({folded(n): n for n in _named(file, "sensitive")} for file in files)
    return [name for key, name in first.items() if key in second]


def _named(file: ReleaseFile, role: str) -> list[str]:
    return [str(row["name"]) for row in file.rows("attributes") if row["role"] == role]


def _numbers(target: Target, source: Source, policy: Policy, column: str) -> Pair:
    con = target.calls.con
    by = ", ".join(quoted(q) for q in _qis(target.files).values())
    rows, number = rows_of(source.checked)
    counted = f"SELECT {by}, {number} AS __n FROM {rows} GROUP BY ALL"
    kinds = target.scratch.table(f"SELECT row_number() OVER () AS __kind, * FROM ({counted})", "kinds")
    possible = []
    for i, (file, said) in enumerate(zip(target.files, (policy, target.second_policy or policy), strict=True)):
        possible.append(_possible(target, source, file, said, column, kinds))
        behind = f"FROM {kinds.name} AS p ANTI JOIN {possible[i].name} AS x ON p.__kind = x.kind"
        missing = int(fetch(con, f"SELECT coalesce(sum(p.__n), 0) {behind}")[0][0])
        if not (i and target.second_private):  # of another table with the same people some may be missing
            refuse_unmatched(file, missing, "--second-policy" if i else "--policy")
    # Where no class could be the person's, the row was left out, and the release says nothing of it.
    both = "coalesce(list_intersect(x.found, y.found), x.found, y.found)"
    rows = (
        f"SELECT p.__n AS n, x.found AS in_first, y.found AS in_second, {both} AS in_both, x.places AS a, "
        f"y.places AS b FROM {kinds.name} AS p LEFT JOIN {possible[0].name} AS x ON p.__kind = x.kind "
        f"LEFT JOIN {possible[1].name} AS y ON p.__kind = y.kind"
    )
    own: dict[str, float | None] = {}
    for name, grouped in {"first": "a", "second": "b", "both": "a, b"}.items():
        known = f"SELECT coalesce(sum(n) FILTER (len(in_{name}) = 1), 0), sum(n) FROM ({rows})"
        own[f"{name}_certain"], own["people"] = (float(v) for v in fetch(con, known)[0])
        sizes = f"SELECT sum(n) AS size FROM ({rows}) WHERE in_{name} IS NOT NULL GROUP BY {grouped}"
        smallest, alone = fetch(con, f"SELECT min(size), count(*) FILTER (size = 1) FROM ({sizes})")[0]
        own[f"{name}_smallest"], own[f"{name}_alone"] = float(smallest), float(alone)
    # What the quasi-identifiers themselves would reveal.
    guess = {folded(name): guess for name, guess in target.raw.items()}.get(folded(column))
    certain = None if guess is None else guess.homogeneity()["certain"]
    smallest, alone = fetch(con, f"SELECT min(__n), count(*) FILTER (__n = 1) FROM {kinds.name}")[0]
    return Pair(own, {"both_certain": certain, "both_smallest": float(smallest), "both_alone": float(alone)})


def _possible(
    target: Target, source: Source, file: ReleaseFile, policy: Policy, column: str, kinds: Relation
) -> Relation:
    """Of each kind of people: which values they could have by a release, and where they could be in it."""
    records = method_of(file).records_with_value(OwnedRelease(file, source, policy), column)
    matches = match_people(
        target.scratch, records, kinds.name, open_nulls=False, people_columns=["__kind"], record_columns=[VALUE]
    )
    return target.scratch.table(
        "SELECT p.k0 AS kind, list(DISTINCT r.b0) AS found, list_sort(list(r.id)) AS places "
        f"FROM {matches.pairs.name} AS x JOIN {matches.people.name} AS p ON x.person = p.id "
        f"JOIN {matches.records.name} AS r ON x.record = r.id GROUP BY p.k0",
        "possible",
    )


_FIGURES = (
    Figure("people", "people who are in it"),
    Figure("first_certain", "people whose value is certain, by the first release"),
    Figure("second_certain", "people whose value is certain, by the second"),
    Figure("both_certain", "people whose value is certain, by both", is_drawn=True),
    Figure("first_smallest", "the smallest set of people, by the first release"),
    Figure("second_smallest", "the smallest set of people, by the second"),
    Figure("both_smallest", "the smallest set of people, by both"),
    Figure("both_alone", "people who are alone, by both", is_drawn=True),
)


def _sentence(column: str, pair: Pair) -> str:
    own = pair.own
    certain = f"{of_all(own['both_certain'], own['people'])}{pair.raw_text('both_certain', 'in the private table:')}"
    alone = own["both_alone"]
    are = "are" if alone and alone > 1 else "is"
    return (
        f"An attacker who finds a person in both releases knows {column} for certain of {certain}; by the first alone "
        f"of {people(own['first_certain'])}, by the second of {people(own['second_certain'])}. The smallest set of "
        f"people who cannot be distinguished falls to {number(own['both_smallest'])}, from "
        f"{number(own['first_smallest'])} and {number(own['second_smallest'])}; {people(alone)} {are} alone."
    )
