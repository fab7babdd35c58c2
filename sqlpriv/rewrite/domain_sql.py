"""Batches of sums as one SELECT: each step a nested GROUP BY, then every group of the domain with its sums.

Counts are exact: a component of up to 2^53 tuples is counted in DOUBLE, a larger one in HUGEINT, and only one that
HUGEINT cannot hold in DOUBLE again. Sums of values are DOUBLE. A weight is called `w` where it is the same for all
sums of a batch, and `w<column>` where a sum has factors of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlpriv.rewrite.attributes import Attributes
from sqlpriv.rewrite.batches import Batch, State
from sqlpriv.rewrite.eliminate import Step, combinations
from sqlpriv.rewrite.factors import Factor, Role
from sqlpriv.sqltext import quoted

_EXACT_DOUBLE = 2**53
_EXACT_HUGEINT = 2**126


def domain_sql(
    attributes: Attributes,
    state: State,
    all_groups: Sequence[Step],
    keys: Mapping[int, Factor],
    constants: Mapping[int, Factor],
    values: int,
) -> str:
    """The query: columns g0, g1, ... and v0, v1, ..., a row for every group of the domain.

    `all_groups` are the steps that list the groups of `keys`; `constants` are the groups that read no attribute.
    """
    writer = _Writer(attributes)
    relations, sums = _Final(writer).of(state, all_groups, values)
    columns = []
    for group in range(len(keys) + len(constants)):
        text = constants[group].tree.sql("duckdb") if group in constants else writer.key_places[group]
        columns.append(f"{text} AS {quoted(f'g{group}')}")
    columns += [f"{text} AS {quoted(f'v{value}')}" for value, text in enumerate(sums)]
    named = ",\n".join(f"{name} AS (\n  {text}\n)" for text, name in writer.steps.items())
    return (f"WITH {named}\n" if named else "") + f"SELECT {', '.join(columns)}" + "".join(relations)


@dataclass
class _Writer:
    """The steps as named queries."""

    attributes: Attributes
    steps: dict[str, str] = field(default_factory=dict)  # the name of each, by its text
    key_places: dict[int, str] = field(default_factory=dict)

    def name(self, text: str) -> str:
        return quoted(self.attributes.prefix + text)

    def inner(self, attribute: int) -> str:
        return quoted(self.attributes.inner(attribute))

    def weight(self, step: Step, column: int | None) -> str:
        """The name of the weight that a step has for a column."""
        return self.name("w" if column is None or column not in step.columns else f"w{column}")

    def write(self, root: Step, batch: Batch | None) -> str:
        """Write a component's steps; the name of the last one. Without a batch it lists the groups, without weights."""
        names: dict[Step, str] = {}
        for step in root.order:
            text = _StepText(self, root, step, batch, names).text()
            names[step] = self.steps.setdefault(text, self.name(f"s{len(self.steps)}"))
        return names[root]


class _StepText:
    """One step: what it joins, filters, keeps and sums."""

    def __init__(self, writer: _Writer, root: Step, step: Step, batch: Batch | None, names: Mapping[Step, str]) -> None:
        self._writer, self._step, self._batch, self._names = writer, step, batch, names
        self._conditions = [part.factor for part in step.parts if part.is_condition]
        self._tables = sorted(step.joined - frozenset[int]().union(*(m.attributes for m in step.messages)))
        if batch:
            # A condition on one attribute holds wherever that attribute comes from, so each of its tables is filtered.
            self._conditions += [
                factor
                for factor in batch.conditions
                if len(factor.attributes) == 1 and factor.attributes <= {*self._tables}
                and factor not in self._conditions
            ]  # fmt: skip
        tuples = combinations(root.summed, {a: d.size for a, d in enumerate(writer.attributes.domains)})
        self._integer = "HUGEINT" if _EXACT_DOUBLE < tuples < _EXACT_HUGEINT else "DOUBLE"

    def text(self) -> str:
        relations, matches = self._relations()
        outcome = [self._writer.inner(a) for a in sorted(self._step.kept)] + self._keys()
        grouped = range(1, len(outcome) + 1)
        distinct = ""
        if self._batch:
            outcome += self._weights(self._batch)
        elif not self._step.is_one_for_each_group:
            distinct = "DISTINCT "
        text = f"SELECT {distinct}{', '.join(outcome)}"
        text += f" FROM {', '.join(relations)}" if relations else ""
        filters = [*matches, *(factor.sql for factor in self._conditions)]
        text += f" WHERE {' AND '.join(filters)}" if filters else ""
        return text + (f" GROUP BY {', '.join(map(str, grouped))}" if self._batch and grouped else "")

    def _relations(self) -> tuple[list[str], list[str]]:
        """Messages and domain tables, an attribute by its name in the first that has it, and what must match."""
        writer = self._writer
        shown_as_well = self._open_names()
        relations, matches = [], []
        met: set[int] = set()
        for number, message in enumerate(self._step.messages):
            columns = []
            for attribute in sorted(message.kept):
                name = writer.inner(attribute)
                if attribute in met:
                    name = writer.name(f"x{attribute}_{number}")
                    matches.append(f"{writer.inner(attribute)} IS NOT DISTINCT FROM {name}")
                columns.append(f"{writer.inner(attribute)} AS {name}")
                if attribute in shown_as_well - met:
                    columns.append(
                        f"{writer.inner(attribute)} AS {quoted(writer.attributes.domains[attribute].column)}"
                    )
            if met & message.kept or shown_as_well & message.kept:
                columns += [writer.name(f"g{key}") for key in sorted(message.keys)]
                columns += self._weight_names(message)
                source = f"(SELECT {', '.join(columns)} FROM {self._names[message]})"
            else:
                source = self._names[message]
            relations.append(f"{source} AS {writer.name(f'm{number}')}")
            met |= message.kept
        for attribute in self._tables:
            domain, name = writer.attributes.domains[attribute], writer.inner(attribute)
            alias = writer.name(f"d{attribute}")
            if attribute in shown_as_well:
                column = quoted(domain.column)
                relations.append(f"(SELECT {column} AS {name}, {column} FROM {domain.table}) AS {alias}")
            else:
                relations.append(f"{domain.table} AS {alias}({name})")
        return relations, matches

    def _open_names(self) -> frozenset[int]:
        factors = [*self._conditions, *(part.factor for part in self._step.parts)]
        factors += [f for column in self._step.columns for f in self._available(column)]
        return frozenset[int]().union(*(factor.open_names for factor in factors))

    def _available(self, column: int) -> list[Factor]:
        """The conditions of a sum that can be told here, also those of other steps: they may guard its value."""
        factors = self._batch.columns[column].factors if self._batch else ()
        joined = self._step.joined
        # Constants stay in the step of the constants: other steps may be shared with sums that do not have them.
        near = [f for f in factors if f.attributes <= joined and bool(f.attributes) == bool(joined)]
        return [f for f in near if f.role is not Role.VALUE]

    def _keys(self) -> list[str]:
        own = {part.key: part.factor.tree.sql("duckdb") for part in self._step.parts if part.key is not None}
        return [
            f"{own[key]} AS {self._writer.name(f'g{key}')}" if key in own else self._writer.name(f"g{key}")
            for key in sorted(self._step.keys)
        ]

    def _needed(self, step: Step) -> list[int | None]:
        """The weights of a step: those of columns with factors of their own, and the one for all others."""
        if not self._batch:
            return []
        others = len(step.columns) < len(self._batch.columns)
        return [*([None] if others else []), *sorted(step.columns)]

    def _weight_names(self, step: Step) -> list[str]:
        return [self._writer.weight(step, column) for column in self._needed(step)]

    def _weights(self, batch: Batch) -> list[str]:
        columns = self._needed(self._step)
        return [f"{self._weight(batch, column)} AS {self._writer.weight(self._step, column)}" for column in columns]

    def _weight(self, batch: Batch, column: int | None) -> str:
        """The sum of a column's product in this step."""
        writer = self._writer
        terms = [f"{writer.name(f'm{i}')}.{writer.weight(m, column)}" for i, m in enumerate(self._step.messages)]
        factors = [part.factor for part in self._step.parts if part.column == column and column is not None]
        terms += [factor.sql for factor in factors if factor.role is Role.VALUE]
        kind = self._integer if column is None or batch.columns[column].is_integer else "DOUBLE"
        if column is not None:
            conditions = " AND ".join(factor.sql for factor in self._available(column))
            if conditions:
                one = f"CAST(1 AS {kind})"
                return f"coalesce(sum(CASE WHEN {conditions} THEN {' * '.join(terms) or one} END), 0)"
        return f"coalesce(sum({' * '.join(terms)}), 0)" if terms else f"CAST(count(*) AS {kind})"


class _Final:
    """The last SELECT: all groups, each with the sums of its components."""

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer
        self._written: dict[tuple[Step, tuple[bool, ...]], list[str] | None] = {}
        self._crossed: list[str] = []
        self._matched: list[str] = []

    def of(self, state: State, all_groups: Sequence[Step], values: int) -> tuple[list[str], list[str]]:
        """The relations behind FROM, and an expression for each value."""
        # A component of the first batch that drops no group lists its groups, too.
        listing = [root for root in state[0].roots if root.keys and not root.filters] if state else []
        listed = frozenset[int]().union(*(root.keys for root in listing))
        for root in all_groups:
            if not root.keys & listed:
                self._list(root, self._writer.write(root, None))
        summands: list[list[str]] = [[] for _ in range(values)]
        kinds = [self._kind(state, value) for value in range(values)]
        for batch in state:
            components = [self._shared(batch, root, root in listing) for root in batch.roots]
            for number, column in enumerate(batch.columns):
                kind = kinds[column.value]
                terms = [_number(column.coefficient * self._unread(batch), kind)]
                weights = [component[number] for component in components if component]
                terms += [f"CAST({weight} AS HUGEINT)" for weight in weights] if kind == "HUGEINT" else weights
                summands[column.value].append(" * ".join(terms))
        sums = [f"CAST({' + '.join(s) or '0'} AS DOUBLE)" for s in summands]
        relations = [f"\n{'CROSS JOIN' if i else 'FROM'} {text}" for i, text in enumerate(self._crossed)]
        return relations + [f"\nLEFT JOIN {text}" for text in self._matched], sums

    def _list(self, root: Step, source: str) -> str:
        """Read the groups of a component from what it wrote."""
        alias = self._alias()
        for key in root.keys:
            self._writer.key_places[key] = f"{alias}.{self._writer.name(f'g{key}')}"
        self._crossed.append(f"{source} AS {alias}")
        return alias

    def _shared(self, batch: Batch, root: Step, lists_groups: bool) -> list[str] | None:
        """A component's weights, which are written once for all batches that have the same."""
        place = root, tuple(column.is_integer for column in batch.columns)
        if place not in self._written:
            self._written[place] = self._component(batch, root, lists_groups)
        return self._written[place]

    def _component(self, batch: Batch, root: Step, lists_groups: bool) -> list[str] | None:
        """For each column the weight of a component; None where it is 1 for every group."""
        if root.is_one_for_each_group:
            if lists_groups:
                self._list(root, self._writer.write(root, None))
            return None
        source = self._writer.write(root, batch)
        names = [self._writer.weight(root, column) for column in range(len(batch.columns))]
        if lists_groups:
            alias = self._list(root, source)
            return [f"{alias}.{name}" for name in names]
        alias = self._alias()
        if not root.keys:
            self._crossed.append(f"{source} AS {alias}")
            return [f"{alias}.{name}" for name in names]
        same = [
            f"{self._writer.key_places[key]} IS NOT DISTINCT FROM {alias}.{self._writer.name(f'g{key}')}"
            for key in sorted(root.keys)
        ]
        self._matched.append(f"{source} AS {alias} ON {' AND '.join(same)}")
        return [f"coalesce({alias}.{name}, 0)" for name in names]

    def _alias(self) -> str:
        return self._writer.name(f"r{len(self._crossed) + len(self._matched)}")

    def _unread(self, batch: Batch) -> int:
        """How many combinations the attributes have that nothing in a batch reads."""
        read = frozenset[int]().union(*(root.summed for root in batch.roots))
        return combinations(set(batch.sizes) - read, batch.sizes)

    def _kind(self, state: State, value: int) -> str:
        """The type in which the summands of a value are added."""
        columns = [(batch, column) for batch in state for column in batch.columns if column.value == value]
        if not all(column.is_integer for _, column in columns):
            return "DOUBLE"
        bound = sum(abs(int(column.coefficient)) * combinations(batch.sizes, batch.sizes) for batch, column in columns)
        return "HUGEINT" if _EXACT_DOUBLE < bound < _EXACT_HUGEINT else "DOUBLE"


def _number(number: float, kind: str) -> str:
    return f"CAST({number if kind == 'HUGEINT' else repr(float(number))} AS {kind})"
