"""Homogeneity: a class in which everybody has the same value reveals it of all its people (the lecture's Bob)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlpriv.attacks.findings import Finding, Findings, Pair, of_all, people
from sqlpriv.attacks.guesses import ClassGuess
from sqlpriv.core.facts import Grid

ATTACK = "homogeneity"
_SHOWN = 5


def attack(own: Mapping[str, ClassGuess], raw: Mapping[str, ClassGuess], show_values: bool) -> Findings:
    """Of each sensitive column, how many people's value is certain, and how many are guessed right."""
    for column, guess in own.items():
        private = raw.get(column)
        pair = Pair(numbers(guess), {} if private is None else numbers(private))
        yield Finding(
            ATTACK,
            _sentence(column, pair),
            (
                pair.figure("people", "people who are in it"),
                pair.figure("certain", "people whose value is certain", is_drawn=True),
                pair.figure("homogeneous_classes", "classes of one value"),
                pair.figure(
                    "guessed_right", "people guessed right, by the commonest value of their class", is_drawn=True
                ),
                pair.figure("surest_guess", "the surest guess", is_share=True),
            ),
            column,
            private=(_classes(guess),) if show_values else (),
        )


def numbers(guess: ClassGuess) -> dict[str, float | None]:
    """A value is certain where its share of a class is 1."""
    found = guess.by_class(
        "alpha_k_anonymity_classes",
        "sum(size), coalesce(sum(size) FILTER (value = 1), 0), count(*) FILTER (value = 1), sum(size * value), "
        "max(value)",
    )
    names = ("people", "certain", "homogeneous_classes", "guessed_right", "surest_guess")
    return {name: float(value) for name, value in zip(names, found, strict=True)}


def _sentence(column: str, pair: Pair) -> str:
    own = pair.own
    return (
        f"An attacker who finds the class of a person knows {column} for certain of "
        f"{of_all(own['certain'], own['people'])}{pair.raw_text('certain', 'in the private table:')}, and guesses it "
        f"right of {people(round(own['guessed_right'] or 0))}{pair.raw_text('guessed_right', 'there:')}."
    )


def _classes(guess: ClassGuess) -> Grid:
    """The classes to blame, with what they are, for the owner alone."""
    listed = guess.worst("alpha_k_anonymity_classes", "value = 1", _SHOWN)
    title = f"The largest classes in which {guess.sensitive} is certain"
    rows = tuple((found, size) for found, size, _ in listed)
    return Grid(("class", "people"), rows, title, folded=("class",), private=True)
