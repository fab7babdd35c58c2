"""How often a reader who learned from a release (learned.py) guesses right, by the private table where it is at hand.

A promise "nobody believes a value more than b" of groups holds for a reader who learns nothing from the other groups.
`judge_guesses` counts what one who does learn reaches. It looks at the people who are believed .5, .8, .9, .99 or at
all, where they are at least 20 and 1% of all. The promise is broken where the share of them that is truly guessed
right surely exceeds 2b / (1 + b), twice the odds of the promise. The Wilson interval has z = 2.58: by chance it fails
in about 1 of 200 tests. These are conventions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.risk.learned import Learned

_LEVELS = (0.0, 0.5, 0.8, 0.9, 0.99)
_Z = 2.58


@dataclass(frozen=True)
class LearnedFigures:
    """Numbers of people; those about truth only where the private table was read."""

    people: int
    certain_90: int
    """Believed with .9 or more."""
    certain_99: int
    expected_right: float
    """As the reader believes."""
    guessed_right: int | None = None
    right_90: int | None = None
    right_99: int | None = None
    strangers_right: float | None = None
    """Guessed right by a model that has not seen their group: that is inference about people like them, and no
    disclosure."""
    breaks: bool = False
    """Whether the promise is broken, by the rule above."""

    @property
    def right(self) -> int:
        """Guessed right: truly, or as the reader believes where the truth was not read."""
        return round(self.expected_right) if self.guessed_right is None else self.guessed_right


def judge_guesses(
    scratch: Scratch, learned: Learned, promised: float, truth: str | None, columns: Sequence[str], value: str
) -> LearnedFigures:
    """Count the guesses; `truth` is a relation, as SQL, with the columns of the people and their true values."""
    with scratch.nested() as inner:
        guesses = _guesses(inner, learned, truth, columns, value)
        people, certain_90, certain_99, expected = fetch(
            scratch.con,
            "SELECT sum(people), coalesce(sum(people) FILTER (belief >= .9), 0), coalesce(sum(people) FILTER "
            f"(belief >= .99), 0), sum(people * belief) FROM {guesses.name}",
        )[0]
        found = LearnedFigures(int(people), int(certain_90), int(certain_99), float(expected))
        if truth is None:
            return found
        right, right_90, right_99, strangers = fetch(
            scratch.con,
            "SELECT sum(right_ones), coalesce(sum(right_ones) FILTER (belief >= .9), 0), "
            "coalesce(sum(right_ones) FILTER (belief >= .99), 0), sum(right_strangers) "
            f"FROM {guesses.name}",
        )[0]
        return replace(
            found,
            guessed_right=int(right),
            right_90=int(right_90),
            right_99=int(right_99),
            strangers_right=float(strangers),
            breaks=_breaks(guesses, promised),
        )


def _guesses(scratch: Scratch, learned: Learned, truth: str | None, columns: Sequence[str], value: str) -> Relation:
    """By kind of people, equal in all columns: belief, people; with the truth right_ones and right_strangers.

    A reader finds a person among all rows that are equal to theirs, and so believes the mean of them.
    """
    cells = [f"x{i}" for i in range(len(columns))]
    texts = [f"CAST({x} AS VARCHAR) AS {x}" for x in cells]
    listed = scratch.table(f"SELECT rowid AS person, {', '.join(texts)} FROM {learned.people.name}", "listed")
    kinds = scratch.table(
        f"SELECT row_number() OVER () AS kind, * FROM (SELECT {', '.join(cells)}, count(*) AS people "
        f"FROM {listed.name} GROUP BY ALL)",
        "kinds",
    )
    same = " AND ".join(f"k.{x} IS NOT DISTINCT FROM p.{x}" for x in cells)
    members = scratch.table(
        f"SELECT kind, people, person FROM {kinds.name} AS k JOIN {listed.name} AS p ON {same}", "m"
    )
    believed = (
        f"SELECT kind, people, value, sum(belief) / people AS belief FROM {members.name} "
        f"JOIN {learned.beliefs.name} USING (person) GROUP BY kind, people, value"
    )
    # arg_max passes NULL over, and NULL is a value: the guess is kept in a struct.
    best = (
        "SELECT kind, people, max(belief) AS belief, arg_max({'value': value}, belief) AS guess "
        f"FROM ({believed}) GROUP BY kind, people"
    )
    if truth is None:
        return scratch.table(best, "guesses")
    true_cells = [f"CAST({quoted(c)} AS VARCHAR) AS x{i}" for i, c in enumerate(columns)]
    counted = (
        f"SELECT {', '.join(true_cells)}, CAST({quoted(value)} AS VARCHAR) AS value, count(*) AS n FROM {truth} "
        "GROUP BY ALL"
    )
    true_values = scratch.table(
        f"SELECT kind, value, n, code FROM ({counted}) AS p JOIN {kinds.name} AS k ON {same} "
        f"LEFT JOIN (SELECT value AS v, code FROM {learned.codes.name}) ON v IS NOT DISTINCT FROM value",
        "true_values",
    )
    of_strangers = (
        f"SELECT m.kind, sum(t.n / m.people) AS right_strangers FROM {members.name} AS m "
        f"JOIN {learned.strangers.name} AS s USING (person) "
        f"JOIN {true_values.name} AS t ON t.kind = m.kind AND t.code = s.code GROUP BY m.kind"
    )
    return scratch.table(
        "SELECT b.kind, b.people, b.belief, coalesce(t.n, 0) AS right_ones, coalesce(s.right_strangers, 0) AS "
        f"right_strangers FROM ({best}) AS b LEFT JOIN {true_values.name} AS t ON t.kind = b.kind AND t.value IS NOT "
        f"DISTINCT FROM b.guess.value LEFT JOIN ({of_strangers}) AS s ON s.kind = b.kind",
        "guesses",
    )


def _breaks(guesses: Relation, promised: float) -> bool:
    levels = ", ".join(map(str, _LEVELS))
    judged = inlined(
        f"n >= _learned_enough(everybody) AND _wilson_low(right_ones / n, n, {_Z}) > _learned_limit({promised!r})"
    )
    counted = (
        "SELECT sum(people) FILTER (belief >= level) AS n, sum(right_ones) FILTER (belief >= level) AS right_ones, "
        f"sum(people) AS everybody FROM {guesses.name}, (SELECT unnest([{levels}]) AS level) GROUP BY level"
    )
    return bool(fetch(guesses.con, f"SELECT coalesce(bool_or({judged}), false) FROM ({counted})")[0][0])
