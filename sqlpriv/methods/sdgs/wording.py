"""The sentences of sampled k-anonymity: for its owner (plan, publish), and for the readers of a release (show)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.facts import Facts, Grid, Line, Part
from sqlpriv.methods.method import Written
from sqlpriv.methods.sdgs.classes import SampleCounts
from sqlpriv.methods.sdgs.groups import Group
from sqlpriv.methods.sdgs.terms import SdgsTerms
from sqlpriv.version import __version__

OWNER = "Numbers of rows that are not in the release are for its owner alone."


def promise(terms: SdgsTerms) -> str:
    """The guarantee: two sentences to say aloud."""
    one, whole = f"a {terms.unit}", f"{terms.total_epsilon:.4g}, {terms.total_delta:.3g}"
    return (
        f"Whatever is published here would be published with nearly the same chance if {one} were left out: it is "
        f"({whole})-differential privacy. An attacker who knows all others, and believes with odds o that {one} with "
        f"certain values is in the table, believes so with odds between o / {_factor(terms)} and {_factor(terms)} o "
        "afterwards, but for a chance of delta."
    )


def _factor(terms: SdgsTerms) -> str:
    return f"e^{terms.total_epsilon:.4g}"


def details(terms: SdgsTerms) -> tuple[str, ...]:
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
            f"The columns are published in {terms.groups} groups, each from an independent random sample: of one row "
            f"in one group it is ({terms.epsilon:.4g}, {terms.delta:.3g}), and groups add up. Which row of one group "
            "goes with which of another is not published."
        )
    if terms.rows_each > 1:
        found.append(f"Persons have up to {terms.rows_each} rows; of one row it is epsilon {terms.epsilon:.4g}.")
    elif terms.of_persons:
        found.append("Of every person one row was taken at random: count(*) estimates a number of persons.")
    if terms.node_epsilon:
        found.append(f"Of epsilon, {terms.node_epsilon:.4g} was spent on choosing the levels out of a public list.")
    return (
        *found,
        "Column names, types and hierarchies are taken to be public, and the levels "
        f"{'and groups ' if grouped else ''}to be chosen without the table.",
        "Rows of different people that belong together (families), and what the whole table teaches, are not covered.",
    )


def exposure(terms: SdgsTerms, n_public: float, exposed: float) -> str:
    """What delta is for all of them together."""
    return f"delta times {n_public:,.0f} {terms.unit}s is {exposed:.3g}: the chance that it fails for somebody."


def smooth_grid(points: Sequence[tuple[float, float, float]], groups: int) -> Grid:
    """The f-smooth guarantee: a worse breach is rarer."""
    of_what = "of one row, in one group" if groups > 1 else "of one row"
    rows = tuple((f"{e:.4g}", f"{d:.3g}", f"{b:.3g}") for e, d, b in points)
    return Grid(("epsilon", "delta", "bound on delta"), rows, caption=f"{of_what}: larger breaches are rarer")


@dataclass(frozen=True)
class OwnerSummary:
    """What a plan reports, before and after it is written. Much of it is for the owner alone."""

    method: str
    terms: SdgsTerms
    node: Mapping[str, int] | None
    groups: Sequence[Group]
    rows: int
    expected: Sequence[float] | None
    """By group, as what follows."""
    sampled: Sequence[SampleCounts] | None
    shown: Sequence[int] | None
    """Published rows."""
    n_public: int
    exposed: float
    smooth: Sequence[tuple[float, float, float]]
    posterior: float | None
    warnings: tuple[str, ...]
    written: Written | None


def owner_facts(summary: OwnerSummary) -> Facts:
    """What plan and publish report to the owner."""
    terms, sampled, written = summary.terms, summary.sampled, summary.written
    content: dict[str, Any] = {
        "version": __version__,
        "method": summary.method,
        "node": None if summary.node is None else dict(summary.node),
        "rows": summary.rows,
        "sampled_rows": None if sampled is None else sum(s.seen for s in sampled),
        "published_rows": None if written is None or summary.shown is None else sum(summary.shown),
        "suppressed_rows": None if sampled is None else sum(s.seen - s.shown for s in sampled),
        "expected_rows": None if summary.expected is None else sum(summary.expected),
        "classes": None if sampled is None else sum(s.classes for s in sampled),
        "loss": None,
        "guarantee": terms.guarantee,
        "replaced": {"epsilon": terms.replaced_epsilon, "delta": terms.replaced_delta},
        "parameters": terms.numbers,
        "promise": promise(terms),
        "details": list(details(terms)),
        "n_public": summary.n_public,
        "exposed": summary.exposed,
        "smooth": [{"epsilon": e, "delta": d, "bound": b} for e, d, b in summary.smooth],
        "posterior": summary.posterior,
        "warnings": list(summary.warnings),
        "output": None if written is None else str(written.output),
    }
    if len(summary.groups) > 1:
        content["groups"] = [_group(summary, i) for i in range(len(summary.groups))]
    parts: list[Part] = [
        Line(promise(terms)),
        *(Line(f"- {text}", quiet=True) for text in details(terms)),
        Line(exposure(terms, summary.n_public, summary.exposed)),
        smooth_grid(summary.smooth, terms.groups),
        Line(f"{_counts(summary)} {OWNER}"),
        *_where(written),
    ]
    levels = ", ".join(f"{q} {level}" for q, level in (summary.node or {}).items()) or "drawn when it is published"
    four = f"epsilon {terms.epsilon:.4g}, delta {terms.delta:.3g}, k {terms.k}, beta {terms.beta:.4g}"
    many = f" in each of {terms.groups} groups" if terms.groups > 1 else ""
    return Facts(f"{summary.method}  {four}{many}; levels: {levels}", content, tuple(parts), summary.warnings)


def _group(summary: OwnerSummary, i: int) -> dict[str, Any]:
    """The numbers of one group."""
    sampled = None if summary.sampled is None else summary.sampled[i]
    return {
        "columns": list(summary.groups[i].columns),
        "expected_rows": None if summary.expected is None else summary.expected[i],
        "sampled_rows": None if sampled is None else sampled.seen,
        "published_rows": None if summary.shown is None else summary.shown[i],
        "suppressed_rows": None if sampled is None else sampled.seen - sampled.shown,
        "classes": None if sampled is None else sampled.classes,
    }


def _counts(summary: OwnerSummary) -> str:
    if summary.sampled is None and summary.shown is None and summary.expected is None:
        return f"{summary.rows:,} rows; the number of published rows depends on random sampling."
    many = len(summary.groups) > 1
    found = [_count(summary, i, f"Of {', '.join(g.columns)}: " if many else "") for i, g in enumerate(summary.groups)]
    return " ".join([f"{summary.rows:,} rows.", *found] if many else [f"{summary.rows:,} rows{found[0]}"])


def _count(summary: OwnerSummary, i: int, group: str) -> str:
    """How many rows are published, of one group where there are several."""
    if summary.sampled is not None:
        one = summary.sampled[i]
        return (
            f"{group or ', of which '}{one.seen:,} were sampled and {one.shown:,} are published, in "
            f"{one.classes:,} classes; {one.seen - one.shown:,} are suppressed."
        )
    if summary.shown is not None:
        return f"{group or '; '}{summary.shown[i]:,} are published."
    assert summary.expected is not None
    return f"{group or ', of which '}about {summary.expected[i]:,.0f} are expected in the release."


def _where(written: Written | None) -> list[Line]:
    if written is None:
        return []
    if written.again:
        return [Line(f"Table, policy and key have not changed: this is the existing {written.output.name}.")]
    return [Line(f"Written, and verified from the file: {written.output.name}")]
