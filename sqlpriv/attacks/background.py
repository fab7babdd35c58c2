"""Background knowledge: values that a person is known not to have (the lecture's Umeko), and facts that tie people.

Both are the worst case over what an attacker may know: the negations of a class that reveal most, and the implications
between people of any classes that do, which is (c,k)-safety. Where somebody's value is certain anyway, one implication
from there reveals the value of anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlpriv.attacks.findings import Finding, Findings, Pair, number, people
from sqlpriv.attacks.guesses import ClassGuess
from sqlpriv.core.errors import InputError

ATTACK = "background knowledge"
_CERTAIN = "value >= 1 - 1e-12"


MOST_KNOWN = 10


@dataclass(frozen=True)
class Knowledge:
    """How much the attackers know, at most."""

    negations: int = 2
    implications: int = 2

    def __post_init__(self) -> None:
        """Refuse less than nothing, and more than can be computed in any time."""
        for name, value in vars(self).items():
            if not 0 <= value <= MOST_KNOWN:
                raise InputError(f"{name} must be a whole number from 0 to {MOST_KNOWN}")


@dataclass(frozen=True)
class Case:
    """Knowledge of one kind and amount: what it is called, what it is, and the check that says what it gives."""

    name: str
    words: str
    macro: str
    argument: int


def cases(knows: Knowledge) -> Iterator[Case]:
    """All that is asked for; n negations are the l - 2 of the lecture."""
    for n in range(1, knows.negations + 1):
        words = f"{n} value{'s' if n > 1 else ''} that a person does not have"
        yield Case(f"{n} negation{'s' if n > 1 else ''}", words, "negation_diversity_classes", n + 2)
    for k in range(1, knows.implications + 1):
        words = f"{k} fact{'s' if k > 1 else ''} like 'if one has this value, another has that'"
        yield Case(f"{k} implication{'s' if k > 1 else ''}", words, "ck_safety_classes", k)


def attack(own: Mapping[str, ClassGuess], raw: Mapping[str, ClassGuess], knows: Knowledge) -> Findings:
    """Of each sensitive column, of how many people it can be known for certain, and how sure the surest guess is."""
    for column, guess in own.items():
        private = raw.get(column)
        for case in cases(knows):
            pair = Pair(numbers(guess, case), {} if private is None else numbers(private, case))
            figures = (
                pair.figure("certain", "people whose value can be known for certain", is_drawn=True),
                pair.figure("surest_guess", "the surest guess", is_share=True),
            )
            yield Finding(ATTACK, _sentence(column, case, pair), figures, column, case.name)


def numbers(guess: ClassGuess, case: Case) -> dict[str, float | None]:
    """The people of classes in which such knowledge can make a value certain, and the surest guess of all."""
    columns = f"coalesce(sum(size) FILTER ({_CERTAIN}), 0), least(max(value), 1)"
    certain, surest = guess.by_class(case.macro, columns, case.argument)
    return {"certain": float(certain), "surest_guess": float(surest)}


def _sentence(column: str, case: Case, pair: Pair) -> str:
    return (
        f"An attacker who also knows {case.words} can know {column} for certain of {people(pair.own['certain'])}"
        f"{pair.raw_text('certain', 'in the private table:')}, and believes no value more than "
        f"{number(pair.own['surest_guess'])}{pair.raw_text('surest_guess', 'there:')}."
    )
