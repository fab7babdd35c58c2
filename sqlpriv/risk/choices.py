"""The choices of a record, their order by the three goals, and SQL for the loss of each.

A choice is a depth for each attribute. A goal ranks choices, and within a rank minimizes a score. Ties go to the choice
with the smaller number: choices are numbered by smaller loss, larger utility, smaller depths. A record group is all
records whose cells have the same depths: they have the same choices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls
from sqlpriv.risk.coding import Coding, Depths
from sqlpriv.risk.counts import EntryCounts

UTILITY, RISK, BOTH = "utility", "risk", "both"
_MOST_CHOICES = 20_000
_SUM_OF_EXP = 700.0
"""Above about 709, e to the sum is infinite, and so equal for different sums."""


@dataclass(frozen=True)
class Choice:
    """A depth for each attribute, which may be disclosed of the records of a group."""

    number: int
    depths: Depths

    @property
    def utility(self) -> int:
        """The steps below the tops."""
        return sum(self.depths)


@dataclass(frozen=True)
class Goal:
    """One of the three goals with its threshold."""

    name: str
    limit: float
    """The largest loss or the smallest utility, with the tolerance of all comparisons; or the price of utility."""
    balance: str
    """SQL of the score to minimize, over LOSS and UTILITY."""

    def choices(self, depths: Depths, first: int) -> list[Choice]:
        """All choices of records whose cells have these depths, numbered from `first` in the order of ties."""
        number = prod(most + 1 for most in depths)
        if number > _MOST_CHOICES:
            raise InputError(
                f"a record has {number:,} choices, and {_MOST_CHOICES:,} are tried at most; name fewer attributes, or "
                "leave levels out of their hierarchies"
            )
        found: list[Depths] = [()]
        for most in depths:
            found = [(*own, depth) for own in found for depth in range(most + 1)]
        sign = 1 if self.name == BOTH else -1
        found.sort(key=lambda own: (sign * sum(own), own))
        return [Choice(first + place, own) for place, own in enumerate(found)]

    def may_take(self, choice: Choice) -> bool:
        """Whether a choice may be taken, judged without its loss, which is at least 0."""
        if self.name == UTILITY:
            return self.limit >= 0
        return self.name != RISK or choice.utility >= self.limit

    def score(self, loss: str, choice: Choice) -> str:
        """SQL of the score of a choice: within a rank, the smallest is best."""
        return self.balance.replace("LOSS", loss).replace("UTILITY", str(choice.utility))

    def rank(self, choice: Choice) -> int:
        """The rank of a choice: a smaller rank is better, whatever the score."""
        return -choice.utility if self.name == UTILITY else 0

    def allowed(self, score: str) -> str:
        """SQL of whether a choice with this score may be taken."""
        return f"{score} <= CAST('{self.limit!r}' AS DOUBLE)" if self.name == UTILITY else f"{score} IS NOT NULL"

    def ranks(self, choices: Sequence[Choice]) -> list[tuple[int, list[Choice]]]:
        """The choices by rank, best first."""
        found: dict[int, list[Choice]] = {}
        for choice in sorted(choices, key=lambda own: (self.rank(own), own.number)):
            found.setdefault(self.rank(choice), []).append(choice)
        return list(found.items())


def read_goal(calls: Calls, name: str, c: float | str) -> Goal:
    """The goal of a name with its threshold c; the macro refuses what is none."""
    given = literal(str(c)) if isinstance(c, str) else repr(c)
    calls.value(f"_better({literal(name)}, {given})")
    kind = name.lower()
    if kind == BOTH:
        price = float(calls.value(f"_bar({given})"))
        # Where utility has no value, the goal is the least loss, and among equal losses the most utility.
        return (
            Goal(BOTH, price, calls.value(f"_balance({given}, 'LOSS', 'UTILITY')"))
            if price
            else Goal(RISK, 0.0, "LOSS")
        )
    limit = "_upper_limit" if kind == UTILITY else "_lower_limit"
    return Goal(kind, float(calls.value(f"{limit}({given})")), "LOSS")


@dataclass(frozen=True)
class RecordGroup:
    """The records whose cells have these depths, and all their choices."""

    coding: Coding
    counts: EntryCounts
    goal: Goal
    depths: Depths
    choices: Sequence[Choice]
    scratch: Scratch

    def node(self, choice: Choice) -> Depths:
        """The depths of a choice, of the attributes that the dictionary knows."""
        return tuple(choice.depths[a.place - 1] for a in self.coding.known)

    def choices_of(self, node: Depths) -> int:
        """The number of choices with this node."""
        return sum(self.node(choice) == node for choice in self.needed)

    @cached_property
    def terms(self) -> list[str]:
        """The terms of the sensitivity, SQL over q.u# and q.g#."""
        listed = self.coding.problem.listed
        found = self.coding.calls.value(
            f"_terms(_choices({listed}), _chosen_from({listed}), _factors(_choices({listed})))"
        )
        return [str(term) for term in found]

    @cached_property
    def ladders(self) -> dict[int, Relation]:
        """For each attribute with cells below the top, a table by code: its terms t# and shares g# at every depth."""
        return {a.place: self._ladder(a.place) for a in self.coding.attributes if self.depths[a.place - 1] > 0}

    def _ladder(self, place: int) -> Relation:
        coding, depth = self.coding, self.depths[place - 1]
        attribute = coding.attributes[place - 1]
        own = next(term for term in self.terms if re.search(rf"q\.u{place}\b", term))
        columns, joins = [], []
        for k in range(1, depth + 1):
            price = re.sub(rf"q\.u{place}\b", f"n{k}.price", own)
            columns.append(f"{price} AS t{place}_{k}, n{k}.share AS g{place}_{k}")
            joins.append(
                f"JOIN (FROM {coding.nodes.name} WHERE place = {place} AND depth = {k}) AS n{k} "
                f"ON n{k}.code = c.code & {coding.constant(attribute.mask(k))}"
            )
        cells = f"SELECT DISTINCT code FROM {coding.cells['record', place].name} WHERE depth = {depth}"
        return self.scratch.table(
            f"SELECT c.code, {', '.join(columns)} FROM ({cells}) AS c {' '.join(joins)}", f"ladder_{place}"
        )

    def _sum(self, choice: Choice) -> str:
        """SQL of the sum of the terms of a choice, over the columns of the ladders."""

        def column(found: re.Match[str]) -> str:
            place = int(found[2])
            depth = choice.depths[place - 1]
            return f"{'t' if found[1] == 'u' else 'g'}{place}_{depth}" if depth else "CAST(0 AS DOUBLE)"

        texts = []
        for term in self.terms:
            single = re.search(r"q\.(u)(\d)", term)
            texts.append(column(single) if single else re.sub(r"q\.(g)(\d)", column, term))
        return " + ".join(texts)

    @cached_property
    def _texts(self) -> tuple[str, str]:
        """SQL of the chance over ENTRIES, and of the loss over CHANCE and the SUM of all terms."""
        form = literal(self.coding.problem.form)
        value = self.coding.calls.value
        return str(value("_found_chance('ENTRIES')")), str(value(f"_found_loss('CHANCE', _formed({form}, 'SUM'))"))

    def chance(self, entries: str) -> str:
        """SQL of the chance to pick the right one of some entries."""
        return self._texts[0].replace("ENTRIES", entries)

    def loss(self, chance: str, choice: Choice) -> str:
        """SQL of the loss of a choice with a chance to be found."""
        return self._texts[1].replace("SUM", self._sum(choice)).replace("CHANCE", chance)

    @cached_property
    def needed(self) -> list[Choice]:
        """The choices that could be best for a record that has a consistent entry.

        For the least loss a choice is left out where one step less, still useful enough, always loses strictly less.
        """
        kept = [choice for choice in self.choices if self.goal.may_take(choice)]
        if self.goal.name != RISK:
            return kept
        steep = self._steep_steps()
        return [
            choice
            for choice in kept
            if choice.utility - 1 < self.goal.limit or not any((p, k) in steep for p, k in enumerate(choice.depths, 1))
        ]

    def _steep_steps(self) -> set[tuple[int, int]]:
        """The steps, by place and the depth they lead to, that add to the sensitivity of every record."""
        steep, most = set(), 0.0
        for place, table in self.ladders.items():
            depth = self.depths[place - 1]
            names = ["CAST(0 AS DOUBLE)", *(f"t{place}_{k}" for k in range(1, depth + 1))]
            rising = [f"bool_and({names[k]} > {names[k - 1]})" for k in range(1, depth + 1)]
            [(largest, *rises)] = fetch(table.con, f"SELECT max({names[-1]}), {', '.join(rising)} FROM {table.name}")
            most += largest
            steep |= {(place, k) for k, rise in enumerate(rises, start=1) if rise}
        return steep if most < _SUM_OF_EXP else set()
