"""Propose the domains of published columns, for methods that make noise from all values that a row could have.

A domain is public, so it comes from a type or a public list. What is read off the table is rounded outwards and says
so; a column of texts is left to the owner to decide on. Noise is spread over all
combinations of values, so many values are published by coarser labels, and columns that would make too many
combinations are left out, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from sqlpriv.policy.propose_roles import GAMMA, UNDECIDED, Proposal, nice_width
from sqlpriv.policy.table_profile import ValueList
from sqlpriv.table.profile import ColumnProfile

READ_OFF = "read off the table and rounded outwards: replace it by a public range"
FILL_IN = (
    'to publish it, name all values that a row could have: role = "{role}", domain = ["a", "b"], or '
    '"table:FILE.csv.COLUMN", a public list'
)
_MOST_AS_THEY_ARE = 30
_LABELS = 15
_MOST_IN_A_RANGE = 1_000_000
_MOST_TEXTS = 300
_DATE_LABELS = {"month": 12, "quarter": 4, "year": 1}  # so many a year


@dataclass(frozen=True)
class _Domain:
    domain: str | tuple[bool, ...]
    choices: int
    remark: str = ""
    hierarchy: str | None = None


def with_domains(
    profiles: Sequence[ColumnProfile],
    proposals: Sequence[Proposal],
    lists: Mapping[str, ValueList],
    fewest: int,
    rows_each: int | None,
    most_tuples: int,
) -> tuple[Proposal, ...]:
    """The proposals with a domain for what is published.

    `fewest` is the number of values that a sensitive column needs for a linking attacker to be covered. `rows_each` is
    how many rows a person has at most; None where a method hides rows one by one, and no column can say whose it is.
    There are to be `most_tuples` at most, if a person has one row.
    """
    columns = [
        _with_domain(c, p, lists.get(c.name), fewest, rows_each is not None)
        for c, p in zip(profiles, proposals, strict=True)
    ]  # fmt: skip
    most = _most(most_tuples, rows_each or 1)
    kept = _few_enough(columns, {p.name: p for p in proposals}, profiles[0].rows, most, fewest)
    if any(p.role == "sensitive" for p in kept):
        return kept
    # No column looks sensitive: all that can be protected are taken for it.
    return tuple(replace(p, role="published") if p.choices >= fewest and p.role != UNDECIDED else p for p in kept)


def _with_domain(c: ColumnProfile, p: Proposal, listed: ValueList | None, fewest: int, is_of_persons: bool) -> Proposal:
    if p.role == "person" and not is_of_persons:
        return replace(
            p, role="identifier", reason=f"{p.reason}; a person's rows are hidden one by one, and not together"
        )
    if p.role in {"identifier", "person", "drop", UNDECIDED}:
        return p
    if c.values <= 1:
        return _dropped(p, "there is nothing to count")
    found = _domain(c, listed, fewest if p.role == "sensitive" else 1)
    if isinstance(found, str):
        return _dropped(p, found)
    if found.domain == () and (p.role != "sensitive" or found.choices >= fewest):
        asked = f"{p.reason}; {FILL_IN.format(role=p.role)}"
        return Proposal(p.name, UNDECIDED, asked, choices=found.choices + (c.present < c.rows))
    choices = found.choices + (c.present < c.rows)
    remarks = [p.reason, found.remark]
    if p.role == "sensitive" and choices < fewest:
        few = f"a linking attacker cannot be covered at gamma = {GAMMA} with fewer than {fewest} values"
        return _dropped(p, f"{few}; take another method, or publish it with uncovered = WHY")
    return Proposal(
        p.name,
        p.role,
        "; ".join(filter(None, remarks)),
        found.hierarchy,
        None,
        found.domain,
        c.present < c.rows,
        1 if found.hierarchy else None,
        choices,
    )


def _dropped(p: Proposal, why: str) -> Proposal:
    return Proposal(p.name, "drop", f"{p.reason}; {why}")


def _most(tuples: int, rows_each: int) -> int:
    """The noise that hides several rows together grows with their number, and its variance with the square."""
    return int(tuples / rows_each**2)


def _few_enough(
    columns: Sequence[Proposal], roles: Mapping[str, Proposal], rows: int, most: int, fewest: int
) -> tuple[Proposal, ...]:
    """The sensitive columns, and of the others those with the fewest values, until there are too many tuples.

    Without a sensitive one, the smallest that can be protected stays: else there would be nothing to protect. Columns
    to be decided on count as published.
    """
    published = sorted((p for p in columns if p.choices), key=lambda p: p.choices)
    hidden = [p for p in published if p.choices >= fewest and p.role != UNDECIDED]
    kept = [p for p in published if p.role == "sensitive"] or hidden[:1]
    tuples, left_out = prod(p.choices for p in kept), {}
    for p in published:
        if p in kept:
            continue
        if tuples * p.choices > most:
            why = f"with its {p.choices:,} values there would be {tuples * p.choices:,} tuples for {rows:,} rows"
            left_out[p.name] = _dropped(roles[p.name], f"left out: {why}")
        else:
            tuples *= p.choices
    return tuple(left_out.get(p.name, p) for p in columns)


def _domain(c: ColumnProfile, listed: ValueList | None, fewest: int) -> _Domain | str:
    """The domain of a column, or why it has none; with at least `fewest` values, if there can be so many."""
    if c.kind == "flag":
        return _Domain((True, False), 2)
    if c.infinite:
        return f"{c.infinite:,} values are infinite or no number, and in no range: make them NULL in a view"
    if c.kind == "number":
        return _numbers(c, fewest)
    if c.kind in {"date", "timestamp"}:
        return _dates(c)
    if listed is not None:
        beside = (
            f"all its values are in {listed.place} beside the data: make sure that it is public, and not made from it"
        )
        return _Domain(listed.domain, listed.size, beside)
    if c.distinct > _MOST_TEXTS:
        return 'too many for a list; by a public hierarchy it could be published: domain = "level:FILE.csv:1"'
    return _Domain((), c.distinct)


def _numbers(c: ColumnProfile, fewest: int) -> _Domain | str:
    """A range of whole numbers, rounded outwards; in ranges if it is long."""
    if not c.whole:
        return "a domain has whole numbers: round the column in a view"
    width = nice_width((c.high - c.low) / 4) if c.high - c.low > 10 else 1
    low, high = math.floor(c.low / width) * width, math.ceil(c.high / width) * width
    if high - low < max(_MOST_AS_THEY_ARE, 2 * fewest):
        return _Domain(f"range:{low}..{high}", high - low + 1, READ_OFF)
    if high - low >= _MOST_IN_A_RANGE:
        return "too many values for a domain: publish them in ranges, as a column of a view"
    high -= high > c.high  # the last range then is a whole one
    wide = nice_width((high - low) / max(_LABELS, 2 * fewest))
    return _Domain(f"range:{low}..{high}", high // wide - low // wide + 1, READ_OFF, f"ranges:{wide}")


def _dates(c: ColumnProfile) -> _Domain | str:
    """Whole years, by the finest labels that are few."""
    first, last = c.first_year, c.last_year
    if c.zoned:
        return "its days depend on the time zone: make it a DATE in a view"
    if not 1 <= first <= last <= 9999:
        return "its years are no domain"
    years = last - first + 1
    level = next((name for name, each in _DATE_LABELS.items() if each * years <= _MOST_AS_THEY_ARE), "decade")
    labels = _DATE_LABELS[level] * years if level in _DATE_LABELS else last // 10 - first // 10 + 1
    return _Domain(f"range:{first:04}-01-01..{last:04}-12-31", labels, READ_OFF, f"dates:{level}")
