"""A group of records, those whose cells have the same depths: its choices, and SQL for the loss of each choice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal
from sqlpriv.risk.coding import Coding, Depths
from sqlpriv.risk.counts import EntryCounts
from sqlpriv.risk.goals import RISK, Choice, Goal

_SUM_OF_EXP = 700.0
"""Above about 709, e to the sum is infinite, and so equal for different sums."""


@dataclass(frozen=True)
class RecordGroup:
    """The records whose cells have these depths, and all their choices."""

    coding: Coding
    counts: EntryCounts
    goal: Goal
    depths: Depths
    choices: Sequence[Choice]
    number: int

    def node(self, choice: Choice) -> Depths:
        """The depths of a choice, of the attributes that the dictionary knows."""
        return tuple(choice.depths[a.place - 1] for a in self.coding.attributes if a.known)

    def choices_of(self, node: Depths) -> int:
        """The number of choices with this node."""
        return sum(self.node(choice) == node for choice in self.needed)

    @cached_property
    def terms(self) -> list[str]:
        """The terms of the sensitivity, SQL over q.u# and q.g#."""
        listed = self.coding.problem.listed
        found = self.coding.work.calls.value(
            f"_terms(_choices({listed}), _chosen_from({listed}), _factors(_choices({listed})))"
        )
        return [str(term) for term in found]

    @cached_property
    def ladders(self) -> dict[int, str]:
        """For each attribute with cells below the top, a table by code: its terms t# and shares g# at every depth."""
        return {a.place: self._ladder(a.place) for a in self.coding.attributes if self.depths[a.place - 1] > 0}

    def _ladder(self, place: int) -> str:
        coding, depth = self.coding, self.depths[place - 1]
        attribute = coding.attributes[place - 1]
        own = next(term for term in self.terms if re.search(rf"q\.u{place}\b", term))
        columns, joins = [], []
        for k in range(1, depth + 1):
            price = re.sub(rf"q\.u{place}\b", f"n{k}.price", own)
            columns.append(f"{price} AS t{place}_{k}, n{k}.share AS g{place}_{k}")
            joins.append(
                f"JOIN (FROM {coding.nodes} WHERE place = {place} AND depth = {k}) AS n{k} "
                f"ON n{k}.code = c.code & {coding.constant(attribute.mask(k))}"
            )
        cells = f"SELECT DISTINCT code FROM {coding.cells('record', place)} WHERE depth = {depth}"
        return coding.work.make(
            f"ladder_{self.number}_{place}",
            f"SELECT c.code, {', '.join(columns)} FROM ({cells}) AS c {' '.join(joins)}",
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
        value = self.coding.work.calls.value
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
            [(largest, *rises)] = fetch(
                self.coding.work.con, f"SELECT max({names[-1]}), {', '.join(rising)} FROM {table}"
            )
            most += largest
            steep |= {(place, k) for k, rise in enumerate(rises, start=1) if rise}
        return steep if most < _SUM_OF_EXP else set()
