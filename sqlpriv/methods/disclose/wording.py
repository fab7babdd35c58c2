"""The sentences of a disclosure: for its owner (plan, publish), and for the readers of a release (show)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.checks.exposure import unique_columns
from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.facts import Facts, Grid, Line, Part, shown_number
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.disclose.alternatives import Independent, Threshold
from sqlpriv.methods.disclose.choose import Chosen
from sqlpriv.methods.disclose.policy import BAYES, RISK, UTILITY, WORST, DisclosePolicy
from sqlpriv.methods.method import Written
from sqlpriv.risk.minimax import Minimax
from sqlpriv.version import __version__

RULE_WARNING = (
    "What is disclosed of a row was chosen by looking at the row. A reader who knows the rule learns from the choice: "
    "a general label reveals that a more precise one was too risky, and other cells below that label may have got "
    "another label. The risk does not include this (nor does section 10 of Lebanon et al. 2009)"
)
"""Minimality, which every reader has to know about."""
PERSONAL_WARNING = (
    "How much is disclosed of a row depends on the weights of its person, so the row reveals something about them. "
    "Less is disclosed of a person with high weights than of others with similar cells"
)
"""Where weights are personal."""

GIVEN, ITSELF = "given", "the table"
_HOLDERS = {
    GIVEN: "An attacker who holds the dictionary of the policy",
    ITSELF: "An attacker who holds the table itself, or any dictionary that has its people and says no more of them "
    "(Proposition 1),",
    BAYES: "An attacker who holds one of the dictionaries of the policy, each with the probability of its prior,",
    WORST: "An attacker who holds one of the dictionaries of the policy",
}
_JUDGED = {BAYES: ", on average by the priors", WORST: ", with the dictionary that is worst for the row"}


@dataclass(frozen=True)
class DiscloseTerms:
    """The goal of a release, and the attacker that it is about."""

    goal: str
    is_average: bool
    c: float
    form: str
    psi: float
    psi_of_cells: bool
    personal: bool
    dictionary: str
    """A given one, the table itself, or how several are combined."""


def terms_of(policy: DisclosePolicy) -> DiscloseTerms:
    """The terms of a policy."""
    number = len(policy.dictionaries)
    return DiscloseTerms(
        goal=policy.goal, is_average=policy.is_average, c=policy.c, form=policy.form, psi=policy.psi,
        psi_of_cells=bool(policy.psi_of_cells), personal=policy.personal is not None,
        dictionary=policy.judge if number > 1 else GIVEN if number else ITSELF,
    )  # fmt: skip


def promise(terms: DiscloseTerms) -> str:
    """The guarantee: against which attacker, and what is bounded."""
    holder = _HOLDERS[terms.dictionary]
    picks = f"{holder} and picks at random one of the entries that fit a row, finds its person with a probability p"
    loss = "the loss of the row is p times the weight of what it discloses"
    if terms.personal:
        loss += ", by the weights of its person"
    missed = [shown_number(terms.psi, 6)] if terms.psi else []
    missed += ["the weight of its cells for a person who is not found"] if terms.psi_of_cells else []
    loss += f" plus 1 - p times {' and '.join(missed)}" if missed else ""
    loss += _JUDGED.get(terms.dictionary, "")
    c = shown_number(terms.c, 6)
    if _is_minimax(terms):
        # The file declares no gap, so nothing is said of the best rule here.
        what = (
            f"where the utility of every row is at least {c}"
            if terms.goal == RISK
            else f"with {c} utility taken off it"
        )
        bound = (
            "the labels of all rows were chosen together for a small risk, the mean loss, against the one dictionary "
            f"for which it is largest, {what}"
        )
    elif terms.goal == UTILITY:
        bound = f"its mean is at most {c}" if terms.is_average else f"it is at most {c} for every row"
    elif terms.goal == RISK:
        kept = "the mean utility is" if terms.is_average else "the utility of every row is"
        bound = f"it is as small as possible where {kept} at least {c}"
    else:
        bound = f"loss - {c} utility is as small as possible for every row"
    return f"{picks}; {loss}, and {bound}. This is about one attacker: an attacker who knows more finds more people."


def disclosure_evidence(
    calls: Calls, rows: str, others: Sequence[str], terms: DiscloseTerms, numbers: Mapping[str, float]
) -> Iterator[Evidence]:
    """What the verdict is judged by: the loss of the worst row, who the attacker is, and columns that are not judged.

    `rows` is a relation with those other columns.
    """
    yield from unique_columns(calls, rows, others)
    if math.isinf(numbers["worst"]):
        yield Evidence("infinite_loss")
    holds = "the table itself" if terms.dictionary == ITSELF else "the dictionary of the policy"
    yield Evidence("dictionary", about=holds)
    yield Evidence("holder", numbers["risk"], holds)


def _is_minimax(terms: DiscloseTerms) -> bool:
    """Whether the largest of the risks against each dictionary was made small."""
    return terms.dictionary == WORST and terms.goal != UTILITY and not terms.is_average


def rule_warnings(terms: DiscloseTerms) -> tuple[str, ...]:
    """What every reader has to know of the rule by which labels were chosen."""
    return (RULE_WARNING, PERSONAL_WARNING) if terms.personal else (RULE_WARNING,)


def owner_warnings(terms: DiscloseTerms, chosen: Chosen, rows: int, unweighted: Sequence[str]) -> tuple[str, ...]:
    """Warnings about every such release, and about this table."""
    found = [*rule_warnings(terms)]
    if chosen.unmatched:
        found.append(
            f"{chosen.unmatched:,} of {rows:,} rows fit no entry of the dictionary as they are published: their loss "
            "is 0, and nothing is promised about them. Are values spelled alike in both, and are these people in it?"
        )
    if chosen.alone:
        found.append(
            f"{chosen.alone:,} of {rows:,} rows have labels that no other row has: an attacker who holds the table and "
            "knows the rule can identify their persons"
        )
    if unweighted:
        found.append(f"{', '.join(map(repr, unweighted))}: each value has weight 1, since the policy gives none")
    return tuple(found)


def owner_facts(
    policy: DisclosePolicy,
    terms: DiscloseTerms,
    chosen: Chosen,
    rows: int,
    warnings: tuple[str, ...],
    written: Written | None,
    thresholds: Sequence[Threshold],
    closed: Sequence[Independent],
) -> Facts:
    """What plan and publish report to the owner; other thresholds and the closed form, for comparison."""
    content: dict[str, Any] = {
        "version": __version__,
        "method": policy.method,
        "goal": terms.goal,
        "per": policy.release["per"],
        "c": terms.c,
        "form": terms.form,
        "rows": rows,
        "suppressed_rows": 0,
        "classes": chosen.classes,
        "alone": chosen.alone,
        "unmatched": chosen.unmatched,
        "risk": chosen.risk,
        "worst": chosen.worst,
        "utility": chosen.utility,
        "whole_utility": chosen.whole,
        "gap": chosen.gap,
        **_bounds(chosen.minimax),
        "shares": {name: list(found) for name, found in chosen.shares.items()},
        "promise": promise(terms),
        "sweep": [t.content for t in thresholds],
        "independent": [i.content for i in closed],
        "warnings": list(warnings),
        "output": None if written is None else str(written.output),
    }
    parts: list[Part] = [
        Line(promise(terms)),
        Line(
            f"risk {shown_number(chosen.risk)}, the worst row {shown_number(chosen.worst)}; utility "
            f"{shown_number(chosen.utility)} of {shown_number(chosen.whole)}. The utility of a row is the number of "
            "levels of its cells below the tops of their hierarchies."
        ),
        *_gap(terms, chosen),
        *_minimax(terms, chosen.minimax),
        share_grid(chosen.shares),
        *_sweep_grid(terms, thresholds),
        *_independent_grid(closed),
        *_where(written),
    ]
    title = f"{rows:,} rows; risk {shown_number(chosen.risk)}, utility {shown_number(chosen.utility)}"
    return Facts(title, content, tuple(parts), warnings)


def _gap(terms: DiscloseTerms, chosen: Chosen) -> list[Line]:
    """The most by which a mean may fall short of the best one."""
    if not terms.is_average:
        return []
    what = "risk" if terms.goal == RISK else "utility"
    known = (
        f"no rule has a better {what} by more than {shown_number(chosen.gap)}" if chosen.gap else "no rule is better"
    )
    return [Line(f"A bounded mean is a knapsack problem: {known}.")]


def _bounds(found: Minimax | None) -> dict[str, Any]:
    """For JSON; nothing where records are not weighed together."""
    if found is None:
        return {}
    return {"minimax": {"lower": found.lower, "upper": found.upper, "gap": found.gap, "is_minimax": found.gap == 0}}


def _minimax(terms: DiscloseTerms, found: Minimax | None) -> list[Line]:
    """The largest of the risks against each dictionary, and how far the best rule may be below it."""
    if found is None:
        return []
    what = "risk" if terms.goal == RISK else f"risk - {shown_number(terms.c, 6)} utility"
    largest = f"Against one dictionary for all rows the largest {what} is {shown_number(found.upper, 6)}"
    if not found.gap:
        return [Line(f"{largest}: the minimax rule, no rule has less.")]
    return [
        Line(
            f"{largest}, and no rule has less than {shown_number(found.lower, 6)}: a gap of "
            f"{shown_number(found.gap)}, so a better rule may exist."
        )
    ]


def _sweep_grid(terms: DiscloseTerms, thresholds: Sequence[Threshold]) -> list[Grid]:
    """Risk, utility and levels at other thresholds."""
    if not thresholds:
        return []
    caption = "other thresholds"
    if terms.goal == RISK and not terms.is_average:
        caption += "; a row with a utility below c is disclosed as it is"
    marked = tuple(i for i, t in enumerate(thresholds) if t.c == terms.c)
    numbers = tuple(tuple(map(shown_number, (t.c, t.risk, t.worst, t.utility))) for t in thresholds)
    names = tuple(thresholds[0].levels)
    shares = tuple((shown_number(t.c), *(_percents(t.levels[name]) for name in names)) for t in thresholds)
    levels = "percent of the rows that disclose a column as its value, at each level, and not at all"
    return [
        Grid(("c", "risk", "worst", "utility"), numbers, caption=caption, marked=marked),
        Grid(("c", *names), shares, caption=levels, marked=marked),
    ]


def _independent_grid(found: Sequence[Independent]) -> list[Grid]:
    """The closed form compared with the best choice."""
    if not found:
        return []
    rows = tuple((i.k, *map(shown_number, (i.estimated, i.risk, i.exact))) for i in found)
    caption = (
        "k cells disclosed by the closed form for independent attributes (section 4.2): the risk it computes, its true "
        "risk, and the least risk with as much utility"
    )
    return [Grid(("k", "computed", "risk", "best"), rows, caption=caption)]


def _percents(shares: Sequence[float]) -> str:
    return " ".join(f"{share:.0%}".rstrip("%") for share in reversed(shares))


def share_grid(shares: Mapping[str, Sequence[float]]) -> Grid:
    """The share of the rows that disclose each attribute at each level."""
    levels = max(len(found) for found in shares.values())
    rows = tuple(
        (name, *(f"{found[i]:.1%}" if i < len(found) else "" for i in range(levels))) for name, found in shares.items()
    )
    headings = ("column", "value", *(f"level {i}" for i in range(1, levels)))
    return Grid(headings, rows, caption="share of the rows; the last level of a column is *, suppressed")


def _where(written: Written | None) -> list[Line]:
    if written is None:
        return []
    if written.again:
        return [Line(f"Table and policy have not changed: this is the existing {written.output.name}.")]
    return [Line(f"Written, and verified from the file: {written.output.name}")]
