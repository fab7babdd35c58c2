"""The linking attacker on randomized releases: knows every other column of a person, and wants one.

What such an attacker comes to believe at most, the release says. What a simple one guesses right can be counted where
the private table is at hand: take the value that most rows have which agree on all else, by their weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlpriv.attacks.findings import AttackFinding, Figure, Findings, NotRun, Pair, number, people
from sqlpriv.attacks.guesses import ClassGuess
from sqlpriv.attacks.matches import match_people
from sqlpriv.attacks.target import Target
from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted, rows_of
from sqlpriv.methods.method import AnyMethod
from sqlpriv.methods.records import OwnedRelease
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.table.source import Source

ATTACK = "linking attacker"
_WEIGHT, _VIEW = "__weight", "__view"
_NO_NOISE = (
    "no random noise decides which rows are published; homogeneity and background knowledge say what classes reveal"
)


def attack(target: Target) -> Findings:
    """What one comes to believe of each column that is wanted, and guesses right."""
    method = target.method
    if method is None or not method.bounds_beliefs:
        yield NotRun(ATTACK, _NO_NOISE)
        return
    file = target.files[0]
    said = list(method.attackers(file))
    columns = [(str(row["name"]), row.get("role")) for row in file.rows("attributes")]
    wanted = [name for name, role in columns if role == "sensitive"] or [name for name, _ in columns]
    for column in wanted:
        yield _finding(target, method, file, column, [n for n, _ in columns if n != column], said)


def _finding(
    target: Target,
    method: AnyMethod,
    file: ReleaseFile,
    column: str,
    known: Sequence[str],
    said: Sequence[Mapping[str, Any]],
) -> AttackFinding:
    own: dict[str, float | None] = {"before": None, "after": None}
    about = [a for a in said if a["knows"] == f"all but {column}"]
    if about:
        worst = max(about, key=lambda a: float(a["posterior"]))
        own = {"before": float(worst["prior"]), "after": float(worst["posterior"])}
        own |= {"delta": float(worst["delta"])} if worst.get("delta") else {}
    raw: dict[str, float | None] = {}
    if target.private is not None and target.policy is not None and known:
        own |= _guessed(method, file, target.private, target.policy, column, known)
        # The same attacker with the private table in hand.
        private = target.private
        found = ClassGuess(private.calls, private.scratch, private.table, tuple(known), column).homogeneity()
        raw = {"after": found["surest_guess"], "agree": found["people"], "right": found["guessed_right"]}
    pair = Pair(own, raw)
    return AttackFinding(ATTACK, _sentence(column, pair), pair.figures(_FIGURES), column)


def _guessed(
    method: AnyMethod, file: ReleaseFile, source: Source, policy: Policy, column: str, known: Sequence[str]
) -> dict[str, float | None]:
    """For how many people some row agrees on all else, how many of them are guessed right, and how many blindly."""
    there = file.columns(SCHEMA, "published")
    records = method.records(OwnedRelease(file, source, policy), known, also=column)
    if not records.cells:  # there is nothing else to compare
        return {}
    where = f" WHERE {_VIEW}" if _VIEW in there else ""
    weight = _WEIGHT if _WEIGHT in there else "1"
    rows = f"SELECT *, CAST({quoted(column)} AS VARCHAR) AS __guess, {weight} AS __score FROM {records.relation}{where}"
    private = f"SELECT *, CAST({quoted(column)} AS VARCHAR) AS __truth FROM {source.private.name}"
    guesses = source.scratch.table(rows, "guesses")
    matches = match_people(
        source.scratch, records.read_from(guesses.name), f"({private})", open_nulls=False,
        people_columns=["__truth"], record_columns=["__guess", "__score"],
    )  # fmt: skip
    scored = (
        f"SELECT p.id, p.n, p.k0 AS truth, r.b0 AS guess, sum(r.n * r.b1) AS score FROM {matches.pairs.name} AS x "
        f"JOIN {matches.people.name} AS p ON x.person = p.id JOIN {matches.records.name} AS r ON x.record = r.id "
        "GROUP BY ALL"
    )
    best = f"SELECT * FROM ({scored}) WHERE score > 0 QUALIFY score = max(score) OVER (PARTITION BY id)"
    hit = "avg(CASE WHEN guess IS NOT DISTINCT FROM truth THEN 1 ELSE 0 END) AS hit"
    judged = f"SELECT id, n, {hit} FROM ({best}) GROUP BY id, n"
    private_rows, number = rows_of(source.checked)
    blind = f"SELECT max(n) FROM (SELECT {number} AS n FROM {private_rows} GROUP BY {quoted(column)})"
    query = f"SELECT coalesce(sum(n), 0), coalesce(sum(n * hit), 0), ({blind}) FROM ({judged})"
    found = fetch(source.con, query)[0]
    return {name: float(value) for name, value in zip(("agree", "right", "blind"), found, strict=True)}


_FIGURES = (
    Figure("before", "belief in a value before, at most", is_share=True),
    Figure("after", "belief in a value after, at most", is_share=True),
    Figure("delta", "chance that this does not hold (delta)", is_share=True),
    Figure("agree", "people with whom some row agrees on all else"),
    Figure("right", "people guessed right, of these", is_drawn=True),
    Figure("blind", "people guessed right by the commonest value, of all"),
)


def _sentence(column: str, pair: Pair) -> str:
    own, knows = pair.own, f"An attacker who knows all of a person but {column}"
    if own["after"] is None:
        text = f"{knows}: the release bounds no belief, since no public domain says how many values there are."
    else:
        delta = own.get("delta")
        but = "" if delta is None else f", but for a chance of {number(delta)} (delta), in which it may be seen"
        text = (
            f"{knows} comes to believe a value with {number(own['after'])} at most, from {number(own['before'])} before"
            f"{pair.raw_text('after', 'with the private table:')}{but}."
        )
    if "right" in own:
        right = f"{people(round(own['right'] or 0))} of these{pair.raw_text('right', 'with the private table:')}"
        text += (
            f" Some row agrees with {people(own['agree'])} on all else, and the value that most such rows have is "
            f"right for {right}; the commonest value of all would be right for {people(own['blind'])}."
        )
    return text
