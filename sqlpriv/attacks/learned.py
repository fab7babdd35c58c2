"""The learned attack: a reader who learns from the whole file how values go with columns (de Finetti, Kifer 2009).

Where people and values are published apart, in groups, the other groups teach which value fits which person
(sqlpriv/risk/learned.py). The reader holds the file and nothing else. With the private table at hand the guesses are
judged. They are compared with the promise of the method, and with what the same model guesses of people whose group it
has not seen. To infer what holds for people like them discloses nothing about them.

Where a release shows classes of equal labels, all that it teaches of a person is the shares of values in their class.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.attacks.findings import AttackFinding, Figure, Findings, NotRun, Pair, number, of_all, people
from sqlpriv.attacks.target import Target
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods.learned import BestGuesses, best_guesses, guesses_by_shares, learned_evidence
from sqlpriv.methods.records import GroupedPeople, PublishedClasses

ATTACK = "learned"
_NOISE = "random noise bounds what anybody comes to believe, also by learning from the file: see the linking attacker"
_SAMPLED = (
    " These are the people of the sample. Nobody learns for certain who is in it: its shares say what holds of people "
    "like them."
)
_FIGURES = (
    Figure("people", "people"),
    Figure("certain_90", "people with a value believed .9 or more", is_drawn=True),
    Figure("certain_99", "people with a value believed .99 or more", is_drawn=True),
    Figure("guessed_right", "people guessed right", is_drawn=True),
    Figure("right_90", "of those believed .9 or more, guessed right"),
    Figure("right_99", "of those believed .99 or more, guessed right"),
    Figure("unseen_right", "guessed right by the model alone, without their group"),
    Figure("promised", "largest belief that the method promises", is_share=True),
    Figure("breaks_promise", "whether the promise is broken (1) or not (0)"),
)


def attack(target: Target) -> Findings:
    """Of each sensitive column, how many people are guessed, how surely, and how often rightly."""
    why = NotRun(ATTACK, "it reads a release, and this is a table: homogeneity counts what its classes reveal")
    if target.method is None:
        yield why
        return
    taught = target.method.taught_classes(target.files[0])
    if not taught:
        yield NotRun(ATTACK, _NOISE if target.bounds_beliefs else "no column is sensitive")
        return
    unreadable = target.method.why_no_classes(target.files[0])
    for sensitive, classes in taught.items():
        apart = target.method.grouped_people(target.files[0], sensitive)
        if apart:
            yield _learned(target, sensitive, apart)
        elif unreadable is not None or not classes.columns:
            yield NotRun(ATTACK, unreadable or "no column is a quasi-identifier, so nobody's class can be found")
        else:
            yield _by_shares(target, sensitive, classes)


def _learned(target: Target, sensitive: str, apart: tuple[GroupedPeople, ...]) -> AttackFinding:
    """A person may be found in several ways: the one that is guessed best by is reported."""
    found = best_guesses(target.scratch, apart, sensitive, _truth(target, sensitive, apart))
    figures, right = found.figures, found.figures.guessed_right
    numbers: dict[str, float | None] = {
        "people": figures.people,
        "certain_90": figures.certain_90,
        "certain_99": figures.certain_99,
        "guessed_right": figures.right,
        "promised": found.promised,
    }
    if right is not None:
        numbers |= {
            "right_90": figures.right_90,
            "right_99": figures.right_99,
            "unseen_right": round(figures.strangers_right or 0),
            "breaks_promise": float(figures.breaks),
        }
    evidence = tuple(learned_evidence(found, sensitive))
    named = Pair(numbers).figures(_FIGURES)
    return AttackFinding(ATTACK, _sentence(sensitive, found), named, sensitive, evidence=evidence)


def _truth(target: Target, sensitive: str, apart: Sequence[GroupedPeople]) -> str | None:
    """The private table, with the columns that people are found by and the sensitive one, spelt as in the release."""
    if target.private is None:
        return None
    spelt = {folded(c): c for c in target.private.columns}
    wanted = [*dict.fromkeys(c for way in apart for c in way.columns), sensitive]
    if not all(folded(c) in spelt for c in wanted):
        return None
    cells = ", ".join(f"{quoted(spelt[folded(c)])} AS {quoted(c)}" for c in wanted)
    return f"(SELECT {cells} FROM {target.private.private.name})"


def _by_shares(target: Target, sensitive: str, classes: PublishedClasses) -> AttackFinding:
    found = guesses_by_shares(target.calls, classes, sensitive)
    numbers: dict[str, float | None] = {
        "people": found.people,
        "certain_90": found.certain_90,
        "certain_99": found.certain_99,
        "guessed_right": found.expected_right,
    }
    return AttackFinding(
        ATTACK,
        "All rows of a class are equal in what identifies people, so the file teaches the shares of values in a "
        f"class. From these a reader believes a value of {sensitive} .9 or more for "
        f"{of_all(found.certain_90, found.people)} and guesses {people(round(found.expected_right))} right."
        f"{_SAMPLED if target.bounds_beliefs else ''}",
        Pair(numbers).figures(_FIGURES),
        sensitive,
    )


def _sentence(sensitive: str, guesses: BestGuesses) -> str:
    found = guesses.figures
    if not guesses.learned_from:
        return (
            f"The other groups teach nothing about {sensitive}: a reader of the whole file guesses inside a group by "
            f"its shares alone, up to {number(guesses.promised)}."
        )
    text = (
        f"A reader who learns from all groups how {sensitive} goes with {', '.join(guesses.learned_from)} believes a "
        f"value .9 or more for {of_all(found.certain_90, found.people)}, and .99 or more for {people(found.certain_99)}"
    )
    if found.guessed_right is None:
        return f"{text}; {people(found.right)} are guessed right, if the beliefs are right."
    text += (
        f". {people(found.guessed_right)} are guessed right ({people(found.right_90)} and {people(found.right_99)} of "
        f"the sure ones). The method promises a belief of {number(guesses.promised)} at most, to readers who learn "
        "nothing from other groups. The same model without a person's own group guesses "
        f"{people(round(found.strangers_right or 0))} right."
    )
    return f"{text} The promise is broken." if found.breaks else text
