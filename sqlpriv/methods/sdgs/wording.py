"""The sentences of sampled k-anonymity: for its owner (plan, publish), and for the readers of a release (show)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.facts import Grid, Line, shown_number
from sqlpriv.methods.method import Written
from sqlpriv.methods.sdgs.classes import SampleCounts
from sqlpriv.methods.sdgs.terms import SdgsTerms

OWNER = "Numbers of rows that are not in the release are for its owner alone."


def promise(terms: SdgsTerms) -> str:
    """The guarantee: two sentences to say aloud."""
    one, whole = f"a {terms.unit}", f"{terms.total_epsilon:.4g}, {terms.total_delta:.3g}"
    factor = f"e^{terms.total_epsilon:.4g}"
    return (
        f"Whatever is published here would be published with nearly the same chance if {one} were left out: it is "
        f"({whole})-differential privacy. Take an attacker who knows all others and believes with odds o that "
        f"{one} with certain values is in the table. Afterwards the odds are between o / {factor} and {factor} o, "
        "except with a chance of delta."
    )


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
class GroupCounts:
    """What is known of the rows of a group: before the sample is drawn, with it, and of a release that was there."""

    columns: Sequence[str]
    expected: float | None
    sampled: SampleCounts | None
    shown: int | None
    """Published rows."""

    @property
    def content(self) -> dict[str, Any]:
        """For JSON."""
        sampled = self.sampled
        return {
            "columns": list(self.columns),
            "expected_rows": self.expected,
            "sampled_rows": None if sampled is None else sampled.seen,
            "published_rows": self.shown,
            "suppressed_rows": None if sampled is None else sampled.seen - sampled.shown,
            "classes": None if sampled is None else sampled.classes,
        }

    def sentence(self, group: str) -> str:
        """How many rows are published; `group` names the group, where there are several."""
        if self.sampled is not None:
            one = self.sampled
            return (
                f"{group or ', of which '}{one.seen:,} were sampled and {one.shown:,} are published, in "
                f"{one.classes:,} classes; {one.seen - one.shown:,} are suppressed."
            )
        if self.shown is not None:
            return f"{group or '; '}{self.shown:,} are published."
        return f"{group or ', of which '}about {self.expected or 0:,.0f} are expected in the release."


def counts(rows: int, groups: Sequence[GroupCounts]) -> str:
    """How many rows there are, and how many of them are published."""
    if all(g.sampled is None and g.shown is None and g.expected is None for g in groups):
        return f"{rows:,} rows; the number of published rows depends on random sampling."
    if len(groups) == 1:
        return f"{rows:,} rows{groups[0].sentence('')}"
    return " ".join([f"{rows:,} rows.", *(g.sentence(f"Of {', '.join(g.columns)}: ") for g in groups)])


def where(written: Written | None) -> list[Line]:
    """Where the release is."""
    if written is None:
        return []
    if written.again:
        return [Line(f"Table, policy and key have not changed: this is the existing {written.output.name}.")]
    return [Line(f"Written, and verified from the file: {written.output.name}")]


def terms_evidence(terms: SdgsTerms, exposed: float | None, *, is_public: bool) -> Iterator[Evidence]:
    """What the verdict is judged by. `exposed` is delta times the public number of rows, where that is declared.

    `is_public`: the owner says why the one node does not depend on the table.
    """
    if not is_public and not terms.node_epsilon:
        yield Evidence("levels_public")
    yield Evidence("epsilon", terms.total_epsilon)
    if exposed is None:
        yield Evidence("delta_of_each", terms.total_delta, terms.unit)
    else:
        yield Evidence("delta", exposed)
    yield Evidence("member", terms.total_epsilon, terms.unit, shown_number(terms.total_delta))
