"""What attackers know before a release: of a table that is planned, and as a file declares it.

An attacker guesses among the values of a domain, or among fewer where it is public that they are not alike. Labels on a
level of a hierarchy stand for different numbers of values, and values with a public share are not equally common. A
column then has as many choices as would be alike if each were as common as the commonest.

A table of [public] that [release] names in `combinations` says for its columns, two or more of those published, which
values go together; nothing else is possible. An attacker who knows the others then guesses among fewer values, and the
prior bound has to say so: the choices of a column are those of the smallest slice that leaves at least two. A NULL is
always possible where the domain has it. Noise falls on impossible combinations, too, and reveals nothing there. Two
columns that are wanted may not be in one table: an attacker who does not know one would learn it from the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.table.domains import NumberedColumn
from sqlpriv.table.named_tables import is_private, read_named
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class Wanted:
    """A column that an attacker wants: its choices given all others."""

    column: str
    choices: int
    shares: tuple[float, ...] = ()
    """The public shares of its values, in the order of the domain, where attackers know them and noise follows them."""


@dataclass(frozen=True)
class Background:
    """What attackers of a release know beforehand, all of it public."""

    wanted: tuple[Wanted, ...]
    quasi_identifiers: tuple[str, ...]
    tuples: int
    times: float
    rows_each: int

    @property
    def shared(self) -> Wanted | None:
        """The column with public shares, if there is one."""
        return next((w for w in self.wanted if w.shares), None)

    @property
    def open(self) -> tuple[Wanted, ...]:
        """The columns of which something is left to know when all others are known."""
        return tuple(w for w in self.wanted if w.choices > 1)


# -------------------- of a table that is planned


def planned_background(
    source: Source, policy: RandomizedPolicy, columns: Sequence[NumberedColumn], tuples: Relation
) -> Background:
    """What attackers know of a table with these columns and tuples; where shares are public, domains hold them."""
    choices = _choices(source, policy, columns, tuples)
    if max(choices.values()) == 1:
        raise PolicyError("the sensitive columns have one possible value each, so there is nothing to hide")
    shares = {c.name: shares_of(source, c) for c in columns if is_shared(policy, c)}
    return Background(
        tuple(Wanted(name, n, shares.get(name, ())) for name, n in choices.items()),
        tuple(c.name for c in columns if c.column.role == "quasi-identifier"),
        math.prod(c.size for c in columns),
        policy.times,
        policy.rows_each,
    )


def is_shared(policy: RandomizedPolicy, column: NumberedColumn) -> bool:
    """Whether noise follows the public shares of this column alone."""
    return column.column.name == policy.shared


def shares_of(source: Source, column: NumberedColumn) -> tuple[float, ...]:
    """The public shares of its values, in the order of the domain."""
    return tuple(float(r[0]) for r in fetch(source.con, f"SELECT share FROM {column.table.name} ORDER BY id"))


def _choices(
    source: Source, policy: RandomizedPolicy, columns: Sequence[NumberedColumn], tuples: Relation
) -> dict[str, int]:
    """How many values each wanted column can have, at the least, given all others."""
    wanted = policy.wanted
    choices = {c.name: _alike(source, policy, c) for c in columns if c.column.name in wanted}
    narrowed: dict[str, str] = {}
    for name in policy.combinations:
        with source.scratch.nested() as scratch:
            possible, together = _read_possible(source, scratch, policy, name, columns)
            _refuse_impossible(columns, tuples, possible, name, together)
            tied = [place for place in together if columns[place].name in choices]
            if len(tied) > 1:
                raise PolicyError(
                    f"the combinations {name!r} tie {columns[tied[0]].name!r} to {columns[tied[1]].name!r}, and both "
                    "are sensitive: who learns the one would know more of the other; leave one of them out, or make "
                    "one column of both"
                )
            for place in tied:
                column = columns[place].name
                if column in narrowed:
                    raise PolicyError(
                        f"{column!r} is in two tables of combinations, {narrowed[column]!r} and {name!r}; join them"
                    )
                narrowed[column] = name
                others = ", ".join(f"i{p}" for p in together if p != place)
                null = f"(SELECT count(*) FROM {columns[place].table} WHERE value IS NULL)"
                fewest = _fewest(
                    possible.con,
                    f"SELECT count(DISTINCT i{place}) + {null} AS size FROM {possible.name} GROUP BY {others}",
                )
                if fewest == 1 < columns[place].size:
                    raise PolicyError(
                        f"{column!r} follows from the other columns by the combinations {name!r}, so nothing can hide "
                        "it; leave it out"
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
        counted = f"SELECT count(*) AS n FROM {column.mapping.name} GROUP BY label"
    elif column.column.share is not None and policy.shared is None:
        counted = f"SELECT share AS n FROM {column.table.name}"
    if counted is None or column.size == 1:
        return column.size
    alike = fetch(source.con, f"SELECT floor(sum(n) / max(n) + 1e-9) FROM ({counted})")[0][0]
    return max(2, min(int(alike), column.size))


def _read_possible(
    source: Source, scratch: Scratch, policy: RandomizedPolicy, name: str, columns: Sequence[NumberedColumn]
) -> tuple[Relation, list[int]]:
    """The combinations of a public table by their numbers in the domains (i0, i1, ...), and which columns it has."""
    file = policy.public[name]
    if is_private(source, file):
        raise PolicyError(f"the combinations {name!r} would be read from the private table")
    given = read_named(source, file, scratch)
    places = {folded(c.name): i for i, c in enumerate(columns)}
    found = {places[folded(name)]: name for name in given.columns if folded(name) in places}
    if len(found) < 2:
        raise PolicyError(f"the combinations {name!r} must have two or more of the published columns")
    joins = " ".join(
        f"JOIN {columns[p].table.name} AS d{p} ON CAST(CAST(d{p}.value AS {columns[p].compared}) AS VARCHAR) = "
        f"CAST(g.{quoted(column)} AS VARCHAR)"
        for p, column in found.items()
    )
    ids = ", ".join(f"d{p}.id AS i{p}" for p in found)
    return scratch.table(f"SELECT DISTINCT {ids} FROM {given.name} AS g {joins}", "possible"), list(found)


def _refuse_impossible(
    columns: Sequence[NumberedColumn], tuples: Relation, possible: Relation, name: str, together: Sequence[int]
) -> None:
    same = " AND ".join(f"p.i{p} = t.i{p}" for p in together)
    known = " AND ".join(f"i{p} NOT IN (SELECT id FROM {columns[p].table.name} WHERE value IS NULL)" for p in together)
    rows = fetch(
        tuples.con,
        f"SELECT coalesce(sum(copies), 0) FROM (FROM {tuples.name} WHERE {known}) AS t "
        f"WHERE NOT EXISTS (FROM {possible.name} AS p WHERE {same})",
    )[0][0]
    if rows:
        raise PolicyError(f"{int(rows):,} rows have a combination that {name!r} says is impossible; complete it")


def _fewest(con: duckdb.DuckDBPyConnection, sizes: str) -> int:
    """The size of the smallest slice that leaves at least two values, of SQL for sizes; 1 where none does."""
    found = fetch(con, f"SELECT min(size) FROM ({sizes}) WHERE size >= 2")[0][0]
    return 1 if found is None else int(found)


# -------------------- as a file declares it


def declared_background(file: ReleaseFile) -> Background:
    """What attackers know, as the file declares it."""
    role, shared, tuples, wanted = wanted_role(file), shared_columns(file), 1, []
    for row in file.attributes:
        name = str(row["name"])
        tuples *= int(row["size"])
        if row["role"] == role:
            domain = quoted(file.catalog, "domain", name)
            listed = fetch(file.con, f"SELECT share FROM {domain} ORDER BY rowid") if name in shared else []
            wanted.append(Wanted(name, int(row["choices"]), tuple(float(r[0]) for r in listed)))
    return Background(
        tuple(wanted),
        tuple(str(r["name"]) for r in file.attributes if r["role"] == "quasi-identifier"),
        tuples,
        file.parameters["times"],
        int(file.parameters["rows_each"]),
    )


def wanted_role(file: ReleaseFile) -> str:
    """The role of the columns that attackers want."""
    return "sensitive" if any(r["role"] == "sensitive" for r in file.attributes) else "published"


def shared_columns(file: ReleaseFile) -> list[str]:
    """The columns whose public shares noisy counts follow: their domains give the noise of each value."""
    names = [str(r["name"]) for r in file.attributes]
    return [name for name in names if "noise" in file.columns("domain", name)]


def public_tables(file: ReleaseFile) -> tuple[list[str], list[str]]:
    """The public tables that the file says it has; and those that say what columns can have together."""
    rows = file.rows("public_tables")
    return sorted({str(r["name"]) for r in rows}), sorted(str(r["name"]) for r in rows if r["is_combination"])


def most_choices(file: ReleaseFile) -> dict[str, int]:
    """How many choices each column can have at the most, by its domain and the combinations in the file.

    A file may declare fewer: the attacker is then the stronger, and the more has to be covered.
    """
    most = {str(r["name"]): int(r["size"]) for r in file.attributes}
    for table in public_tables(file)[1]:
        kinds = file.columns("public", table)
        columns = {folded(c): c for c in kinds}
        together = {name: columns[folded(name)] for name in most if folded(name) in columns}
        places = {name: f"d{i}" for i, name in enumerate(together)}
        joins = " ".join(
            f"JOIN {quoted(file.catalog, 'domain', name)} AS {places[name]} ON CAST(g.{quoted(column)} AS VARCHAR) IN "
            f"(CAST({places[name]}.value AS VARCHAR), "
            f"CAST(TRY_CAST({places[name]}.value AS {kinds[column]}) AS VARCHAR))"
            for name, column in together.items()
        )
        for name in together:
            null = f"(SELECT count(*) FROM {quoted(file.catalog, 'domain', name)} WHERE value IS NULL)"
            others = ", ".join(f"{places[other]}.value" for other in together if other != name)
            sizes = (
                f"SELECT count(DISTINCT {places[name]}.value) + {null} AS size "
                f"FROM {quoted(file.catalog, 'public', table)} AS g {joins}" + (f" GROUP BY {others}" if others else "")
            )
            most[name] = min(most[name], _fewest(file.con, sizes))
    return most
