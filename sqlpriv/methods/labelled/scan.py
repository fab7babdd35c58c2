"""The private table as the search sees it: frequencies of numbered labels, read in one scan.

    frequencies    the combinations of quasi-identifiers and sensitive values, with their number of rows
    labels, leaves the hierarchies: every label with its number, every value with its labels' numbers (labels.py)
    costed_leaves  the leaves with their losses and other costs; made when they are first asked for
    values_<j>     the values of the j-th sensitive column, numbered in their order, with their share of the table
    base           the frequencies by numbers, with lists in the place of the values: what nodes are evaluated on
    costs          the same with the costs of the cells; made when it is first asked for

Labels are numbered per attribute and level and multiplied by a radix, so that the sum over the attributes of a row
names its class. All of it is ordinary tables in a database in memory: private, and gone with the connection.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlpriv.engine import fetch
from sqlpriv.errors import InputError, PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.labels import Labels, number_type, write_labels
from sqlpriv.methods.labelled.policy import LabelledPolicy
from sqlpriv.policy.file import Policy
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import Hierarchy, make_hierarchies
from sqlpriv.table.private_table import reads_apart, settle_types
from sqlpriv.table.source import Source

FREQUENCIES = "__frequencies"
FEW = 200_000
"""Up to so many rows, to plan a query or to share it among threads is most of the work."""

_PUBLISHED = ("quasi-identifier", "sensitive", "other")
_READ = ("quasi-identifier", "sensitive", "other", "person")

Sums = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Frequencies:
    """The table by the combinations of its values: tables frequencies and values_<j> are there."""

    source: Source
    policy: LabelledPolicy
    combinations: int
    rows: int
    values: tuple[tuple[int, float], ...]
    """How many values each sensitive column has, and the smallest share of one."""
    with_null: frozenset[str]
    """The quasi-identifiers, folded, that some row has no value of."""

    @property
    def is_small(self) -> bool:
        """Whether there are few combinations."""
        return self.combinations <= FEW


@dataclass(frozen=True)
class Scan(Frequencies):
    """What is known of the table before any node is looked at."""

    hierarchies: tuple[Hierarchy, ...]
    labels: Labels

    @property
    def heights(self) -> tuple[int, ...]:
        """The level of the top, for each quasi-identifier."""
        return tuple(h.height for h in self.hierarchies)

    @property
    def numbers(self) -> int:
        """How many numbers the classes of one node need."""
        return self.labels.numbers

    @property
    def number_type(self) -> str:
        """The SQL type of the number of a class."""
        return number_type(self.numbers)

    @cached_property
    def loss(self) -> Sums:
        """The losses of all cells when nothing is suppressed, summed by attribute and level."""
        return _sums(self.source, self.costed_leaves, len(self.heights), "loss")

    @cached_property
    def entropy(self) -> Sums:
        """The same of the entropy."""
        return _sums(self.source, self.costed_leaves, len(self.heights), "entropy")

    @cached_property
    def volume(self) -> Sums:
        """The same of the logarithm of the number of values that a label stands for."""
        return _sums(self.source, self.costed_leaves, len(self.heights), "volume")

    @cached_property
    def costed_leaves(self) -> str:
        """The name of a table like leaves that also has the costs of the cells."""
        costed = inlined("FROM _lattice_costs(steps, labels, leaves)")
        fetch(self.source.con, f"CREATE OR REPLACE TABLE costed_leaves AS {costed}")
        return "costed_leaves"

    @cached_property
    def costs(self) -> str:
        """The name of a table like the base that also has the costs of the cells."""
        _write_base(self.source, self.policy, "costs", self.costed_leaves, ("loss", "entropy", "volume"))
        return "costs"

    @cached_property
    def rolled(self) -> tuple[int, str] | None:
        """An attribute, and a table like the base in which it stands on level 1, where that is much smaller."""
        return _roll_up(self)


def scan_table(source: Source, policy: LabelledPolicy, others: Sequence[str] = (), *, with_base: bool = True) -> Scan:
    """Scan the table once, make the hierarchies, check that they fit, and number their labels.

    `others` are columns that the objective looks at, beside quasi-identifiers and sensitive ones. Without a base no
    nodes can be evaluated.
    """
    found = count_combinations(source, policy, others)
    hierarchies = make_hierarchies(source, policy.hierarchies, FREQUENCIES)
    labels = write_labels(source, hierarchies, FREQUENCIES, found.with_null)
    if with_base:
        _write_base(source, policy, "base", "leaves", ())
    return Scan(source, policy, found.combinations, found.rows, found.values, found.with_null, hierarchies, labels)


def count_combinations(source: Source, policy: LabelledPolicy, others: Sequence[str] = ()) -> Frequencies:
    """Scan the table once, and number its sensitive values."""
    check_columns(source, policy)
    combinations = _scan(source, policy, others)
    if combinations == 0:
        raise InputError(f"{source.label} has no rows: there is nothing to publish")
    settle_types(source, FREQUENCIES)
    lacks = "".join(f", count(*) > count({quoted(q)})" for q in policy.qis)
    ((found, *nulls),) = fetch(source.con, f"SELECT sum(__priv_n){lacks} FROM {FREQUENCIES}")
    rows, with_null = int(found), frozenset(folded(q) for q, null in zip(policy.qis, nulls, strict=True) if null)
    values = tuple(_write_values(source, policy, j, rows) for j in range(len(policy.sensitive)))
    return Frequencies(source, policy, combinations, rows, values, with_null)


def check_columns(source: Source, policy: Policy) -> None:
    """Every column of the table has a role, and every role a column: new columns never slip into a release."""
    named = {folded(c.name): c.name for c in policy.columns}
    present = {folded(c): c for c in source.columns}
    missing = [name for key, name in named.items() if key not in present]
    if missing:
        raise PolicyError(f"the policy names {_listed(missing)}, but {source.label} has no such column")
    unnamed = [name for key, name in present.items() if key not in named]
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


def _scan(source: Source, policy: LabelledPolicy, others: Sequence[str]) -> int:
    """Write the frequencies; return how many there are."""
    columns = dict.fromkeys([*policy.qis, *policy.sensitive, *filter(None, [policy.person]), *others])
    listed = ", ".join(f"__priv_t.{quoted(c)}" for c in columns)
    kinds = {folded(name): kind for name, kind in source.types.items()}
    # Classes go by what a reader sees, which is more than DuckDB compares in some types.
    texts = [f"CAST(__priv_t.{quoted(q)} AS VARCHAR)" for q in policy.qis if reads_apart(kinds[folded(q)])]
    grouped = ", ".join([listed, *texts]) if texts else "ALL"
    guard = f" WHERE {_person_guard(policy.person)}" if policy.person else ""
    written = fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {FREQUENCIES} AS SELECT {listed}, count(*) AS __priv_n "
        f"FROM {source.table} AS __priv_t{guard} GROUP BY {grouped}",
    )
    return int(written[0][0])


def _person_guard(person: str) -> str:
    complaint = literal("sqlpriv: the person column holds NULL; give every row a person")
    return f"CASE WHEN __priv_t.{quoted(person)} IS NULL THEN error({complaint}) ELSE true END"


def published_columns(scan: Frequencies) -> list[str]:
    """The columns of the release, in the order of the private table."""
    names = {folded(n): n for n in scan.policy.named(*_PUBLISHED)}
    return [c for c in scan.source.columns if folded(c) in names]


def node_of(scan: Scan, given: Mapping[str, int]) -> tuple[int, ...]:
    """The node that the policy names, with levels that there are."""
    wanted = {folded(name): level for name, level in given.items()}
    node = tuple(wanted[folded(q)] for q in scan.policy.qis)
    for name, level, height in zip(scan.policy.qis, node, scan.heights, strict=True):
        if level > height:
            raise PolicyError(f"the node asks for level {level} of {name!r}, and the top of its hierarchy is {height}")
    return node


def number_rows(
    policy: LabelledPolicy, table: str, columns: str, values: str = "leaves", attributes: Collection[int] | None = None
) -> str:
    """A query of `columns` over a table t, its quasi-identifiers, all or some, joined with their leaves l0, l1, ..."""
    joins = "".join(
        f" JOIN {values} AS l{i} ON l{i}.attribute = {i} "
        f"AND CAST(t.{quoted(q)} AS VARCHAR) IS NOT DISTINCT FROM l{i}.value"
        for i, q in enumerate(policy.qis)
        if attributes is None or i in attributes
    )
    return f"SELECT {columns} FROM {table} AS t{joins}"


def _write_base(source: Source, policy: LabelledPolicy, name: str, leaves: str, costs: Sequence[str]) -> None:
    """The frequencies by numbers: for each attribute a<i> (class numbers) and its costs; then s<j>, holder, n."""
    columns = [f"l{i}.numbers AS a{i}" for i in range(len(policy.qis))]
    columns += [f"l{i}.{cost} AS {cost}{i}" for cost in costs for i in range(len(policy.qis))]
    columns += [f"v{j}.id AS s{j}" for j in range(len(policy.sensitive))]
    columns += [f"t.{quoted(policy.person)} AS holder"] if policy.person else []
    rows = number_rows(policy, FREQUENCIES, ", ".join([*columns, "t.__priv_n AS n"]), leaves)
    for j, column in enumerate(policy.sensitive):
        rows += f" JOIN values_{j} AS v{j} ON t.{quoted(column)} IS NOT DISTINCT FROM v{j}.value"
    fetch(source.con, f"CREATE OR REPLACE TABLE {name} AS {rows}")


def _roll_up(scan: Scan) -> tuple[int, str] | None:
    """Nodes above level 1 of the attribute with the most values need not start from single values."""
    source, policy = scan.source, scan.policy
    fewer = [(seen[0] / seen[1], -a) for a, seen in enumerate(scan.labels.seen) if len(seen) > 2]
    if not fewer:
        return None
    attribute = -max(fewer)[1]
    kept = [f"s{j}" for j in range(len(policy.sensitive))] + (["holder"] if policy.person else [])
    grouped = ", ".join([f"a{a}[{2 if a == attribute else 1}]" for a in range(len(policy.qis))] + kept)
    # One row stands for its group: its number is quicker to find and join than its lists are to aggregate.
    groups = f"SELECT min(rowid) AS one, CAST(sum(n) AS BIGINT) AS n FROM base GROUP BY {grouped}"
    rows = f"SELECT b.* REPLACE (g.n AS n) FROM ({groups}) AS g JOIN base AS b ON b.rowid = g.one"
    ((left,),) = fetch(source.con, f"CREATE OR REPLACE TABLE rolled AS {rows}")
    return (attribute, "rolled") if left < 0.6 * scan.combinations else None


def _write_values(source: Source, policy: LabelledPolicy, j: int, rows: int) -> tuple[int, float]:
    """Number the sensitive values in their order, NULL last."""
    counted = f"count(DISTINCT {quoted(policy.person)})" if policy.person else "CAST(sum(__priv_n) AS BIGINT)"
    totals = f"(SELECT {quoted(policy.sensitive[j])} AS value, {counted} AS total FROM {FREQUENCIES} GROUP BY 1)"
    people = f"(SELECT {counted} FROM {FREQUENCIES})" if policy.person else str(rows)
    values = inlined(f"FROM _lattice_values({totals}, {people})")
    fetch(source.con, f"CREATE OR REPLACE TABLE values_{j} AS {values}")
    kinds, least = fetch(source.con, f"SELECT count(*), min(share) FROM values_{j}")[0]
    return int(kinds), float(least)


def _sums(source: Source, leaves: str, attributes: int, cost: str) -> Sums:
    """The sum of a cost over all rows, by attribute and level."""
    found = fetch(
        source.con,
        f"SELECT attribute, level, sum(rows * {cost}[level + 1]) FROM (SELECT attribute, rows, {cost}, "
        f"unnest(range(0, len({cost}))) AS level FROM {leaves} WHERE rows > 0) GROUP BY ALL ORDER BY ALL",
    )
    return tuple(tuple(float(total) for attribute, _, total in found if attribute == i) for i in range(attributes))
