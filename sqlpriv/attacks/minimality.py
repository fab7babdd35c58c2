"""Minimality: what the choice of a search reveals. A world is a way to hand out the values of each class to its
people. An attacker who knows the requirements, the search and everybody's quasi-identifiers can rule out each world in
which the search would have chosen otherwise. The remaining worlds may be believed more.

Each world is a table, and the search itself is run on it. Few worlds are all looked at, and beliefs counted exactly; of
many a sample is, and the share that is ruled out bounds how much any belief can grow. Rows that were left out keep
their values, since nothing is published of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlpriv.attacks.findings import AttackFinding, Figure, Findings, NotRun, number, people
from sqlpriv.attacks.guesses import ClassGuess
from sqlpriv.attacks.target import AttackOptions, Target
from sqlpriv.attacks.worlds import Worlds, find_worlds
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import OnProgress
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import folded
from sqlpriv.methods.method import AnyMethod, Request
from sqlpriv.policy.file import Policy, public_part
from sqlpriv.table.source import Source

ATTACK = "minimality"


@dataclass(frozen=True)
class Sampled:
    """What came of looking at worlds."""

    digits: float
    """The logarithm of the number of all worlds, to the base 10."""
    looked: int
    excluded: int
    possible: Relation | None
    """Where all worlds were looked at, the values of those that are possible: row, place of the column, value."""


def attack(target: Target, options: AttackOptions, on_progress: OnProgress = None) -> Findings:
    """How many worlds the choice rules out, and how sure the surest guess can become by that."""
    if options.worlds < 0:
        raise InputError("worlds must be a whole number of at least 0")
    why = _why_not(target, options.worlds)
    if why is not None:
        yield NotRun(ATTACK, why)
        return
    source, policy, method = target.private, target.policy, target.method
    assert source is not None
    assert policy is not None
    assert method is not None
    if not method.looks_at_values(policy):
        sentence = (
            "What is required is about quasi-identifiers alone, so the search would have chosen the same whoever has "
            "which value: its choice reveals nothing of sensitive values."
        )
        yield AttackFinding(ATTACK, sentence, (_excluded(0.0),))
        return
    worlds = find_worlds(source, method, policy, target.files[0])
    looked = _look(worlds, method, policy, options.worlds, on_progress)
    for place, column in enumerate(policy.sensitive):
        guess = next(g for name, g in target.own.items() if folded(name) == folded(column))
        if looked.possible is None:
            yield _bounded(source, guess, looked)
        else:
            yield _counted(source, guess, looked, looked.possible, place)


def _why_not(target: Target, most: int) -> str | None:
    if not target.files or target.method is None:
        return "nothing was searched for: this is no release"
    if not target.method.retraces_choice:
        return f"how {target.method.name} chooses is not retraced here, so what its choice reveals is not counted"
    if target.files[0].about.get("optimal", "yes") != "yes":
        return "the owner named what to publish, or the search was stopped before its end: its choice follows no rule"
    if not target.own:
        return "no column is sensitive, so there is no value to guess"
    if target.private is None or target.policy is None:
        return "what the search would have chosen in other worlds takes the quasi-identifiers of all: give --policy"
    names = [str(row["name"]) for row in target.files[0].rows("attributes")]
    if target.files[0].policy != public_part(target.policy, target.method, names):
        return "the policy says something else than the one that the release was made by, so its search is another"
    return None if most else "no world is looked at, as is asked for"


def _look(worlds: Worlds, method: AnyMethod, policy: Policy, most: int, on_progress: OnProgress) -> Sampled:
    """Search in all worlds, or in a sample."""
    source, (digits, is_exact) = worlds.source, worlds.count(most)
    deals = list(worlds.every()) if is_exact else [worlds.drawn(i) for i in range(most)]
    shape = "SELECT CAST(NULL AS BIGINT) AS row, CAST(NULL AS BIGINT) AS place, CAST(NULL AS VARCHAR) AS value LIMIT 0"
    possible = source.scratch.table(shape, "possible") if is_exact else None
    plan, excluded = method.plan(_in_world(source, source.scratch, worlds.table(None)), policy, Request()), 0
    if not is_exact and not method.may_choose_otherwise(plan):
        return Sampled(digits, len(deals), 0, None)
    for done, query in enumerate(deals):
        with source.scratch.nested() as scope:
            deal = scope.table(query, "deal")
            if not method.chooses_alike(plan, _in_world(source, scope, worlds.table(deal))):
                excluded += 1
            elif possible is not None:
                fetch(source.con, f"INSERT INTO {possible.name} {worlds.values(deal)}")
        if on_progress:
            on_progress((done + 1) / len(deals))
    return Sampled(digits, len(deals), excluded, possible)


def _in_world(source: Source, scope: Scratch, rows: str) -> Source:
    """The private table in a world, whose rows a query gives."""
    return replace(source, table=scope.table(rows, "world").name, texts={}, scope=scope)


def _counted(source: Source, guess: ClassGuess, looked: Sampled, possible: Relation, place: int) -> AttackFinding:
    """All worlds were looked at."""
    beliefs = f"SELECT row, value, count(*) AS n FROM {possible.name} WHERE place = {place} GROUP BY ALL"
    best = f"SELECT row, max(n) / sum(n) AS belief FROM ({beliefs}) GROUP BY row"
    query = f"SELECT max(belief), count(*) FILTER (belief = 1) FROM ({best})"
    surest, certain = map(float, fetch(source.con, query)[0])
    before = guess.homogeneity()
    sentence = (
        f"Of the {looked.looked:,} worlds that the release may stand for, the search would have chosen otherwise in "
        f"{looked.excluded:,}. Without these the surest guess of {guess.sensitive} is {number(surest)}, from "
        f"{number(before['surest_guess'])}, and certain of {people(certain)}, from {people(before['certain'])}."
    )
    figures = (
        Figure("worlds", "worlds that the release may stand for", float(looked.looked)),
        _excluded(looked.excluded / looked.looked),
        Figure("surest_before", "the surest guess, not knowing of the search", before["surest_guess"], is_share=True),
        Figure("surest_after", "the surest guess, knowing of it", surest, is_share=True),
        Figure("certain_before", "people whose value is certain, not knowing of it", before["certain"]),
        Figure("certain_after", "people whose value is certain, knowing of it", certain),
    )
    return AttackFinding(ATTACK, sentence, figures, guess.sensitive, "counted")


def _bounded(source: Source, guess: ClassGuess, looked: Sampled) -> AttackFinding:
    """A sample was looked at: the share of worlds that is ruled out bounds how much a belief grows."""
    before = guess.homogeneity()["surest_guess"]
    given = f"({before!r}, {looked.excluded}, {looked.looked})"
    share, after = map(
        float, fetch(source.con, f"SELECT share, belief FROM {source.need('minimality_bound')}{given}")[0]
    )
    sentence = (
        f"The release may stand for about 10^{looked.digits:,.0f} worlds, too many to count; in {looked.excluded:,} of "
        f"{looked.looked:,} drawn by lot the search would have chosen otherwise. So with 95% confidence its choice "
        f"rules out a share of {number(share)} at most, and the surest guess of {guess.sensitive} grows from "
        f"{number(before)} to {number(after)} at most."
    )
    figures = (
        Figure("worlds_log10", "digits of the number of worlds", looked.digits),
        Figure("looked_at", "worlds looked at", float(looked.looked)),
        _excluded(looked.excluded / looked.looked),
        Figure("excluded_share_bound", "the same at most, with 95% confidence", share, is_share=True),
        Figure("surest_before", "the surest guess, not knowing of the search", before, is_share=True),
        Figure("surest_after_bound", "the surest guess, knowing of it, at most", after, is_share=True),
    )
    return AttackFinding(ATTACK, sentence, figures, guess.sensitive, "bounded")


def _excluded(share: float) -> Figure:
    return Figure("excluded_share", "share of the worlds that the choice rules out", share, is_share=True)
