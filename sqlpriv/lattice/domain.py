"""The private table as the search sees it: frequencies of numbered labels, read in one scan.

    frequencies    the combinations of quasi-identifiers and sensitive values, with their number of rows
    labels         every label of every hierarchy: attribute, level, its number, leaves below, rows below
    leaves         every value: the list of its labels' numbers, its losses and its other costs, one entry a level
    base           the frequencies with these lists in the place of the values: what nodes are evaluated on
    values_<j>     the values of the j-th sensitive column, numbered in their order, with their share of the table

Labels are numbered per attribute and level and multiplied by a radix, so that the sum over the attributes of a row
names its class. All of it is ordinary tables in a database in memory: private, and gone with the connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.catalog import inlined
from sqlpriv.engine import fetch
from sqlpriv.errors import InputError, PolicyError
from sqlpriv.hierarchy import TOP, Hierarchy, make_hierarchies
from sqlpriv.policy import Policy
from sqlpriv.source import Source
from sqlpriv.sqltext import literal, quoted

FREQUENCIES = "__frequencies"
_LARGEST_NUMBER = 2**126


@dataclass(frozen=True)
class Domain:
    """What is known of the table before any node is looked at."""

    source: Source
    policy: Policy
    hierarchies: tuple[Hierarchy, ...]
    rows: int
    combinations: int
    numbers: int
    # Sums over all rows by attribute and level: what a node costs when nothing is suppressed.
    loss: tuple[tuple[float, ...], ...]
    entropy: tuple[tuple[float, ...], ...]
    volume: tuple[tuple[float, ...], ...]

    @property
    def heights(self) -> tuple[int, ...]:
        """The level of the top, for each quasi-identifier."""
        return tuple(h.height for h in self.hierarchies)

    @property
    def number_type(self) -> str:
        """The SQL type of the number of a class."""
        return _number_type(self.numbers)


def read_domain(source: Source, policy: Policy, others: Sequence[str] = ()) -> Domain:
    """Scan the table once, make the hierarchies, check that they fit, and number their labels.

    `others` are columns that the objective looks at, beside quasi-identifiers and sensitive ones.
    """
    _check_columns(source, policy)
    _scan(source, policy, others)
    rows, combinations = fetch(source.con, f"SELECT coalesce(sum(__priv_n), 0), count(*) FROM {FREQUENCIES}")[0]
    if rows == 0:
        raise InputError(f"{source.label} has no rows: there is nothing to publish")
    hierarchies = make_hierarchies(source, policy, FREQUENCIES)
    _list_paths(source, hierarchies)
    _refuse_faults(source, hierarchies)
    numbers = _number_labels(source)
    _write_base(source, policy)
    for j, column in enumerate(policy.sensitive):
        _write_values(source, policy, j, column)
    sums = (_marginal(source, hierarchies, cost) for cost in ("loss", "entropy", "volume"))
    return Domain(source, policy, hierarchies, int(rows), int(combinations), numbers, *sums)


def _check_columns(source: Source, policy: Policy) -> None:
    """Every column of the table has a role, and every role a column: new columns never slip into a release."""
    named = {c.name.lower(): c.name for c in policy.columns}
    present = {c.lower(): c for c in source.columns}
    missing = [name for key, name in named.items() if key not in present]
    if missing:
        raise PolicyError(f"the policy names {_listed(missing)}, but {source.label} has no such column")
    unnamed = [name for key, name in present.items() if key not in named]
    if unnamed:
        raise PolicyError(
            f"{source.label} has {_listed(unnamed)}, which the policy does not name; "
            'give each a role ("drop" leaves it out of the release)'
        )


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


def _refuse_faults(source: Source, hierarchies: tuple[Hierarchy, ...]) -> None:
    """Refuse hierarchies that do not fit the table, naming the attribute, the level and how many."""
    found = [
        f"hierarchy of {hierarchies[attribute].column!r}, level {level}: {number} {fault}"
        for fault, attribute, level, number in fetch(
            source.con, inlined("FROM _lattice_faults(paths, counts) ORDER BY attribute, level, fault")
        )
    ]
    if found:
        raise PolicyError("; ".join(found))


def _number_labels(source: Source) -> int:
    """Write labels and leaves; return how many numbers the classes of one node need."""
    con = source.con
    fetch(con, f"CREATE OR REPLACE TABLE labels AS {inlined('FROM _lattice_labels(paths, counts)')}")
    seen = fetch(con, "SELECT count(*) FROM labels WHERE level = 0 AND seen > 0 GROUP BY attribute ORDER BY attribute")
    radix, radices = 1, []
    for (count,) in seen:
        radices.append(radix)
        radix *= count
    if radix > _LARGEST_NUMBER:
        raise PolicyError("the quasi-identifiers have too many different values together; start from coarser ones")
    listed = ", ".join(f"({i}, CAST({r} AS {_number_type(radix)}))" for i, r in enumerate(radices))
    fetch(con, f"CREATE OR REPLACE TABLE radices AS FROM (VALUES {listed}) AS r(attribute, radix)")
    fetch(con, f"CREATE OR REPLACE TABLE leaves AS {inlined('FROM _lattice_leaves(paths, counts, labels, radices)')}")
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


def _write_base(source: Source, policy: Policy) -> None:
    """The frequencies by numbers: for each attribute a<i> (class numbers) and its costs; then s<j>, holder, n."""
    lists = [
        f"l{i}.numbers AS a{i}, l{i}.loss AS loss{i}, l{i}.entropy AS entropy{i}, l{i}.volume AS volume{i}"
        for i in range(len(policy.qis))
    ]
    kept = [f"t.{quoted(c)} AS s{j}" for j, c in enumerate(policy.sensitive)]
    kept += [f"t.{quoted(policy.person)} AS holder"] if policy.person else []
    query = number_rows(policy, FREQUENCIES, ", ".join([*lists, *kept, "__priv_n AS n"]))
    fetch(source.con, f"CREATE OR REPLACE TABLE base AS {query}")


def _write_values(source: Source, policy: Policy, j: int, column: str) -> None:
    """Number the sensitive values in their order, NULL last, and replace them in the base."""
    counted = f"count(DISTINCT {quoted(policy.person)})" if policy.person else "sum(__priv_n)"
    totals = f"(SELECT {quoted(column)} AS value, {counted} AS total FROM {FREQUENCIES} GROUP BY 1)"
    people = f"(SELECT {counted} FROM {FREQUENCIES})"
    values = inlined(f"FROM _lattice_values({totals}, {people})")
    fetch(source.con, f"CREATE OR REPLACE TABLE values_{j} AS {values}")
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE base AS SELECT b.* REPLACE (v.id AS s{j}) "
        f"FROM base AS b JOIN values_{j} AS v ON b.s{j} IS NOT DISTINCT FROM v.value",
    )


def _marginal(source: Source, hierarchies: tuple[Hierarchy, ...], cost: str) -> tuple[tuple[float, ...], ...]:
    """The sum of a cost over all rows, by attribute and level."""
    found = fetch(
        source.con,
        f"SELECT attribute, level, sum(rows * {cost}[level + 1]) FROM (SELECT attribute, rows, {cost}, "
        f"unnest(range(0, len({cost}))) AS level FROM leaves WHERE rows > 0) GROUP BY ALL ORDER BY ALL",
    )
    return tuple(
        tuple(float(total) for attribute, _, total in found if attribute == i) for i in range(len(hierarchies))
    )
