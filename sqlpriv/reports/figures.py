"""The numbers of a page: how many people there are, how many are at risk, and what may be guessed of them.

Of a release they are those of its verdict. Of the private table they are counted in the same way, by who knows the
published columns of a neighbour, as if the table went out as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlpriv.checks.exposure import classes_by, guesses
from sqlpriv.checks.verdict import Evidence
from sqlpriv.comparison.typical import Answers
from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import shown_number
from sqlpriv.core.sqltext import quoted, rows_of
from sqlpriv.methods.method import AnyMethod
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.reports.html import Bar, Bars, Listed, Tile, Tiles
from sqlpriv.table.source import Source

_READ_OFF = frozenset({"alone", "certain"})
_GUESSED = frozenset({"likely", "guess"})
_BOUNDED = frozenset({"covered", "uncovered", "member"})
"""Evidence of methods whose random noise leaves nothing certain."""
_MOST_COLUMNS = 6


@dataclass(frozen=True)
class Numbers:
    """Of a release, or of the private table."""

    people: float | None = None
    """Where `counts_persons`, of a release: its rows."""
    counts_persons: bool = False
    at_risk: float | None = None
    """Who is alone in what a neighbour knows, or has a value that can be read off."""
    guesses: Mapping[str, float] = field(default_factory=dict)
    """By column: how sure the surest guess is."""
    blind: Mapping[str, float] = field(default_factory=dict)
    """Likewise for somebody who has not seen any of it: the share of the commonest value."""


def of_release(method: AnyMethod, file: ReleaseFile, evidence: Sequence[Evidence], people: float | None) -> Numbers:
    """By the evidence for its verdict, and by what it says of attackers."""
    read_off = [e.value for e in evidence if e.rule in _READ_OFF]
    is_bounded = any(e.rule in _BOUNDED for e in evidence)
    found = _surest(evidence)
    blind: dict[str, float] = {}
    columns = {f"all but {row['name']}": str(row["name"]) for row in file.attributes}
    for attacker in method.attackers(file):
        if name := columns.get(str(attacker["knows"]), ""):
            found[name] = max(found.get(name, 0.0), float(attacker["posterior"]))
            blind[name] = max(blind.get(name, 0.0), float(attacker["prior"]))
    if not blind and not method.why_no_classes(file):
        blind = {
            name: share
            for name, classes in method.classes(file).items()
            if (share := _commonest(file, classes.table, name)) is not None
        }
    at_risk = max(read_off, default=0.0 if is_bounded else None)
    return Numbers(people, file.about.get("counts") == "persons", at_risk, found, blind)


def _commonest(file: ReleaseFile, table: str, column: str) -> float | None:
    rows, number = rows_of(table)
    asked = f"SELECT max(n) / sum(n) FROM (SELECT {number} AS n FROM {rows} GROUP BY {quoted(column)})"
    share = fetch(file.con, asked)[0][0]
    return None if share is None else float(share)


def of_plan(evidence: Iterable[Evidence], policy: Policy) -> Numbers:
    """Of a release that is planned."""
    listed = list(evidence)
    read_off = [e.value for e in listed if e.rule in _READ_OFF]
    at_risk = max(read_off, default=0.0 if any(e.rule in _BOUNDED for e in listed) else None)
    return Numbers(at_risk=at_risk, guesses=_surest(listed), counts_persons=policy.person is not None)


def _surest(evidence: Sequence[Evidence]) -> dict[str, float]:
    found: dict[str, float] = {}
    for e in evidence:
        if e.rule in _GUESSED or (e.rule == "certain" and e.value > 0):
            found[e.about] = max(found.get(e.about, 0.0), 1.0 if e.rule == "certain" else e.value)
    return found


def of_private_table(source: Source, policy: Policy) -> Numbers:
    """Of the private table, as if its published columns went out as they are."""
    published = policy.named("quasi-identifier", "other", "published")
    wanted = policy.sensitive or policy.named("published")
    rows, number = rows_of(source.checked)
    counted = number if policy.person is None else f"count(DISTINCT {quoted(policy.person)})"
    people = float(fetch(source.con, f"SELECT {counted} FROM {rows}")[0][0] or 0)
    found: list[Evidence] = []
    if published:
        found += classes_by(source.calls, source.checked, published, policy.person)
    blind = {}
    for column in wanted[:_MOST_COLUMNS]:
        known = [c for c in published if c != column]
        if known:
            found += guesses(source.calls, source.checked, known, column, policy.person)
        values = f"SELECT {number} AS n FROM {rows} GROUP BY {quoted(column)}"
        share = fetch(source.con, f"SELECT max(n) / sum(n) FROM ({values})")[0][0]
        if share is not None:
            blind[column] = float(share)
    at_risk = max((e.value for e in found if e.rule in _READ_OFF), default=None)
    return Numbers(people, policy.person is not None, at_risk, _surest(found), blind)


def _in_it(release: Numbers, private: Numbers | None) -> Tile:
    """How many people; a file alone has rows, and where persons were counted it does not say whose they are."""
    if private is None and release.counts_persons:
        return Tile("Rows in it", _count(release.people), "", "a person may have several; the file does not say whose")
    counted = "each person counted once" if release.counts_persons else "each row counted as a person"
    return Tile("People in it", _count(release.people if private is None else private.people), "", counted)


def tiles(release: Numbers, private: Numbers | None, answers: Answers | None) -> Tiles:
    """The four figures that are read first."""
    risk_before = "" if private is None or private.at_risk is None else _count(private.at_risk)
    of_whom = "alone in what a neighbour knows of them, or with a value that can be read off"
    column = max(release.guesses, key=lambda c: release.guesses[c], default=None)
    before = "" if private is None or column is None else percent(private.guesses.get(column), "")
    return Tiles((
        _in_it(release, private),
        Tile("People at risk", _count(release.at_risk), risk_before, of_whom),
        Tile("What a neighbour can learn", percent(None if column is None else release.guesses[column]), before,
             _learnt(column, release, private)),
        Tile("Typical answers are off by", *_off(answers)),
    ))  # fmt: skip


def _learnt(column: str | None, release: Numbers, private: Numbers | None) -> str:
    if column is None:
        return "no column has a guess with a bound: see what is not covered"
    text = f"the surest guess of somebody's {column}"
    blind = release.blind.get(column) or (private.blind.get(column) if private else None)
    return text if blind is None else f"{text}; {percent(blind)} without seeing the table"


def _off(answers: Answers | None) -> tuple[str, str, str]:
    """The value, nothing before, and what it is."""
    if answers is None or answers.off is None:
        return "not known", "", "it answers no typical question with bounds"
    kind = "half of the counts and averages" if answers.is_true else "half of the bounds of counts and averages"
    note = f"{kind}; {answers.answered} of {answers.asked} typical questions are answered"
    if answers.off == float("inf"):
        return "no bound", "", note
    return f"{shown_number(100 * answers.off, 2)}%", "", note


def percent(share: float | None, unknown: str = "not known") -> str:
    """A share for people.

    >>> percent(None), percent(1.0), percent(0.2), percent(0.0004), percent(0.9984), percent(12.5)
    ('not known', 'certain', '20%', 'below 0.1%', '99.8%', '1,250%')
    """
    if share is None:
        return unknown
    if share == 1:
        return "certain"
    if 0 < share < 0.001:
        return "below 0.1%"
    if 0.99 < share < 1:
        return f"{min(math.floor(1000 * share) / 10, 99.9):g}%"  # never as if it were certain
    return f"{shown_number(100 * share, 2)}%"


def _count(value: float | None) -> str:
    return "not known" if value is None else f"{round(value):,}"


def unanswered(answers: Answers | None) -> tuple[Listed, ...]:
    """Typical questions that the release does not answer, or without bounds, by the reason."""
    if answers is None:
        return (Listed(("It answers no queries: it is read as it is.",)),)
    found = [f"{said}." for said in answers.said()]
    return (Listed(tuple(found)),) if found else ()


def bars(release: Numbers, private: Numbers | None) -> tuple[Bars, ...]:
    """What may be guessed of each column: without the table, with it as it is, and with the release."""
    found = []
    for column in sorted(release.guesses, key=lambda c: -release.guesses[c])[:_MOST_COLUMNS]:
        rows = []
        blind = release.blind.get(column) or (private.blind.get(column) if private else None)
        if blind is not None:
            rows.append(Bar("who has not seen the table", blind, percent(blind), "blind"))
        if private is not None and column in private.guesses:
            share = private.guesses[column]
            rows.append(Bar("who has the private table", share, percent(share), "before"))
        rows.append(Bar("who has the release", release.guesses[column], percent(release.guesses[column]), "after"))
        found.append(Bars(f"How surely somebody's {column} is guessed, at most", tuple(rows)))
    if private is not None and private.at_risk is not None and release.at_risk is not None and private.people:
        of = private.people
        rows = [
            Bar("in the private table", private.at_risk / of, _count(private.at_risk), "before"),
            Bar("in the release", release.at_risk / of, _count(release.at_risk), "after"),
        ]
        title = f"People who are alone, or whose value can be read off, of {_count(of)}"
        found.append(Bars(title, tuple(rows)))
    return tuple(found)
