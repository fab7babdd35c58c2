"""The private table as the search sees it: frequencies of numbered labels, read in one scan.

    frequencies    the combinations of quasi-identifiers and sensitive values, with their number of rows
    labels         every label of every hierarchy: attribute, level, its number, leaves below, rows below
    leaves         every value: the list of its labels' numbers, its losses and its other costs, one entry a level
    values_<j>     the values of the j-th sensitive column, numbered in their order, with their share of the table
    base           the frequencies by numbers, with lists in the place of the values: what nodes are evaluated on
    costs          the same with the costs of the cells; made when it is first asked for

Labels are numbered per attribute and level and multiplied by a radix, so that the sum over the attributes of a row
names its class. All of it is ordinary tables in a database in memory: private, and gone with the connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlpriv.catalog import inlined
from sqlpriv.engine import fetch
from sqlpriv.errors import InputError, PolicyError
from sqlpriv.hierarchy import TOP, Hierarchy, make_hierarchies
from sqlpriv.policy import Policy
from sqlpriv.private import settle_types
from sqlpriv.source import Source
from sqlpriv.sqltext import folded, literal, quoted

FREQUENCIES = "__frequencies"
_LARGEST_NUMBER = 2**100  # times the number of a node it still is a HUGEINT

_READ = ("quasi-identifier", "sensitive", "other", "person")

Sums = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Domain:
    """What is known of the table before any node is looked at."""

    source: Source
    policy: Policy
    hierarchies: tuple[Hierarchy, ...]
    rows: int
    combinations: int
    numbers: int
    values: tuple[tuple[int, float], ...]
    """How many values each sensitive column has, and the smallest share of one."""

    @property
    def heights(self) -> tuple[int, ...]:
        """The level of the top, for each quasi-identifier."""
        return tuple(h.height for h in self.hierarchies)

    @property
    def number_type(self) -> str:
        """The SQL type of the number of a class."""
        return _number_type(self.numbers)

    @cached_property
    def loss(self) -> Sums:
        """The losses of all cells when nothing is suppressed, summed by attribute and level."""
        return _sums(self.source, len(self.heights), "loss")

    @cached_property
    def entropy(self) -> Sums:
        """The same of the entropy."""
        return _sums(self.source, len(self.heights), "entropy")

    @cached_property
    def volume(self) -> Sums:
        """The same of the logarithm of the number of values that a label stands for."""
        return _sums(self.source, len(self.heights), "volume")

    @cached_property
    def costs(self) -> str:
        """The name of a table like the base that also has the costs of the cells."""
        _write_base(self.source, self.policy, "costs", ("loss", "entropy", "volume"))
        return "costs"

    @cached_property
    def rolled(self) -> tuple[int, str] | None:
        """An attribute, and a table like the base in which it stands on level 1, where that is much smaller."""
        return _roll_up(self.source, self.policy, self.combinations)


def read_domain(source: Source, policy: Policy, others: Sequence[str] = ()) -> Domain:
    """Scan the table once, make the hierarchies, check that they fit, and number their labels.

    `others` are columns that the objective looks at, beside quasi-identifiers and sensitive ones.
    """
    _check_columns(source, policy)
    _scan(source, policy, others)
    settle_types(source, policy, FREQUENCIES)
    rows, combinations = fetch(source.con, f"SELECT coalesce(sum(__priv_n), 0), count(*) FROM {FREQUENCIES}")[0]
    if rows == 0:
        raise InputError(f"{source.label} has no rows: there is nothing to publish")
    hierarchies = make_hierarchies(source, policy, FREQUENCIES)
    _list_paths(source, hierarchies)
    _refuse_faults(source, hierarchies)
    numbers = _number_labels(source)
    values = tuple(_write_values(source, policy, j, column) for j, column in enumerate(policy.sensitive))
    _write_base(source, policy, "base", ())
    return Domain(source, policy, hierarchies, int(rows), int(combinations), numbers, values)


def _check_columns(source: Source, policy: Policy) -> None:
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


def _scan(source: Source, policy: Policy, others: Sequence[str]) -> None:
    columns = dict.fromkeys([*policy.qis, *policy.sensitive, *filter(None, [policy.person]), *others])
    listed = ", ".join(f"__priv_t.{quoted(c)}" for c in columns)
    guard = f" WHERE {_person_guard(policy.person)}" if policy.person else ""
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {FREQUENCIES} AS SELECT {listed}, count(*) AS __priv_n "
        f"FROM {source.table} AS __priv_t{guard} GROUP BY ALL",
    )


def _person_guard(person: str) -> str:
    complaint = literal("sqlpriv: the person column holds NULL; give every row a person")
    return f"CASE WHEN __priv_t.{quoted(person)} IS NULL THEN error({complaint}) ELSE true END"


def _list_paths(source: Source, hierarchies: tuple[Hierarchy, ...]) -> None:
    """Table paths: attribute, labels of a value from level 0 to the top. NULL gets its own path where it has none."""
    paths = " UNION ALL ".join(
        f"SELECT DISTINCT {i} AS attribute, list_value(*COLUMNS(*)) AS labels "
        f"FROM (SELECT CAST(COLUMNS(*) AS VARCHAR) FROM {h.table})"
        for i, h in enumerate(hierarchies)
    )
    counts = " UNION ALL ".join(
        f"SELECT {i} AS attribute, CAST({quoted(h.column)} AS VARCHAR) AS value, sum(__priv_n) AS rows "
        f"FROM {FREQUENCIES} GROUP BY 2"
        for i, h in enumerate(hierarchies)
    )
    heights = ", ".join(f"({i}, {h.height})" for i, h in enumerate(hierarchies))
    fetch(source.con, f"CREATE OR REPLACE TABLE counts AS {counts}")
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE paths AS WITH listed AS ({paths}) FROM listed UNION ALL "
        f"SELECT attribute, list_resize(CAST([] AS VARCHAR[]), height) || [{literal(TOP)}] "
        f"FROM counts JOIN (VALUES {heights}) AS h(attribute, height) USING (attribute) WHERE value IS NULL "
        f"AND NOT EXISTS (FROM listed WHERE listed.attribute = counts.attribute AND labels[1] IS NULL)",
    )
    fetch(source.con, f"CREATE OR REPLACE TABLE steps AS {inlined('FROM _lattice_steps(paths)')}")


def _refuse_faults(source: Source, hierarchies: tuple[Hierarchy, ...]) -> None:
    """Refuse hierarchies that do not fit the table, naming the attribute, the level and how many."""
    found = [
        f"hierarchy of {hierarchies[attribute].column!r}, level {level}: {number} {fault}"
        for fault, attribute, level, number in fetch(
            source.con, inlined("FROM _lattice_faults(paths, steps, counts) ORDER BY attribute, level, fault")
        )
    ]
    if found:
        raise PolicyError("; ".join(found))


def _number_labels(source: Source) -> int:
    """Write labels and leaves; return how many numbers the classes of one node need."""
    con = source.con
    fetch(con, f"CREATE OR REPLACE TABLE labels AS {inlined('FROM _lattice_labels(steps, counts)')}")
    seen = fetch(con, "SELECT count(*) FROM labels WHERE level = 0 AND seen > 0 GROUP BY attribute ORDER BY attribute")
    radix, radices = 1, []
    for (count,) in seen:
        radices.append(radix)
        radix *= count
    if radix > _LARGEST_NUMBER:
        raise PolicyError("the quasi-identifiers have too many different values together; start from coarser ones")
    listed = ", ".join(f"({i}, CAST({r} AS {_number_type(radix)}))" for i, r in enumerate(radices))
    fetch(con, f"CREATE OR REPLACE TABLE radices AS FROM (VALUES {listed}) AS r(attribute, radix)")
    fetch(con, f"CREATE OR REPLACE TABLE leaves AS {inlined('FROM _lattice_leaves(steps, counts, labels, radices)')}")
    return radix


def _number_type(numbers: int) -> str:
    """The SQL type that holds the number of every class of a batch of nodes."""
    return "BIGINT" if numbers < 2**40 else "HUGEINT"


def number_rows(policy: Policy, table: str, columns: str, values: str = "leaves") -> str:
    """A query of `columns` over a table t, its quasi-identifiers joined with their leaves l0, l1, ..."""
    joins = "".join(
        f" JOIN {values} AS l{i} ON l{i}.attribute = {i} "
        f"AND CAST(t.{quoted(q)} AS VARCHAR) IS NOT DISTINCT FROM l{i}.value"
        for i, q in enumerate(policy.qis)
    )
    return f"SELECT {columns} FROM {table} AS t{joins}"


def _write_base(source: Source, policy: Policy, name: str, costs: Sequence[str]) -> None:
    """The frequencies by numbers: for each attribute a<i> (class numbers) and its costs; then s<j>, holder, n."""
    columns = [f"l{i}.numbers AS a{i}" for i in range(len(policy.qis))]
    columns += [f"l{i}.{cost} AS {cost}{i}" for cost in costs for i in range(len(policy.qis))]
    columns += [f"v{j}.id AS s{j}" for j in range(len(policy.sensitive))]
    columns += [f"t.{quoted(policy.person)} AS holder"] if policy.person else []
    rows = number_rows(policy, FREQUENCIES, ", ".join([*columns, "t.__priv_n AS n"]))
    for j, column in enumerate(policy.sensitive):
        rows += f" JOIN values_{j} AS v{j} ON t.{quoted(column)} IS NOT DISTINCT FROM v{j}.value"
    fetch(source.con, f"CREATE OR REPLACE TABLE {name} AS {rows}")


def _roll_up(source: Source, policy: Policy, combinations: int) -> tuple[int, str] | None:
    """Nodes above level 1 of the attribute with the most values need not start from single values."""
    found = fetch(
        source.con,
        "SELECT attribute FROM labels WHERE seen > 0 GROUP BY attribute HAVING max(level) > 1 "
        "ORDER BY count(CASE WHEN level = 0 THEN 1 END) / count(CASE WHEN level = 1 THEN 1 END) DESC, attribute "
        "LIMIT 1",
    )
    if not found:
        return None
    attribute = int(found[0][0])
    attributes = range(len(policy.qis))
    lists = ", ".join(f"any_value(a{a}) AS a{a}" for a in attributes)
    kept = [f"s{j}" for j in range(len(policy.sensitive))] + (["holder"] if policy.person else [])
    grouped = ", ".join([f"a{a}[{2 if a == attribute else 1}]" for a in attributes] + kept)
    listed = "".join(f", {k}" for k in kept)
    rows = f"SELECT {lists}{listed}, sum(n) AS n FROM base GROUP BY {grouped}"
    fetch(source.con, f"CREATE OR REPLACE TABLE rolled AS {rows}")
    left = fetch(source.con, "SELECT count(*) FROM rolled")[0][0]
    return (attribute, "rolled") if left < 0.6 * combinations else None


def _write_values(source: Source, policy: Policy, j: int, column: str) -> tuple[int, float]:
    """Number the sensitive values in their order, NULL last."""
    counted = f"count(DISTINCT {quoted(policy.person)})" if policy.person else "sum(__priv_n)"
    totals = f"(SELECT {quoted(column)} AS value, {counted} AS total FROM {FREQUENCIES} GROUP BY 1)"
    people = f"(SELECT {counted} FROM {FREQUENCIES})"
    values = inlined(f"FROM _lattice_values({totals}, {people})")
    fetch(source.con, f"CREATE OR REPLACE TABLE values_{j} AS {values}")
    kinds, least = fetch(source.con, f"SELECT count(*), min(share) FROM values_{j}")[0]
    return int(kinds), float(least)


def _sums(source: Source, attributes: int, cost: str) -> Sums:
    """The sum of a cost over all rows, by attribute and level."""
    found = fetch(
        source.con,
        f"SELECT attribute, level, sum(rows * {cost}[level + 1]) FROM (SELECT attribute, rows, {cost}, "
        f"unnest(range(0, len({cost}))) AS level FROM leaves WHERE rows > 0) GROUP BY ALL ORDER BY ALL",
    )
    return tuple(tuple(float(total) for attribute, _, total in found if attribute == i) for i in range(attributes))
