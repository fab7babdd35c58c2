"""How many values an attacker guesses among: those of the domain, or fewer where it is public that they are not alike.

Labels on a level of a hierarchy stand for different numbers of values, and values with a public share are not equally
common: a column then has as many choices as would be alike if each were as common as the commonest.

A table of [public] that [release] names in `combinations` says for its columns, two or more of those published, which
values go together; nothing else is possible. An attacker who knows the others then guesses among fewer values, and the
prior bound has to say so: the choices of a column are those of the smallest slice that leaves at least two. A NULL is
always possible where the domain has it. Noise falls on impossible combinations, too, and reveals nothing there. Two
columns that are wanted may not be in one table: an attacker who does not know one would learn it from the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.table.domains import NumberedColumn
from sqlpriv.table.named_tables import is_private, read_named
from sqlpriv.table.source import Source


def possible_choices(source: Source, policy: RandomizedPolicy, columns: Sequence[NumberedColumn]) -> dict[str, int]:
    """How many values each wanted column can have, at the least, given all others. Reads table __tuples."""
    places = {folded(c.name): i for i, c in enumerate(columns)}
    wanted = {folded(name) for name in policy.wanted}
    choices = {c.name: _alike(source, policy, c) for c in columns if folded(c.name) in wanted}
    narrowed: dict[str, str] = {}
    for number, name in enumerate(policy.combinations):
        together = _write_possible(source, policy, name, f"__possible_{number}", columns, places)
        _refuse_impossible(source, f"__possible_{number}", name, together)
        tied = [columns[p].name for p in together if folded(columns[p].name) in wanted]
        if len(tied) > 1:
            raise PolicyError(
                f"the combinations {name!r} tie {tied[0]!r} to {tied[1]!r}, and both are sensitive: who learns the one "
                "would know more of the other; leave one of them out, or make one column of both"
            )
        for place in together:
            column = columns[place].name
            if folded(column) not in wanted:
                continue
            if column in narrowed:
                raise PolicyError(
                    f"{column!r} is in two tables of combinations, {narrowed[column]!r} and {name!r}; join them"
                )
            narrowed[column] = name
            fewest = _fewest(source, f"__possible_{number}", place, together, columns[place])
            if fewest == 1 < columns[place].size:
                raise PolicyError(
                    f"{column!r} follows from the other columns by the combinations {name!r}, so nothing can hide it; "
                    "leave it out"
                )
            choices[column] = min(fewest, choices[column])
    return choices


def _alike(source: Source, policy: RandomizedPolicy, column: NumberedColumn) -> int:
    """The choices of a column by itself; of one whose noise follows its public shares they are judged one by one."""
    if column.size == 1 and column.column.outside == "drop":
        raise PolicyError(
            f"{column.name!r} is sensitive, its domain has one value, and rows with others are dropped: who is in the "
            "release has it; leave the column out"
        )
    counted = None
    if column.mapping:
        counted = f"SELECT count(*) AS n FROM {column.mapping} GROUP BY label"
    elif column.column.share is not None and policy.shared is None:
        counted = f"SELECT share AS n FROM {column.table}"
    if counted is None or column.size == 1:
        return column.size
    alike = fetch(source.con, f"SELECT floor(sum(n) / max(n) + 1e-9) FROM ({counted})")[0][0]
    return max(2, min(int(alike), column.size))


def _write_possible(
    source: Source,
    policy: RandomizedPolicy,
    name: str,
    table: str,
    columns: Sequence[NumberedColumn],
    places: dict[str, int],
) -> list[int]:
    """A table of the combinations by their numbers in the domains; which columns it has."""
    file = policy.public[name]
    if is_private(source, file):
        raise PolicyError(f"the combinations {name!r} would be read from the private table")
    given = read_named(source, file, "__combinations")
    found = {places[folded(r[0])]: str(r[0]) for r in fetch(source.con, f"DESCRIBE {given}") if folded(r[0]) in places}
    if len(found) < 2:
        raise PolicyError(f"the combinations {name!r} must have two or more of the published columns")
    joins = " ".join(
        f"JOIN {columns[p].table} AS d{p} ON CAST(CAST(d{p}.value AS {columns[p].compared}) AS VARCHAR) = "
        f"CAST(g.{quoted(column)} AS VARCHAR)"
        for p, column in found.items()
    )
    ids = ", ".join(f"d{p}.id AS i{p}" for p in found)
    fetch(source.con, f"CREATE OR REPLACE TABLE {table} AS SELECT DISTINCT {ids} FROM {given} AS g {joins}")
    nulls = {
        p: fetch(source.con, f"SELECT any_value(id) FROM {columns[p].table} WHERE value IS NULL")[0][0] for p in found
    }
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {table}_checked AS SELECT * FROM __tuples WHERE "
        + " AND ".join("true" if n is None else f"i{p} <> {n}" for p, n in nulls.items()),
    )
    return list(found)


def _refuse_impossible(source: Source, table: str, name: str, together: Sequence[int]) -> None:
    same = " AND ".join(f"p.i{p} = t.i{p}" for p in together)
    rows = fetch(
        source.con,
        f"SELECT coalesce(sum(copies), 0) FROM {table}_checked AS t WHERE NOT EXISTS (FROM {table} AS p WHERE {same})",
    )[0][0]
    if rows:
        raise PolicyError(f"{int(rows):,} rows have a combination that {name!r} says is impossible; complete it")


def _fewest(source: Source, table: str, place: int, together: Sequence[int], column: NumberedColumn) -> int:
    others = ", ".join(f"i{p}" for p in together if p != place)
    null = fetch(source.con, f"SELECT count(*) FROM {column.table} WHERE value IS NULL")[0][0]
    sizes = f"SELECT count(DISTINCT i{place}) + {null} AS size FROM {table} GROUP BY {others}"
    found = fetch(source.con, f"SELECT min(size) FROM ({sizes}) WHERE size >= 2")[0][0]
    return 1 if found is None else int(found)
