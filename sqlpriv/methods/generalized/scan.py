"""The private table for a search: its hierarchies checked, their labels numbered, its frequencies by these numbers.

Labels are numbered per attribute and level and multiplied by a radix, so that the sum over the attributes of a row
names its class. An error in a hierarchy shows in its labels, so one query over them both checks and measures. All of it
is tables in a database in memory: private, and gone with the connection.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import VALUES_HINT, PolicyError, did_you_mean
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.policy import GeneralizedPolicy
from sqlpriv.policy.file import Policy
from sqlpriv.table.engines.rows import COUNT
from sqlpriv.table.frequencies import Frequencies, count_combinations
from sqlpriv.table.hierarchies import TOP, Hierarchy, make_hierarchies
from sqlpriv.table.source import Source

FEW = 200_000
"""Up to so many rows, to plan a query or to share it among threads is most of the work."""
COSTS = ("loss", "entropy", "volume")
"""What labels cost, each by itself."""
_MANY = 250_000
"""Lists of costs of more combinations than these take several times the memory of the table."""

_PUBLISHED = ("quasi-identifier", "sensitive", "other")
_READ = ("quasi-identifier", "sensitive", "other", "person")

Sums = tuple[tuple[float, ...], ...]

_LARGEST_NUMBER = 2**100  # times the number of a node it still is a HUGEINT
_NOT_IN_IT = "value(s) of the table are not in it"
_MOST_SHOWN = 20
"""So many values are named where the owner asks for them."""
_FAULTS = (
    _NOT_IN_IT,
    "value(s) are listed twice with different labels",
    "value(s) have no label on it",
    "label(s) have two different labels above them, so the levels do not nest",
    "labels stand on it, the top, where one label must stand for all values",
)
"""In the order of the columns of _hierarchy_levels."""


@dataclass(frozen=True)
class SensitiveValues:
    """The values of a sensitive column, numbered in their order: id, value, share of the table, kinds."""

    relation: Relation
    kinds: int
    """How many there are."""
    least: float
    """The smallest share of one."""


@dataclass(frozen=True)
class ScannedTable:
    """A table under its policy, by the combinations of its values."""

    frequencies: Frequencies
    policy: GeneralizedPolicy
    values: tuple[SensitiveValues, ...]
    """The values of each sensitive column."""

    @property
    def source(self) -> Source:
        """The open table."""
        return self.frequencies.source

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return self.frequencies.rows

    @property
    def combinations(self) -> int:
        """How many combinations of values it has."""
        return self.frequencies.combinations

    @cached_property
    def digest(self) -> str:
        """The digest of what is published of the table, and of the persons. Private."""
        names = dict.fromkeys([*published_columns(self), *filter(None, [self.policy.person])])
        return self.frequencies.digest(list(names))

    @property
    def is_small(self) -> bool:
        """Whether there are few combinations."""
        return self.combinations <= FEW


@dataclass(frozen=True)
class CheckedLabels:
    """The labels of hierarchies that fit the table."""

    paths: Relation
    """attribute, labels of a value from level 0 to the top; NULL gets its own path where it has none"""
    steps: Relation
    """The same, one row a level."""
    relation: Relation
    """Every label: attribute, level, its number, leaves below, rows below."""
    counts: tuple[tuple[int, ...], ...]
    """The number of labels that the table has, by attribute and level."""


@dataclass(frozen=True)
class Labels(CheckedLabels):
    """Labels whose numbers name classes."""

    leaves: Relation
    """Every value: attribute, value as text, rows, the list of its labels' numbers, one entry a level."""
    numbers: int
    """How many numbers the classes of one node need."""
    number_type: str
    """The SQL type that holds the number of every class of a batch of nodes."""
    importance: tuple[float, ...]
    """How much the loss of each attribute counts; 1 on average."""
    scratch: Scratch

    @cached_property
    def loss(self) -> Sums:
        """The losses of all cells when nothing is suppressed, summed by attribute and level."""
        return self._summed("loss")

    @cached_property
    def entropy(self) -> Sums:
        """The entropy, summed likewise."""
        return self._summed("entropy")

    @cached_property
    def volume(self) -> Sums:
        """The logarithm of the number of values that a label stands for, summed likewise."""
        return self._summed("volume")

    @cached_property
    def costed_leaves(self) -> Relation:
        """The leaves with their losses and other costs; made when they are first needed."""
        costed = inlined(f"FROM _lattice_costs({self.steps.name}, {self.relation.name}, {self.leaves.name})")
        if len(set(self.importance)) > 1:
            weight = f"CAST({list(self.importance)} AS DOUBLE[])[attribute + 1]"
            weighed = [f"list_transform({c}, lambda x : x * weight) AS {c}" for c in ("loss", "entropy")]
            costed = (
                f"SELECT * EXCLUDE (weight) REPLACE ({', '.join(weighed)}) FROM (SELECT *, {weight} AS weight FROM "
                f"({costed}))"
            )
        return self.scratch.table(costed, "costed_leaves")

    def _summed(self, cost: str) -> Sums:
        """The sum of a cost over all rows, by attribute and level."""
        found = fetch(
            self.relation.con,
            f"SELECT attribute, level, sum(rows * {cost}[level + 1]) FROM (SELECT attribute, rows, {cost}, unnest("
            f"range(0, len({cost}))) AS level FROM {self.costed_leaves.name} WHERE rows > 0) GROUP BY ALL ORDER BY ALL",
        )
        attributes = range(len(self.counts))
        return tuple(tuple(float(total) for attribute, _, total in found if attribute == a) for a in attributes)


@dataclass(frozen=True)
class Scan(ScannedTable):
    """A table with its hierarchies and numbered labels: all that nodes are evaluated on."""

    hierarchies: tuple[Hierarchy, ...]
    labels: Labels

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The level of the top, for each quasi-identifier."""
        return tuple(h.height for h in self.hierarchies)

    @cached_property
    def highest(self) -> tuple[int, ...]:
        """The highest level of each quasi-identifier that may be published: the top, unless the policy has a lower."""
        wanted = zip(self.heights, self.policy.max_levels, strict=True)
        return tuple(height if most is None else min(height, most) for height, most in wanted)

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each quasi-identifier, by its name, in the order of the table."""
        numbers = {q: a for a, q in enumerate(self.policy.qis)}
        return {c: numbers[c] for c in self.source.columns if c in numbers}

    @cached_property
    def base(self) -> Relation:
        """The frequencies by numbers, what nodes are evaluated on: a<i>, the class numbers of attribute i by level;
        s<j>, the number of the value of sensitive column j; holder, where there are persons; n."""
        return self.source.scratch.table(self._numbered(self.labels.leaves, ()), "base")

    @cached_property
    def costs(self) -> Relation:
        """The base with the costs of the cells; of many combinations it is made again wherever it is read."""
        rows = self._numbered(self.labels.costed_leaves, COSTS)
        if self.costs_are_kept:
            return self.source.scratch.table(rows, "costs")
        return Relation(self.source.con, f"({rows})")

    @property
    def costs_are_kept(self) -> bool:
        """Whether the costs are a table."""
        return self.combinations <= _MANY

    def costs_at(self, levels: Mapping[int, int], scratch: Scratch) -> Relation:
        """The costs for nodes that have these levels of some attributes: fixed_a, fixed_loss, ... are sums over those.

        A row stands for all combinations with the same labels there, with the means of their costs.
        """
        attributes = range(len(self.heights))
        rest = [a for a in attributes if a not in levels]
        kept = [f"s{j}" for j in range(len(self.policy.sensitive))] + (["holder"] if self.policy.person else [])
        labels = {a: f"a{a}[{levels.get(a, 0) + 1}]" for a in attributes}
        means = ["CAST(sum(n) AS BIGINT) AS n"]
        for cost in COSTS:
            fixed = " + ".join(f"{cost}{a}[{level + 1}]" for a, level in levels.items())
            tops = " + ".join(f"{cost}{a}[-1]" for a in attributes)
            means += [f"sum(n * ({fixed})) / sum(n) AS fixed_{cost}", f"sum(n * ({tops})) / sum(n) AS fixed_top_{cost}"]
        # One row stands for its group: its number is quicker to find and join than its lists are to aggregate.
        grouped = ", ".join([*labels.values(), *kept])
        groups = f"SELECT min(rowid) AS one, {', '.join(means)} FROM {self.costs.name} GROUP BY {grouped}"
        own = ", ".join([f"{name}{a}" for name in ("a", *COSTS) for a in rest] + kept)
        summed = " + ".join(labels[a] for a in levels)
        rows = f"SELECT rowid AS one, {own}, {summed} AS fixed_a FROM {self.costs.name}"
        return scratch.table(f"SELECT * EXCLUDE (one) FROM ({groups}) JOIN ({rows}) USING (one)", "costs_at")

    @cached_property
    def rolled(self) -> tuple[int, Relation] | None:
        """An attribute, and a relation like the base in which it is on level 1, where that is much smaller.

        Nodes above level 1 of the attribute with the most values need not start from single values.
        """
        policy, base = self.policy, self.base.name
        fewer = [(own[0] / own[1], -a) for a, own in enumerate(self.labels.counts) if len(own) > 2]
        if not fewer:
            return None
        attribute = -max(fewer)[1]
        kept = [f"s{j}" for j in range(len(policy.sensitive))] + (["holder"] if policy.person else [])
        grouped = ", ".join([f"a{a}[{2 if a == attribute else 1}]" for a in range(len(policy.qis))] + kept)
        # One row stands for its group: its number is quicker to find and join than its lists are to aggregate.
        groups = f"SELECT min(rowid) AS one, CAST(sum(n) AS BIGINT) AS n FROM {base} GROUP BY {grouped}"
        rows = f"SELECT b.* REPLACE (g.n AS n) FROM ({groups}) AS g JOIN {base} AS b ON b.rowid = g.one"
        rolled = self.source.scratch.table(rows, "rolled")
        return (attribute, rolled) if (rolled.written or 0) < 0.6 * self.combinations else None

    def in_world(self, world: Source) -> Scan:
        """The same people with sensitive values dealt otherwise among them: only the combinations are counted again."""
        found = self.frequencies
        columns = [c for c in found.relation.columns if c != COUNT and c not in (*self.policy.qis, found.person)]
        return replace(self, frequencies=count_combinations(world, self.policy.qis, columns, found.person))

    def _numbered(self, leaves: Relation, costs: Sequence[str]) -> str:
        """A query for the frequencies by numbers, with these costs."""
        policy = self.policy
        columns = [f"l{i}.numbers AS a{i}" for i in range(len(policy.qis))]
        columns += [f"l{i}.{cost} AS {cost}{i}" for cost in costs for i in range(len(policy.qis))]
        columns += [f"v{j}.id AS s{j}" for j in range(len(policy.sensitive))]
        columns += [f"t.{quoted(policy.person)} AS holder"] if policy.person else []
        rows = number_rows(policy, self.frequencies.relation, ", ".join([*columns, f"t.{COUNT} AS n"]), leaves)
        for j, (column, values) in enumerate(zip(policy.sensitive, self.values, strict=True)):
            rows += f" JOIN {values.relation.name} AS v{j} ON t.{quoted(column)} IS NOT DISTINCT FROM v{j}.value"
        return rows


def scan_table(source: Source, policy: GeneralizedPolicy, others: Sequence[str] = ()) -> Scan:
    """Read the table once, make the hierarchies, check that they fit, and number their labels.

    `others` are columns that the objective looks at, besides quasi-identifiers and sensitive ones.
    """
    found = scan_values(source, policy, others)
    hierarchies = make_hierarchies(source, policy.hierarchies, found.frequencies.relation.name)
    labels = _number_labels(found.frequencies, hierarchies, policy.importance)
    return Scan(found.frequencies, policy, found.values, hierarchies, labels)


def scan_values(source: Source, policy: GeneralizedPolicy, others: Sequence[str] = ()) -> ScannedTable:
    """Read the table once, and number its sensitive values in their order, NULL last."""
    check_columns(source, policy)
    found = count_combinations(source, policy.qis, [*policy.sensitive, *others], policy.person)
    numbered = []
    for column in policy.sensitive:
        values = inlined(f"FROM _lattice_values(({found.totals(column)}), {found.total()})")
        relation = source.scratch.table(values, "values")
        kinds, least = fetch(source.con, f"SELECT count(*), min(share) FROM {relation.name}")[0]
        numbered.append(SensitiveValues(relation, int(kinds), float(least)))
    return ScannedTable(found, policy, tuple(numbered))


def check_columns(source: Source, policy: Policy) -> None:
    """Every column of the table has a role, and every role a column: new columns never slip into a release."""
    named = [c.name for c in policy.columns]
    missing = [name for name in named if name not in source.columns]
    unnamed = [name for name in source.columns if name not in named]
    if missing:
        near = did_you_mean(missing[0], unnamed)
        raise PolicyError(f"the policy names {_listed(missing)}, but {source.label} has no such column{near}")
    if unnamed:
        raise PolicyError(
            f"{source.label} has {_listed(unnamed)}, which the policy does not name; "
            'give each a role ("drop" leaves it out of the release)'
        )
    reserved = [c.name for c in policy.columns if folded(c.name).startswith("__priv_") and c.role in _READ]
    if reserved:
        raise PolicyError(f"{_listed(reserved)}: names that start with __priv_ are reserved")


def _listed(names: list[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(repr(n) for n in names)}"


def published_columns(scan: ScannedTable) -> list[str]:
    """The columns of the release, in the order of the private table."""
    names = (*scan.policy.named(*_PUBLISHED), *filter(None, [scan.policy.pseudonym]))
    return [c for c in scan.source.columns if c in names]


def node_of(scan: Scan, given: Mapping[str, int]) -> tuple[int, ...]:
    """The node that the policy names, with levels that there are."""
    wanted = {folded(name): level for name, level in given.items()}
    node = tuple(wanted[folded(q)] for q in scan.policy.qis)
    for name, level, height in zip(scan.policy.qis, node, scan.heights, strict=True):
        if level > height:
            raise PolicyError(f"the node asks for level {level} of {name!r}, and the top of its hierarchy is {height}")
    for name, level, highest in zip(scan.policy.qis, node, scan.highest, strict=True):
        if level > highest:
            raise PolicyError(f"the node asks for level {level} of {name!r}, and its max_level is {highest}")
    return node


def number_rows(
    policy: GeneralizedPolicy,
    table: Relation,
    columns: str,
    leaves: Relation,
    attributes: Collection[int] | None = None,
) -> str:
    """A query of `columns` over a table t, its quasi-identifiers, all or some, joined with their leaves l0, l1, ..."""
    joins = "".join(
        f" JOIN {leaves.name} AS l{i} ON l{i}.attribute = {i} "
        f"AND CAST(t.{quoted(q)} AS VARCHAR) IS NOT DISTINCT FROM l{i}.value"
        for i, q in enumerate(policy.qis)
        if attributes is None or i in attributes
    )
    return f"SELECT {columns} FROM {table.name} AS t{joins}"


def check_hierarchies(found: Frequencies, hierarchies: Sequence[Hierarchy]) -> CheckedLabels:
    """The labels of hierarchies; those that do not fit the table are refused, with attribute, level and how many."""
    con, scratch = found.source.con, found.source.scratch
    paths = paths_of(found, hierarchies)
    counted = " UNION ALL ".join(
        f"SELECT {i} AS attribute, CAST({quoted(h.column)} AS VARCHAR) AS value, CAST(sum({COUNT}) AS BIGINT) AS rows "
        f"FROM {found.relation.name} GROUP BY 2"
        for i, h in enumerate(hierarchies)
    )
    counts = scratch.table(counted, "counts")
    steps = scratch.table(inlined(f"FROM _hierarchy_steps({paths.name}, {counts.name})"), "steps")
    labels = scratch.table(inlined(f"FROM _lattice_labels({steps.name})"), "labels")
    levels = sorted(fetch(con, inlined(f"FROM _hierarchy_levels({labels.name}, {counts.name})")))
    faults = sorted(
        (attribute, level, fault, number)
        for attribute, level, _, *numbers in levels
        for fault, number in zip(_FAULTS, numbers, strict=True)
        if number
    )
    if faults:
        read = [h.read_from for h in hierarchies]
        error = PolicyError(
            "; ".join(
                f"hierarchy of {hierarchies[a].column!r}, level {i}: {n} {fault}{read[a]}" for a, i, fault, n in faults
            )
        )
        if len(faults) == 1 and faults[0][2] == _NOT_IN_IT:
            error = PolicyError(f"{error}{VALUES_HINT}")
            missing = (
                f"SELECT DISTINCT value FROM {counts.name} AS c WHERE attribute = {faults[0][0]} AND value IS NOT NULL "
                f"AND NOT EXISTS (FROM {paths.name} AS p WHERE p.attribute = c.attribute AND p.labels[1] = c.value) "
                f"ORDER BY value LIMIT {_MOST_SHOWN}"
            )
            error.cells = tuple(str(value) for (value,) in fetch(con, missing))
        raise error
    per_level = tuple(tuple(int(row[2]) for row in levels if row[0] == a) for a in range(len(hierarchies)))
    return CheckedLabels(paths, steps, labels, per_level)


def _number_labels(found: Frequencies, hierarchies: Sequence[Hierarchy], importance: tuple[float, ...]) -> Labels:
    """The labels of hierarchies that fit the table, numbered so that the sum over a row names its class."""
    checked = check_hierarchies(found, hierarchies)
    radix, radices = 1, []
    for labels in checked.counts:
        radices.append(radix)
        radix *= labels[0]
    if radix > _LARGEST_NUMBER:
        raise PolicyError("the quasi-identifiers have too many different values together; start from coarser ones")
    kind = "BIGINT" if radix < 2**40 else "HUGEINT"
    leaves = inlined(
        f"FROM _lattice_leaves({checked.steps.name}, {checked.relation.name}, CAST({radices} AS {kind}[]))"
    )
    numbered = found.source.scratch.table(leaves, "leaves")
    return Labels(
        checked.paths,
        checked.steps,
        checked.relation,
        checked.counts,
        numbered,
        radix,
        kind,
        importance,
        found.source.scratch,
    )


def paths_of(found: Frequencies, hierarchies: Sequence[Hierarchy]) -> Relation:
    """The labels of each value, from level 0 to the top: attribute, labels."""
    con = found.source.con
    listed = " UNION ALL ".join(
        f"SELECT {i} AS attribute, list_value(*COLUMNS(*)) AS labels FROM {h.table}" for i, h in enumerate(hierarchies)
    )
    paths = found.source.scratch.table(listed, "paths")
    for i, h in enumerate(hierarchies):
        if h.column in found.with_null:
            own = f"list_resize(CAST([] AS VARCHAR[]), {h.height}) || [{literal(TOP)}]"
            has_none = f"NOT EXISTS (FROM {paths.name} WHERE attribute = {i} AND labels[1] IS NULL)"
            fetch(con, f"INSERT INTO {paths.name} SELECT {i}, {own} WHERE {has_none}")
    return paths
