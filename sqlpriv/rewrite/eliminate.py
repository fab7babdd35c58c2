"""The order in which attributes are summed out, and what each step costs.

Sum over D of a product of factors: take an attribute, multiply the factors that mention it, sum it out, and put the
result back as one factor over the attributes that are left (a message). A step touches as many rows as the attributes
in it have combinations, so the order decides: a chain P(a,b) P(b,c) P(c,d) costs ab + bc + cd instead of abcd.
Factors that share no attribute, also not through others, never meet: they are components, whose sums multiply.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sqlpriv.rewrite.factors import Factor

Sizes = Mapping[int, int]
Known = dict[frozenset[tuple[object, ...]], "Step"]  # the last step of a component, by the component's parts


@dataclass(frozen=True, eq=False)
class Part:
    """A factor and where it belongs: to the condition, to the sum `column`, or to the group `key`."""

    factor: Factor
    column: int | None = None
    key: int | None = None

    @property
    def attributes(self) -> frozenset[int]:
        return self.factor.attributes

    @property
    def signature(self) -> tuple[object, ...]:
        return self.factor, self.column, self.key

    @property
    def is_condition(self) -> bool:
        return self.column is None and self.key is None


@dataclass(frozen=True, eq=False)
class Step:
    """A join of messages and domain tables, filtered and summed over all attributes but the `kept` ones."""

    joined: frozenset[int]
    parts: tuple[Part, ...]
    messages: tuple[Step, ...]
    kept: frozenset[int]
    rows: int
    size: int

    @property
    def attributes(self) -> frozenset[int]:
        """What this step's message mentions."""
        return self.kept

    @cached_property
    def keys(self) -> frozenset[int]:
        """The groups that the message tells apart."""
        own = {part.key for part in self.parts if part.key is not None}
        return frozenset(own.union(*(message.keys for message in self.messages)))

    @cached_property
    def columns(self) -> frozenset[int]:
        """The sums that have a factor of their own here or below."""
        own = {part.column for part in self.parts if part.column is not None}
        return frozenset(own.union(*(message.columns for message in self.messages)))

    @cached_property
    def summed(self) -> frozenset[int]:
        """All attributes that are summed out here or below."""
        return (self.joined - self.kept).union(*(message.summed for message in self.messages))

    @cached_property
    def order(self) -> tuple[Step, ...]:
        """This step and those below, messages first."""
        return (*itertools.chain.from_iterable(message.order for message in self.messages), self)

    @cached_property
    def signature(self) -> frozenset[object]:
        """Equal for steps that compute the same."""
        return frozenset({part.signature for part in self.parts} | {m.signature for m in self.messages} | {self.kept})

    @cached_property
    def filters(self) -> bool:
        """Whether groups may be missing from the result."""
        return any(part.is_condition for step in self.order for part in step.parts)

    @property
    def is_one_for_each_group(self) -> bool:
        """Nothing but attributes as groups: every group has exactly one combination of values."""
        plain = {
            a for part in self.parts if part.key is not None and is_attribute(part.factor) for a in part.attributes
        }
        return not self.messages and plain == self.joined and all(part.key is not None for part in self.parts)


def is_attribute(factor: Factor) -> bool:
    """Whether a factor is an attribute as it is."""
    return isinstance(factor.tree, exp.Column) and len(factor.tree.parts) == 1


def eliminate(parts: Sequence[Part], sizes: Sizes, known: Known) -> list[Step]:
    """The last step of each component, in a good order of attributes. What is `known` is shared."""
    constants = [part for part in parts if not part.attributes]
    roots = []
    for component in [*([constants] if constants else []), *components([p for p in parts if p.attributes])]:
        signature = frozenset(part.signature for part in component)
        if signature not in known:
            known[signature] = _eliminated(component, sizes)
        roots.append(known[signature])
    return roots


def _eliminated(component: list[Part], sizes: Sizes) -> Step:
    if not component[0].attributes:
        return Step(frozenset(), tuple(component), (), frozenset(), 1, 1)
    key_sizes = {part.key: _key_size(part.factor, sizes) for part in component if part.key is not None}
    tries = [_Elimination(component, sizes, key_sizes).run(choice) for choice in (_fewest_rows, _least_fill)]
    return min(tries, key=cost)


def distinct_steps(roots: Iterable[Step]) -> list[Step]:
    """The steps of some components, those that compute the same once."""
    return list({step.signature: step for root in roots for step in root.order}.values())


def cost(root: Step) -> int:
    """The rows that are touched to sum a component."""
    return sum(step.rows for step in root.order)


def components(parts: Iterable[Part]) -> list[list[Part]]:
    """Parts that share attributes, directly or through others, together."""
    found: list[tuple[set[int], list[Part]]] = []
    for part in parts:
        touching = [entry for entry in found if entry[0] & part.attributes]
        found = [entry for entry in found if not entry[0] & part.attributes]
        attributes = set(part.attributes).union(*(entry[0] for entry in touching))
        found.append((attributes, [*itertools.chain.from_iterable(entry[1] for entry in touching), part]))
    return [entry[1] for entry in found]


def combinations(attributes: Iterable[int], sizes: Sizes) -> int:
    return math.prod(sizes[a] for a in attributes)


def _key_size(factor: Factor, sizes: Sizes) -> int:
    """At most so many groups; a comparison has three answers, NULL among them."""
    answers = combinations(factor.attributes, sizes)
    return min(answers, 3) if isinstance(factor.tree, exp.Predicate | exp.Connector | exp.Not) else answers


Candidate = tuple[Step, list[Part], list[Step], int]  # the step, what it leaves, and how many pairs it newly connects
Choice = Callable[[Candidate], tuple[int, ...]]


def _fewest_rows(candidate: Candidate) -> tuple[int, ...]:
    return candidate[0].rows, candidate[0].size, candidate[3]


def _least_fill(candidate: Candidate) -> tuple[int, ...]:
    return candidate[3], candidate[0].size, candidate[0].rows


class _Elimination:
    """One component, step by step, by one way of choosing the next attribute."""

    def __init__(self, parts: list[Part], sizes: Sizes, key_sizes: Mapping[int, int]) -> None:
        self._parts = parts
        self._messages: list[Step] = []
        self._sizes = sizes
        self._key_sizes = key_sizes

    def run(self, choice: Choice) -> Step:
        while True:
            left = sorted(_read([*self._parts, *self._messages]))
            step, self._parts, messages, _ = min(map(self._candidate, left), key=choice)
            if not step.kept:
                return step
            self._messages = [*messages, step]

    def _candidate(self, attribute: int) -> Candidate:
        """Summing out an attribute, with whatever else can be done on the way."""
        messages = [m for m in self._messages if attribute in m.attributes]
        others = [m for m in self._messages if attribute not in m.attributes]
        joined = _read([p for p in self._parts if attribute in p.attributes]) | _read(messages)
        # Conditions are taken as early as they can be. So are messages, unless they bring groups, and groups of whose
        # attributes nothing else is left.
        messages += [m for m in others if m.attributes <= joined and not m.keys]
        others = [m for m in others if m not in messages]
        taken = [p for p in self._parts if p.attributes <= joined and (p.key is None or attribute in p.attributes)]
        rest = [p for p in self._parts if p not in taken]
        outside = _read([p for p in rest if not p.attributes <= joined]) | _read(others)
        ending = [p for p in rest if p.attributes <= joined and not p.attributes & outside]
        taken, rest = taken + ending, [p for p in rest if p not in ending]
        kept = joined & (_read(rest) | _read(others))
        step = self._step(joined, taken, messages, kept)
        return step, rest, others, self._fill(kept)

    def _step(self, joined: frozenset[int], parts: list[Part], messages: list[Step], kept: frozenset[int]) -> Step:
        met = _read(messages)
        carried = frozenset[int]().union(*(m.keys for m in messages))
        all_rows = combinations(joined, self._sizes) * combinations(carried, self._key_sizes)
        rows = min(all_rows, math.prod(m.size for m in messages) * combinations(joined - met, self._sizes))
        keys = carried.union(part.key for part in parts if part.key is not None)
        size = min(rows, combinations(kept, self._sizes) * combinations(keys, self._key_sizes))
        return Step(joined, tuple(parts), tuple(messages), kept, rows, size)

    def _fill(self, kept: frozenset[int]) -> int:
        """How many pairs of attributes meet in the message that have not met before."""
        known = [p.attributes for p in self._parts] + [m.attributes for m in self._messages]
        pairs = itertools.combinations(kept, 2)
        return sum(not any(a in attributes and b in attributes for attributes in known) for a, b in pairs)


def _read(things: Sequence[Part | Step]) -> frozenset[int]:
    return frozenset[int]().union(*(thing.attributes for thing in things))
