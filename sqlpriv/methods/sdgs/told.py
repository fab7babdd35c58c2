"""What is told of a release by sampled k-anonymity: to its owner by plan and publish, to its readers by show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Written
from sqlpriv.methods.sdgs.classes import Sampled
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
    one = terms.unit
    found = [
        f"Every row was sampled with probability {terms.beta:.6g}, and what occurs fewer than {terms.k:,} times in the "
        "sample, in all published columns together, is suppressed.",
        f"When a {one} is replaced by another, it is ({terms.replaced_epsilon:.4g}, {terms.replaced_delta:.3g}).",
        f"delta is of one {one}; that it fails for somebody has a chance of about delta times the number of {one}s.",
    ]
    if terms.rows_each > 1:
        found.append(f"Persons have up to {terms.rows_each} rows; of one row it is epsilon {terms.epsilon:.4g}.")
    elif terms.of_persons:
        found.append("Of every person one row was taken, by a coin: count(*) estimates a number of persons.")
    if terms.node_epsilon:
        found.append(f"Of epsilon, {terms.node_epsilon:.4g} was spent on choosing the levels out of a public list.")
    return (
        *found,
        "Column names, types and hierarchies are taken to be public, and the levels to be chosen without the table.",
        "Rows of different people that belong together (families), and what the whole table teaches, are not covered.",
    )


def exposure(terms: Terms, n_public: float, exposed: float) -> str:
    """What delta is for all of them together."""
    return f"delta times {n_public:,.0f} {terms.unit}s is {exposed:.3g}: the chance that it fails for somebody."


def smooth_grid(points: Sequence[tuple[float, float, float]]) -> Grid:
    """The f-smooth guarantee: a worse breach is rarer."""
    rows = tuple((f"{e:.4g}", f"{d:.3g}", f"{b:.3g}") for e, d, b in points)
    return Grid(("epsilon", "delta", "bound on delta"), rows, caption="of one row: larger breaches are rarer")


def linking_posterior(calls: Calls, terms: Terms, choices: Sequence[int | None], times: float = _TIMES) -> float | None:
    """What one comes to believe in a sensitive value at most who knows all else of a person; None: not known.

    `choices` are the sizes of the public domains of the sensitive columns. It holds in the mean over the coins: with a
    chance of delta the value may be seen. Where a person may have several rows, the belief is that one of them has it.
    """
    if not choices or None in choices:
        return None
    factor = float(calls.value(f"exp({terms.replaced_epsilon!r})"))
    found = []
    for size in choices:
        prior = calls.row("linking_prior", float(size or 1), times)[0]
        prior = prior if terms.rows_each == 1 else calls.row("person_prior", prior, terms.rows_each)[0]
        bounded = calls.row("posterior_bound", prior, factor)[0]
        found.append(float(calls.value(f"_belief_but_for({bounded!r}, {terms.replaced_delta!r})")))
    return max(found)


@dataclass(frozen=True)
class ToldOwner:
    """What a plan knows that is told, before and after it was written. Much of it is for the owner alone."""

    method: str
    terms: Terms
    node: Mapping[str, int] | None
    rows: int
    expected: float | None
    sampled: Sampled | None
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
        "sampled_rows": None if sampled is None else sampled.seen,
        "published_rows": None if written is None else written.made.rows,
        "suppressed_rows": None if sampled is None else sampled.seen - sampled.shown,
        "expected_rows": told.expected,
        "classes": None if sampled is None else sampled.classes,
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
    parts: list[Part] = [
        Line(promise(terms)),
        *(Line(f"- {text}", quiet=True) for text in details(terms)),
        Line(exposure(terms, told.n_public, told.exposed)),
        smooth_grid(told.smooth),
        Line(f"{_counts(told)} {OWNER}"),
        *_where(written),
    ]
    levels = ", ".join(f"{q} {level}" for q, level in (told.node or {}).items()) or "drawn when it is published"
    four = f"epsilon {terms.epsilon:.4g}, delta {terms.delta:.3g}, k {terms.k}, beta {terms.beta:.4g}"
    return Facts(f"{told.method}  {four}; levels: {levels}", content, tuple(parts), told.warnings)


def _counts(told: ToldOwner) -> str:
    rows, sampled = told.rows, told.sampled
    if sampled is not None:
        return (
            f"{rows:,} rows, of which {sampled.seen:,} were sampled and {sampled.shown:,} are published, in "
            f"{sampled.classes:,} classes; {sampled.seen - sampled.shown:,} are suppressed."
        )
    if told.written is not None:
        return f"{rows:,} rows; {told.written.made.rows:,} are published."
    if told.expected is not None:
        return f"{rows:,} rows, of which about {told.expected:,.0f} are to be expected in the release."
    return f"{rows:,} rows; how many are published depends on coins."


def _where(written: Written | None) -> list[Line]:
    if written is None:
        return []
    if written.again:
        return [Line(f"Table, policy and key are those of before: this is {written.output.name}, as it was.")]
    return [Line(f"Written and checked again from the file: {written.output.name}")]
