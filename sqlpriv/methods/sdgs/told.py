"""What is told of a release by sampled k-anonymity: to its owner by plan and publish, to its readers by show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Written
from sqlpriv.methods.sdgs.classes import Sampled
from sqlpriv.methods.sdgs.groups import Group
from sqlpriv.methods.sdgs.terms import Terms
from sqlpriv.version import __version__

_TIMES = 2.0
"""How many times the odds of an even guess a linking attacker believes in a value, as the other methods have it."""
OWNER = "Numbers of rows that are not in the release are for its owner alone."


def promise(terms: Terms) -> str:
    """The guarantee: two sentences to say aloud."""
    one, whole = f"a {terms.unit}", f"{terms.total_epsilon:.4g}, {terms.total_delta:.3g}"
    return (
        f"Whatever is published here would be published with nearly the same chance if {one} were left out: it is "
        f"({whole})-differential privacy. Whoever knows all others, and believes with odds o that {one} with certain "
        f"values is in the table, believes so with odds between o / {_factor(terms)} and {_factor(terms)} o "
        "afterwards, but for a chance of delta."
    )


def _factor(terms: Terms) -> str:
    return f"e^{terms.total_epsilon:.4g}"


def details(terms: Terms) -> tuple[str, ...]:
    """What belongs to the guarantee, line by line."""
    one, grouped = terms.unit, terms.groups > 1
    together = "the columns of a group" if grouped else "all published columns"
    found = [
        f"Every row was sampled with probability {terms.beta:.6g}, and what occurs fewer than {terms.k:,} times in the "
        f"sample, in {together} together, is suppressed.",
        f"When a {one} is replaced by another, it is ({terms.replaced_epsilon:.4g}, {terms.replaced_delta:.3g}).",
        f"delta is of one {one}; that it fails for somebody has a chance of about delta times the number of {one}s.",
    ]
    if grouped:
        found.append(
            f"The columns are published in {terms.groups} groups, each from a sample by coins of its own: of one row "
            f"in one group it is ({terms.epsilon:.4g}, {terms.delta:.3g}), and groups add up. Which row of one group "
            "goes with which of another is not published."
        )
    if terms.rows_each > 1:
        found.append(f"Persons have up to {terms.rows_each} rows; of one row it is epsilon {terms.epsilon:.4g}.")
    elif terms.of_persons:
        found.append("Of every person one row was taken, by a coin: count(*) estimates a number of persons.")
    if terms.node_epsilon:
        found.append(f"Of epsilon, {terms.node_epsilon:.4g} was spent on choosing the levels out of a public list.")
    return (
        *found,
        "Column names, types and hierarchies are taken to be public, and the levels "
        f"{'and groups ' if grouped else ''}to be chosen without the table.",
        "Rows of different people that belong together (families), and what the whole table teaches, are not covered.",
    )


def exposure(terms: Terms, n_public: float, exposed: float) -> str:
    """What delta is for all of them together."""
    return f"delta times {n_public:,.0f} {terms.unit}s is {exposed:.3g}: the chance that it fails for somebody."


def smooth_grid(points: Sequence[tuple[float, float, float]], groups: int) -> Grid:
    """The f-smooth guarantee: a worse breach is rarer."""
    of_what = "of one row, in one group" if groups > 1 else "of one row"
    rows = tuple((f"{e:.4g}", f"{d:.3g}", f"{b:.3g}") for e, d, b in points)
    return Grid(("epsilon", "delta", "bound on delta"), rows, caption=f"{of_what}: larger breaches are rarer")


def linking_posterior(calls: Calls, terms: Terms, choices: Sequence[int | None], times: float = _TIMES) -> float | None:
    """What one comes to believe in a sensitive value at most who knows all else of a person; None: not known.

    `choices` are the sizes of the public domains of the sensitive columns. It holds in the mean over the coins: with a
    chance of delta the value may be seen. Where a person may have several rows, the belief is that one of them has it.
    """
    if not choices or None in choices:
        return None
    return max(linking_beliefs(calls, terms, size or 1, times)[1] for size in choices)


def linking_beliefs(calls: Calls, terms: Terms, choices: int, times: float = _TIMES) -> tuple[float, float]:
    """What one believes of a value among so many, and comes to believe at most, who knows all else of a person."""
    factor = float(calls.value(f"exp({terms.replaced_epsilon!r})"))
    prior = calls.row("linking_prior", float(choices), times)[0]
    prior = prior if terms.rows_each == 1 else calls.row("person_prior", prior, terms.rows_each)[0]
    bounded = calls.row("posterior_bound", prior, factor)[0]
    return float(prior), float(calls.value(f"_belief_but_for({bounded!r}, {terms.replaced_delta!r})"))


@dataclass(frozen=True)
class ToldOwner:
    """What a plan knows that is told, before and after it was written. Much of it is for the owner alone."""

    method: str
    terms: Terms
    node: Mapping[str, int] | None
    groups: Sequence[Group]
    rows: int
    expected: Sequence[float] | None
    """By group, as what follows."""
    sampled: Sequence[Sampled] | None
    shown: Sequence[int] | None
    """Published rows."""
    n_public: int
    exposed: float
    smooth: Sequence[tuple[float, float, float]]
    posterior: float | None
    warnings: tuple[str, ...]
    written: Written | None


def owner_facts(told: ToldOwner) -> Facts:
    """What plan and publish tell the owner."""
    terms, sampled, written = told.terms, told.sampled, told.written
    content: dict[str, Any] = {
        "version": __version__,
        "method": told.method,
        "node": None if told.node is None else dict(told.node),
        "rows": told.rows,
        "sampled_rows": None if sampled is None else sum(s.seen for s in sampled),
        "published_rows": None if written is None or told.shown is None else sum(told.shown),
        "suppressed_rows": None if sampled is None else sum(s.seen - s.shown for s in sampled),
        "expected_rows": None if told.expected is None else sum(told.expected),
        "classes": None if sampled is None else sum(s.classes for s in sampled),
        "loss": None,
        "guarantee": terms.guarantee,
        "replaced": {"epsilon": terms.replaced_epsilon, "delta": terms.replaced_delta},
        "parameters": terms.numbers,
        "promise": promise(terms),
        "details": list(details(terms)),
        "n_public": told.n_public,
        "exposed": told.exposed,
        "smooth": [{"epsilon": e, "delta": d, "bound": b} for e, d, b in told.smooth],
        "posterior": told.posterior,
        "warnings": list(told.warnings),
        "output": None if written is None else str(written.output),
    }
    if len(told.groups) > 1:
        content["groups"] = [_group(told, i) for i in range(len(told.groups))]
    parts: list[Part] = [
        Line(promise(terms)),
        *(Line(f"- {text}", quiet=True) for text in details(terms)),
        Line(exposure(terms, told.n_public, told.exposed)),
        smooth_grid(told.smooth, terms.groups),
        Line(f"{_counts(told)} {OWNER}"),
        *_where(written),
    ]
    levels = ", ".join(f"{q} {level}" for q, level in (told.node or {}).items()) or "drawn when it is published"
    four = f"epsilon {terms.epsilon:.4g}, delta {terms.delta:.3g}, k {terms.k}, beta {terms.beta:.4g}"
    many = f" in each of {terms.groups} groups" if terms.groups > 1 else ""
    return Facts(f"{told.method}  {four}{many}; levels: {levels}", content, tuple(parts), told.warnings)


def _group(told: ToldOwner, i: int) -> dict[str, Any]:
    """What is told of one group."""
    sampled = None if told.sampled is None else told.sampled[i]
    return {
        "columns": list(told.groups[i].columns),
        "expected_rows": None if told.expected is None else told.expected[i],
        "sampled_rows": None if sampled is None else sampled.seen,
        "published_rows": None if told.shown is None else told.shown[i],
        "suppressed_rows": None if sampled is None else sampled.seen - sampled.shown,
        "classes": None if sampled is None else sampled.classes,
    }


def _counts(told: ToldOwner) -> str:
    if told.sampled is None and told.shown is None and told.expected is None:
        return f"{told.rows:,} rows; how many are published depends on coins."
    many = len(told.groups) > 1
    found = [_count(told, i, f"Of {', '.join(g.columns)}: " if many else "") for i, g in enumerate(told.groups)]
    return " ".join([f"{told.rows:,} rows.", *found] if many else [f"{told.rows:,} rows{found[0]}"])


def _count(told: ToldOwner, i: int, group: str) -> str:
    """How many rows are published, of one group where there are several."""
    if told.sampled is not None:
        one = told.sampled[i]
        return (
            f"{group or ', of which '}{one.seen:,} were sampled and {one.shown:,} are published, in "
            f"{one.classes:,} classes; {one.seen - one.shown:,} are suppressed."
        )
    if told.shown is not None:
        return f"{group or '; '}{told.shown[i]:,} are published."
    assert told.expected is not None
    return f"{group or ', of which '}about {told.expected[i]:,.0f} are to be expected in the release."


def _where(written: Written | None) -> list[Line]:
    if written is None:
        return []
    if written.again:
        return [Line(f"Table, policy and key are those of before: this is {written.output.name}, as it was.")]
    return [Line(f"Written and checked again from the file: {written.output.name}")]
