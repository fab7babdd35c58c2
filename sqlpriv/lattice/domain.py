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

from dataclasses import dataclass

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
        """The SQL type that holds the number of every class of a batch of nodes."""
        return "BIGINT" if self.numbers < 2**40 else "HUGEINT"


def read_domain(source: Source, policy: Policy) -> Domain:
    """Scan the table once, make the hierarchies, check that they fit, and number their labels."""
    _check_columns(source, policy)
    _scan(source, policy)
    rows, combinations = fetch(source.con, f"SELECT coalesce(sum(__priv_n), 0), count(*) FROM {FREQUENCIES}")[0]
    if rows == 0:
        raise InputError(f"{source.label} has no rows: there is nothing to publish")
    hierarchies = make_hierarchies(source, policy, FREQUENCIES)
    _list_paths(source, hierarchies)
    _refuse_faults(source, hierarchies)
    numbers = _number_labels(source, policy)
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


def _scan(source: Source, policy: Policy) -> None:
    columns = [*policy.qis, *policy.sensitive, *filter(None, [policy.person])]
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


# Each fault as a query of attribute, level and how many; %s is filled from the row.
_FAULTS = (
    ("{n} value(s) of the table are not in it",
     "SELECT c.attribute, 0, count(*) FROM counts AS c WHERE NOT EXISTS (FROM paths AS p WHERE "
     "p.attribute = c.attribute AND p.labels[1] IS NOT DISTINCT FROM c.value) GROUP BY 1"),
    ("{n} value(s) are listed twice with different labels",
     "SELECT attribute, 0, count(*) FROM (SELECT attribute, labels[1] FROM paths GROUP BY ALL HAVING count(*) > 1) "
     "GROUP BY 1"),
    ("{n} value(s) have no label on it",
     "SELECT attribute, level, count(*) FROM (SELECT attribute, labels, unnest(range(1, len(labels))) AS level "
     "FROM paths) WHERE labels[level + 1] IS NULL AND (labels[1] IS NOT NULL OR level = len(labels) - 1) GROUP BY 1, 2"),
    ("{n} label(s) have two different labels above them: the levels do not nest",
     "SELECT attribute, level, count(*) FROM (SELECT attribute, level, label FROM (SELECT attribute, level, "
     "labels[level + 1] AS label, labels[level + 2] AS parent FROM (SELECT attribute, labels, "
     "unnest(range(1, len(labels) - 1)) AS level FROM paths)) GROUP BY ALL HAVING count(DISTINCT parent) > 1 "
     "OR (count(parent) > 0 AND count(parent) < count(*))) GROUP BY 1, 2"),
    ("it is the top and has {n} labels; one label must stand for all values",
     "SELECT attribute, max(len(labels)) - 1, count(DISTINCT labels[-1]) FROM paths GROUP BY 1 "
     "HAVING count(DISTINCT labels[-1]) > 1"),
)  # fmt: skip


def _refuse_faults(source: Source, hierarchies: tuple[Hierarchy, ...]) -> None:
    """Refuse hierarchies that do not fit the table, naming the attribute, the level and how many."""
    faults = " UNION ALL ".join(f"SELECT {i}, * FROM ({query})" for i, (_, query) in enumerate(_FAULTS))
    found = [
        f"hierarchy of {hierarchies[attribute].column!r}, level {level}: {_FAULTS[fault][0].format(n=number)}"
        for fault, attribute, level, number in sorted(fetch(source.con, faults))
    ]
    if found:
        raise PolicyError("; ".join(found))


def _number_labels(source: Source, policy: Policy) -> int:
    """Write labels and leaves; return how many numbers the classes of one node need."""
    fetch(
        source.con,
        "CREATE OR REPLACE TABLE labels AS WITH entries AS (SELECT p.attribute, level, labels[level + 1] AS label, rows "
        "FROM (SELECT attribute, labels, unnest(range(0, len(labels))) AS level FROM paths) AS p "
        "LEFT JOIN counts AS c ON p.attribute = c.attribute AND p.labels[1] IS NOT DISTINCT FROM c.value) "
        "SELECT attribute, level, label, leaves, rows, seen, row_number() OVER (PARTITION BY attribute, level "
        "ORDER BY seen = 0, label) - 1 AS number FROM (SELECT attribute, level, label, count(*) AS leaves, "
        "coalesce(sum(rows), 0) AS rows, count(rows) AS seen FROM entries GROUP BY ALL)",
    )
    seen = fetch(
        source.con, "SELECT count(*) FROM labels WHERE level = 0 AND seen > 0 GROUP BY attribute ORDER BY attribute"
    )
    radix, radices = 1, []
    for (count,) in seen:
        radices.append(radix)
        radix *= count
    if radix > _LARGEST_NUMBER:
        raise PolicyError("the quasi-identifiers have too many different values together; start from coarser ones")
    listed = ", ".join(f"({i}, CAST({r} AS HUGEINT))" for i, r in enumerate(radices))
    kind = "BIGINT" if radix < 2**40 else "HUGEINT"
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE leaves AS SELECT p.attribute, p.value, "
        f"list(CAST(number * radix AS {kind}) ORDER BY p.level) AS numbers, "
        f"list(CASE WHEN domain > 1 THEN (leaves - 1) / (domain - 1) ELSE 0 END ORDER BY p.level) AS loss, "
        f"list(log2(l.rows / c.rows) ORDER BY p.level) AS entropy, list(ln(seen) ORDER BY p.level) AS volume, "
        f"any_value(c.rows) AS rows "
        f"FROM (SELECT attribute, labels[1] AS value, labels, unnest(range(0, len(labels))) AS level FROM paths) AS p "
        f"JOIN labels AS l ON p.attribute = l.attribute AND p.level = l.level AND p.labels[p.level + 1] IS NOT DISTINCT FROM l.label "
        f"JOIN counts AS c ON p.attribute = c.attribute AND p.value IS NOT DISTINCT FROM c.value "
        f"JOIN (SELECT attribute, count(*) AS domain FROM paths GROUP BY 1) AS d ON p.attribute = d.attribute "
        f"JOIN (VALUES {listed}) AS r(attribute, radix) ON p.attribute = r.attribute GROUP BY p.attribute, p.value",
    )
    return radix


def _write_base(source: Source, policy: Policy) -> None:
    """The frequencies by numbers: columns a<i> (class numbers), loss<i> ... , s<j>, person, n."""
    lists = ", ".join(
        f"l{i}.numbers AS a{i}, l{i}.loss AS loss{i}, l{i}.entropy AS entropy{i}, l{i}.volume AS volume{i}"
        for i in range(len(policy.qis))
    )
    sensitive = "".join(f", f.{quoted(c)} AS s{j}" for j, c in enumerate(policy.sensitive))
    person = f", f.{quoted(policy.person)} AS holder" if policy.person else ""
    joins = "".join(
        f" JOIN leaves AS l{i} ON l{i}.attribute = {i} AND CAST(f.{quoted(q)} AS VARCHAR) IS NOT DISTINCT FROM l{i}.value"
        for i, q in enumerate(policy.qis)
    )
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE base AS SELECT {lists}{sensitive}{person}, __priv_n AS n FROM {FREQUENCIES} AS f{joins}",
    )


def _write_values(source: Source, policy: Policy, j: int, column: str) -> None:
    """Number the sensitive values in their order, NULL last, and replace them in the base."""
    name = quoted(column)
    counted = f"count(DISTINCT {quoted(policy.person)})" if policy.person else "sum(__priv_n)"
    people = f"(SELECT {counted} FROM {FREQUENCIES})"
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE values_{j} AS SELECT value, row_number() OVER (ORDER BY value NULLS LAST) AS id, "
        f"total, total / sum(total) OVER () AS share, total / {people} AS base, count(*) OVER () AS kinds "
        f"FROM (SELECT {name} AS value, {counted} AS total FROM {FREQUENCIES} GROUP BY 1)",
    )
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
        f"unnest(range(0, len({cost}))) AS level FROM leaves) GROUP BY ALL ORDER BY ALL",
    )
    return tuple(
        tuple(float(total) for attribute, _, total in found if attribute == i) for i in range(len(hierarchies))
    )
