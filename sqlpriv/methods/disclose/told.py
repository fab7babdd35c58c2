"""What is told of a disclosure: to its owner by plan and publish, to its readers by show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.facts import Facts, Grid, Line, Part, shown_number
from sqlpriv.methods.disclose.choose import Chosen
from sqlpriv.methods.disclose.independent import Independent
from sqlpriv.methods.disclose.policy import BAYES, RISK, UTILITY, WORST, DisclosePolicy
from sqlpriv.methods.disclose.sweep import Threshold
from sqlpriv.methods.method import Written
from sqlpriv.version import __version__

CHOICE = (
    "What is disclosed of a row was chosen by the row, and who knows the rule learns from the choice: a label that is "
    "general says that a sharper one was too dear, and rows with other cells below that label may have got another. "
    "This is not in the risk (section 10 of Lebanon et al. 2009 leaves it out, too)"
)
"""Minimality: the one thing that every reader has to be told."""
MINDED = (
    "How much is told of a row depends on how much its person minds, so the row shows that, too: who is told less of "
    "than others with such cells has something that matters to them"
)
"""And where people have weights of their own, another."""

GIVEN, ITSELF = "given", "the table"
_HOLDERS = {
    GIVEN: "Whoever holds the dictionary of the policy",
    ITSELF: "Whoever holds the table itself, or any dictionary that has its people and says no more of them "
    "(Proposition 1),",
    BAYES: "Whoever holds one of the dictionaries of the policy, each as likely as its prior says,",
    WORST: "Whoever holds one of the dictionaries of the policy",
}
_JUDGED = {BAYES: ", in the mean by the priors", WORST: ", by the dictionary that is worst for it"}


@dataclass(frozen=True)
class Terms:
    """What was asked for, and against whom."""

    goal: str
    is_average: bool
    c: float
    form: str
    psi: float
    psi_of_cells: bool
    personal: bool
    dictionary: str
    """One that is given, the table itself, or how several are taken together."""


@dataclass(frozen=True)
class Others:
    """What else could be chosen, which plans tell."""

    thresholds: Sequence[Threshold]
    independents: Sequence[Independent]


def terms_of(policy: DisclosePolicy) -> Terms:
    """What a policy asks for."""
    number = len(policy.held)
    dictionary = policy.judge if number > 1 else GIVEN if number else ITSELF
    psi_of_cells, personal = bool(policy.psi_of_cells), policy.personal is not None
    return Terms(policy.goal, policy.is_average, policy.c, policy.form, policy.psi, psi_of_cells, personal, dictionary)


def promise(terms: Terms) -> str:
    """The guarantee: whom it is against, and what it says."""
    holder = _HOLDERS[terms.dictionary]
    picks = f"{holder} and picks by lot one of the entries that fit a row, finds its person with some chance p"
    loss = "the loss of the row is p times the weight of what it tells"
    if terms.personal:
        loss += ", by the weights of its person"
    missed = [shown_number(terms.psi, 6)] if terms.psi else []
    missed += ["what its cells weigh where nobody is found"] if terms.psi_of_cells else []
    loss += f" and 1 - p times {' and '.join(missed)}" if missed else ""
    loss += _JUDGED.get(terms.dictionary, "")
    c = shown_number(terms.c, 6)
    if terms.goal == UTILITY:
        bound = f"on average it is at most {c}" if terms.is_average else f"it is at most {c} for every row"
    elif terms.goal == RISK:
        kept = "the mean utility is" if terms.is_average else "the utility of every row is"
        bound = f"it is the least where {kept} at least {c}"
    else:
        bound = f"loss - {c} utility is the least for every row"
    return f"{picks}; {loss}, and {bound}. It is about this attacker alone: who knows more finds more."


def of_the_rule(terms: Terms) -> tuple[str, ...]:
    """What every reader has to know of the rule by which cells were chosen."""
    return (CHOICE, MINDED) if terms.personal else (CHOICE,)


def warned(terms: Terms, chosen: Chosen, rows: int, unweighed: Sequence[str]) -> tuple[str, ...]:
    """What the owner has to know: of every such release, and of this table."""
    found = [*of_the_rule(terms)]
    if chosen.unmatched:
        found.append(
            f"{chosen.unmatched:,} of {rows:,} rows fit no entry of the dictionary as they are published: their loss "
            "is 0, and nothing is promised of them; are both tables written alike, and are these people in it?"
        )
    if chosen.alone:
        found.append(
            f"{chosen.alone:,} of {rows:,} rows show labels that no other row shows: who holds the table and knows the "
            "rule can tell whose they are"
        )
    if unweighed:
        found.append(f"{', '.join(map(repr, unweighed))}: each value weighs 1, since the policy says nothing else")
    return tuple(found)


def owner_facts(
    policy: DisclosePolicy,
    terms: Terms,
    chosen: Chosen,
    rows: int,
    warnings: tuple[str, ...],
    written: Written | None,
    others: Others,
) -> Facts:
    """What plan and publish tell the owner."""
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
        "shares": {name: list(found) for name, found in chosen.shares.items()},
        "promise": promise(terms),
        "sweep": [t.content for t in others.thresholds],
        "independent": [i.content for i in others.independents],
        "warnings": list(warnings),
        "output": None if written is None else str(written.output),
    }
    parts: list[Part] = [
        Line(promise(terms)),
        Line(
            f"risk {shown_number(chosen.risk)}, the worst row {shown_number(chosen.worst)}; utility "
            f"{shown_number(chosen.utility)} of {shown_number(chosen.whole)}. The utility of a row is the steps of its "
            "cells below the tops of their hierarchies."
        ),
        *_gap(terms, chosen),
        share_grid(chosen.shares),
        *_sweep_grid(terms, others.thresholds),
        *_independent_grid(others.independents),
        *_where(written),
    ]
    title = f"{rows:,} rows; risk {shown_number(chosen.risk)}, utility {shown_number(chosen.utility)}"
    return Facts(title, content, tuple(parts), warnings)


def _gap(terms: Terms, chosen: Chosen) -> list[Line]:
    """How far from the best a mean may be."""
    if not terms.is_average:
        return []
    what = "risk" if terms.goal == RISK else "utility"
    known = (
        f"no rule has a better {what} by more than {shown_number(chosen.gap)}" if chosen.gap else "no rule is better"
    )
    return [Line(f"To keep a mean is a knapsack: {known}.")]


def _sweep_grid(terms: Terms, thresholds: Sequence[Threshold]) -> list[Grid]:
    """What other thresholds would give."""
    if not thresholds:
        return []
    caption = "other thresholds"
    if terms.goal == RISK and not terms.is_average:
        caption += "; a row that has less than c to tell tells all of it"
    marked = tuple(i for i, t in enumerate(thresholds) if t.c == terms.c)
    numbers = tuple(tuple(map(shown_number, (t.c, t.risk, t.worst, t.utility))) for t in thresholds)
    names = tuple(thresholds[0].levels)
    shares = tuple((shown_number(t.c), *(_percents(t.levels[name]) for name in names)) for t in thresholds)
    told = "percents of the rows that tell a column as its value, its levels one after another, and not at all"
    return [
        Grid(("c", "risk", "worst", "utility"), numbers, caption=caption, marked=marked),
        Grid(("c", *names), shares, caption=told, marked=marked),
    ]


def _independent_grid(found: Sequence[Independent]) -> list[Grid]:
    """The closed form beside what is exact."""
    if not found:
        return []
    rows = tuple((i.k, *map(shown_number, (i.estimated, i.risk, i.exact))) for i in found)
    caption = (
        "k cells told by the closed form for independent attributes (section 4.2): the risk it says, the risk it has, "
        "and the least with as much utility"
    )
    return [Grid(("k", "said", "risk", "best"), rows, caption=caption)]


def _percents(shares: Sequence[float]) -> str:
    return " ".join(f"{share:.0%}".rstrip("%") for share in reversed(shares))


def share_grid(shares: Mapping[str, Sequence[float]]) -> Grid:
    """How much of each attribute is disclosed on which level."""
    levels = max(len(found) for found in shares.values())
    rows = tuple(
        (name, *(f"{found[i]:.1%}" if i < len(found) else "" for i in range(levels))) for name, found in shares.items()
    )
    headings = ("column", "value", *(f"level {i}" for i in range(1, levels)))
    return Grid(headings, rows, caption="share of the rows; the last level of a column is *, nothing at all")


def _where(written: Written | None) -> list[Line]:
    if written is None:
        return []
    if written.again:
        return [Line(f"The table and the policy are those of before: this is {written.output.name}, as it was.")]
    return [Line(f"Written and checked again from the file: {written.output.name}")]
