"""The population of k-map, presence and journalist risk, by the same numbers as the table.

A value or label that the table does not have gets no number: its people are in no class of the table, and only those
classes are judged.
"""

from __future__ import annotations

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.lattice.domain import Domain
from sqlpriv.named import read_named
from sqlpriv.sqltext import quoted


def write_population(domain: Domain, i: int, name: str) -> None:
    """Table population_<i>: columns a<attribute> as in the base, holder with a person column, n."""
    source, policy = domain.source, domain.policy
    table = read_named(source, policy, name, f"people_{i}")
    columns = {r[0].lower() for r in fetch(source.con, f"DESCRIBE {table}")}
    missing = [c for c in [*policy.qis, *filter(None, [policy.person])] if c.lower() not in columns]
    if missing:
        raise PolicyError(f"the population {name!r} has no column {', '.join(repr(m) for m in missing)}")
    fetch(
        source.con,
        "CREATE OR REPLACE TABLE all_leaves AS SELECT p.attribute, p.value, list(CASE WHEN l.seen > 0 THEN "
        "s.numbers[p.level + 1] END ORDER BY p.level) AS numbers "
        "FROM (SELECT attribute, labels[1] AS value, labels, unnest(range(0, len(labels))) AS level FROM paths) AS p "
        "JOIN labels AS l ON p.attribute = l.attribute AND p.level = l.level "
        "AND p.labels[p.level + 1] IS NOT DISTINCT FROM l.label "
        "LEFT JOIN (SELECT attribute, level, label, any_value(numbers) AS numbers FROM (SELECT v.attribute, "
        "t.labels[v.level + 1] AS label, v.level, v.numbers FROM (SELECT attribute, value, numbers, "
        "unnest(range(0, len(numbers))) AS level FROM leaves) AS v JOIN paths AS t ON v.attribute = t.attribute "
        "AND v.value IS NOT DISTINCT FROM t.labels[1]) GROUP BY ALL) AS s ON p.attribute = s.attribute "
        "AND p.level = s.level AND p.labels[p.level + 1] IS NOT DISTINCT FROM s.label GROUP BY p.attribute, p.value",
    )
    for a, qi in enumerate(policy.qis):
        uncovered = fetch(
            source.con,
            f"SELECT count(*) FROM (SELECT DISTINCT CAST({quoted(qi)} AS VARCHAR) AS value FROM {table}) AS t "
            f"WHERE NOT EXISTS (FROM all_leaves AS l WHERE l.attribute = {a} AND l.value IS NOT DISTINCT FROM t.value)",
        )[0][0]
        if uncovered:
            raise PolicyError(f"hierarchy of {qi!r}, level 0: {uncovered} value(s) of the population are not in it")
    lists = ", ".join(f"any_value(l{a}.numbers) AS a{a}" for a in range(len(policy.qis)))
    keys = ", ".join(f"CAST(p.{quoted(q)} AS VARCHAR)" for q in policy.qis)
    joins = "".join(
        f" JOIN all_leaves AS l{a} ON l{a}.attribute = {a} AND CAST(p.{quoted(q)} AS VARCHAR) IS NOT DISTINCT FROM l{a}.value"
        for a, q in enumerate(policy.qis)
    )
    holder = f", p.{quoted(policy.person)} AS holder" if policy.person else ""
    grouped = f"{keys}, holder" if policy.person else keys
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE population_{i} AS SELECT {lists}{holder}, count(*) AS n "
        f"FROM {table} AS p{joins} GROUP BY {grouped}",
    )
